"""The interface of a backend: three answers, of which a program is made. What else it may answer has a default.

The pipeline plans a graph, which is the same for all backends: steps, what is stored where, how long it lives. A backend is told
what it writes for (`target`), writes each step (`written`), and loads what it has written as a program (`load`). A new backend is a
folder with a class that answers these, as `BACKEND`, and a line in `backends/__init__.py`; `reference.py` is the shortest one.
"""

from importlib import import_module

from ...errors import ProgramError


class Backend:
    """What makes programs of planned graphs, and runs them."""

    #: Whether programs run faster than the ops of NumPy one by one, so that eager code and optimizers have some made for them.
    is_faster = True

    def target(self):
        """What code of this process is written for, in the backend's own terms. It is asked once for each program, and handed on:
        tests write for others.
        """
        raise NotImplementedError

    def written(self, draft, target):
        """What the steps of a `Draft` become, in order, for a target: code that is not loaded yet, or what Python runs.

        A step is written by its kernel (`Kernel.launches`), or by `Kernel.called` where Python runs it.
        """
        raise NotImplementedError

    def load(self, graph, draft, parts):
        """The `Program` of a graph, ready to run, from its draft and from what its steps were `written` as. The places of buffers
        are `draft.layout(...)`, once their scratch memory is known.
        """
        raise NotImplementedError

    def program(self, graph):
        """The program of a `Graph`: one that is known from before, where a backend keeps them, or a new one."""
        return self.made(graph)

    def made(self, graph, is_short=False):
        """The program of a graph, planned and written now, as one that `is_short` if it is asked for."""
        # Planning is loaded here: a backend that finds a program from before needs none of it.
        draft = import_module("..pipeline", __package__).planned(graph, is_short=is_short)
        return self.load(graph, draft, self.written(draft, self.target()))

    def exported(self, functions, target):
        """The `ExportedFile` of `functions`, each an `Exported`, as machine code for the target called `target`, or "host"."""
        raise ProgramError("only compiled functions can be exported; install llvmlite (pip install 'retrograde[jit]'), and leave "
                           "RETROGRADE_COMPILER unset")

    def expect(self):
        """Begin with what any program needs, where that takes long, since one is about to be made."""

    def get_num_threads(self):
        """How many threads programs use."""
        return 1

    def set_num_threads(self, count):
        """Let programs use so many threads. One that leaves them to others, as to NumPy, has nothing to set."""

    def eager(self, name):
        """The function that eager ops call for large arrays, by its name; it gives NotImplemented for what is left to NumPy."""
        return lambda *_: NotImplemented

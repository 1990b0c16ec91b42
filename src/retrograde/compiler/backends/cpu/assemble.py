"""Assembling: the steps of a schedule as launches of compiled units, with library calls where an op has no kernel."""

import numpy as np

from ...kernels.kernel import Scratch
from ...pipeline import planned_body
from ...run.loop_call import LoopCall
from .interchanged import InterchangedLoop
from .launches import Launch
from .loop_launch import LoopLaunch
from .writer import Writer

#: Frames are bits of a word.
_MOST_FRAMES = 62


def assemble(draft, target, program, threads=None):
    """The steps of a draft in order: launches of code for a target, and library calls. `program(graph)` makes the programs of loops
    that run from Python; so many `threads` run it, those of this process without a number.
    """
    return Assembler(draft, target, program, threads).all_parts()


class Assembler(Writer):
    """What kernels ask for their launches: where buffers are, in what loop, and for which `target`. `body` is the body of the loop
    whose steps these are, None outside of loops; `before` are launches to run before its first iteration.
    """

    def __init__(self, draft, target, program, threads=None):
        self._schedule, self._accesses, self._aliases = draft.schedule, draft.accesses, draft.aliases
        #: Where a buffer lives.
        self.storage = draft.storage
        super().__init__(target, threads)
        self.program, self.body, self.before = program, draft.body, []

    def all_parts(self):
        """What the steps become, in order."""
        return [part for step in self._schedule.steps for part in self.parts(step)]

    def parts(self, step):
        """What a step becomes."""
        if step.nest is not None:
            return self._nest(step.nest) if step is step.nest.steps[0] else []
        return step.kernel.launches(step, self)

    def lasts(self, step):
        """Whether a step writes what outlives the program."""
        return any(root in self._aliases for root in step.roots)

    def layout(self, step, node):
        """(where the memory is, first element, steps per axis) of a node that is a view of memory which a step reads."""
        buffer, start, steps = self._accesses.layout(step, node)
        return self.storage(buffer), start, steps

    def buffer(self, step, node):
        """The memory of which a node is a view that a step reads, as nests know it."""
        return self._accesses.layout(step, node)[0]

    def product(self, step):
        """The matrix product of a step."""
        return self._accesses.product(step)

    def form(self, step):
        """(`Form`, buffers) of the loops of a step, with the memory where its buffers live."""
        form, buffers = self._accesses.form(step)
        placed = tuple(map(self.storage, buffers))
        return form.joined(placed), placed

    def repeated(self, step):
        """A loop as a native step; from Python if something in its body has no kernel."""
        draft = planned_body(step, self.storage)
        inner = Assembler(draft, self.target, self.program, self._threads)
        parts = inner.all_parts()
        # Native code cannot call back into Python between two steps of an iteration.
        if calls := [part for part in parts if not isinstance(part, (Launch, LoopLaunch))]:
            return [LoopCall(step, self.program, calls)]
        return [*inner.before, (InterchangedLoop if draft.is_interchanged else LoopLaunch)(draft, parts, self.target)]

    def _nest(self, nest):
        """All passes of a nest as one launch, after those that pack what its products share."""
        # No more than chunks that can run at the same time. How many there are changes no result: frames hold what is made anew
        # in each.
        nest.frames = min(self.threads, nest.chunks, _MOST_FRAMES)
        frames, panels = Scratch(nest.frame * nest.frames), {}
        local = {id(node) for node in nest.local}
        launches = [launch for step in nest.steps for launch in step.kernel.rows_launches(step, nest, self, panels)]
        launches = [
            launch._replace(buffers=tuple([frames if id(b) in local else b for b in launch.buffers])) for launch in launches
        ]
        return [
            # Packing is read by all blocks, and what finishes sums reads those of all: only what is between can run block by
            # block.
            *self._once([launch for launch in launches if launch.role == "pack"]),
            _interleaved([launch for launch in launches if not launch.role], nest),
            *[launch for launch in launches if launch.role == "finish"]]

    def _once(self, packing):
        """What packs the matrices of a nest: before the loop in whose body it is, where a matrix is the same in each iteration."""
        body, here = self.body, []
        for launch in packing:
            matrix, *_ = launch.buffers
            # A constant is the same in each iteration whatever the body does.
            fixed = None if body is None else matrix if isinstance(matrix, np.ndarray) else body.fixed(matrix)
            if fixed is None:
                here.append(launch)
                continue
            panels = [b for b in launch.buffers if isinstance(b, Scratch)]
            buffers = tuple([b if isinstance(b, Scratch) else fixed for b in launch.buffers])
            self.before.append(launch._replace(step=body.step, buffers=buffers))
            body.keep(panels[0])
        return here


def _interleaved(passes, nest):
    """One launch in which passes run block by block."""
    buffers = tuple([b for launch in passes for b in launch.buffers])
    return passes[0]._replace(
        unit=None, entry="", buffers=buffers, words=(), chunks=nest.chunks, lasts=any([p.lasts for p in passes]),
        seconds=sum([p.seconds for p in passes]), passes=tuple(passes))

"""Writers: what kernels ask for code. The `Assembler` is one that knows the steps of a program as well."""

from importlib import import_module

from .launches import Launch
from .threads import get_num_threads
from .units import unit_of


class Writer:
    """Code for a `target`. A kernel plans it by a module of code generation, names the unit that it becomes, and launches that."""

    #: Makes the launch of a unit.
    launch = Launch

    def __init__(self, target, threads=None):
        self.target, self._threads, self._known, self._units = target, threads, {}, {}

    @property
    def threads(self):
        """How many threads share the chunks of a launch: those of this process, if it was not told."""
        return self._threads or get_num_threads()

    def unit(self, key, write, is_final=False):
        """The unit that `write(module, name)` writes; see `unit_of`. Named once for equal keys: a name is a digest."""
        told = repr(key), is_final  # by its text, as the name: 1 and 1.0 are equal, and other code
        found = self._units.get(told)
        if found is None:
            found = self._units[told] = unit_of(key, write, self.target, is_final)
        return found

    def once(self, make, *arguments):
        """`make(*arguments)`, a plan that depends on nothing else; made once for equal arguments, as those of equal layers are."""
        found = self._known.get((make, arguments))
        if found is None:
            found = self._known[make, arguments] = make(*arguments)
        return found

    @staticmethod
    def code(name):
        """A module of code generation by its name, loaded late: a program that is found on disk needs none of them."""
        return import_module(f"{__package__}.codegen.{name}")

"""What SciPy's solvers are given: arguments that hold tensors, and functions that are to run compiled."""

from typing import Any

import numpy as np

from .. import tree
from ..core.mode import is_lazy
from ..core.value import Value
from ..dtypes import is_float
from ..errors import ArgumentError, RetrogradeError, TraceError
from ..misc.flatten import flatten
from ..ops.manipulation.movements import reshape
from ..transforms.jit import jit


class Given:
    """Arguments, a tree: as `plain` ones without tensors, and `rebuilt` from other `values` of the tensors of floats in it."""

    def __init__(self, solver, arguments):
        self._leaves, self._build = tree.flatten(arguments)
        self.has_tensors = any([isinstance(leaf, Value) for leaf in self._leaves])
        for leaf in self._leaves if self.has_tensors else ():
            if isinstance(leaf, Value) and leaf.is_traced and not is_lazy():
                raise TraceError(f"{solver} runs SciPy, which needs numbers, and jit and vmap trace values without numbers; call "
                                 f"it outside of them")
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, Value) and is_float(leaf.dtype)]
        self.values = tuple([self._leaves[i] for i in self._places])
        self._leaves = [np.asarray(leaf.detach()) if isinstance(leaf, Value) else leaf for leaf in self._leaves]
        self.plain: Any = self._build(self._leaves)

    def rebuilt(self, values):
        """The arguments with these values in the places of the tensors."""
        leaves = list(self._leaves)
        for place, value in zip(self._places, values, strict=True):
            leaves[place] = value
        return self._build(leaves)


class Attempted:
    """A function of arrays that is compiled if it can be traced, and runs as it is otherwise.

    It is compiled for one call of a solver: a function that reads numbers from outside reads those of now at the next one.
    """

    def __init__(self, function, compiled=True):
        self._function = function
        self._chosen: Any = None if compiled else function

    def __call__(self, *args):
        if self._chosen is not None:
            return self._chosen(*args)
        quick: Any = jit(_Called(self._function))
        try:
            found = quick(*args)
        except (RetrogradeError, TypeError, ValueError):
            # If it is wrong, and not only untraceable, it says so here.
            found, quick = self._function(*args), self._function
        self._chosen = quick
        return found


class _Called:
    """A function as an object: `jit` warns of functions that are made and compiled anew at each call, which is meant here."""

    def __init__(self, function):
        self._function = function

    def __call__(self, *args):
        return self._function(*args)


def vector(found):
    """What a function gives as one vector: an array, or a list or tree of numbers and arrays."""
    return flatten(found)[0] if isinstance(found, (list, tuple, dict)) else reshape(found, (-1,))


def inputs(arguments) -> Any:
    """Arguments with Python floats as NumPy's, which compiled code reads; others are constants of it."""
    return tree.map(lambda leaf: np.float64(leaf) if type(leaf) is float else leaf, arguments)


def array(found):
    """What a function gives as one array without a history."""
    return np.asarray(unlinked(found))


def unlinked(found):
    """What a function gives without a history: an array in place of tensors, and as it is if it is anything else."""
    if isinstance(found, (list, tuple)) and any([isinstance(leaf, Value) for leaf in found]):
        found = flatten(found)[0]
    return np.asarray(found.detach()) if isinstance(found, Value) else found


def check_outside(solver, found, where="args"):
    """Raise an ArgumentError if a function, called with arrays, has read a tensor whose derivative would be lost."""
    for leaf in tree.leaves(found):
        if isinstance(leaf, Value) and (leaf.record is not None or leaf.is_traced and not is_lazy()):
            raise ArgumentError(f"a function of {solver} reads a tensor from outside that is being differentiated or traced; hand "
                                f"it over in {where}, or detach it")


class Start:
    """Where a solver starts: a vector, as SciPy has it, or an array of any shape or a tree of arrays, which is made one."""

    def __init__(self, x0):
        x0 = tree.map(lambda leaf: np.asarray(leaf.detach()) if isinstance(leaf, Value) else leaf, x0)
        self.is_vector = _is_vector(x0)
        if self.is_vector:
            self.vector = np.atleast_1d(np.asarray(x0))
            if self.vector.ndim > 1:
                self.is_vector, x0 = False, self.vector
        if not self.is_vector:
            self.vector, self._unflatten = flatten(x0)
        if self.vector.dtype.kind not in "fiub":
            raise ArgumentError(f"x0 must be real numbers, got {self.vector.dtype}")
        self.vector = np.asarray(self.vector, np.float64)

    def built(self, vector):
        """A vector in the form of the start."""
        return vector if self.is_vector else self._unflatten(vector)


def _is_vector(x0):
    """Whether SciPy would take it as it is: an array, a number, or a sequence of numbers."""
    if isinstance(x0, (list, tuple)) and not hasattr(x0, "_fields"):
        return all([np.ndim(part) == 0 and not isinstance(part, dict) for part in x0])
    return not isinstance(x0, dict) and (hasattr(x0, "__array__") or np.isscalar(x0))


def number(found):
    """One number of what an objective gives: a number, or an array of one."""
    shape = found.shape if isinstance(found, Value) else np.shape(found)
    if shape == ():
        return found
    return reshape(found, ()) if isinstance(found, Value) else np.asarray(found).reshape(())


def parted(function, jac):
    """(function, its derivative) where `jac` is True, which says that the function returns both; else as they are."""
    if jac is not True:
        return function, jac
    return (lambda x, *args: function(x, *args)[0]), (lambda x, *args: function(x, *args)[1])

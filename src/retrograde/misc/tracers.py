"""Functions whose Python code runs once, by the names of autograd.misc.tracers."""

from functools import partial, wraps

import numpy as np

from .. import tree
from ..transforms.jit import jit


def const_graph(function, *args, **kwargs):
    """`function` with these arguments filled in, compiled: its Python code runs on the first call, for each shape and dtype.

    Unlike autograd's it is `rg.jit`: another shape is traced anew, and a branch on numbers is an error rather than taken for good.

    >>> doubled = rg.misc.const_graph(lambda a, x: a * x, 2.0)
    >>> doubled(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    compiled = jit(partial(function, *args, **kwargs))

    @wraps(function)
    def replayed(*args):
        return compiled(*tree.map(_as_array, args))

    return replayed


def _as_array(x):
    """A float as an array: to `jit` Python's numbers are constants, and another one would be traced anew."""
    return np.asarray(x) if isinstance(x, (float, complex)) else x

"""Through: the drop-in modules with each array handed in as a tensor and each tensor handed out as an array.

So the tests of NumPy and SciPy, which know arrays only, run our functions. `plugin` notes which tests came to one.
"""

import re
from functools import cache, wraps

import numpy as np

import retrograde as rg
from retrograde.errors import RetrogradeError

#: How many calls had a tensor among their arguments.
reached = [0]
#: What an error says that refuses an option or a function for tensors: then arrays are handed in, as if it were not offered.
_REFUSAL = re.compile("does not take|is not an op|has no derivative|has no gradient|do not take|not supported|takes no |takes neither|"
                      "real numbers are needed")


def module(drop_in, plain, takes_numbers=False):
    """The `__getattr__` of a module: names of `drop_in`, with its functions on tensors, and what else `plain` has.

    takes_numbers  whether floats by position are handed in as tensors too
    """

    @cache
    def find(name):
        if name in ("__path__", "__all__"):
            raise AttributeError(name)
        found = getattr(plain, name)
        ours = getattr(drop_in, name, found)
        return through(ours, takes_numbers) if callable(ours) and not isinstance(ours, type) and ours is not found else found

    return find


def through(function, takes_numbers=False):
    """`function`, called with tensors for arrays, whose results are arrays again."""

    @wraps(function)
    def call(*args, **kwargs):
        given = tuple([rg.Tensor(np.asarray(x)) if takes_numbers and isinstance(x, float) else _in(x) for x in args])
        named = {name: _in(x) for name, x in kwargs.items()}
        if _is_same(given, args) and not any(named[name] is not kwargs[name] for name in kwargs):
            return function(*args, **kwargs)
        reached[0] += 1
        try:
            found = function(*given, **named)
        except RetrogradeError as error:
            if not _REFUSAL.search(str(error)):
                raise
            reached[0] -= 1
            return function(*args, **kwargs)
        return _out(found)

    for name in ("nin", "nout", "identity", "reduce", "accumulate", "outer", "at", "reduceat", "types", "ntypes"):
        plain = getattr(function, "__wrapped__", function)
        if hasattr(plain, name):
            setattr(call, name, getattr(plain, name))
    return call


def _in(x):
    if type(x) is np.ndarray and x.dtype.kind in "biufc" and x.dtype.itemsize <= (16 if x.dtype.kind == "c" else 8) and x.dtype.isnative:
        return rg.Tensor(x)
    if type(x) in (list, tuple):
        found = type(x)(map(_in, x))
        return x if _is_same(found, x) else found
    return x


def _is_same(new, old):
    return all(a is b for a, b in zip(new, old, strict=True))


def _out(x):
    if isinstance(x, rg.Tensor):
        return np.asarray(x.detach())[()]
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_out, x))
    return type(x)(map(_out, x)) if type(x) in (list, tuple) else x

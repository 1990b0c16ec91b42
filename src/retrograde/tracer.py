"""Tracer: what autograd's programs ask about the values that a derivative is computed of, by the names of autograd.tracer.

>>> seen = []
>>> rg.grad(lambda x: (seen.append(getval(x)), x * x)[1])(3.0), seen
(array(6.), [array(3.)])
"""

from .core.value import Value as Box
from .extend import notrace_primitive, primitive

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive"]


def isbox(x):
    """Whether `x` is a value of a graph rather than a plain number or array."""
    return isinstance(x, Box)


def getval(x):
    """The plain array in `x`, and anything else as it is. What is computed from it is a constant for derivatives."""
    return x.raw if isinstance(x, Box) else x

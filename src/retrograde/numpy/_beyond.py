"""Beyond NumPy: functions that autograd.numpy has and NumPy has not, or not in that form."""

from typing import Any

import numpy as _numpy

from ..errors import ArgumentError
from ..tensor.counterparts.operands import holds_value, stacked
from ._differentiable import chosen

_where: Any = chosen(_numpy.where)
_moveaxis: Any = chosen(_numpy.moveaxis)
_NOTHING = object()


def where(condition, x=_NOTHING, y=_NOTHING):
    """`x` where the condition holds and `y` where it does not; of the condition alone, the indices at which it holds.

    The arguments may be given by name, which NumPy does not allow.
    """
    if (x is _NOTHING) is not (y is _NOTHING):
        raise ArgumentError("np.where takes both of x and y, or neither, got one")
    return _where(condition) if x is _NOTHING else _where(condition, x, y)


def make_diagonal(D, offset=0, axis1=0, axis2=1):
    """The arrays whose diagonals are in the last axis of `D`; `np.diagonal` with the same arguments gives `D` again.

    >>> make_diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]), axis1=-1, axis2=-2)[1]
    array([[3., 0.],
           [0., 4.]])
    """
    D = stacked(D) if holds_value((D,)) else _numpy.asarray(D)
    count = D.shape[-1]
    row, column = _numpy.indices((count + abs(offset),) * 2)
    places = _numpy.minimum(_numpy.minimum(row, column), count - 1)
    is_on_diagonal = column - row == offset
    made = where(is_on_diagonal, D[..., places], _numpy.zeros((), D.dtype)) if count else D[..., None] * is_on_diagonal
    return _moveaxis(made, (-2, -1), (axis1, axis2))

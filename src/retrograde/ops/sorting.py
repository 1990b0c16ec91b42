"""Sorting: elements in order along an axis, and the order itself. Equal elements keep their order."""

import numpy as np

from ..shapes import one_axis
from ._families import movement, search
from ._samples import call, distinct, of
from ._sorting import in_order, order_along
from .gathering import add_along_axis
from .movements import reshape

_TABLE = of((4, 3), distinct())
_CALLS = (call(_TABLE), call(_TABLE, axis=0, descending=True), call(_TABLE, axis=None))


@search(samples=_CALLS)
def argsort(x, /, axis=-1, descending=False, stable=True):
    """The positions along `axis` that put `x` in order; None sorts the elements in row-major order.

    `stable` keeps equal elements in their order; without it they may be exchanged, if that is faster.
    """
    x, axis = _line(x, axis)
    if stable:
        return order_along(x, axis, descending)
    return np.flip(np.shape(x)[axis] - 1 - np.argsort(np.flip(x, axis), axis), axis) if descending else np.argsort(x, axis)


def _line(x, axis):
    """`x` and the axis to sort along, which is the only one of all elements if None is asked for."""
    return (np.reshape(x, -1), 0) if axis is None else (x, one_axis(axis, np.ndim(x)) if np.ndim(x) else axis)


@movement(keeps_sizes=True, makes_views=False, samples=_CALLS)
def sort(x, /, axis=-1, descending=False, stable=True):  # noqa: ARG001 - without it nothing would be faster
    r"""`x` in ascending (or descending) order along `axis`; None sorts the elements in row-major order.

    Equal elements keep their order, with `stable` and without.

    $z_k = x_{\pi(k)}$ with the order $\pi$, so $\bar x_{\pi(k)} = \bar z_k$: each cotangent goes where its element was.
    """
    x, axis = _line(x, axis)
    return np.flip(in_order(np.flip(x, axis), axis), axis) if descending else in_order(x, axis)


def _sort_rule(g, x, axis, descending):
    if axis is not None and x.__class__ is np.ndarray and x.ndim:
        axis = one_axis(axis, x.ndim)
        return add_along_axis(g, x.shape, order_along(x, axis, descending), axis)
    return reshape(add_along_axis(g, g.shape, argsort(x, axis, descending), 0 if axis is None else axis), x.shape)


sort.defvjp(_sort_rule)

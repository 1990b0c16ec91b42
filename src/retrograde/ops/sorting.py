"""Sorting: elements in order along an axis, and the order itself. Equal elements keep their order."""

import numpy as np

from ..shapes import one_axis
from ._families import movement, search
from ._samples import call, distinct, of
from .gathering import add_along_axis
from .movements import reshape

_TABLE = of((4, 3), distinct())
_CALLS = (call(_TABLE), call(_TABLE, axis=0, descending=True), call(_TABLE, axis=None))


@search(samples=_CALLS)
def argsort(x, /, axis=-1, descending=False, stable=True):
    """The positions along `axis` that put `x` in order; None sorts the elements in row-major order.

    `stable` keeps equal elements in their order; without it they may be exchanged, if that is faster.
    """
    kind = "stable" if stable else None
    if not descending:
        return np.argsort(x, axis=axis, kind=kind)
    x = np.reshape(x, -1) if axis is None else x
    axis = 0 if axis is None else one_axis(axis, x.ndim)
    backwards = np.argsort(np.flip(x, axis), axis=axis, kind=kind)
    return np.flip(x.shape[axis] - 1 - backwards, axis)


@movement(keeps_sizes=True, makes_views=False, samples=_CALLS)
def sort(x, /, axis=-1, descending=False, stable=True):
    r"""`x` in ascending (or descending) order along `axis`; None sorts the elements in row-major order.

    Whether equal elements are exchanged, as they may be unless `stable`, cannot be seen: the gradient takes them in order.

    $z_k = x_{\pi(k)}$ with the order $\pi$, so $\bar x_{\pi(k)} = \bar z_k$: each cotangent goes where its element was.
    """
    if not descending:
        return np.sort(x, axis=axis, kind="stable" if stable else None)
    x, axis = (np.reshape(x, -1), 0) if axis is None else (x, axis)
    return np.take_along_axis(x, argsort(x, axis, True), axis)


def _sort_rule(g, x, axis, descending):
    return reshape(add_along_axis(g, g.shape, argsort(x, axis, descending), 0 if axis is None else axis), x.shape)


sort.defvjp(_sort_rule)

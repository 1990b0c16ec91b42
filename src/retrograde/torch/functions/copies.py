"""Views of PyTorch's that are copied, by their names with `_copy`; memory that is looked at with strides of one's own."""

import numpy as np

from ...errors import ArgumentError
from ...ops.manipulation import gathering, movements, selections
from .. import shapes
from ..kinds import operand
from ..methods import FUNCTIONS

__all__ = ["alias_copy", "as_strided", "as_strided_copy", "as_strided_scatter", "detach_copy", "diagonal_copy", "expand_copy",
           "narrow_copy", "permute_copy", "select_copy", "split_copy", "split_with_sizes", "split_with_sizes_copy",
           "squeeze_copy", "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsqueeze_copy", "view_as_complex_copy",
           "view_as_real_copy", "view_copy"]


def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of these lengths along `dim`."""
    return shapes.split(input, list(split_sizes), dim)


def as_strided(input, size, stride, storage_offset=None):
    """The elements of the memory of `input` at these strides, counted in elements. The memory must lie in order."""
    x = operand(input)
    if not x.is_contiguous() or x.raw.base is not None and x.raw.base.size != x.raw.size:
        raise ArgumentError("as_strided needs a tensor that is no view of a part of another one; use x.unfold, x[...] or "
                            "torch.gather")
    places = _places(x, size, stride, storage_offset)
    return gathering.take(movements.reshape(x, -1), places, 0)


def _places(x, size, stride, storage_offset):
    places = np.full((), storage_offset or 0)
    for n, step in zip(size, stride, strict=True):
        places = places[..., None] + np.arange(n) * step
    if places.size and not 0 <= places.min() <= places.max() < x.numel():
        raise ArgumentError(f"as_strided of {x.numel()} elements reaches from number {places.min()} to {places.max()}")
    return places


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """`src` in place of what `as_strided` shows."""
    x = operand(input)
    made = selections.set_at(movements.reshape(x, -1), src, (_places(x, size, stride, storage_offset),))
    return movements.reshape(made, tuple(x.shape))


def _copied(function, name):
    def copied(*args, **kwargs):
        found = function(*args, **kwargs)
        return tuple([x.clone() for x in found]) if isinstance(found, tuple) else found.clone()

    copied.__name__, copied.__doc__ = name, f"A copy of what `{name.removesuffix('_copy')}` shows."
    return copied


_VIEWS = {
    "alias": operand, "detach": lambda input: operand(input).detach(), "expand": shapes.expand, "view": shapes.view,
    "split": shapes.split, "split_with_sizes": split_with_sizes, "as_strided": as_strided,
    **{name: FUNCTIONS[name] for name in ("diagonal", "narrow", "permute", "select", "squeeze", "t", "transpose", "unbind",
                                          "unfold", "unsqueeze", "view_as_complex", "view_as_real")},
}
globals().update({f"{name}_copy": _copied(function, f"{name}_copy") for name, function in _VIEWS.items()})

"""Padding: borders added to the last axes of an input."""

from ..core.mode import current, settled_whole
from ..errors import ArgumentError
from ..ops.manipulation import borders, movements
from .module import Module


def pad(input, pad, mode="constant", value=None):
    """`input` with a border: `pad` holds (before, after) for the last axis, then for the one before, and so on.

    `mode` is "constant" for `value` (by default 0), "reflect", "replicate" or "circular". Negative numbers take away.

    >>> rg.nn.functional.pad(rg.tensor([1.0, 2.0, 3.0]), (1, -1))
    tensor([0., 1., 2.])
    """
    ambient = current()
    if ambient is not None and ambient.settles is not None:
        return settled_whole(f"pad_{mode}", _padded, (input, pad, mode, value), {})
    return _padded(input, pad, mode, value)


def _padded(input, pad, mode, value):
    if len(pad) % 2 or len(pad) > 2 * input.ndim:
        raise ArgumentError(f"pad needs two numbers for each axis from the last on, of {input.ndim} at most, got {tuple(pad)}")
    widths = [(0, 0)] * input.ndim
    widths[input.ndim - len(pad) // 2 :] = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    if mode == "constant" and all([n.__class__ is int and n >= 0 for n in pad]):
        return movements.pad(input, tuple(widths), 0 if value is None else value)
    if any(n + sum(w) < 0 for n, w in zip(input.shape, widths, strict=True)):
        raise ArgumentError(f"pad takes away more elements than there are: {tuple(pad)} of shape {tuple(input.shape)}")
    outside, inside = [(max(a, 0), max(b, 0)) for a, b in widths], [(max(-a, 0), max(-b, 0)) for a, b in widths]
    if mode == "circular":  # the ring is closed after what is taken away
        return borders.pad(_within(input, inside), outside, mode)
    return _within(borders.pad(input, outside, mode, 0 if value is None else value), inside)


def _within(x, widths):
    """`x` without as many elements from both ends of its axes as `widths` says."""
    if not any(max(w) for w in widths):
        return x
    return movements.shrink(x, tuple((a, n - b) for (a, b), n in zip(widths, x.shape, strict=True)))


class _Pad(Module):
    """A border around the last axes, as many as `axes`; `padding` is one number or (before, after) for each, the last first."""

    axes, mode = 1, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.axes)
        if len(self.padding) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__} needs one number or {2 * self.axes}, got {padding}")

    def forward(self, input):
        return pad(input, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """A border of `value` at both ends of lines."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad2d(ConstantPad1d):
    """A border of `value` around images."""

    axes = 2


class ConstantPad3d(ConstantPad1d):
    """A border of `value` around volumes."""

    axes = 3


class ZeroPad1d(_Pad):
    """A border of zeros at both ends of lines.

    >>> rg.nn.ZeroPad1d((1, 2))(rg.ones(1, 2))
    tensor([[0., 1., 1., 0., 0.]])
    """


class ZeroPad2d(_Pad):
    """A border of zeros around images."""

    axes = 2


class ZeroPad3d(_Pad):
    """A border of zeros around volumes."""

    axes = 3


class ReflectionPad1d(_Pad):
    """A border that mirrors lines at their ends, which are not repeated."""

    mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """A border that mirrors images at their edges, which are not repeated."""

    axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """A border that mirrors volumes at their faces, which are not repeated."""

    axes = 3


class ReplicationPad1d(_Pad):
    """A border that repeats the ends of lines."""

    mode = "replicate"


class ReplicationPad2d(ReplicationPad1d):
    """A border that repeats the edges of images."""

    axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """A border that repeats the faces of volumes."""

    axes = 3


class CircularPad1d(_Pad):
    """A border that goes on with lines from their other end."""

    mode = "circular"


class CircularPad2d(CircularPad1d):
    """A border that goes on with images from their other side."""

    axes = 2


class CircularPad3d(CircularPad1d):
    """A border that goes on with volumes from their other side."""

    axes = 3

"""Padding: borders added to the last axes of an input."""

from ..errors import ArgumentError
from ..ops import borders, movements
from .module import Module


def pad(input, pad, mode="constant", value=None):
    """`input` with a border: `pad` holds (before, after) for the last axis, then for the one before, and so on.

    `mode` is "constant" for `value` (by default 0), "reflect", "replicate" or "circular". A constant border may be
    negative: it is cut off then.

    >>> rg.nn.functional.pad(rg.tensor([1.0, 2.0, 3.0]), (1, -1))
    tensor([0., 1., 2.])
    """
    if len(pad) % 2 or len(pad) // 2 > input.ndim:
        raise ArgumentError(f"pad needs a pair of numbers for each of up to {input.ndim} axes, got {tuple(pad)}")
    pairs = [(int(pad[i]), int(pad[i + 1])) for i in range(0, len(pad), 2)][::-1]
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs
    if mode != "constant":
        return borders.pad_border(input, tuple(widths), mode)
    if any(min(pair) < 0 for pair in widths):
        ranges = [(max(0, -before), n - max(0, -after)) for (before, after), n in zip(widths, input.shape, strict=True)]
        input = movements.shrink(input, tuple(ranges))
    widths = tuple([(max(before, 0), max(after, 0)) for before, after in widths])
    return movements.pad(input, widths, 0 if value is None else value)


class _Pad(Module):
    """A border around the last axes, as many as `axes`; `padding` is one number or (before, after) for each, the last first."""

    axes, mode = 1, "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple(padding) if isinstance(padding, (tuple, list)) else (padding,) * (2 * self.axes)
        if len(self.padding) != 2 * self.axes:
            raise ArgumentError(f"{type(self).__name__} needs one number or {2 * self.axes}, got {padding}")

    def forward(self, x):
        return pad(x, self.padding, self.mode)

    def extra_repr(self):
        return f"{self.padding}"


class ConstantPad1d(_Pad):
    """A border of `value` at both ends of lines."""

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, x):
        return pad(x, self.padding, "constant", self.value)

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

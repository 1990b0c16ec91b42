"""Convolutions of lines, images and volumes: (batch, channels, ...), or one example without the batch."""

import math
from typing import Any

from ..errors import ArgumentError
from ..tensor.creation import empty
from . import functional, init
from .checks import check_counts
from .module import Module
from .parameter import Parameter

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Module):
    """What all convolutions share; `axes` is the number of axes that the kernel slides along."""

    axes = 2

    def __init__(self, channels, sizes, groups, bias, padding_mode, weight_shape, options):
        super().__init__()
        self.in_channels, self.out_channels = channels
        check_counts(self, in_channels=self.in_channels, out_channels=self.out_channels, groups=groups)
        if self.in_channels % groups or self.out_channels % groups:
            raise ArgumentError(f"groups must divide in_channels and out_channels, got {groups}, {self.in_channels}, "
                                f"{self.out_channels}")
        if padding_mode not in _PADDING_MODES:
            raise ArgumentError(f"padding_mode must be one of {', '.join(_PADDING_MODES)}, got {padding_mode!r}")
        self.kernel_size, self.stride, self.padding, self.dilation = map(self._each, sizes)
        self.groups, self.padding_mode = groups, padding_mode
        rows, columns = weight_shape
        self.weight = Parameter(empty((rows, columns // groups, *self.kernel_size), **options))
        self.bias = Parameter(empty(self.out_channels, **options)) if bias else None
        self.reset_parameters()

    def _each(self, size) -> Any:
        """`size`, one number or one for each axis, as a tuple; a word as it is."""
        if isinstance(size, str):
            return size
        found = tuple(size) if isinstance(size, (tuple, list)) else (size,) * self.axes
        if len(found) != self.axes:
            raise ArgumentError(f"{type(self).__name__} needs one number or {self.axes}, got {size}")
        return found

    def reset_parameters(self):
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs else 0
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self):
        usual = {"padding": (0,) * self.axes, "dilation": (1,) * self.axes, "output_padding": (0,) * self.axes, "groups": 1,
                 "padding_mode": "zeros"}
        facts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        facts += [f"{name}={value!r}" for name, plain in usual.items() if (value := getattr(self, name, plain)) != plain]
        return ", ".join(facts + (["bias=False"] if self.bias is None else []))


class Conv1d(_Convolution):
    """Sliding sums of products with learned kernels; weight is (out_channels, in_channels / groups, width).

    `padding` may be "same" or "valid"; `padding_mode` is "zeros", "reflect", "replicate" or "circular".

    >>> rg.nn.Conv1d(2, 4, 3, padding="same")(rg.ones(5, 2, 8)).shape
    (5, 4, 8)
    """

    axes = 1
    _function = staticmethod(functional.conv1d)

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__((in_channels, out_channels), (kernel_size, stride, padding, dilation), groups, bias, padding_mode,
                         (out_channels, in_channels), {"dtype": dtype, "device": device})

    def forward(self, input):
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = functional.pad(input, self._border(), mode=self.padding_mode), 0
        return self._function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def _border(self):
        """(before, after) for the last axis, then for the one before, and so on."""
        if self.padding == "valid":
            return (0, 0) * self.axes
        if self.padding != "same":
            return tuple(n for size in reversed(self.padding) for n in (size, size))
        if set(self.stride) != {1}:
            raise ArgumentError(f'padding="same" needs stride 1, got {self.stride}')
        totals = [d * (k - 1) for k, d in zip(self.kernel_size, self.dilation, strict=True)]
        return tuple(n for total in reversed(totals) for n in (total // 2, total - total // 2))


class Conv2d(Conv1d):
    """`Conv1d` of images (batch, channels, height, width); sizes are one number or (height, width).

    >>> rg.nn.Conv2d(1, 4, 3, padding=1)(rg.ones(2, 1, 8, 8)).shape
    (2, 4, 8, 8)
    """

    axes = 2
    _function = staticmethod(functional.conv2d)


class Conv3d(Conv1d):
    """`Conv1d` of volumes (batch, channels, depth, height, width); sizes are one number or one for each of the three."""

    axes = 3
    _function = staticmethod(functional.conv3d)


class ConvTranspose1d(_Convolution):
    """The transpose of `Conv1d`: each element adds a kernel, times itself; weight is (in_channels, out_channels / groups, width).

    `output_size`, which `forward` may be given, chooses among the sizes that the stride leaves open.

    >>> rg.nn.ConvTranspose1d(2, 3, 4, stride=2, padding=1)(rg.ones(5, 2, 8)).shape
    (5, 3, 16)
    """

    axes = 1
    _function = staticmethod(functional.conv_transpose1d)

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True,
                 dilation=1, padding_mode="zeros", device=None, dtype=None):
        if padding_mode != "zeros":
            raise ArgumentError(f'{type(self).__name__} only has padding_mode="zeros", got {padding_mode!r}')
        if isinstance(padding, str):
            raise ArgumentError(f"{type(self).__name__} needs numbers as padding, got {padding!r}")
        super().__init__((in_channels, out_channels), (kernel_size, stride, padding, dilation), groups, bias, padding_mode,
                         (in_channels, out_channels), {"dtype": dtype, "device": device})
        self.output_padding = self._each(output_padding)

    def forward(self, input, output_size=None):
        more = self.output_padding if output_size is None else self._padding_for(input.shape, output_size)
        return self._function(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _padding_for(self, shape, output_size):
        """The output padding that gives `output_size`."""
        wanted = tuple(output_size)[-self.axes :]
        sizes = zip(shape[-self.axes :], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [s * (n - 1) - 2 * p + d * (k - 1) + 1 for n, s, p, d, k in sizes]
        more = tuple([w - n for w, n in zip(wanted, least, strict=True)])
        if any(not 0 <= m < s for m, s in zip(more, self.stride, strict=True)):
            most = [n + s - 1 for n, s in zip(least, self.stride, strict=True)]
            raise ArgumentError(f"output_size must lie between {least} and {most}, got {wanted}")
        return more


class ConvTranspose2d(ConvTranspose1d):
    """`ConvTranspose1d` of images (batch, channels, height, width).

    >>> rg.nn.ConvTranspose2d(1, 4, 2, stride=2)(rg.ones(2, 1, 3, 3)).shape
    (2, 4, 6, 6)
    """

    axes = 2
    _function = staticmethod(functional.conv_transpose2d)


class ConvTranspose3d(ConvTranspose1d):
    """`ConvTranspose1d` of volumes (batch, channels, depth, height, width)."""

    axes = 3
    _function = staticmethod(functional.conv_transpose3d)

"""Layers on images: (batch, channels, height, width)."""

import math

from ..errors import ArgumentError
from ..tensor.creation import empty
from . import functional, init
from .module import Module
from .parameter import Parameter


class Conv2d(Module):
    """Sliding sums of products with learned kernels; weight is (out_channels, in_channels / groups, height, width).

    `kernel_size`, `stride`, `padding` and `dilation` are one number or (height, width); `padding` may be "same" or
    "valid". The border is zeros.

    >>> rg.nn.Conv2d(1, 4, 3, padding=1)(rg.ones(2, 1, 8, 8)).shape
    (2, 4, 8, 8)
    """

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):
        super().__init__()
        if padding_mode != "zeros":
            raise ArgumentError(f'padding_mode must be "zeros", got {padding_mode!r}; use rg.pad before the layer')
        if in_channels % groups or out_channels % groups:
            raise ArgumentError(f"groups must divide in_channels and out_channels, got {groups}, {in_channels}, {out_channels}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride, self.dilation = _pair(kernel_size), _pair(stride), _pair(dilation)
        self.padding = padding if isinstance(padding, str) else _pair(padding)
        shape = (out_channels, in_channels // groups, *self.kernel_size)
        self.weight = Parameter(empty(shape, dtype=dtype, device=device))
        self.bias = Parameter(empty(out_channels, dtype=dtype, device=device)) if bias else None
        self.reset_parameters()

    def reset_parameters(self):
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            inputs = math.prod(self.weight.shape[1:])
            bound = 1 / math.sqrt(inputs) if inputs else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x):
        return functional.conv2d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)

    def extra_repr(self):
        usual = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        facts = [f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"]
        facts += [f"{name}={getattr(self, name)!r}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(facts + (["bias=False"] if self.bias is None else []))


class _Pool2d(Module):
    """What both kinds of pooling share."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode


class MaxPool2d(_Pool2d):
    """The greatest number of each window; windows lie `stride` apart, by default their own size.

    >>> rg.nn.MaxPool2d(2)(rg.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__(kernel_size, stride, padding, ceil_mode)
        if return_indices:
            raise ArgumentError("MaxPool2d has no return_indices here; leave it False")
        self.dilation = dilation

    def forward(self, x):
        return functional.max_pool2d(x, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class AvgPool2d(_Pool2d):
    """The mean of each window; windows lie `stride` apart, by default their own size."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def forward(self, x):
        return functional.avg_pool2d(x, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                                     self.divisor_override)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """The means of as many windows as `output_size` says: one number or (height, width), None to keep a size."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, x):
        return functional.adaptive_avg_pool2d(x, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


def _pair(size):
    return tuple(size) if isinstance(size, (tuple, list)) else (size, size)

"""Pooling: the windows of lines, images and volumes, (batch, channels, ...), made one number each."""

from ..tensor.creation import asarray
from . import functional
from .module import Module


class _Pool(Module):
    """What all pooling with windows of a given size shares."""

    def __init__(self, kernel_size, stride, padding, ceil_mode):
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode


class MaxPool1d(_Pool):
    """The greatest number of each window; windows lie `stride` apart, by default their own size.

    With `return_indices` the places of these as well, which `MaxUnpool1d` takes.

    >>> rg.nn.MaxPool1d(2)(rg.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[4., 3.]])
    """

    _function = staticmethod(functional.max_pool1d)

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self.dilation, self.return_indices = dilation, return_indices

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                              self.return_indices)

    def extra_repr(self):
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class MaxPool2d(MaxPool1d):
    """`MaxPool1d` of images; sizes are one number or (height, width).

    >>> rg.nn.MaxPool2d(2)(rg.arange(16.0).reshape(1, 1, 4, 4)).tolist()
    [[[[5.0, 7.0], [13.0, 15.0]]]]
    """

    _function = staticmethod(functional.max_pool2d)


class MaxPool3d(MaxPool1d):
    """`MaxPool1d` of volumes; sizes are one number or (depth, height, width)."""

    _function = staticmethod(functional.max_pool3d)


class MaxUnpool1d(_Pool):
    """Zeros, but for the elements of the input at the places that `MaxPool1d` with `return_indices` has given.

    `output_size`, which `forward` may be given, chooses among the sizes that the stride leaves open.

    >>> z, indices = rg.nn.MaxPool1d(2, return_indices=True)(rg.tensor([[1.0, 4.0, 2.0, 3.0]]))
    >>> rg.nn.MaxUnpool1d(2)(z, indices)
    tensor([[0., 4., 0., 3.]])
    """

    _function = staticmethod(functional.max_unpool1d)

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__(kernel_size, stride, padding, False)

    def forward(self, input, indices, output_size=None):
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool2d(MaxUnpool1d):
    """`MaxUnpool1d` of images, for the indices of `MaxPool2d`."""

    _function = staticmethod(functional.max_unpool2d)


class MaxUnpool3d(MaxUnpool1d):
    """`MaxUnpool1d` of volumes, for the indices of `MaxPool3d`."""

    _function = staticmethod(functional.max_unpool3d)


class AvgPool1d(_Pool):
    """The mean of each window; windows lie `stride` apart, by default their own size.

    >>> rg.nn.AvgPool1d(2)(rg.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[2.5, 2.5]])
    """

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding, ceil_mode)
        self.count_include_pad = count_include_pad

    def forward(self, input):
        return functional.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(AvgPool1d):
    """`AvgPool1d` of images; `divisor_override` replaces the number of elements of a window."""

    _function = staticmethod(functional.avg_pool2d)

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        self.divisor_override = divisor_override

    def forward(self, input):
        return self._function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                              self.divisor_override)


class AvgPool3d(AvgPool2d):
    """`AvgPool1d` of volumes; `divisor_override` replaces the number of elements of a window."""

    _function = staticmethod(functional.avg_pool3d)


class LPPool1d(_Pool):
    """The root of the sum of the powers `norm_type` of each window of lines."""

    _function = staticmethod(functional.lp_pool1d)

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__(kernel_size, stride, 0, ceil_mode)
        self.norm_type = float(norm_type)

    def forward(self, input):
        return self._function(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self):
        return (f"norm_type={self.norm_type:g}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}")


class LPPool2d(LPPool1d):
    """The root of the sum of the powers `norm_type` of each window of images."""

    _function = staticmethod(functional.lp_pool2d)


class LPPool3d(LPPool1d):
    """The root of the sum of the powers `norm_type` of each window of volumes."""

    _function = staticmethod(functional.lp_pool3d)


class AdaptiveAvgPool1d(Module):
    """The means of as many windows as `output_size` says.

    >>> rg.nn.AdaptiveAvgPool1d(2)(rg.tensor([[1.0, 2.0, 3.0, 4.0]]))
    tensor([[1.5, 3.5]])
    """

    _function = staticmethod(functional.adaptive_avg_pool1d)

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return self._function(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptiveAvgPool1d):
    """The means of windows of images: `output_size` is one number or (height, width), None to keep a size."""

    _function = staticmethod(functional.adaptive_avg_pool2d)


class AdaptiveAvgPool3d(AdaptiveAvgPool1d):
    """The means of windows of volumes: `output_size` is one number or (depth, height, width), None to keep a size."""

    _function = staticmethod(functional.adaptive_avg_pool3d)


class AdaptiveMaxPool1d(AdaptiveAvgPool1d):
    """The greatest numbers of as many windows as `output_size` says."""

    _function = staticmethod(functional.adaptive_max_pool1d)

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        return self._function(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The greatest numbers of windows of images: `output_size` is one number or (height, width), None to keep a size."""

    _function = staticmethod(functional.adaptive_max_pool2d)


class AdaptiveMaxPool3d(AdaptiveMaxPool1d):
    """The greatest numbers of boxes: `output_size` is one number or (depth, height, width), None to keep a size."""

    _function = staticmethod(functional.adaptive_max_pool3d)


class FractionalMaxPool2d(Module):
    """The greatest number of windows of one size at distances drawn at random, a given number of windows or a part of the size.

    >>> rg.nn.FractionalMaxPool2d(2, output_ratio=0.5)(rg.ones(1, 2, 9, 8)).shape
    (1, 2, 4, 4)
    """

    _function = staticmethod(functional.fractional_max_pool2d)

    def __init__(self, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
        super().__init__()
        self.kernel_size, self.output_size, self.output_ratio = kernel_size, output_size, output_ratio
        self.return_indices = return_indices
        self.register_buffer("_random_samples", None if _random_samples is None else asarray(_random_samples))

    def forward(self, input):
        return self._function(input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices,
                              self._random_samples)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, output_size={self.output_size}, output_ratio={self.output_ratio}"


class FractionalMaxPool3d(FractionalMaxPool2d):
    """`FractionalMaxPool2d` of volumes.

    >>> rg.nn.FractionalMaxPool3d(2, output_size=(4, 3, 2))(rg.ones(1, 2, 9, 8, 7)).shape
    (1, 2, 4, 3, 2)
    """

    _function = staticmethod(functional.fractional_max_pool3d)

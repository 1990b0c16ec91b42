"""Normalisation layers: batch, layer, group, instance and root-mean-square norm."""

from ..core.mode import is_repeating, no_grad
from ..errors import ArgumentError, ShapeError
from ..tensor.creation import asarray, ones, zeros
from . import functional, init
from .checks import check_counts
from .module import Module
from .parameter import Parameter


class _RunningNorm(Module):
    """Batch or instance norm: parameters and running statistics, one number per channel.

    `axes` are the numbers of axes that an input may have.
    """

    axes: tuple = ()
    #: Whether an input of the lower number of axes is one example, without the batch.
    is_of_one = False

    def __init__(self, num_features, eps, momentum, affine, track_running_stats, device, dtype, bias):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        self.weight = Parameter(ones(num_features, dtype=dtype, device=device)) if affine else None
        self.bias = Parameter(zeros(num_features, dtype=dtype, device=device)) if affine and bias else None
        for name, make in (("running_mean", zeros), ("running_var", ones)):
            self.register_buffer(name, make(num_features, dtype=dtype, device=device) if track_running_stats else None)
        self.register_buffer("num_batches_tracked", asarray(0) if track_running_stats else None)

    def reset_running_stats(self):
        """Forget the running statistics."""
        if self.track_running_stats:
            for buffer, value in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
                init.constant_(buffer, value)

    def reset_parameters(self):
        """Forget the running statistics, and scale by 1 again."""
        self.reset_running_stats()
        _reset(self)

    def _check_axes(self, x):
        if x.ndim not in self.axes:
            wanted = " or ".join(map(str, self.axes))
            raise ShapeError(f"{type(self).__name__} needs an input of {wanted} axes, got shape {tuple(x.shape)}")

    def _check(self, x):
        self._check_axes(x)
        axis = 0 if x.ndim < self.axes[-1] and self.is_of_one else 1
        if x.shape[axis] != self.num_features and (self.affine or self.track_running_stats):
            raise ShapeError(f"{type(self).__name__} needs an input of num_features={self.num_features} channels in axis {axis}, "
                             f"got {x.shape[axis]} in shape {tuple(x.shape)}")

    def _rate(self):
        """How far the running statistics go towards those of this batch; with momentum None they are means of all batches."""
        if not (self.training and self.track_running_stats):
            return 0.0
        with no_grad():
            if not is_repeating():
                self.num_batches_tracked[...] = self.num_batches_tracked + 1
            return self.momentum if self.momentum is not None else 1 / self.num_batches_tracked.astype(self.running_mean.dtype)

    def extra_repr(self):
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"track_running_stats={self.track_running_stats}")


class _BatchNorm(_RunningNorm):
    """Batch norm of any number of axes."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check(input)
        rate, uses_batch = self._rate(), self.training or self.running_mean is None
        kept = (self.running_mean, self.running_var) if self.track_running_stats else (None, None)
        return functional.batch_norm(input, *kept, self.weight, self.bias, uses_batch, rate, self.eps)


class BatchNorm1d(_BatchNorm):
    """Each channel of a batch, (batch, channels) or (batch, channels, length), brought to mean 0 and variance 1.

    While training, by the statistics of the batch, which running ones follow; after `eval()` by the running ones.

    >>> rg.nn.BatchNorm1d(3)(rg.randn(4, 3)).shape
    (4, 3)
    """

    axes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """`BatchNorm1d` of images, (batch, channels, height, width)."""

    axes = (4,)


class BatchNorm3d(_BatchNorm):
    """`BatchNorm1d` of volumes, (batch, channels, depth, height, width)."""

    axes = (5,)


class _InstanceNorm(_RunningNorm):
    """Instance norm of any number of axes; one example alone is taken as a batch."""

    is_of_one = True

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=False, track_running_stats=False, device=None, dtype=None, *,
                 bias=True):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input):
        self._check(input)
        if input.ndim == self.axes[0]:
            return self.forward(input[None])[0]
        uses_input = self.training or not self.track_running_stats
        return functional.instance_norm(input, self.running_mean, self.running_var, self.weight, self.bias, uses_input,
                                        self.momentum, self.eps)


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each example, (batch, channels, length), brought to mean 0 and variance 1.

    >>> rg.nn.InstanceNorm1d(3)(rg.randn(2, 3, 8)).shape
    (2, 3, 8)
    """

    axes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """`InstanceNorm1d` of images, (batch, channels, height, width)."""

    axes = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """`InstanceNorm1d` of volumes, (batch, channels, depth, height, width)."""

    axes = (4, 5)


class LayerNorm(Module):
    """Each vector of the last axes, of shape `normalized_shape`, brought to mean 0 and variance 1, times weight plus bias.

    >>> rg.nn.LayerNorm(4)(rg.randn(2, 3, 4)).shape
    (2, 3, 4)
    """

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        options: dict = {"dtype": dtype, "device": device}
        self.weight = Parameter(ones(self.normalized_shape, **options)) if elementwise_affine else None
        self.bias = Parameter(zeros(self.normalized_shape, **options)) if elementwise_affine and bias else None

    def reset_parameters(self):
        """Scale by 1 and shift by 0 again."""
        _reset(self)

    def forward(self, input):
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(Module):
    """Each vector of the last axes, of shape `normalized_shape`, divided by the root of its mean square, times weight.

    >>> rg.nn.RMSNorm(4)(rg.randn(2, 3, 4)).shape
    (2, 3, 4)
    """

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _as_tuple(normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = Parameter(ones(self.normalized_shape, dtype=dtype, device=device)) if elementwise_affine else None

    def reset_parameters(self):
        """Scale by 1 again."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Each of `num_groups` groups of the channels of each example brought to mean 0 and variance 1, times weight plus bias.

    >>> rg.nn.GroupNorm(3, 6)(rg.randn(2, 6, 4, 4)).shape
    (2, 6, 4, 4)
    """

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups:
            raise ArgumentError(f"num_groups must divide num_channels, got {num_groups} and {num_channels}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.weight = Parameter(ones(num_channels, dtype=dtype, device=device)) if affine else None
        self.bias = Parameter(zeros(num_channels, dtype=dtype, device=device)) if affine and bias else None

    def reset_parameters(self):
        """Scale by 1 and shift by 0 again."""
        _reset(self)

    def forward(self, input):
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"


class LocalResponseNorm(Module):
    """Each channel divided by what the `size` channels around it come to."""

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        check_counts(self, size=size)
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input):
        return functional.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _reset(layer):
    """Scale by 1 and shift by 0 again."""
    if layer.weight is not None:
        init.ones_(layer.weight)
    if layer.bias is not None:
        init.zeros_(layer.bias)


def _as_tuple(shape):
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)

"""Lazy layers, which learn from their first input how many features or channels there are."""

import inspect
from typing import Any

from ..core.mode import changed
from . import convolution, linear, normalization
from .module import Module
from .parameter import Parameter, Uninitialized, UninitializedBuffer, UninitializedParameter


class LazyModuleMixin(Module):
    """What makes a layer lazy: its first argument is left out, and follows from the first input or from weights that are loaded.

    Until then parameters and buffers have no shape; at the first call the module becomes one of the class `cls_to_become`, which
    stands beside this one among the bases. So call a model once, or load its state, before you make its optimizer.

    >>> layer = rg.nn.LazyLinear(2)
    >>> layer(rg.ones(5, 3)).shape, layer
    ((5, 2), Linear(in_features=3, out_features=2, bias=True))
    """

    #: The class that the module becomes.
    cls_to_become: Any = None

    def __init__(self, *args, **kwargs):
        given = inspect.signature(self.cls_to_become).bind(1, *args, **kwargs).arguments
        make: Any = super().__init__
        make(given.get("groups", 1), *args, **kwargs)
        self._size_name, self._given = next(iter(given)), (args, kwargs)
        setattr(self, self._size_name, 0)
        options = {name: kwargs.get(name) for name in ("device", "dtype")}
        for name, _ in self.own(Parameter):
            setattr(self, name, UninitializedParameter(**options))
        for name, buffer in self.own_buffers():
            if buffer.ndim:
                setattr(self, name, UninitializedBuffer(**options))

    def reset_parameters(self):
        """Nothing: there is nothing to draw before the first call."""

    def forward(self, input, *args, **kwargs):
        settle(self, input)
        return self.forward(input, *args, **kwargs)

    def has_uninitialized_params(self):
        """Whether a parameter or a buffer has no shape yet."""
        return any([isinstance(value, Uninitialized) for value in vars(self).values()])

    def size_for(self, x):
        """The argument that was left out, for the first input."""
        raise NotImplementedError("a lazy module needs a method size_for")


def settle(module, x):
    """Let `module` become what it is for inputs like `x`; one that is not lazy any more stays as it is."""
    if not isinstance(module, LazyModuleMixin):
        return
    size, (args, kwargs) = module.size_for(x), module._given  # noqa: SLF001 - of our own kind
    setattr(module, module._size_name, size)  # noqa: SLF001
    if module.has_uninitialized_params():
        with changed(tracer=None, records=False):
            made = module.cls_to_become(size, *args, **kwargs)
            for name, value in list(vars(module).items()):
                if isinstance(value, Uninitialized):
                    numbers = getattr(made, name)
                    value.materialize(numbers.shape)
                    value[...] = numbers
    del module._size_name, module._given  # noqa: SLF001
    module.__class__ = module.cls_to_become


class _ByLastAxis(LazyModuleMixin):
    def size_for(self, x):
        return x.shape[-1]


class _ByChannels(LazyModuleMixin):
    def size_for(self, x):
        return x.shape[-1 - self.axes]


class _BySecondAxis(LazyModuleMixin):
    def size_for(self, x):
        self._check_axes(x)
        return x.shape[1]


class _ByBatchedChannels(LazyModuleMixin):
    def size_for(self, x):
        self._check_axes(x)
        return x.shape[0 if x.ndim == self.axes[0] else 1]


class LazyLinear(_ByLastAxis, linear.Linear):
    """`Linear` without its first argument, in_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = linear.Linear


class LazyConv1d(_ByChannels, convolution.Conv1d):
    """`Conv1d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.Conv1d


class LazyConv2d(_ByChannels, convolution.Conv2d):
    """`Conv2d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.Conv2d


class LazyConv3d(_ByChannels, convolution.Conv3d):
    """`Conv3d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.Conv3d


class LazyConvTranspose1d(_ByChannels, convolution.ConvTranspose1d):
    """`ConvTranspose1d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.ConvTranspose1d


class LazyConvTranspose2d(_ByChannels, convolution.ConvTranspose2d):
    """`ConvTranspose2d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.ConvTranspose2d


class LazyConvTranspose3d(_ByChannels, convolution.ConvTranspose3d):
    """`ConvTranspose3d` without its first argument, in_channels, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = convolution.ConvTranspose3d


class LazyBatchNorm1d(_BySecondAxis, normalization.BatchNorm1d):
    """`BatchNorm1d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.BatchNorm1d


class LazyBatchNorm2d(_BySecondAxis, normalization.BatchNorm2d):
    """`BatchNorm2d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.BatchNorm2d


class LazyBatchNorm3d(_BySecondAxis, normalization.BatchNorm3d):
    """`BatchNorm3d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.BatchNorm3d


class LazyInstanceNorm1d(_ByBatchedChannels, normalization.InstanceNorm1d):
    """`InstanceNorm1d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.InstanceNorm1d


class LazyInstanceNorm2d(_ByBatchedChannels, normalization.InstanceNorm2d):
    """`InstanceNorm2d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.InstanceNorm2d


class LazyInstanceNorm3d(_ByBatchedChannels, normalization.InstanceNorm3d):
    """`InstanceNorm3d` without its first argument, num_features, which follows from the first input. See `LazyModuleMixin`."""

    cls_to_become = normalization.InstanceNorm3d

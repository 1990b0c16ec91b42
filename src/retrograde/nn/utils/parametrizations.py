"""Parametrizations: weights that are computed from other parameters each time that they are read.

To set such a weight is to set the parameters that it is computed from.
"""

from math import prod

from ...core.mode import no_grad
from ...errors import ArgumentError
from ...ops.axes.reductions import sum as summed
from ...ops.elementary.arithmetic import sqrt
from ...ops.elementary.comparisons import maximum
from ...ops.linalg.contractions import matmul
from ...ops.manipulation.movements import moveaxis, reshape
from ...shapes import one_axis
from ...tensor.random import randn
from ..convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from ..module import Module
from ..parameter import Parameter
from .orthogonal import orthogonal
from .parametrized import parametrized

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


def weight_norm(module, name="weight", dim=0):
    r"""Let a weight be a direction times a length, $w = g\, v / \lVert v \rVert$ (Salimans and Kingma, 2016); returns `module`.

    The lengths are those along all axes but `dim`, which counts from the end if it is negative; None takes one length for the
    whole weight. Both are parameters, which `state_dict` calls `parametrizations.weight.original0` and `original1`.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(3, 2))
    >>> layer.parametrizations.weight.original0.shape
    (2, 1)
    """
    return parametrized(module, name, lambda weight: _WeightNorm(weight, dim))


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    r"""Let a weight be divided by its greatest singular value (Miyato et al., 2018); returns `module`.

    The weight is taken as a matrix with one row for each index along `dim` (1 for transposed convolutions, else 0). Its singular
    vectors are followed by `n_power_iterations` steps of the power method at each reading in training; they are the buffers
    `parametrizations.weight.0._u` and `_v`, beside the parameter `parametrizations.weight.original`.
    """
    if n_power_iterations < 1:
        raise ArgumentError(f"spectral_norm needs n_power_iterations of at least 1, got {n_power_iterations}")
    if dim is None:
        dim = 1 if isinstance(module, (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else 0
    return parametrized(module, name, lambda weight: _Originals(weight, _SpectralNorm(weight, n_power_iterations, dim, eps)))


class _WeightNorm(Module):
    """A weight from its lengths (`original0`) and its direction (`original1`)."""

    def __init__(self, weight, dim):
        super().__init__()
        left = None if dim is None else one_axis(dim, weight.ndim)
        self._axes = () if left is None else tuple([i for i in range(weight.ndim) if i != left])
        with no_grad():
            self.original0 = Parameter(self._lengths(weight))
        self.original1, self.shape = Parameter(weight.detach()), weight.shape

    def _lengths(self, weight):
        return sqrt(summed(weight * weight, axis=self._axes, keepdims=True)) if self._axes else sqrt(summed(weight * weight))

    def forward(self):
        direction = self.original1
        return direction * (self.original0 / self._lengths(direction))

    def assign(self, weight):
        """Let the weight be `weight` from here on."""
        self.original0[...], self.original1[...] = self._lengths(weight), weight


class _Originals(Module):
    """A weight that a module, named "0", makes of the parameter `original`."""

    def __init__(self, weight, made):
        super().__init__()
        self.original, self.shape = Parameter(weight.detach()), weight.shape
        self.add_module("0", made)

    def forward(self):
        return vars(self)["0"](self.original)

    def assign(self, weight):
        """Let the weight be made of `weight` from here on."""
        self.original[...] = weight


class _SpectralNorm(Module):
    """A weight divided by its greatest singular value."""

    def __init__(self, weight, steps, dim, eps):
        super().__init__()
        self._steps, self._dim, self._eps = steps, dim, eps
        if weight.ndim > 1:
            rows = weight.shape[one_axis(dim, weight.ndim)]
            for name, size in (("_u", rows), ("_v", prod(weight.shape) // rows)):
                self.register_buffer(name, self._unit(randn(size).astype(weight.dtype)))
            self._follow(self._matrix(weight.detach()), 15)

    def _matrix(self, weight):
        moved = moveaxis(weight, self._dim, 0)
        return reshape(moved, (moved.shape[0], -1))

    def _unit(self, vector):
        return vector / maximum(sqrt(summed(vector * vector)), self._eps)

    def _follow(self, matrix, steps):
        """Steps of the power method, which write to the buffers."""
        with no_grad():
            for _ in range(steps):
                self._u[...] = self._unit(matmul(matrix, self._v))
                self._v[...] = self._unit(matmul(matrix.T, self._u))

    def forward(self, weight):
        if weight.ndim < 2:
            return self._unit(weight)
        matrix = self._matrix(weight)
        if self.training:
            self._follow(matrix.detach(), self._steps)
        # Copies: a later reading must not change what the derivative of this one reads.
        left, right = self._u.clone(), self._v.clone()
        return weight / matmul(left, matmul(matrix, right))

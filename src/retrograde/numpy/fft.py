"""The names of np.fft, differentiable."""

from numpy import fft as _fft

from . import _differentiable

globals().update(_differentiable.namespace(_fft))

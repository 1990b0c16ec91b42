"""The names of np.linalg, differentiable."""

from numpy import linalg as _linalg

from . import _differentiable

globals().update(_differentiable.namespace(_linalg))

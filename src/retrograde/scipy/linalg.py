"""The names of scipy.linalg, differentiable where NumPy's or ours are."""

from ..extras import optional
from ..numpy._differentiable import namespace
from ._linalg import chosen

globals().update(namespace(optional("scipy.linalg", "scipy"), chosen))

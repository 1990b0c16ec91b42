"""Transforming: which discrete Fourier transforms have kernels, and what they are told."""

from math import prod, sqrt
from typing import NamedTuple

from ..core.symbol import Symbol
from ..dtypes import name_of, parts_dtype

#: For each op: whether it reads and makes real numbers, the sign of its exponents, and the norm with which it divides.
_OPS = {"transform_axes": (False, False, -1, "forward"), "inverse_transform_axes": (False, False, 1, "backward"),
        "real_transform": (True, False, -1, "forward"), "inverse_real_transform": (False, True, 1, "backward")}
#: The most numbers that a vector holds.
_LANES = {"float32": 16, "float64": 8}
#: Lines of a length with other factors are transformed by NumPy, and so are longer ones, which no cache holds in vectors.
_FACTORS, _LONGEST = (4, 2, 3, 5, 7, 11, 13), 1 << 14


class Transform(NamedTuple):
    """Transforms of lines of `size` numbers: `outer` times `inner` lines, whose numbers lie `inner` apart."""

    dtype: str
    is_from_real: bool
    is_to_real: bool
    sign: int
    scale: float
    size: int
    outer: int
    inner: int

    @property
    def halved(self):
        """The length of the complex line that is transformed: real ones are seen as half as many complex numbers."""
        return self.size // 2 if self.is_from_real or self.is_to_real else self.size

    @property
    def factors(self):
        """The factors of that length."""
        return factors_of(self.halved)


def factors_of(size):
    """The factors of a length, None where there is another one than kernels know."""
    found = []
    for factor in _FACTORS:
        while size % factor == 0:
            found.append(factor)
            size //= factor
    return tuple(found) if size == 1 else None


def is_transform(node):
    """Whether a node is a transform that has a kernel."""
    return node.op.name in _OPS and transform_of(node) is not None


def transform_of(node):
    """The `Transform` that a node is; None where NumPy computes it."""
    known = _OPS.get(node.op.name)
    x = node.args[0] if known else None
    if not isinstance(x, Symbol) or name_of(parts_dtype(x.dtype)) not in ("float32", "float64"):
        return None
    is_from_real, is_to_real, sign, dividing = known
    axis, norm = _axis_and_norm(node)
    if axis is None or (x.dtype.kind == "f") is not is_from_real or x.dtype.kind not in "fc":
        return None
    axis %= x.ndim
    size = node.shape[axis] if is_to_real else x.shape[axis]
    scale = 1 / size if norm == dividing else 1 / sqrt(size) if norm == "ortho" else 1.0
    dtype = name_of(parts_dtype(x.dtype))
    found = Transform(dtype, is_from_real, is_to_real, sign, scale, size, prod(x.shape[:axis]), prod(x.shape[axis + 1 :]))
    return found if _has_kernel(found) else None


def _axis_and_norm(node):
    """The only axis of a transform, None where there are several, and its norm."""
    axis, norm = node.args[-2:]
    if isinstance(axis, (tuple, list)):
        axis = axis[0] if len(axis) == 1 else None
    return axis, norm or "backward"


def _has_kernel(transform):
    """Whether a line is of a length that kernels know; one of real numbers is seen as complex ones, two at a time."""
    is_real = transform.is_from_real or transform.is_to_real
    if is_real and (transform.size % 2 or transform.size == 2 and not has_many_lines(transform)):
        return False
    return 2 <= transform.size <= _LONGEST and transform.factors is not None


def has_many_lines(transform):
    """Whether there are enough lines, and lines are long enough, for whole vectors with a line in each lane."""
    lanes = _LANES[transform.dtype]
    if transform.inner > 1:
        return transform.inner >= lanes
    return transform.outer >= lanes and transform.size * (1 if transform.is_from_real or transform.is_to_real else 2) >= lanes

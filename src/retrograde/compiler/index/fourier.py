"""Fourier transforms as code generation is told of them."""

from typing import NamedTuple

#: The most numbers that a vector holds.
_LANES = {"float32": 16, "float64": 8}
#: The factors of a length that there is code for.
_FACTORS = (4, 2, 3, 5, 7, 11, 13)


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


def has_many_lines(transform):
    """Whether there are enough lines, and lines are long enough, for whole vectors with a line in each lane."""
    lanes = _LANES[transform.dtype]
    if transform.inner > 1:
        return transform.inner >= lanes
    return transform.outer >= lanes and transform.size * (1 if transform.is_from_real or transform.is_to_real else 2) >= lanes

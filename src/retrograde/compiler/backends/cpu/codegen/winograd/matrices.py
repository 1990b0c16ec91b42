"""The transforms of Winograd's convolutions, from the points at which polynomials are met (Toom and Cook), in exact fractions.

y = A^T [(G g) * (B^T d)] are m numbers of a filter of r numbers g over n = m + r - 1 numbers d. In two dimensions each matrix is on
both sides: A^T [(G g G^T) * (B^T d B)] A.
"""

from fractions import Fraction
from functools import cache
from math import prod
from typing import NamedTuple

#: Numbers of a filter along each side.
TAPS = 3
#: Finite points for n numbers, and the infinite one beside them. Small ones, and their negatives and inverses, since errors
#: grow with the powers of them: B. Barabasz et al., Error Analysis and Improving the Accuracy of Winograd Convolution, ACM TOMS
#: 46(4), 2020.
_POINTS = {4: (0, 1, -1), 6: (0, 1, -1, Fraction(1, 2), -2)}


class Matrices(NamedTuple):
    """Rows of fractions: B^T (n x n) of the image, G (n x r) of the kernel, A^T (m x n) of the result."""

    image: tuple
    kernel: tuple
    result: tuple


@cache
def matrices(results):
    """The transforms for so many results along each side."""
    size = results + TAPS - 1
    points = [Fraction(point) for point in _POINTS[size]]
    # A product of polynomials of degrees m - 1 and r - 1 is known by its values at n - 1 points and its highest coefficient:
    # Lagrange. What computes the sums of a filter is the transpose of that.
    others = [[q for q in points if q != p] for p in points]
    image = [*[_product(rest) for rest in others], _product(points)]
    scales = [prod([p - q for q in rest]) for p, rest in zip(points, others, strict=True)]
    kernel = [[p**k / scale for k in range(TAPS)] for p, scale in zip(points, scales, strict=True)]
    kernel.append([Fraction(k == TAPS - 1) for k in range(TAPS)])
    columns = [[p**i for i in range(results)] for p in points] + [[Fraction(i == results - 1) for i in range(results)]]
    padded = [row + [Fraction(0)] * (size - len(row)) for row in image]
    return Matrices(_rows(padded), _rows(kernel), _rows(transposed(columns)))


def transposed(matrix):
    """The columns of a matrix as rows."""
    return tuple(zip(*matrix, strict=True))


def _rows(matrix):
    return tuple([tuple(row) for row in matrix])


def _product(roots):
    """The coefficients of the product of x - r over some r, those of low powers first."""
    found = [Fraction(1)]
    for root in roots:
        found = [low - root * high for low, high in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found

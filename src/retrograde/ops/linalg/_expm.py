"""The exponential of matrices and its derivatives of any order, by scaling and squaring.

The method is that of Al-Mohy and Higham ("A new scaling and squaring algorithm for the matrix exponential", 2009), with the Padé
approximant of order 13. How often a matrix is halved is told by its powers: that of one which is far from normal is often much
smaller than its norm says, and each halving too many costs digits. The diagonal of triangular matrices, and the one beside it, are
computed by themselves after each squaring (their Code Fragment 2.1).

Derivatives come from the same steps in another algebra: x + a e + b f with numbers a and b whose squares are zero. A matrix of it
is a list of its parts by the numbers that they belong to, as bits: x, e, f and that of a b. A part that is zero is None.
"""

from itertools import pairwise
from typing import Any

import numpy as np

#: Over the first, so that they do not overflow where the matrix nearly does.
_PADE = np.array((64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
                  670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1)) / 64764752532480000
#: Up to here the approximant is right to double precision, with its derivative, and has a denominator that is far from singular.
_RADIUS = 4.25
#: The first term of its error is a power of the matrix over this.
_ERROR, _ERROR_POWER = 113250775606021113483283660800000000.0, 27
_ROUNDING = 2.0**-53


def exponential(x, e=None):
    """The exponential of the matrices in the last two axes of a float array.

    With `e`, its derivative at `x` in all directions that `e` has along its third axis from the end, one order for each.
    """
    x = x.astype(np.float64) if x.dtype.kind in "iub" else x
    if x.size == 0:
        return np.zeros_like(x)
    directions = [] if e is None else [e[..., i, :, :] for i in range(e.shape[-3])]
    parts: list = [None] * (1 << len(directions))
    parts[0] = x.reshape(-1, *x.shape[-2:])
    for i, direction in enumerate(directions):
        parts[1 << i] = direction.reshape(parts[0].shape)
    with np.errstate(all="ignore"):
        return _of_stack(parts)[-1].reshape(x.shape)


def _of_stack(parts):
    below = np.tril(parts[0], -1).any((-2, -1))
    is_lower = below & ~np.triu(parts[0], 1).any((-2, -1))
    if is_lower.any():
        turned = _of_stack([None if part is None else _turned(part, is_lower) for part in parts])
        return [_turned(part, is_lower) for part in turned]
    halvings, powers = _scaled(parts)
    result = _approximant(_doubled(parts, -halvings), powers)
    is_upper = ~below
    for step in range(int(halvings.max(initial=0)) + 1):
        if step:
            is_due = step <= halvings
            squares = _product(result, result)
            result = [np.where(is_due[:, None, None], square, part) for square, part in zip(squares, result, strict=True)]
        if is_upper.any():
            _set_diagonals(result[0], _doubled(parts[:1], np.minimum(step - halvings, 0))[0], is_upper)
    return result


def _turned(x, is_turned):
    return np.where(is_turned[:, None, None], np.swapaxes(x, -1, -2), x)


def _scaled(parts):
    """How often each matrix is to be halved, and the powers 2, 4 and 6 of the matrices after that."""
    size, powers = _size(parts[0]), _powers(parts)
    is_known, before = np.isfinite(size), np.zeros(len(size), int)
    is_great = is_known & ~np.isfinite([_size(power[0]) for power in powers]).all(0)
    if is_great.any():
        before = np.where(is_great, np.maximum(np.frexp(size)[1] - np.finfo(size.dtype).maxexp // 10 + 1, 0), 0)
        powers = _powers(_doubled(parts, -before))
    halvings = np.zeros(len(size), int)
    is_great = is_known & (size > _RADIUS)
    if is_great.any():
        _, fourth, sixth = [power[:1] for power in powers]
        orders = (4, fourth), (6, sixth), (8, _product(fourth, fourth)), (10, _product(fourth, sixth))
        roots = [np.log2(_size(power[0])) / n for n, power in orders]
        needed = before + np.ceil(np.minimum.reduce([np.maximum(*pair) for pair in pairwise(roots)]) - np.log2(_RADIUS))
        halvings = np.where(is_great & (needed > 0), needed, 0).astype(int)
        halvings += np.where(is_great, _more(parts[0], size, halvings), 0)
    return halvings, [_doubled(power, n * (before - halvings)) for n, power in zip((2, 4, 6), powers, strict=True)]


def _powers(x):
    second = _product(x, x)
    fourth = _product(second, second)
    return second, fourth, _product(second, fourth)


def _more(x, size, halvings):
    """How many halvings more the sizes of the elements ask for, where errors of rounding could be greater than powers tell."""
    size = np.log2(size)
    if (size - halvings <= np.log2(_RADIUS)).all():
        return 0
    near_one: Any = _doubled([x], -np.ceil(size).astype(int))[0]
    sizes, row, scale = np.abs(near_one), np.ones((len(x), 1, x.shape[-1])), np.zeros(len(x))
    for _ in range(_ERROR_POWER):
        row = row @ sizes
        greatest = row.max((-2, -1))
        row, scale = row / np.where(greatest > 0, greatest, 1)[:, None, None], scale + np.log2(greatest)
    error = scale + _ERROR_POWER * (np.ceil(size) - halvings) - (size - halvings) - np.log2(_ERROR * _ROUNDING)
    return np.where(error > 0, np.ceil(error / (_ERROR_POWER - 1)), 0).astype(int)


def _size(x):
    """The greatest sum of sizes over a column, of each matrix."""
    return np.abs(x).sum(-2).max(-1)


def _doubled(parts, times):
    """Matrices times 2 to the power of `times`, which may be more than a float holds."""
    half = times // 2
    factors = [(2.0**share)[:, None, None] for share in (half, times - half)]
    return [None if part is None else (part * factors[0] * factors[1]).astype(part.dtype) for part in parts]


def _product(x, y):
    found: list = [None] * len(x)
    for i, left in enumerate(x):
        for j, right in enumerate(y):
            if left is not None and right is not None and not i & j:
                found[i | j] = left @ right if found[i | j] is None else found[i | j] + left @ right
    return found


def _combined(numbers, *operands):
    """The sum of numbers times matrices, the first number that of the identity."""
    found: list = [None] * len(operands[0])
    for number, parts in zip(numbers[1:], operands, strict=True):
        for i, part in enumerate(parts):
            if part is not None:
                found[i] = part.dtype.type(number) * part if found[i] is None else found[i] + part.dtype.type(number) * part
    found[0] = found[0] + found[0].dtype.type(numbers[0]) * np.eye(found[0].shape[-1], dtype=found[0].dtype)
    return found


def _sum(x, y, sign=1):
    return [a if b is None else sign * b if a is None else a + sign * b for a, b in zip(x, y, strict=True)]


def _approximant(x, powers):
    b, (x2, x4, x6) = _PADE, powers
    odd = _sum(_product(x6, _combined((0, b[9], b[11], b[13]), x2, x4, x6)), _combined((b[1], b[3], b[5], b[7]), x2, x4, x6))
    even = _sum(_product(x6, _combined((0, b[8], b[10], b[12]), x2, x4, x6)), _combined((b[0], b[2], b[4], b[6]), x2, x4, x6))
    odd = _product(x, odd)
    return _solution(_sum(even, odd, -1), _sum(even, odd))


def _solution(x, y):
    found: list = []
    for i, right in enumerate(y):
        rest = right
        for j, part in enumerate(found):
            if part is not None and i & j == j and x[i ^ j] is not None:
                known = x[i ^ j] @ part
                rest = -known if rest is None else rest - known
        found.append(None if rest is None else np.linalg.solve(x[0], rest))
    return found


def _set_diagonals(result, x, is_upper):
    """Write the exponentials of triangular matrices `x` on the diagonal, and their exact neighbours above it, into `result`."""
    places, above = np.arange(x.shape[-1]), np.arange(x.shape[-1] - 1)
    diagonal = x[:, places, places][is_upper]
    first, second = diagonal[:, :-1], diagonal[:, 1:]
    greater = np.where(first.real >= second.real, first, second)
    lower = np.where(first.real >= second.real, second, first)
    apart = lower - greater
    quotient = np.where(apart == 0, 1, np.expm1(apart) / np.where(apart == 0, 1, apart))
    rows = np.flatnonzero(is_upper)[:, None]
    result[rows, places, places] = np.exp(diagonal)
    result[rows, above, above + 1] = np.exp(greater) * quotient * x[:, above, above + 1][is_upper]

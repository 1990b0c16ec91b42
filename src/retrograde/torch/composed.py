"""Functions that are composed of others in a line or two."""

import itertools
import math
from typing import Any

import numpy as np

from ..core.value import Value
from ..ops.axes import finding
from ..ops.elementary.comparisons import where
from ..ops.manipulation import movements
from ..ops.special import incomplete
from . import kinds, linalg, shapes
from .differing import axes
from .kinds import operand
from .reductions import RETURN_TYPES

__all__ = ["broadcast_to", "bucketize", "chain_matmul", "cholesky_inverse", "cholesky_solve", "clamp_max", "clamp_min",
           "combinations",
           "corrcoef", "cov", "cumulative_trapezoid", "deg2rad", "diagflat", "dist", "dsplit", "dstack", "fliplr", "flipud", "gcd",
           "heaviside", "histc", "hsplit", "igamma", "igammac", "isneginf", "isposinf", "isreal", "lcm", "ldexp", "logaddexp2",
           "logcumsumexp", "msort", "nan_to_num", "nanmean", "nanmedian", "rad2deg", "ravel", "renorm", "rot90", "rsub",
           "searchsorted",
           "trapezoid", "trapz", "unique_consecutive", "vsplit"]


def _made(array):
    return kinds.arrays.made(np.asarray(array), None, kinds.TorchTensor.kind)


def clamp_min(input, min):
    """No element below a bound."""
    return operand(input).clamp(min=min)


def clamp_max(input, max):
    """No element above a bound."""
    return operand(input).clamp(max=max)


def broadcast_to(input, size):
    """The tensor repeated, without a copy, to a shape."""
    return shapes.expand(input, tuple(size))


def ravel(input):
    """The elements along one axis."""
    return movements.reshape(operand(input), (-1,))


def deg2rad(input):
    """Degrees as radians."""
    return operand(input) * (math.pi / 180)


def rad2deg(input):
    """Radians as degrees."""
    return operand(input) * (180 / math.pi)


def rsub(input, other, *, alpha=1):
    """`other - alpha * input`."""
    return other - (operand(input) if alpha == 1 else operand(input) * alpha)


def ldexp(input, other):
    """`input * 2 ** other`."""
    return operand(input) * kinds.floating(operand(other)).exp2()


def logaddexp2(input, other):
    """The logarithm to base 2 of `2 ** input + 2 ** other`."""
    x, y = kinds.promoted(operand(input), other)
    return (x * math.log(2)).logaddexp(y * math.log(2)) / math.log(2)


def logcumsumexp(input, dim):
    """The logarithm of the sums so far of exponentials."""
    x = kinds.floating(operand(input))
    most = x.detach().cummax(dim).values if x.ndim else x.detach()
    most = where(most.isfinite(), most, 0.0)
    # Shifted by the greatest of all, sums so far of small numbers would vanish: so each row of a triangle has its own.
    if not x.ndim:
        return x
    moved = x.movedim(dim, -1)
    wide = shapes.expand(moved.unsqueeze(-2), (*moved.shape, moved.shape[-1]))
    mask = _made(np.tri(moved.shape[-1], dtype=bool))
    return where(mask, wide, -math.inf).logsumexp(-1).movedim(-1, dim)


def heaviside(input, values):
    """0 below 0, 1 above it, and `values` at 0."""
    x = operand(input)
    return where(x == 0, values, (x > 0).to(x.dtype))


def nan_to_num(input, nan=0.0, posinf=None, neginf=None):
    """Numbers in place of those that are unknown or infinite."""
    x = operand(input)
    if not x.is_floating_point():
        return x.clone()
    limits = np.finfo(x.dtype) if x.dtype.kind == "f" else None
    most = (3.3895313892515355e38 if limits is None else float(limits.max)) if posinf is None else posinf
    least = (-3.3895313892515355e38 if limits is None else float(limits.min)) if neginf is None else neginf
    x = where(x != x, 0.0 if nan is None else nan, x)
    return where(x == math.inf, most, where(x == -math.inf, least, x))


def isposinf(input):
    """Where elements are infinite and positive."""
    return operand(input) == math.inf


def isneginf(input):
    """Where elements are infinite and negative."""
    return operand(input) == -math.inf


def isreal(input):
    """Where elements have no imaginary part."""
    x = operand(input)
    return x.imag == 0 if x.is_complex() else x == x if not x.is_floating_point() else x.isnan() | (x == x)


def nanmean(input, dim=None, keepdim=False, *, dtype=None):
    """The mean of the elements that are known."""
    x = operand(input) if dtype is None else operand(input).to(dtype)
    known = (x == x).to(x.dtype)
    return x.nansum(dim, keepdim) / known.sum(axes(dim, x), keepdim)


def nanmedian(input, dim=None, keepdim=False):
    """The lower one of the two elements in the middle of those that are known."""
    x = operand(input)
    if dim is None:
        flat = ravel(x)
        return flat[flat == flat].median() if (flat == flat).any() else flat.sum()
    if not x.ndim:
        return x.median(dim, keepdim)
    places = x.argsort(dim)  # what is unknown comes last
    known = (x == x).sum(dim, keepdim=True)
    middle = ((known - 1).clamp(min=0)) // 2
    at = places.take_along_dim(middle, dim)
    values = x.take_along_dim(at, dim)
    return RETURN_TYPES["nanmedian"](*((values, at) if keepdim else (values.squeeze(dim), at.squeeze(dim))))


def dist(input, other, p=2):
    """The norm of the difference."""
    return (operand(input) - other).norm(p)


def igamma(input, other):
    """The lower incomplete gamma function, regularised."""
    return incomplete.gammainc(operand(input), other)


def igammac(input, other):
    """The upper incomplete gamma function, regularised."""
    return incomplete.gammaincc(operand(input), other)


def gcd(input, other):
    """The greatest common divisor of integers."""
    return _made(np.gcd(operand(input).numpy(), operand(other).numpy()))


def lcm(input, other):
    """The least common multiple of integers."""
    return _made(np.lcm(operand(input).numpy(), operand(other).numpy()))


def fliplr(input):
    """Columns in the opposite order."""
    return shapes.flip(input, 1)


def flipud(input):
    """Rows in the opposite order."""
    return shapes.flip(input, 0)


def rot90(input, k=1, dims=(0, 1)):
    """The tensor turned by so many quarters in the plane of two axes."""
    x, (first, second) = operand(input), dims
    k %= 4
    if k == 2:
        return shapes.flip(x, first, second)
    return x if k == 0 else shapes.flip(x, second).transpose(first, second) if k == 1 else shapes.flip(
        x.transpose(first, second), second)


def hsplit(input, indices_or_sections):
    """Pieces along the second axis, or the only one."""
    return shapes.tensor_split(input, indices_or_sections, 1 if input.ndim > 1 else 0)


def vsplit(input, indices_or_sections):
    """Pieces along the first axis."""
    return shapes.tensor_split(input, indices_or_sections, 0)


def dsplit(input, indices_or_sections):
    """Pieces along the third axis."""
    return shapes.tensor_split(input, indices_or_sections, 2)


def dstack(tensors):
    """The tensors one behind the other along the third axis."""
    return shapes.cat([shapes.atleast_3d(t) for t in tensors], 2)


def msort(input):
    """The elements in order along the first axis."""
    return operand(input).sort(0).values


def diagflat(input, offset=0):
    """A matrix with the elements along a diagonal."""
    return shapes.diag_embed(ravel(input), offset)


def renorm(input, p, dim, maxnorm):
    """The slices along `dim` whose norm is above `maxnorm`, brought down to it."""
    x = operand(input)
    rest = [i for i in range(x.ndim) if i != dim % x.ndim]
    size = x.norm(p, rest, True)
    return x * where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)


def searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None):
    """The places in an ordered vector at which elements could stand."""
    side = side or ("right" if right else "left")
    if sorter is not None:
        sorted_sequence = operand(sorted_sequence).gather(-1, sorter)
    line, given = operand(sorted_sequence), input if isinstance(input, Value) else _made(np.asarray(input))
    if line.ndim != 1:
        count = math.prod(line.shape[:-1])
        rows = zip(line.detach().numpy().reshape(count, -1 if line.numel() else 0),
                   given.detach().numpy().reshape(count, -1 if given.numel() else 0), strict=True)
        found = [np.searchsorted(row, x, side) for row, x in rows]
        found = _made(np.reshape(found, tuple(given.shape)).astype(np.int64))
    else:
        found = kinds.tensor_of(finding.searchsorted(line, given, side))
    found = found if isinstance(input, Value) else found.reshape(np.shape(input))
    return found.to("int32" if out_int32 else "int64")


def bucketize(input, boundaries, *, out_int32=False, right=False):
    """For each element between which boundaries it lies."""
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def histc(input, bins=100, min=0, max=0):
    """How many elements lie in each of so many parts of equal width."""
    x = operand(input).detach().numpy()
    low, high = (min, max) if min != max else (x.min(), x.max()) if x.size else (0, 0)
    low, high = (low - 1, high + 1) if low == high else (low, high)
    return _made(np.histogram(x, bins, (low, high))[0].astype(x.dtype))


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    """The elements without those that equal the one before."""
    x = ravel(input).detach().numpy() if dim is None else np.moveaxis(operand(input).detach().numpy(), dim, 0)
    rows = x.reshape(len(x), math.prod(x.shape[1:]))
    starts = np.flatnonzero(np.concatenate([[True], (rows[1:] != rows[:-1]).any(1)])) if len(x) else np.zeros(0, int)
    parts = [_made(x[starts] if dim is None else np.moveaxis(x[starts], 0, dim))]
    if return_inverse:
        found = np.searchsorted(starts, np.arange(len(x)), "right") - 1
        parts.append(_made(found.reshape(input.shape) if dim is None else found))
    if return_counts:
        parts.append(_made(np.diff(np.append(starts, len(x)))))
    return parts[0] if len(parts) == 1 else tuple(parts)


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral over `dim` by trapezoids."""
    return _trapezoids(operand(y, "y"), x, dx, dim).sum(dim)


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integrals so far over `dim` by trapezoids."""
    return _trapezoids(operand(y, "y"), x, dx, dim).cumsum(dim)


def _trapezoids(y, x, dx, dim):
    y, x, count = kinds.floating(y), x if x is None else kinds.floating(x), y.shape[dim]
    means = (y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)) / 2 if count else y
    if x is None:
        return means * dx
    steps = x.diff(dim=dim if x.ndim > 1 else 0)
    return means * (steps if x.ndim > 1 or dim in (-1, y.ndim - 1) else steps.reshape((-1,) + (1,) * (y.ndim - 1 - dim % y.ndim)))


trapz = trapezoid


def cov(input, *, correction=1, fweights: Any = None, aweights: Any = None):
    """The covariances of the rows."""
    x = shapes.at_least(operand(input), 2)
    x = x if x.dtype.kind in "fcV" else kinds.floating(x)
    if fweights is None and aweights is None:
        centred = x - x.mean(1, True)
        return (centred @ centred.mT.conj() / max(x.shape[1] - correction, 0)).squeeze()
    weights = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    total = weights.sum()
    centred = x - (x * weights).sum(1, True) / total
    less = correction if aweights is None else correction * (weights * aweights).sum() / total
    return ((centred * weights) @ centred.mT.conj() / (total - less).clamp(min=0)).squeeze()


def corrcoef(input):
    """The correlations of the rows."""
    found = cov(input)
    if not found.ndim:
        return found / found
    spread = found.diagonal().sqrt()
    return found / (spread.unsqueeze(0) * spread.unsqueeze(1))


def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a vector, a row for each."""
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(choose(range(len(input)), r))
    return operand(input)[np.array(rows, int).reshape(len(rows), r)]


def chain_matmul(*matrices):
    """The product of matrices."""
    return linalg.multi_dot(list(matrices))


def cholesky_solve(B, L, upper=False):
    """X in A X = B, where `L` is the triangular factor of A."""
    low = L.mT.conj() if upper else L
    return linalg.solve_triangular(low.mT.conj(), linalg.solve_triangular(low, B, upper=False), upper=True)


def cholesky_inverse(L, upper=False):
    """The inverse of the matrix whose triangular factor `L` is."""
    return cholesky_solve(_made(np.broadcast_to(np.eye(L.shape[-1], dtype=L.dtype), L.shape)), L, upper)

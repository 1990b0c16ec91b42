"""Reductions, ranks and running extremes in PyTorch's spelling: unbiased spreads, and named results where there are two."""

from collections import namedtuple

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError, ShapeError
from ..ops.axes import finding, rankings, reductions, running, searches, sorting, spreads
from ..ops.axes.running import diff as running_diff
from ..ops.linalg.norms import matrix_norm
from ..ops.manipulation import gathering, joins, movements
from ..shapes import one_axis
from . import kinds
from .differing import axes, scalars
from .kinds import operand


def _named(name, *fields):
    return type(name, (namedtuple(name, fields or ("values", "indices")),), {
        "__slots__": (), "__module__": "retrograde.torch.return_types", "__repr__": _told})


def _told(found):
    parts = ",\n".join([f"{field}={getattr(found, field)!r}" for field in found._fields])  # noqa: SLF001 - public, as of namedtuples
    return f"torch.return_types.{type(found).__name__}(\n{parts})"


#: What functions with two results return, by their names.
RETURN_TYPES = {name: _named(name) for name in ("max", "min", "sort", "topk", "median", "nanmedian", "mode", "kthvalue", "cummax",
                                                "cummin")}
RETURN_TYPES["aminmax"] = _named("aminmax", "min", "max")


def _spread(function):
    def spread(input, dim=None, unbiased=None, keepdim=False, *, correction=None, axis=None, keepdims=None):
        if isinstance(dim, bool):  # x.var(False)
            dim, unbiased = None, dim
        if correction is not None and unbiased is not None:
            raise ArgumentError("unbiased and correction say the same; pass one of the two")
        correction = (1 if unbiased in (None, True) else 0) if correction is None else correction
        found = axes(dim if axis is None else axis, operand(input))
        return function(operand(input), found, keepdim if keepdims is None else keepdims, correction)

    spread.__name__, spread.__doc__ = function.__name__, (
        f"`{function.__name__}` over n - 1, unless `unbiased=False` or `correction=`.")
    return spread


var, std = _spread(spreads.var), _spread(spreads.std)


def _with_mean(name, function):
    def both(input, dim=None, unbiased=None, keepdim=False, *, correction=None):
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        return function(input, dim, unbiased, keepdim, correction=correction), reductions.mean(
            operand(input), axes(dim, operand(input)), keepdim)

    both.__name__, both.__doc__ = name, f"What `{function.__name__}` gives, and the mean."
    return both


var_mean, std_mean = _with_mean("var_mean", var), _with_mean("std_mean", std)


def _extreme(name, reduce, place, meet):
    kind = RETURN_TYPES[name]

    def extreme(input, dim=None, keepdim=False, *, other=None, axis=None, keepdims=None):
        other, dim = (dim, None) if isinstance(dim, Value) else (other, dim if axis is None else axis)
        input, keepdim = operand(input), keepdim if keepdims is None else keepdims
        if other is not None:
            return meet(*kinds.promoted(input, other))
        if dim is None:
            return reduce(input)
        return _along(kind, input, place(input, dim, True), dim, keepdim)

    extreme.__name__ = name
    extreme.__doc__ = (f"The {name} of all elements; with `dim` a pair of `values` and `indices`; of another tensor as well, "
                       "element by element.")
    return extreme


def _along(kind, input, places, dim, keepdim):
    """The elements at `places` along `dim`, and these, with or without that axis."""
    values = gathering.take_along_axis(input, places, dim) if input.ndim else input
    if not keepdim and input.ndim:
        values, places = movements.squeeze(values, dim), movements.squeeze(places, dim)
    return kind(values, places)


def make_extremes(maximum, minimum):
    """`max` and `min`."""
    return (_extreme("max", reductions.max, searches.argmax, maximum), _extreme("min", reductions.min, searches.argmin, minimum))


def amax(input, dim=None, keepdim=False):
    """The greatest elements over `dim`; those that are equal share the gradient."""
    return reductions.max(operand(input), axes(dim, operand(input)), keepdim)


def amin(input, dim=None, keepdim=False):
    """The smallest elements over `dim`; those that are equal share the gradient."""
    return reductions.min(operand(input), axes(dim, operand(input)), keepdim)


def aminmax(input, *, dim=None, keepdim=False):
    """The smallest and the greatest elements, as `min` and `max`."""
    return RETURN_TYPES["aminmax"](amin(input, dim, keepdim), amax(input, dim, keepdim))


@scalars
def sort(input, dim=-1, descending=False, stable=True):
    """The elements in order along `dim`, and their places before."""
    input = operand(input)
    places = sorting.argsort(input, dim, descending, stable)
    return RETURN_TYPES["sort"](gathering.take_along_axis(input, places, dim), places)


@scalars
def argsort(input, dim=-1, descending=False, stable=True):
    """The places of the elements in order along `dim`."""
    return sorting.argsort(operand(input), dim, descending, stable)


@scalars
def topk(input, k, dim=-1, largest=True, sorted=True):
    """The `k` greatest elements along `dim`, or the smallest, and their places."""
    return RETURN_TYPES["topk"](*rankings.topk(operand(input), k, dim, largest))


@scalars
def kthvalue(input, k, dim=-1, keepdim=False):
    """The k-th smallest element along `dim`, counted from 1, and its place."""
    input = operand(input)
    length = input.shape[one_axis(dim, input.ndim)]
    if not 1 <= k <= length:
        raise ArgumentError(f"kthvalue needs k from 1 to {length}, got {k}")
    places = sorting.argsort(input, dim)
    return _along(RETURN_TYPES["kthvalue"], input, _slice(places, dim, k - 1), dim, keepdim)


def _slice(x, dim, place):
    """One slice along `dim`, with that axis."""
    return x[(*(slice(None),) * one_axis(dim, x.ndim), slice(place, place + 1))]


def median(input, dim=None, keepdim=False):
    """The lower one of the two elements in the middle; with `dim` a pair of `values` and `indices`."""
    input = operand(input)
    if dim is None:
        flat = movements.reshape(input, -1)
        return kthvalue(flat, (flat.shape[0] + 1) // 2, 0).values if flat.shape[0] else _nothing("median")
    if not input.ndim:
        return RETURN_TYPES["median"](input, searches.argmax(input))
    places = sorting.argsort(input, dim)
    middle = (input.shape[one_axis(dim, input.ndim)] - 1) // 2
    return _along(RETURN_TYPES["median"], input, _slice(places, dim, middle), dim, keepdim)


def _nothing(name):
    raise ShapeError(f"{name} needs an element at least, got a tensor without any")


@scalars
def mode(input, dim=-1, keepdim=False):
    """The commonest element along `dim`, the smallest of several, and the place of its last occurrence."""
    input = operand(input)
    x = np.moveaxis(np.asarray(input.detach().numpy()), dim, -1)
    counts = (x[..., :, None] == x[..., None, :]).sum(-1)
    most = np.inf if x.dtype.kind == "f" else True if x.dtype.kind == "b" else np.iinfo(x.dtype).max
    best = np.where(counts == counts.max(-1, keepdims=True), x, most).min(-1)
    places = x.shape[-1] - 1 - (x == best[..., None])[..., ::-1].argmax(-1)
    places = _tensor(np.moveaxis(places[..., None], -1, dim))
    return _along(RETURN_TYPES["mode"], input, places, dim, keepdim)


def _tensor(array):
    return kinds.arrays.made(np.asarray(array), None, kinds.TorchTensor.kind)


@scalars
def cummax(input, dim):
    """The greatest element so far along `dim`, and its place."""
    return RETURN_TYPES["cummax"](*running.cummax(operand(input), dim))


@scalars
def cummin(input, dim):
    """The smallest element so far along `dim`, and its place."""
    return RETURN_TYPES["cummin"](*running.cummin(operand(input), dim))


def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """The element below which a part `q` of the elements is, between two of them by `interpolation`."""
    return rankings.quantile(operand(input), q, axes(dim, operand(input)), keepdim, interpolation)


def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear"):
    """`quantile` of the elements that are known."""
    return rankings.nanquantile(operand(input), q, axes(dim, operand(input)), keepdim, interpolation)


def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of the elements, of all or over `dim`."""
    input = operand(input) if dtype is None else operand(input).astype(dtype)
    p = 2 if p in ("fro", None) else p
    if p == "nuc":
        return matrix_norm(input, ord="nuc", axis=(-2, -1) if dim is None else tuple(dim), keepdims=keepdim)
    if dim is None and not keepdim:
        return reductions.norm(movements.reshape(input, -1), p, 0)
    return _norm_over(input, p, axes(dim, input), keepdim)


def _norm_over(input, p, dim, keepdim):
    if isinstance(dim, tuple) and len(dim) == 1:
        dim = dim[0]
    if not isinstance(dim, tuple) and dim is not None:
        return reductions.norm(input, p, dim, keepdim)
    dims = tuple(range(input.ndim)) if dim is None else tuple([one_axis(d, input.ndim) for d in dim])
    rest = [i for i in range(input.ndim) if i not in dims]
    flat = movements.reshape(movements.permute_dims(input, (*rest, *dims)), (*[input.shape[i] for i in rest], -1))
    found = reductions.norm(flat, p, -1)
    return movements.reshape(found, tuple([1 if i in dims else n for i, n in enumerate(input.shape)])) if keepdim else found


def nonzero(input, *, as_tuple=False):
    """The positions of the elements that are not 0: a row for each, or with `as_tuple` a tensor for each axis."""
    if not operand(input).ndim:
        found = finding.nonzero(movements.reshape(input, (1,)))
        return (kinds.tensor_of(found[0]),) if as_tuple else movements.reshape(kinds.tensor_of(found[0]), (-1, 1))[:, :0]
    found = [kinds.tensor_of(x) for x in finding.nonzero(operand(input))]
    return tuple(found) if as_tuple else joins.stack(found, 1)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    """The different elements in order; with places of each in them, and with how often each occurs, if asked for."""
    if dim is not None:
        parts = np.unique(operand(input).detach().numpy(), False, True, True, axis=dim)
        parts = [_tensor(p) for p, is_wanted in zip(parts, (True, return_inverse, return_counts), strict=True) if is_wanted]
        return parts[0] if len(parts) == 1 else (parts[0], *[p.reshape(-1) for p in parts[1:]])
    found = finding.unique_all(operand(input))
    parts = [found.values, *([found.inverse_indices] if return_inverse else []), *([found.counts] if return_counts else [])]
    parts = [kinds.tensor_of(p) for p in parts]
    return parts[0] if len(parts) == 1 else tuple(parts)


def diff(input, n=1, dim=-1, prepend=None, append=None):
    """What each element has more than the one before it, `n` times."""
    return running_diff(operand(input), dim, n, prepend, append)


def allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether two tensors are equal to rounding, as a bool of Python's."""
    return bool(isclose(input, other, rtol, atol, equal_nan).all())


def isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Where two tensors are equal to rounding."""
    x, y = kinds.promoted(operand(input), operand(other))
    x, y = (x.to("int64"), y.to("int64")) if x.dtype.kind == "b" else (x, y)
    found = (x == y) | ((x - y).abs() <= atol + rtol * y.abs()) if x.dtype.kind in "fcV" else (x - y).abs() <= atol + rtol * y.abs()
    return found | ((x != x) & (y != y)) if equal_nan else found


def equal(input, other):
    """Whether two tensors have one shape and equal elements, as a bool of Python's."""
    return tuple(input.shape) == tuple(other.shape) and bool(searches.all(kinds.promoted(input, other)[0] == other))


def bincount(input, weights=None, minlength=0):
    """How often each integer occurs, or the sum of the weights where it does."""
    given = None if weights is None else weights.detach().numpy()
    return _tensor(np.bincount(operand(input).numpy(), given, minlength))

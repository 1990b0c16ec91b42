"""PyTorch's ops, by the names of its OpInfo, as calls of ours with PyTorch's arguments."""

import inspect

import numpy as np
from functional_map import UnmappedError, functional_for

import retrograde as rg

LA = rg.linalg


def plain(function, count):
    """An op of `count` operands and nothing else."""
    def ours(*args, **kwargs):
        if kwargs or len(args) != count:
            raise UnmappedError
        return function(*args)
    return ours


def known(function):
    """A function whose samples may use what it has not."""
    def ours(*args, **kwargs):
        try:
            inspect.signature(function).bind(*args, **kwargs)
        except TypeError:
            raise UnmappedError from None
        return function(*args, **kwargs)
    return ours


def reduced(function, **defaults):
    def ours(x, dim=None, keepdim=False):
        return function(x, axis=tuple(dim) if isinstance(dim, (list, tuple)) and dim else None if isinstance(dim, (list, tuple)) else dim,
                        keepdims=keepdim, **defaults)
    return known(ours)


def spread(function):
    def ours(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return function(x, tuple(dim) if isinstance(dim, (list, tuple)) and dim else None if dim == [] else dim, keepdim, correction)
    return known(ours)


def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return LA.matrix_norm(x, keepdim, ord, tuple(dim))


def vector_norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    return LA.vector_norm(normalised(x, dtype=dtype), tuple(dim) if isinstance(dim, (list, tuple)) else dim, keepdim, ord)


def gathered(x, dim, index):
    if x.ndim == 0 or index.ndim != x.ndim:
        raise UnmappedError
    return rg.gather(x, index, dim)


def solved(A, B, left=True):
    is_vector = B.ndim == 1 or B.ndim == A.ndim - 1 and B.shape == A.shape[:-1]
    columns = rg.expand_dims(B, -1) if is_vector and B.ndim > 1 else B
    if not left:
        return LA.solve(A.mT, columns.mT).mT
    found = LA.solve(A, columns)
    return rg.squeeze(found, -1) if is_vector and B.ndim > 1 else found


def quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return rg.quantile(x, q, dim, keepdim, interpolation)


def fourier(name):
    function = getattr(rg.fft, name)

    def one(x, n=None, dim=-1, norm=None):
        return function(x, n, dim, norm or "backward")

    def many(x, s=None, dim=None, norm=None):
        if dim is None and name.endswith("2"):
            dim = (-2, -1)
        return function(x, s, dim if dim is None else (dim,) if isinstance(dim, int) else tuple(dim), norm or "backward")

    return known(one if name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") else many)


UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh deg2rad digamma erf erfc erfinv exp exp2 expm1 floor i0 isfinite isinf
isnan lgamma log log10 log1p log2 logical_not neg negative positive reciprocal rsqrt sigmoid sign signbit sin sinc sinh sqrt square
tan tanh trunc angle conj real imag view_as_real view_as_complex""".split()
BINARY = """add atan2 bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift complex copysign eq float_power fmod ge
gt hypot le logaddexp logical_and logical_or logical_xor lt matmul maximum minimum mul ne nextafter outer polar pow remainder sub
true_divide vdot kron xlogy""".split()
RENAMED = {"eq": "equal", "ge": "greater_equal", "gt": "greater", "le": "less_equal", "lt": "less", "ne": "not_equal"}
LACKING = {"float_power", "fmod", "vdot"}
OURS = {
    **{name: plain(getattr(rg, name), 1) for name in UNARY},
    **{name: plain(getattr(rg, RENAMED.get(name, name)), 2) for name in BINARY if name not in LACKING},
    **{f"special.{name}": plain(getattr(rg, name), n) for n, names in {1: "entr erfcx i0e i1 i1e log_ndtr ndtri ndtr", 2: "xlog1py"}.items()
       for name in names.split()},
    **{f"fft.{name}": fourier(name) for name in rg.fft.__all__ if "freq" not in name and "shift" not in name},
    "logit": plain(rg.logit, 1), "mvlgamma": known(lambda x, p: rg.multigammaln(x, p)),
    "polygamma": known(lambda x, n: rg.polygamma(x, n)), "sum": reduced(rg.sum), "mean": reduced(rg.mean), "prod": reduced(rg.prod),
    "amax": reduced(rg.max), "amin": reduced(rg.min), "logsumexp": reduced(rg.logsumexp), "var": spread(rg.var), "std": spread(rg.std),
    "cumsum": known(lambda x, dim: rg.cumsum(x, dim)), "cumprod": known(lambda x, dim: rg.cumprod(x, dim)),
    "argmax": reduced(rg.argmax), "argmin": reduced(rg.argmin), "all": reduced(rg.all), "any": reduced(rg.any),
    "count_nonzero": known(lambda x, dim=None: rg.count_nonzero(x, tuple(dim) if isinstance(dim, (list, tuple)) else dim)),
    "linalg.inv": plain(LA.inv, 1), "linalg.det": plain(LA.det, 1), "linalg.slogdet": plain(LA.slogdet, 1), "linalg.pinv": plain(LA.pinv, 1),
    "linalg.cholesky": known(lambda x, upper=False: LA.cholesky(x, upper)), "linalg.qr": known(lambda x, mode="reduced": LA.qr(x, mode)),
    "matrix_exp": plain(LA.matrix_exp, 1), "linalg.eigvals": plain(LA.eigvals, 1),
    "linalg.svdvals": plain(LA.svdvals, 1), "linalg.eigvalsh": plain(LA.eigvalsh, 1), "linalg.solve": known(solved),
    "linalg.matrix_power": known(lambda x, n: LA.matrix_power(x, n)), "linalg.cond": known(lambda x, p=None: LA.cond(x, p)),
    "linalg.cross": known(lambda x, y, dim=-1: LA.cross(x, y, dim)), "linalg.vecdot": known(lambda x, y, dim=-1: LA.vecdot(x, y, dim)),
    "linalg.norm": known(lambda x, ord=None, dim=None, keepdim=False: LA.norm(x, ord, dim, keepdim)),
    "linalg.vector_norm": known(vector_norm), "linalg.matrix_norm": known(matrix_norm), "linalg.matrix_rank": plain(LA.matrix_rank, 1),
    "linalg.diagonal": known(lambda x, offset=0, dim1=-2, dim2=-1: rg.diagonal(x, offset, dim1, dim2)),
    "tensordot": known(lambda x, y, dims=2: rg.tensordot(x, y, dims)), "einsum": lambda operands, equation: rg.einsum(equation, *operands),
    "trace": plain(rg.trace, 1), "tril": known(lambda x, k=0: rg.tril(x, k)), "triu": known(lambda x, k=0: rg.triu(x, k)),
    "gather": known(gathered), "scatter_reduce": None, "take_along_dim": None,
    "masked_fill": known(lambda x, mask, value: rg.masked_fill(x, mask, value)), "where": known(lambda x, condition, y: rg.where(condition, x, y)),
    "diff": known(lambda x, n=1, dim=-1, prepend=None, append=None: rg.diff(x, dim, n, prepend, append)),
    "quantile": known(quantile),
    "sort": known(lambda x, dim=-1, descending=False, stable=True: (rg.sort(x, dim, descending), rg.argsort(x, dim, descending))),
    "flip": known(lambda x, dims: rg.flip(x, tuple(dims))), "roll": known(lambda x, shifts, dims=None: rg.roll(x, shifts, dims)),
    "cat": known(lambda xs, dim=0: rg.concatenate(xs, dim)), "stack": known(lambda xs, dim=0: rg.stack(xs, dim)),
    "unbind": known(lambda x, dim=0: rg.unstack(x, dim)), "index_select": None,
}


def shaped(function):
    """A function of PyTorch that takes a shape as one tuple or as several numbers."""
    return lambda x, *shape: function(x, tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape)


def split(x, sizes, dim=0):
    sections = np.cumsum(sizes)[:-1].tolist() if isinstance(sizes, (list, tuple)) else list(range(sizes, x.shape[dim], sizes))
    return rg.split(x, sections, dim)


def chunked(x, chunks, dim=0):
    return split(x, max(-(-x.shape[dim] // chunks), 1), dim)


def extreme(function, place):
    def ours(x, dim=None, keepdim=False):
        if isinstance(dim, rg.Tensor):
            return (rg.maximum if function is rg.max else rg.minimum)(x, dim)
        if dim is None:
            return function(x)
        return rg.take_along_axis(x, rg.expand_dims(place(x, dim), dim), dim) if keepdim else \
            rg.squeeze(rg.take_along_axis(x, rg.expand_dims(place(x, dim), dim), dim), dim), place(x, dim, keepdim)
    return known(ours)


def added(x, *terms, beta=1, alpha=1):
    return beta * x + alpha * (terms[0] @ terms[1])


def scattered(name):
    def ours(x, dim, index, src, reduce=None, *, include_self=True):
        return rg.scatter_reduce(on_axes(x, index), on_axes(src, index), axis=dim, indices=index, reduce=name, include_self=include_self)
    return known(ours)


def on_axes(x, index):
    if x.ndim == 0 or index.ndim != x.ndim:
        raise UnmappedError
    return x


def scatter(x, dim, index, src, *, reduce=None):
    on_axes(x, index)
    if reduce is not None:
        if not isinstance(src, rg.Tensor):
            src = rg.full(index.shape, src, dtype=x.dtype)
        return rg.scatter_reduce(x, src, indices=index, axis=dim, reduce={"add": "sum", "multiply": "prod"}[reduce])
    return rg.scatter(x, src, indices=index, axis=dim)


def index_select(x, dim, index):
    return rg.take(x, index, dim)


def index_add(x, dim, index, source, *, alpha=1):
    if x.ndim == 0:
        raise UnmappedError
    where = (slice(None),) * (dim % x.ndim) + (index,)
    return x + rg.scatter_add(alpha * source, x.shape, where)


def index_copy(x, dim, index, source):
    if x.ndim == 0:
        raise UnmappedError
    return rg.set_at(x, source, (slice(None),) * (dim % x.ndim) + (index,))


def index_fill(x, dim, index, value):
    if x.ndim == 0:
        raise UnmappedError
    return rg.set_at(x, value, (slice(None),) * (dim % x.ndim) + (index,))


def normalised(x, *, dtype=None):
    return x if dtype is None else x.astype(dtype_of(dtype))


def dtype_of(dtype):
    return np.dtype(str(dtype).rpartition(".")[2])  # PyTorch's, or NumPy's


def soft(function):
    def ours(x, dim=None, dtype=None, **_):
        if dim is None:
            raise UnmappedError
        return function(normalised(x, dtype=dtype), axis=dim)
    return ours


def with_dtype(function):
    def ours(x, dim=None, keepdim=False, dtype=None):
        return function(normalised(x, dtype=dtype), dim, keepdim)
    return known(ours)


def rounded(x, *, decimals=0):
    return rg.round(x) if decimals == 0 else rg.round(x * 10.0**decimals) / 10.0**decimals


def meshed(*xs, indexing="ij"):
    xs = xs[0] if len(xs) == 1 and isinstance(xs[0], (list, tuple)) else xs
    return rg.meshgrid(*[rg.reshape(x, -1) for x in xs], indexing=indexing)


def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    x = normalised(x, dtype=dtype)
    dims = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if p == "nuc" or isinstance(p, str) and p != "fro":
        return LA.matrix_norm(x, keepdim, p, (-2, -1) if dims is None else dims)
    return LA.vector_norm(x, dims, keepdim, 2 if p in ("fro", None) else p)


def repeated(x, repeats=None, dim=None, *, output_size=None):
    return rg.repeat(x, repeats.data if isinstance(repeats, rg.Tensor) and repeats.ndim else int(repeats) if isinstance(repeats, rg.Tensor) else repeats, dim)


def tiled(x, *sizes):
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if len(sizes) < x.ndim:
        raise UnmappedError
    return rg.tile(x, sizes)


def squeezed(x, dim=None):
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    if dim is None:
        return rg.squeeze(x)
    keep = tuple(d for d in dims if x.ndim and x.shape[d] == 1)
    return rg.squeeze(x, keep) if keep else x


def picked(x, index, dim=None):
    if dim is None:
        return rg.take(x, rg.reshape(index, -1))
    shape = list(np.broadcast_shapes(*[[1 if a == dim % x.ndim else n for a, n in enumerate(s)] for s in (x.shape, index.shape)]))
    shapes = [[n if a != dim % x.ndim else s[dim] for a, n in enumerate(shape)] for s in (x.shape, index.shape)]
    return rg.take_along_axis(rg.broadcast_to(x, shapes[0]), rg.broadcast_to(index, shapes[1]), dim)


def cross_entropy(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return rg.cross_entropy(x, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(x, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return rg.nll_loss(x, target, weight, ignore_index, reduction)


def clamped(x, min=None, max=None):
    return rg.clip(x, min, max)


def divided(x, y, *, rounding_mode=None):
    quotient = {None: rg.divide, "trunc": lambda a, b: rg.trunc(rg.divide(a, b)), "floor": rg.floor_divide}[rounding_mode]
    return quotient(x, y)


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    if x.ndim != 1 or (dim1, dim2) not in ((-2, -1), (0, 1)):
        raise UnmappedError
    return rg.diag(x, offset)


def windows(x, dimension, size, step):
    return rg.unfold(x, dimension, size, step)


def searched(sorted_sequence, x, *, out_int32=False, right=False, side=None, sorter=None):
    if sorted_sequence.ndim != 1:
        raise UnmappedError
    return rg.searchsorted(sorted_sequence, x, side or ("right" if right else "left"), sorter)


def unflattened(x, dim, sizes):
    dim = dim % x.ndim
    return rg.reshape(x, (*x.shape[:dim], *sizes, *x.shape[dim + 1:]))


def narrowed(x, dim, start, length):
    if not isinstance(start, int) or not -x.ndim <= dim < x.ndim or not 0 <= start <= start + length <= x.shape[dim]:
        raise UnmappedError  # a slice of ours cuts off what lies outside, as in NumPy
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, start + length),)]


def selected(x, dim, index):
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


def solved_triangular(A, B, *, upper, left=True, unitriangular=False):
    return LA.solve_triangular(A, B, upper, left, unitriangular)


def multi(matrices):
    found = matrices[0]
    for m in matrices[1:]:
        found = found @ m
    return found


def lstsq(A, B, driver=None):
    return LA.lstsq(A, B)


def refused():
    raise UnmappedError


def wide(x):
    return rg.complex128 if getattr(x, "dtype", np.asarray(x).dtype).kind == "c" else rg.float64


def hermitian(x, part):
    """The Hermitian matrix of which `x` holds one triangle, "L" or "U"."""
    one, other = (rg.tril(x), rg.tril(x, -1)) if part == "L" else (rg.triu(x), rg.triu(x, 1))
    return one + rg.conj(other.mT)


def broadcast(x, *shape):
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    old = (1,) * (len(shape) - x.ndim) + x.shape
    return rg.broadcast_to(x, tuple(o if n == -1 else n for o, n in zip(old, shape, strict=True)))


def with_mean(function):
    def ours(x, dim=None, unbiased=None, keepdim=False, *, correction=None):
        found = spread(function)(x, dim, unbiased, keepdim, correction=correction)
        return found, reduced(rg.mean)(x, None if isinstance(dim, bool) else dim, keepdim)
    return known(ours)


METHODS = {
    "broadcast_to": shaped(rg.broadcast_to), "expand": broadcast, "reshape": shaped(rg.reshape), "view": shaped(rg.reshape),
    "expand_copy": broadcast, "view_copy": shaped(rg.reshape), "permute": shaped(rg.permute_dims),
    "permute_copy": shaped(rg.permute_dims), "reshape_as": known(lambda x, y: rg.reshape(x, y.shape)),
    "view_as": known(lambda x, y: rg.reshape(x, y.shape)), "expand_as": known(lambda x, y: rg.broadcast_to(x, y.shape)),
    "transpose": known(lambda x, a, b: rg.transpose(x, a, b)), "transpose_copy": known(lambda x, a, b: rg.transpose(x, a, b)),
    "unsqueeze": known(lambda x, dim: rg.expand_dims(x, dim)), "unsqueeze_copy": known(lambda x, dim: rg.expand_dims(x, dim)),
    "squeeze": known(squeezed), "squeeze_copy": known(squeezed), "flatten": known(lambda x, start_dim=0, end_dim=-1: rg.flatten(x, start_dim, end_dim)),
    "unflatten": known(unflattened), "ravel": plain(rg.ravel, 1), "t": known(lambda x: x.T), "t_copy": known(lambda x: x.T),
    "T": known(lambda x: x.T), "mT": known(lambda x: x.mT), "mH": known(lambda x: rg.conj(x.mT)), "H": known(lambda x: rg.conj(x.T)),
    "movedim": known(lambda x, a, b: rg.moveaxis(x, a, b)), "narrow": known(narrowed), "narrow_copy": known(narrowed),
    "select": known(selected), "split": known(split), "split_with_sizes": known(split), "unsafe_split": known(split),
    "split_with_sizes_copy": known(split), "chunk": known(chunked), "unsafe_chunk": known(chunked), "unbind_copy": known(lambda x, dim=0: rg.unstack(x, dim)),
    "repeat": tiled, "tile": shaped(rg.tile), "repeat_interleave": known(repeated), "diag": known(lambda x, k=0: rg.diag(x, k)),
    "diagonal": known(lambda x, offset=0, dim1=0, dim2=1: rg.diagonal(x, offset, dim1, dim2)),
    "diagonal_copy": known(lambda x, offset=0, dim1=0, dim2=1: rg.diagonal(x, offset, dim1, dim2)), "diag_embed": known(diag_embed),
    "diagflat": known(lambda x, offset=0: rg.diag(rg.reshape(x, -1), offset)), "__getitem__": known(lambda x, index: x[index]),
    "index_put": known(lambda x, indices, values, accumulate=False: rg.set_at(x, values, tuple(indices)) if not accumulate else
                       x + rg.scatter_add(rg.broadcast_to(values, x[tuple(indices)].shape), x.shape, tuple(indices))),
    "masked_select": known(lambda x, mask: rg.broadcast_to(x, (s := np.broadcast_shapes(x.shape, mask.shape)))[rg.broadcast_to(mask, s)]),
    "fliplr": known(lambda x: rg.flip(x, 1)), "flipud": known(lambda x: rg.flip(x, 0)), "meshgrid": meshed,
    "hstack": known(lambda xs: rg.concatenate([rg.reshape(x, 1) if x.ndim == 0 else x for x in xs], 0 if not xs or xs[0].ndim < 2 else 1)),
    "broadcast_tensors": lambda *xs: rg.broadcast_arrays(*xs), "clone": known(lambda x, memory_format=None: x.clone()),
    "contiguous": known(lambda x, memory_format=None: rg.contiguous(x)), "to": None, "resolve_conj": plain(rg.positive, 1),
    "unfold": known(windows), "unfold_copy": known(windows), "take": known(lambda x, index: rg.take(x, index)),
    "take_along_dim": known(picked), "index_select": known(index_select), "index_add": known(index_add), "index_copy": known(index_copy),
    "index_fill": known(index_fill), "scatter": known(scatter), "scatter_add": scattered("sum"),
    **{f"scatter_reduce/{name}": scattered(ours) for name, ours in
       {"sum": "sum", "prod": "prod", "mean": "mean", "amin": "min", "amax": "max"}.items()},
    "float": known(lambda x, memory_format=None: x.astype(rg.float32)), "double": known(lambda x, memory_format=None: x.astype(rg.float64)),
    "cdouble": known(lambda x, memory_format=None: x.astype(rg.complex128)), "cfloat": known(lambda x, memory_format=None: x.astype(rg.complex64)),
}
ARITHMETIC = {
    "add": known(lambda x, y, alpha=1: x + alpha * y), "sub": known(lambda x, y, alpha=1: x - alpha * y),
    "clamp": known(clamped), "clamp_max": known(lambda x, y: rg.minimum(x, y)), "clamp_min": known(lambda x, y: rg.maximum(x, y)),
    "div": known(divided), "floor_divide": plain(rg.floor_divide, 2), "bitwise_not": plain(rg.bitwise_invert, 1),
    "conj_physical": plain(rg.conj, 1), "rad2deg": plain(rg.rad2deg, 1) if "rad2deg" in dir(rg) else None, "sgn": plain(rg.sign, 1),
    "abs": plain(rg.abs, 1), "round": known(rounded), "float_power": known(lambda x, y: rg.power(*(rg.asarray(a).astype(wide(a)) for a in (x, y)))),
    "__radd__": known(lambda x, y: y + x), "__rdiv__": known(lambda x, y: y / x), "__rmul__": known(lambda x, y: y * x),
    "__rmatmul__": known(lambda x, y: y @ x), "__rmod__": known(lambda x, y: y % x), "__rpow__": known(lambda x, y: y**x),
    "__rsub__": known(lambda x, y: y - x), "__rand__": known(lambda x, y: y & x), "__ror__": known(lambda x, y: y | x),
    "__rxor__": known(lambda x, y: y ^ x), "rsub": known(lambda x, y, alpha=1: y - alpha * x),
    "addmm": known(added), "addmv": known(added), "baddbmm": known(added), "mm": plain(rg.matmul, 2), "bmm": plain(rg.matmul, 2),
    "mv": plain(rg.matmul, 2), "dot": plain(rg.matmul, 2), "matmul": plain(rg.matmul, 2),
    "addr": known(lambda x, a, b, beta=1, alpha=1: beta * x + alpha * rg.outer(a, b)), "vdot": known(lambda x, y: rg.vecdot(x, y)),
    "inner": known(lambda x, y: x * y if 0 in (x.ndim, y.ndim) else rg.tensordot(x, y, ((-1,), (-1,)))),
    "addcmul": known(lambda x, a, b, value=1: x + value * a * b), "addcdiv": known(lambda x, a, b, value=1: x + value * (a / b)),
    "linalg.multi_dot": multi, "cross": known(lambda x, y, dim=-1: LA.cross(x, y, dim)),
    "igamma": known(lambda x, y: rg.gammainc(x, y)), "isin": known(lambda x, y, assume_unique=False, invert=False: rg.isin(x, y, invert)),
    "searchsorted": known(searched), "nonzero": known(lambda x, as_tuple=False: refused() if x.ndim == 0 else rg.nonzero(x) if as_tuple else rg.stack(rg.nonzero(x), -1)),
    "polygamma": known(lambda x, n: rg.polygamma(x, n)), "special.polygamma": known(lambda x, n: rg.polygamma(x, n)),
    **{f"mvlgamma/mvlgamma_p_{p}": known(lambda x, p: rg.multigammaln(x, p)) for p in (1, 3, 5)},
    "mvlgamma": known(lambda x, p: rg.multigammaln(x, p)),
}
REDUCED = {
    "max": extreme(rg.max, rg.argmax), "min": extreme(rg.min, rg.argmin),
    "aminmax": known(lambda x, *, dim=None, keepdim=False: (rg.min(x, dim, keepdim), rg.max(x, dim, keepdim))),
    "var_mean": with_mean(rg.var), "std_mean": with_mean(rg.std),
    "sum": with_dtype(lambda x, d, k: reduced(rg.sum)(x, d, k)), "mean": with_dtype(lambda x, d, k: reduced(rg.mean)(x, d, k)),
    "prod": with_dtype(lambda x, d, k: reduced(rg.prod)(x, d, k)),
    "cumsum": known(lambda x, dim, dtype=None: rg.cumsum(normalised(x, dtype=dtype), dim)),
    "cumprod": known(lambda x, dim, dtype=None: rg.cumprod(normalised(x, dtype=dtype), dim)),
    "topk": known(lambda x, k, dim=-1, largest=True, sorted=True: rg.topk(x, k, dim, largest)),
    "argsort": known(lambda x, dim=-1, descending=False, stable=False: rg.argsort(x, dim, descending)), "msort": known(lambda x: rg.sort(x, 0)),
    "norm": known(norm), "dist": known(lambda x, y, p=2: LA.vector_norm(x - y, ord=p)), "quantile": known(quantile),
    "logdet": known(lambda x: LA.slogdet(x)[1] if x.dtype.kind == "f" else refused()), "pinverse": plain(LA.pinv, 1), "softmax": soft(rg.softmax), "log_softmax": soft(rg.log_softmax),
    "equal": None, "cov": None,
}
FUNCTIONAL = {"constant_pad_nd": known(lambda x, pad, value=0: rg.nn.functional.pad(x, pad, "constant", value))}
LINALG = {
    "linalg.eigh": known(lambda x, UPLO="L": LA.eigvalsh(hermitian(x, UPLO))), "linalg.svd": known(lambda x, full_matrices=True: LA.svdvals(x)),
    "linalg.eig": plain(LA.eigvals, 1), "qr": None, "linalg.solve_triangular": known(solved_triangular), "linalg.lstsq/grad_oriented": None,
    "linalg.tensorinv": None, "linalg.pinv/hermitian": None, "cholesky": known(lambda x, upper=False: LA.cholesky(x, upper)),
    "linalg.eigvalsh": known(lambda x, UPLO="L": LA.eigvalsh(hermitian(x, UPLO))),
    "linalg.pinv": known(lambda x, rcond=None, *, rtol=None, atol=None, hermitian=False: refused() if atol is not None else LA.pinv(x, rcond if rtol is None else rtol)),
    "linalg.inv_ex": None, "inverse": None, "linalg.matrix_rank": known(lambda x, tol=None, *, rtol=None, atol=None, hermitian=False:
                                                     refused() if tol is not None or atol is not None else LA.matrix_rank(x, rtol)),
}
#: Which results are compared, where not all: those that are ours to choose, or places that ours does not give, are not.
PICKS = {"linalg.eigh": slice(0, 1), "linalg.eig": slice(0, 1), "linalg.svd": slice(1, 2)}
#: Variants that are not the op itself with other samples.
SEPARATE = {"normal/in_place", "normal/number_mean", "linalg.lstsq/grad_oriented", "linalg.pinv/hermitian", "linalg.pinv/singular",
            "linalg.matrix_rank/hermitian", "nn.functional.silu/complex"}
OURS = {**OURS, **METHODS, **ARITHMETIC, **REDUCED, **FUNCTIONAL, **LINALG}
OURS = {name: function for name, function in OURS.items() if function is not None}


def ours_for(op):
    """Our function for an OpInfo, by the name of its variant or of itself; None where we have none."""
    if op.name.startswith("nn.functional.") and op.variant_test_name != "complex":
        return functional_for(op)
    return OURS.get(f"{op.name}/{op.variant_test_name}", None if f"{op.name}/{op.variant_test_name}" in SEPARATE else OURS.get(op.name))

"""PyTorch's own samples (its OpInfo), run through ours: values, and gradients under uneven cotangents, real and complex."""

import inspect
import warnings

import numpy as np
import pytest

import retrograde as rg
import sweeping

torch = pytest.importorskip("torch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")

LA = rg.linalg


class UnmappedError(Exception):
    """A sample that uses what ours lacks."""


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
    def ours(x, dim=None, unbiased=None, *, correction=None, keepdim=False):
        if isinstance(dim, bool) or unbiased is not None:
            raise UnmappedError
        return function(x, tuple(dim) if isinstance(dim, (list, tuple)) else dim, keepdim, 1 if correction is None else correction)
    return known(ours)


def matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return LA.matrix_norm(x, keepdim, ord, tuple(dim))


def vector_norm(x, ord=2, dim=None, keepdim=False):
    return LA.vector_norm(x, tuple(dim) if isinstance(dim, (list, tuple)) else dim, keepdim, ord)


def convolution(function):
    def ours(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if x.ndim != weight.ndim:
            raise UnmappedError
        return function(x, weight, bias, stride, padding, dilation, groups)
    return known(ours)


def transposed(function):
    def ours(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        if x.ndim != weight.ndim:
            raise UnmappedError
        return function(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return known(ours)


def gathered(x, dim, index):
    if x.ndim == 0 or index.ndim != x.ndim:
        raise UnmappedError
    return rg.gather(x, index, dim)


def solved(A, B, left=True):
    if not left or B.ndim != 1 and B.ndim == A.ndim - 1:
        raise UnmappedError
    return LA.solve(A, B)


def interpolated(mode):
    def ours(x, size=None, scale_factor=None, mode=mode, align_corners=None):
        if isinstance(scale_factor, (list, tuple)) or scale_factor is not None and int(scale_factor) != scale_factor:
            raise UnmappedError
        return rg.interpolate(x, size, scale_factor, mode, bool(align_corners))
    return known(ours)


def quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    if isinstance(q, rg.Tensor) and q.requires_grad:
        raise UnmappedError
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


def pooled(function):
    def ours(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            raise UnmappedError
        return function(x, kernel_size, stride, padding, dilation, ceil_mode)
    return known(ours)


def averaged(function):
    return known(lambda x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True:
                 function(x, kernel_size, stride, padding, ceil_mode, count_include_pad))


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
    "nn.functional.conv1d": convolution(rg.conv1d), "nn.functional.conv2d": convolution(rg.conv2d), "nn.functional.conv3d": convolution(rg.conv3d),
    "nn.functional.conv_transpose1d": transposed(rg.conv_transpose1d), "nn.functional.conv_transpose2d": transposed(rg.conv_transpose2d),
    "nn.functional.conv_transpose3d": transposed(rg.conv_transpose3d),
    "nn.functional.interpolate": interpolated("nearest"), "nn.functional.avg_pool1d": averaged(rg.avg_pool1d),
    "nn.functional.avg_pool2d": averaged(rg.avg_pool2d), "nn.functional.avg_pool3d": averaged(rg.avg_pool3d),
    "nn.functional.max_pool1d": pooled(rg.max_pool1d), "nn.functional.max_pool2d": pooled(rg.max_pool2d),
    "nn.functional.max_pool3d": pooled(rg.max_pool3d),
    "diff": known(lambda x, n=1, dim=-1, prepend=None, append=None: rg.diff(x, dim, n, prepend, append)),
    "quantile": known(quantile),
    "sort": known(lambda x, dim=-1, descending=False, stable=True: (rg.sort(x, dim, descending), rg.argsort(x, dim, descending))),
    "flip": known(lambda x, dims: rg.flip(x, tuple(dims))), "roll": known(lambda x, shifts, dims=None: rg.roll(x, shifts, dims)),
    "cat": known(lambda xs, dim=0: rg.concatenate(xs, dim)), "stack": known(lambda xs, dim=0: rg.stack(xs, dim)),
    "unbind": known(lambda x, dim=0: rg.unstack(x, dim)), "index_select": None,
}
OURS = {name: function for name, function in OURS.items() if function is not None}
INFOS = [op for op in invocations.op_db if op.name in OURS and not op.variant_test_name]


def converted(x, leaves):
    """A sample's argument as ours; `leaves` gathers (theirs, ours) of those that need a gradient."""
    if isinstance(x, torch.Tensor):
        made = rg.tensor(x.detach().resolve_conj().resolve_neg().numpy())
        if x.requires_grad:
            leaves.append((x, made.requires_grad_()))
        return made
    if isinstance(x, (list, tuple)) and not isinstance(x, torch.Size):
        return type(x)(converted(a, leaves) for a in x)
    return x


def uses_what_numpy_refuses(name, sample):
    """Axes of a single number, joining with a vector of nothing, broadcasting inside a contraction."""
    first = sample.input[0] if isinstance(sample.input, (list, tuple)) else sample.input
    if isinstance(sample.input, torch.Tensor):
        return first.ndim == 0 and (len(sample.args) > 0 or "dim" in sample.kwargs or name in ("sort", "diff")) and name in AXES \
            or name == "tensordot" and 1 in first.shape
    return name == "cat" and any(x.shape == (0,) for x in sample.input) or name == "einsum" and "...ik, ...j -> ij" in sample.args


#: Gradients in Hermitian matrices, of which the other part means nothing.
HERMITIAN = {"linalg.cholesky": lambda g: (g + np.conj(np.swapaxes(g, -1, -2))) / 2}
AXES = {"cumsum", "cumprod", "diff", "sort", "logsumexp", "amax", "amin", "mean", "prod", "sum", "std", "var", "linalg.vector_norm", "quantile",
        "argmax", "argmin", "all", "any"}


def flat(found):
    return list(found) if isinstance(found, (list, tuple)) else [found]


def agrees(a, b, dtype):
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    width = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1)
    return np.allclose(a, b, rtol=2e-3 if width == 4 else 1e-7, atol=2e-3 if width == 4 else 1e-7, equal_nan=True)


def compared(op, sample, dtype):
    """Whether ours agrees with PyTorch on a sample; UnmappedError where it cannot be asked."""
    leaves = []
    if uses_what_numpy_refuses(op.name, sample):
        raise UnmappedError
    args = [converted(a, leaves) for a in (sample.input, *sample.args)]
    kwargs = {k: converted(v, leaves) for k, v in sample.kwargs.items()}
    theirs = flat(op(sample.input, *sample.args, **sample.kwargs))
    ours = flat(OURS[op.name](*args, **kwargs))
    if not all(agrees(o.detach().data if isinstance(o, rg.Tensor) else o, t.detach().resolve_conj().numpy(), dtype) for o, t in zip(ours, theirs, strict=True)):
        return False
    rng = np.random.default_rng(0)
    seeds = [sweeping.uneven(rng, tuple(t.shape), t.detach().resolve_conj().numpy().dtype) for t in theirs]
    live = [(o, t, s) for o, t, s in zip(ours, theirs, seeds, strict=True) if t.requires_grad]
    if not live or not leaves:
        return True
    wanted = torch.autograd.grad([t for _, t, _ in live], [x for x, _ in leaves], [torch.as_tensor(s) for *_, s in live], allow_unused=True)
    mine = [(o, s) for o, _, s in live if o.requires_grad]
    if mine:
        with np.errstate(all="ignore"):
            rg.core.gradient.backward([o for o, _ in mine], [s for _, s in mine])
    form = HERMITIAN.get(op.name, lambda g: g)
    pairs = [(np.zeros(tuple(x.shape)) if t.grad is None else t.grad.data, np.zeros(tuple(x.shape)) if w is None else w.resolve_conj().numpy())
             for (x, t), w in zip(leaves, wanted, strict=True)]
    return all(agrees(form(a), form(b), dtype) for a, b in pairs)


NO_COMPLEX = {
    "logaddexp": "NumPy has none of complex numbers", "sigmoid": "not for complex numbers", "abs": "not for complex numbers yet",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("op", INFOS, ids=lambda op: op.name)
def test_samples_of_torch_agree(op, dtype):
    if dtype.is_complex and op.name in NO_COMPLEX:
        pytest.skip(NO_COMPLEX[op.name])
    if dtype not in op.dtypes:
        pytest.skip("PyTorch has no such samples")
    agreed, wrong = 0, []
    for sample in op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd):
        try:
            found = compared(op, sample, np.dtype(str(dtype).split(".")[1]))
        except UnmappedError:
            continue
        agreed += found
        if not found:
            wrong.append(sample.summary())
    assert not wrong, f"{len(wrong)} of {agreed + len(wrong)} samples: {wrong[:3]}"
    if not agreed:
        pytest.skip("no sample maps")

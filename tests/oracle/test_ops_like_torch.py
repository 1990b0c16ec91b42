"""Every op that PyTorch has too: values and gradients on the samples of the sweep."""

import numpy as np
import pytest

import retrograde as rg
import sweeping
from retrograde.dtypes import is_float

torch = pytest.importorskip("torch")
counterparts = pytest.importorskip("counterparts")


def _axis(axis):
    return () if axis is None else axis


def _reduced(function):
    def theirs(x, axis=None, keepdims=False, where=None, **_):
        if where is not None:
            where = torch.as_tensor(np.broadcast_to(where, x.shape).copy())
        return function(x, axis, keepdims, where)
    return theirs


def _sum(x, axis, keepdims, where):
    x = x if where is None else torch.where(where, x, 0)
    return x.sum(tuple(range(x.ndim)) if axis is None else axis, keepdims) if axis != () else x


def _mean(x, axis, keepdims, where):
    return _sum(x, axis, keepdims, where) / _sum(torch.ones_like(x), axis, keepdims, where)


def _prod(x, axis=None, keepdims=False, where=None, **_):
    x = x if where is None else torch.where(torch.as_tensor(where), x, 1)
    axes = range(x.ndim) if axis is None else [axis] if isinstance(axis, int) else axis
    for a in sorted((a % max(x.ndim, 1) for a in axes), reverse=True):
        x = x.prod(a, keepdims)
    return x


def _softmax(function):
    def theirs(x, axis=-1):
        axes = tuple(range(x.ndim)) if axis is None else axis
        if isinstance(axes, tuple):
            order = [a for a in range(x.ndim) if a not in [b % x.ndim for b in axes]]
            assert not order
            return function(x.reshape(-1), 0).reshape(x.shape)
        return function(x, axes)
    return theirs


def _index(index):
    return tuple(torch.as_tensor(np.asarray(i)) if isinstance(i, (list, np.ndarray)) else i for i in index) \
        if isinstance(index, tuple) else torch.as_tensor(np.asarray(index)) if isinstance(index, (list, np.ndarray)) else index


def _loss(function, **renamed):
    def theirs(x, y, **kwargs):
        kwargs = {renamed.get(k, k): torch.as_tensor(v).to(x) if isinstance(v, np.ndarray) else v for k, v in kwargs.items()}
        return function(x, y if is_float(np.asarray(y.detach()).dtype) else y.long(), **kwargs)
    return theirs


F = torch.nn.functional
SAME = """abs acos acosh add asin asinh atan atan2 atanh ceil cos cosh equal erf erfc exp exp2 expm1 floor greater greater_equal
hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul
maximum minimum multiply negative not_equal reciprocal relu round sigmoid sign sin sinc sinh sqrt square subtract tan tanh
trunc xlogy positive bitwise_and bitwise_or bitwise_xor remainder""".split()
THEIRS = {
    **{name: getattr(torch, {"equal": "eq", "not_equal": "ne"}.get(name, name)) for name in SAME if hasattr(torch, name)},
    "divide": torch.true_divide,
    "power": torch.pow,
    "bitwise_invert": torch.bitwise_not,
    "where": lambda c, x, y: torch.where(c != 0, x, y),
    "clip": lambda x, low, high: torch.clamp(*torch.broadcast_tensors(x, low, high)),
    "floor_divide": lambda x, y: torch.floor_divide(x.detach(), y.detach()),
    "outer": lambda x, y: torch.outer(x.reshape(-1), y.reshape(-1)),
    "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3),
    "sum": _reduced(_sum), "mean": _reduced(_mean), "prod": _prod,
    "max": _reduced(lambda x, a, k, w: torch.amax(x, _axis(a), k)), "min": _reduced(lambda x, a, k, w: torch.amin(x, _axis(a), k)),
    "logsumexp": lambda x, axis=None, keepdims=False: torch.logsumexp(x, tuple(range(x.ndim)) if axis is None else axis, keepdims),
    "softmax": _softmax(torch.softmax), "log_softmax": _softmax(torch.log_softmax),
    "norm": lambda x, ord=None, axis=None, keepdims=False:
        torch.linalg.vector_norm(x, 2 if ord in (None, "fro") else ord, axis, keepdims),
    "cumsum": lambda x, axis=None, **_: torch.cumsum(x.reshape(-1) if axis is None else x, axis or 0),
    "cumprod": lambda x, axis=None, **_: torch.cumprod(x.reshape(-1) if axis is None else x, axis or 0),
    "reshape": lambda x, shape: x.reshape(shape) if not isinstance(shape, int) else x.reshape((shape,)),
    "permute_dims": lambda x, axes: x.permute(axes),
    "transpose": lambda x, axis1=-2, axis2=-1: x.transpose(axis1, axis2),
    "broadcast_to": lambda x, shape: x.expand(shape),
    "flip": lambda x, axis=None: x.flip(tuple(range(x.ndim)) if axis is None else axis),
    "expand_dims": lambda x, axis=0: x.unsqueeze(axis) if isinstance(axis, int) else x[(None, slice(None), None)],
    "squeeze": lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis),
    "moveaxis": lambda x, source, destination: torch.movedim(x, source, destination),
    "concatenate": lambda xs, axis=0: torch.cat([x.reshape(-1) for x in xs] if axis is None else list(xs), axis or 0),
    "stack": lambda xs, axis=0: torch.stack(list(xs), axis),
    "contract": lambda xs, subscripts: torch.einsum(subscripts, *xs),
    "argmax": lambda x, axis=None, keepdims=False: torch.argmax(x, axis, keepdims),
    "argmin": lambda x, axis=None, keepdims=False: torch.argmin(x, axis, keepdims),
    "astype": lambda x, dtype: x.to(getattr(torch, str(dtype))),
    "contiguous": torch.clone, "contiguous_backward": torch.clone,
    "elu": F.elu, "selu": F.selu, "leaky_relu": F.leaky_relu, "softplus": F.softplus, "mish": F.mish, "silu": F.silu,
    "hardswish": F.hardswish, "log_sigmoid": F.logsigmoid,
    "gelu_erf": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "mse_loss": _loss(lambda x, y, reduction="mean": _mean_of((x - y) ** 2, reduction)),
    "l1_loss": _loss(lambda x, y, reduction="mean": _mean_of((x - y).abs(), reduction)),
    "huber_loss": _loss(F.huber_loss), "smooth_l1_loss": _loss(F.smooth_l1_loss), "nll_loss": _loss(F.nll_loss),
    "cross_entropy": _loss(F.cross_entropy),
    "conv2d": F.conv2d, "linear": F.linear,
    "tril": lambda x, k=0: torch.tril(x, k), "triu": lambda x, k=0: torch.triu(x, k),
    "trace": lambda x, **axes: _diagonal(x, **axes).sum(-1), "diagonal": lambda x, **axes: _diagonal(x, **axes),
    "sort": lambda x, axis=-1, descending=False: _ordered(torch.sort, x, axis, descending)[0],
    "argsort": lambda x, axis=-1, descending=False: _ordered(torch.argsort, x, axis, descending),
    "var": lambda x, axis=None, keepdims=False, correction=0: torch.var(x, axis, correction=correction, keepdim=keepdims),
    "std": lambda x, axis=None, keepdims=False, correction=0: torch.std(x, axis, correction=correction, keepdim=keepdims),
    "tile": lambda x, repetitions: x.tile(repetitions), "roll": lambda x, shift, axis=None: torch.roll(x, shift, axis),
    "repeat": lambda x, repeats, axis=None: torch.repeat_interleave(x, torch.as_tensor(repeats), axis),
    "diag": lambda x, k=0: torch.diag(x, k), "all": _reduced(lambda x, a, k, w: _told(torch.all, x, a, k)),
    "any": _reduced(lambda x, a, k, w: _told(torch.any, x, a, k)),
    "take": lambda x, indices, axis=None: _taken(x, torch.as_tensor(indices), axis),
    "take_along_axis": lambda x, indices, axis=-1: torch.take_along_dim(x, torch.as_tensor(indices), axis),
    "pad": lambda x, pad_width, value=0: F.pad(x, [int(n) for pair in np.broadcast_to(pad_width, (x.ndim, 2))[::-1] for n in pair],
                                               value=value),
    "shrink": lambda x, ranges: x[tuple(slice(None) if r is None else slice(*r) for r in ranges)],
    "binary_cross_entropy": _loss(F.binary_cross_entropy),
    "binary_cross_entropy_with_logits": _loss(F.binary_cross_entropy_with_logits),
    "max_pool2d_with_taps": lambda x, *a, **k: F.max_pool2d(x, *a, **k),
    "avg_pool2d": lambda x, *a, **k: F.avg_pool2d(x[None], *a, **k)[0] if x.ndim < 4 else F.avg_pool2d(x, *a, **k),
    "adaptive_avg_pool2d": F.adaptive_avg_pool2d,
}


def _mean_of(values, reduction):
    return values if reduction == "none" else getattr(values, reduction)()


def _ordered(function, x, axis, descending):
    return function(x.reshape(-1) if axis is None else x, dim=axis or 0, descending=descending, stable=True)


def _told(function, x, axis, keepdims):
    return function(x) if axis is None else function(x, axis, keepdims)


def _taken(x, indices, axis):
    if axis is None:
        return torch.take(x, indices)
    found = torch.index_select(x, axis, indices.reshape(-1))
    return found.reshape((*x.shape[:axis % x.ndim], *indices.shape, *x.shape[axis % x.ndim + 1:]))


def _diagonal(x, offset=0, axis1=0, axis2=1):
    return torch.diagonal(x, offset, axis1, axis2)


def _getitem(x, index):
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, slice) and (i.step or 1) < 0 for i in parts):
        return x.flip(0)[:: -parts[0].step][:, None] if x.ndim == 2 else None
    return x[_index(index)]


THEIRS = {**THEIRS, **counterparts.MORE, "getitem": _getitem}
MAPPED = [name for name in rg.ops.names() if name in THEIRS]


def theirs(case, args, kwargs):
    """PyTorch's tensors and results for a case."""
    tensors = [torch.tensor(np.ascontiguousarray(x).reshape(np.shape(x)), requires_grad=True) for x in case.operands(args)]
    given = [torch.as_tensor(x) if isinstance(x, (np.ndarray, np.integer)) else x for x in case.rebuilt(args, tensors)]
    found = THEIRS[case.op.name](*given, **kwargs)
    return tensors, list(found) if isinstance(found, tuple) else [found]


@pytest.mark.filterwarnings("ignore:Using padding='same':UserWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", MAPPED)
def test_op_has_the_values_and_gradients_of_torch(name, dtype):
    op, compared, limit = rg.ops.get(name), 0, counterparts.COARSER.get(name, 1)
    for case in sweeping.cases(op):
        args, kwargs = case.drawn(dtype)
        others, results = theirs(case, args, kwargs)
        tensors = sweeping.gradients(case, args, kwargs) if sweeping.has_derivative(op) else []
        for z, w in zip(sweeping.plain(case.run(args, kwargs)[1]), results, strict=False):  # taps have no counterpart
            assert z.shape == tuple(w.shape), case
            assert sweeping.disagreement(z, w.detach().numpy(), dtype) <= limit, case
        rng = np.random.default_rng(case.seed + 1)
        live = [w for w in results if w.requires_grad] if tensors else []
        if live:
            torch.autograd.backward(live, [
                torch.as_tensor(sweeping.uneven(rng, tuple(w.shape), w.detach().numpy().dtype)) for w in live])
        for t, other in zip(tensors, others, strict=False):
            if t.grad is None or other.grad is None:
                assert t.grad is None or not t.grad.data.any()
                assert other.grad is None or not other.grad.any()
                continue
            assert sweeping.disagreement(t.grad.data, other.grad.numpy(), dtype) <= limit, f"{case}: {t.grad} and {other.grad}"
        compared += 1
    assert compared


def test_most_ops_have_a_counterpart():
    public = {name for name in rg.ops.names() if rg.ops.get(name).is_public}
    assert len(public.intersection(MAPPED)) >= 0.7 * len(public), sorted(public.difference(MAPPED))

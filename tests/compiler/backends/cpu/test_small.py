"""What small kernels compute has the numbers, slopes and types of NumPy's way, for drawn arrays, also with ties, NaN and infinities."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import fast_calls
from retrograde.ops import _native

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
F = rg.nn.functional


def _drawn(*shape):
    return lambda rng: rng.standard_normal(shape)


def _tied(*shape):
    """Few different numbers, so that many are equal, and some that are none, or no end."""
    def draw(rng):
        x = rng.integers(-2, 3, shape) * 0.5
        x.flat[3], x.flat[shape[-1] + 1], x.flat[-1], x.flat[2 * shape[-1]] = np.nan, np.inf, -np.inf, -0.0
        return x

    return draw


def _ended(*shape):
    """Rows between whose middle elements lie infinities."""
    def draw(rng):
        x = rng.standard_normal(shape)
        x[0, : shape[1] // 2], x[0, shape[1] // 2 :] = -np.inf, np.inf
        x[1, : shape[1] // 2 - 1], x[1, shape[1] // 2 - 1 :] = 1.0, np.inf
        return x

    return draw


ROWS = np.random.default_rng(3).integers(0, 40, (9, 11))
#: The kernels that must have run, a function of tensors, and what draws them.
CASES = {
    "median": ({"middle", "middle_slopes"}, lambda x: rg.median(x, 1), _drawn(20, 25)),
    "median of an even number": ({"middle", "middle_slopes"}, lambda x: rg.median(x, -1, keepdims=True), _drawn(3, 7, 24)),
    "median of ties": ({"middle", "middle_slopes"}, lambda x: rg.median(x, 1), _tied(20, 16)),
    "median between infinities": ({"middle", "middle_slopes"}, lambda x: rg.median(x, 1), _ended(20, 16)),
    "median of columns": ({"middle", "middle_slopes"}, lambda x: rg.median(x.T, 1), _drawn(25, 20)),
    "topk": ({"order_descending", "take_along", "add_along"}, lambda x: rg.topk(x, 5)[0], _drawn(20, 40)),
    "least of ties": ({"order"}, lambda x: rg.topk(x, 6, largest=False)[0], _tied(20, 16)),
    "greatest of ties": ({"order_descending"}, lambda x: rg.topk(x, 6)[0], _tied(20, 16)),
    "all of ties": ({"order_descending"}, lambda x: rg.topk(x, 16)[0], _tied(20, 16)),
    "sort of ties": ({"order"}, lambda x: rg.sort(x, 1), _tied(20, 16)),
    "running sums": ({"cumsum", "cumsum_from_end"}, lambda x: rg.cumsum(x, 1), _drawn(12, 30)),
    "running sums of columns": ({"cumsum", "cumsum_from_end"}, lambda x: rg.cumsum(x, 0), _drawn(5, 12, 7)),
    "running products": ({"cumprod", "cumprod_slope"}, lambda x: rg.cumprod(x, 1), _drawn(12, 30)),
    "running products of columns": ({"cumprod", "cumprod_slope"}, lambda x: rg.cumprod(x, 0), _drawn(5, 12, 7)),
    "sums of windows": ({"sum_windows", "spread_windows"}, lambda x: F.avg_pool2d(x, 3, 2, 1), _drawn(2, 3, 9, 8)),
    "embedding": ({"take_rows", "add_rows"}, lambda w: F.embedding(rg.tensor(ROWS), w, padding_idx=3), _drawn(40, 8)),
    "max pooling": ({"max_windows", "placed_windows"}, lambda x: F.max_pool2d(x, 3, 2, 1), _drawn(2, 3, 9, 8)),
    "max pooling of ties": ({"max_windows", "placed_windows"}, lambda x: F.max_pool2d(x, 2), _tied(2, 3, 10, 8)),
    "interpolation": ({"along"}, lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), _drawn(2, 3, 7, 8)),
    "adaptive pooling": ({"along"}, lambda x: F.adaptive_avg_pool2d(x, (3, None)), _drawn(2, 3, 10, 8)),
    "attention": ({"attention", "attention_slopes"}, lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
                  _drawn(2, 3, 9, 17), _drawn(2, 3, 11, 17), _drawn(2, 3, 11, 5)),
    "causal attention": ({"attention", "attention_slopes"}, lambda q, k, v: F.scaled_dot_product_attention(
        q, k, v, is_causal=True, scale=0.3), _drawn(12, 8), _drawn(7, 8), _drawn(7, 40)),
    "causal attention to more keys": ({"attention"}, lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                      _drawn(4, 3, 8), _drawn(4, 20, 8), _drawn(4, 20, 3)),
    "attention to no numbers": ({"attention"}, lambda q, k, v: F.scaled_dot_product_attention(q, k, v), _tied(20, 16), _drawn(9, 16),
                                _drawn(9, 4)),
    "attention of views": (set(), lambda q, k, v: F.scaled_dot_product_attention(*[x.transpose(0, 1) for x in (q, k, v)]),
                           *[_drawn(9, 3, 16)] * 3),
}
NORMS = {
    "batch norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (4, 6, 5, 7)),
    "batch norm of lines": (lambda x, w, b: F.batch_norm(x, None, None, w, b, True), (60, 6)),
    "group norm": (lambda x, w, b: F.group_norm(x, 3, w, b), (4, 6, 5, 7)),
    "group norm of lines": (lambda x, w, b: F.group_norm(x, 2, w, b), (50, 6)),
    "group norm of one example": (lambda x, w, b: F.group_norm(x, 2, w, b), (1, 6, 9, 9)),
    "group norm of single channels": (lambda x, w, b: F.group_norm(x, 6, w, b), (3, 6, 40)),
    "group norm of one group": (lambda x, w, b: F.group_norm(x, 1, w, b), (3, 6, 40)),
    "group norm without a weight": (lambda x, w, b: F.group_norm(x, 3, None, b) + 0 * w.sum(), (4, 6, 5, 7)),
    "group norm without a bias": (lambda x, w, b: F.group_norm(x, 3, w) + 0 * b.sum(), (4, 6, 5, 7)),
    "instance norm": (lambda x, w, b: F.instance_norm(x, None, None, w, b), (4, 6, 5, 7)),
    "norm of channels that lie last": (lambda x, w, b: F.group_norm(x.permute(0, 3, 1, 2), 3, w, b), (4, 5, 7, 6)),
}


def _answers(function, arrays):
    """The value, its gradients, the same by rules that are recorded, and the gradients of the sum of their squares."""
    with np.errstate(all="ignore"):
        tensors = [rg.tensor(x, requires_grad=True) for x in arrays]
        z = function(*tensors)
        seed = rg.tensor(np.cos(np.arange(z.size)).reshape(z.shape).astype(arrays[0].dtype))
        z.backward(seed, retain_graph=True)
        found = [z.detach().numpy(), *[_taken(t).numpy() for t in tensors]]
        z.backward(seed, create_graph=True)
        slopes = [_taken(t) for t in tensors]
        total = sum([(g * g).sum() for g in slopes])
        if total.requires_grad:
            total.backward()
        return [*found, *[g.detach().numpy() for g in slopes], *[_taken(t).numpy() for t in tensors if t.grad is not None]]


def _taken(t):
    found, t.grad = t.grad, None
    return found


def _compare(function, arrays, monkeypatch):
    found = _answers(function, arrays)
    monkeypatch.setattr(_native.native, "found", dict.fromkeys(("planned_rows", "shaped", "small"), lambda *_: NotImplemented))
    tolerance = 1e-4 if arrays[0].dtype == np.float32 else 1e-11
    for a, b in zip(found, _answers(function, arrays), strict=True):
        assert (a.shape, a.dtype, a.strides) == (b.shape, b.dtype, b.strides)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_small_kernels_have_the_numbers_and_the_slopes_of_numpy(name, dtype, monkeypatch):
    kernels, function, *draws = CASES[name]
    rng, ran, small = np.random.default_rng(len(name)), set(), _native._Small.__call__

    def spied(self, kernel, *args):
        is_done = small(self, kernel, *args)
        ran.update([kernel] if is_done else [])
        return is_done

    monkeypatch.setattr(_native._Small, "__call__", spied)
    _compare(function, [draw(rng).astype(dtype) for draw in draws], monkeypatch)
    assert kernels <= ran or fast_calls.by_rows(1, 1, (0,)) is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NORMS)
def test_norms_of_channels_have_the_numbers_and_the_slopes_of_numpy(name, dtype, monkeypatch):
    function, shape = NORMS[name]
    rng, plan, planned = np.random.default_rng(len(name)), _native._Plans.__call__, []

    def spied(self, *args):
        planned.append(plan(self, *args))
        return planned[-1]

    monkeypatch.setattr(_native._Plans, "__call__", spied)
    channels = 6
    _compare(function, [rng.standard_normal(s).astype(dtype) for s in (shape, (channels,), (channels,))], monkeypatch)
    assert any([p is not None for p in planned]) or fast_calls.by_rows(1, 1, (0,)) is None


def test_positions_of_an_embedding_are_checked_also_where_a_kernel_reads_them():
    weight = rg.tensor(np.ones((40, 8), np.float32), requires_grad=True)
    for wrong in (-1, 40, np.iinfo(np.int64).min):
        with pytest.raises(rg.errors.OutOfRangeError, match="between 0 and 39"):
            F.embedding(rg.tensor(np.array([3] * 60 + [wrong])), weight)


def test_results_of_small_kernels_share_no_memory_with_what_they_read():
    x = rg.tensor(np.ones((4, 6, 5, 7)), requires_grad=True)
    for function in (lambda x: F.group_norm(x, 3), lambda x: F.max_pool2d(x, 1), lambda x: rg.median(x, 3)):
        z = function(x)
        assert not np.shares_memory(z.detach().numpy(), x.detach().numpy())
        seed = np.ones(z.shape)
        z.backward(seed)
        assert not np.shares_memory(x.grad.numpy(), seed)
        x.grad = None

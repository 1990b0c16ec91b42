"""Half precision: long sums, squares and products of it are computed in float32, so that only results are rounded."""

import ml_dtypes
import numpy as np
import pytest

import retrograde as rg
from retrograde.nn import functional

NUMBERS = np.random.default_rng(0).standard_normal((4, 300)) * 300
NARROW = [rg.float16, rg.bfloat16]
SAME = np.broadcast_to(1.5, (5000, 3))
PLACES = np.zeros(5000, int)

FUNCTIONS = {
    "sinc": lambda x: rg.sinc(x / 16),
    "var": lambda x: rg.var(x[:, :200] / 2, axis=1),
    "std": lambda x: rg.std(x, axis=1),
    "norm": lambda x: rg.norm(x, axis=1),
    "norm of order 3": lambda x: rg.norm(x, 3, axis=1),
    "vector_norm": lambda x: rg.vector_norm(x, axis=1, ord=3),
    "log_softmax": lambda x: rg.log_softmax(x, axis=1),
    "layer_norm": lambda x: functional.layer_norm(x, (300,)),
    "normalize": lambda x: functional.normalize(x, dim=1),
    "cosine_similarity": lambda x: functional.cosine_similarity(x, x[::-1], dim=1),
    "pairwise_distance": lambda x: functional.pairwise_distance(x, x[::-1]),
    "prod": lambda x: rg.prod(x[:, :3] * np.asarray([1, 1, 1 / 512], x.dtype), axis=1),
    "matmul of large numbers": lambda x: (x / 512) @ (x / 512).T,
    "attention": lambda x: functional.scaled_dot_product_attention(*[x.reshape(4, 30, 10)] * 3),
}
LONG = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "cumsum": lambda x: rg.cumsum(x, axis=0)[-1],
    "cumulative_sum": lambda x: rg.cumulative_sum(x, axis=0)[-1],
    "softmax": lambda x: rg.softmax(x, axis=0)[0],
    "logsumexp": lambda x: rg.logsumexp(x, axis=0),
    "average": lambda x: np.average(x, axis=0, weights=x[:, 0]),
    "einsum": lambda x: rg.einsum("ij->j", x),
    "einsum of two": lambda x: rg.einsum("ij,i->j", x, x[:, 0]),
    "einsum of few": lambda x: rg.einsum("ij,ij->j", x[:2600], x[:2600]),
    "einsum of integers": lambda x: rg.einsum("ij,i->j", x, np.ones(5000, np.int8)),
    "tensordot": lambda x: rg.tensordot(x, x, ((0,), (0,)))[0],
    "vecdot": lambda x: rg.vecdot(x.T, x.T),
    "matmul": lambda x: x.T @ x,
    "segment_sum": lambda x: rg.segment_sum(x, PLACES, 1),
    "avg_pool1d": lambda x: functional.avg_pool1d(x.T, 5000),
}


def check(f, numbers, dtype, ulps):
    x = rg.tensor(numbers).astype(dtype)
    expected = f(x.astype(rg.float64)).numpy()
    allowed = ulps * float(ml_dtypes.finfo(dtype).eps) * np.maximum(np.abs(expected), np.abs(expected).max() / 1000)
    for found in (f(x), rg.jit(f)(x)):
        assert found.dtype == dtype
        assert (np.abs(found.numpy().astype(float) - expected) <= allowed).all()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_those_of_float64_rounded(name, dtype):
    check(FUNCTIONS[name], NUMBERS, dtype, 2)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("name", LONG)
def test_long_sums_do_not_stop(name, dtype):
    check(LONG[name], SAME, dtype, 2)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("function", [
    lambda b: (b + np.asarray(SAME, b.dtype)).sum(),
    lambda b: b[PLACES].sum(),
    lambda b: rg.take(b, PLACES).sum() + 2 * b.sum(),
    lambda b: rg.take_along_axis(b, PLACES).sum(),
    lambda b: (rg.broadcast_to(b, (70000, 3)).mean(axis=0)).sum(),
    lambda b: rg.std(b * 300),
    lambda b: rg.cumsum(rg.broadcast_to(b, (5000, 3)), axis=0).mean(),
])
def test_gradients_are_those_of_float64_rounded(function, dtype):
    def f(b):
        return rg.grad(lambda b: function(b).astype(rg.float64))(b)

    check(f, np.array([0.5, 1, 2]), dtype, 4)


def test_gradient_of_a_product_that_overflows_is_that_of_its_factors():
    x = np.array([1e30, 2e30], np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(rg.grad(rg.prod)(x), x[::-1])
        assert np.isfinite(rg.grad(rg.prod)(np.array([300, 300], np.float16))).all()


MANY_CLASSES = np.random.default_rng(1).standard_normal((2, 5000)) / 8
SLOPES = {
    "cross_entropy": lambda x: functional.cross_entropy(x, PLACES),
    "cross_entropy, smoothed": lambda x: functional.cross_entropy(x, PLACES, label_smoothing=0.1),
    "cross_entropy, weighted": lambda x: functional.cross_entropy(x, PLACES, weight=rg.ones(3).astype(x.dtype)),
    "cross_entropy of shares": lambda x: functional.cross_entropy(x, np.broadcast_to([0.5, 0.25, 0.25], (5000, 3)).astype(x.dtype)),
    "nll_loss": lambda x: functional.nll_loss(x, PLACES),
    "ctc_loss": lambda x: functional.ctc_loss(-x[:300, None], np.array([[1, 2]]), np.array([300]), np.array([2])),
    "mse_loss": lambda x: functional.mse_loss(x, x * 0),
    "mean": lambda x: x.mean(),
    "a broadcast factor": lambda x: (x * x[:1]).sum() / 5000,
    "embedding": lambda x: functional.embedding(PLACES, x[:2]).sum() / 2500,
    "einsum": lambda x: rg.einsum("ij,ij->", x, x) / 5000,
    "matmul": lambda x: (x.T @ (x / 16)).sum() / 5000,
    "batch_norm": lambda x: (functional.batch_norm(x, None, None, rg.full((3,), 0.5).astype(x.dtype), training=True) * x).sum() / 64,
    "conv1d": lambda x: functional.conv1d(x.T[None] / 8, x.T[None, :, :3]).sum() / 5000,
    "bias of a convolution": lambda x: functional.conv1d(x.T[None] / 8, x[:3].reshape(3, 3, 1), x[0]).sum() / 64,
    "bias of a layer": lambda x: functional.linear(x / 8, x[:2], x[:2, 0]).sum() / 64,
    "poisson_nll_loss": lambda x: functional.poisson_nll_loss(x, x * 0 + 1),
    "gaussian_nll_loss": lambda x: functional.gaussian_nll_loss(x, x * 0 + 1, x * 0 + 0.5),
    "multi_margin_loss": lambda x: functional.multi_margin_loss(x, PLACES),
    "soft_margin_loss": lambda x: functional.soft_margin_loss(x, x * 0 + 1),
    "kl_div": lambda x: functional.kl_div(x, x * 0 + 0.5, reduction="batchmean"),
    "binary_cross_entropy": lambda x: functional.binary_cross_entropy(x / 2, x * 0 + 0.25),
    "cross_entropy of pixels": lambda x: functional.cross_entropy(x.T.reshape(1, 3, 50, 100), PLACES.reshape(1, 50, 100)),
    "cross_entropy, none": lambda x: functional.cross_entropy(x, PLACES, reduction="none").mean(),
    "logsumexp": lambda x: rg.logsumexp(x, axis=0).sum(),
    "norm": lambda x: rg.linalg.norm(x),
    "var": lambda x: rg.var(x * np.asarray(np.arange(5000)[:, None] % 2 + 1, x.dtype), axis=0).sum(),
    "embedding_bag": lambda x: functional.embedding_bag(PLACES[None], x[:2], mode="mean").sum(),
    "take_along_axis": lambda x: rg.take_along_axis(x, np.zeros((5000, 3), int), axis=0).sum() / 64,
    "replicated borders": lambda x: functional.pad(x.T[None], (5000, 3), mode="replicate").sum() / 64,
    "interpolate": lambda x: functional.interpolate(x[:1].T[None], size=5000, mode="nearest").sum() / 64,
    "where": lambda x: rg.where(x > 1, x[0], 0).sum() / 64,
    "power": lambda x: (x ** x[0]).sum() / 64,
    "attention": lambda x: functional.scaled_dot_product_attention(x[None] / 8, x[None, :5], x[None, :5]).sum() / 64,
    "bilinear": lambda x: functional.bilinear(x[:, :2] / 8, x[:, 1:], x[:4].reshape(3, 2, 2)).sum() / 64,
}
OF_CLASSES = {
    "cross_entropy": lambda x: functional.cross_entropy(x, PLACES[:2]),
    "cross_entropy, smoothed": lambda x: functional.cross_entropy(x, PLACES[:2], label_smoothing=0.1),
    "cross_entropy of shares": lambda x: functional.cross_entropy(x, np.eye(2, 5000).astype(x.dtype)),
    "log_softmax": lambda x: rg.log_softmax(x, -1)[:, 0].sum(),
}


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_contractions_of_arrays_keep_their_dtype(dtype):
    x, whole = np.full((4, 3), 0.5).astype(dtype), np.ones((4, 3), np.int8)
    for operands, expected in [((x, x), dtype), ((x, x, rg.tensor(x)), dtype), ((x, whole), dtype), ((x, x.astype(np.float32)), rg.float32)]:
        found = rg.einsum(",".join(["ij"] * len(operands)) + "->j", *operands)
        assert found.dtype == expected
        np.testing.assert_array_equal(np.asarray(found, float), 4 * 0.5 ** (len(operands) - (whole is operands[-1])))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize(("f", "numbers"), [*[pytest.param(f, SAME, id=name) for name, f in SLOPES.items()], *[
    pytest.param(f, MANY_CLASSES, id=f"{name}, of many classes") for name, f in OF_CLASSES.items()]])
def test_gradients_of_long_sums_do_not_stop(f, numbers, dtype):
    check(rg.grad(f), numbers, dtype, 8)


LARGE = np.array([[1000, 1000, 996], [1, 2, 3], [-800, -800, -804], [0, -640, 64]])


@pytest.mark.parametrize("dtype", [rg.float64, rg.float32, *NARROW], ids=str)
def test_parts_of_logarithms_of_sums_of_large_numbers_add_up_to_one(dtype):
    x, eps = rg.tensor(LARGE).astype(dtype), float(ml_dtypes.finfo(dtype).eps)
    shifted = np.exp(LARGE - LARGE.max(1, keepdims=True))
    of_sum = rg.grad(lambda x: rg.logsumexp(x, axis=1).sum())
    of_two = rg.grad(lambda x, y: rg.logaddexp(x, y).sum(), (0, 1))
    for run in (lambda f: f, rg.jit):
        np.testing.assert_allclose(run(of_sum)(x).detach().numpy().astype(float), shifted / shifted.sum(1, keepdims=True), atol=eps)
        two = [g.detach().numpy().astype(float) for g in run(of_two)(x[:, 0], x[:, 2])]
        np.testing.assert_allclose(two[0], 1 / (1 + np.exp(LARGE[:, 2] - LARGE[:, 0])), atol=eps)
        np.testing.assert_allclose(two[0] + two[1], 1, atol=eps)

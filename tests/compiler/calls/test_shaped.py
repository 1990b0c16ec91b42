"""Ops of large arrays that are compiled for shapes give what NumPy gives, and its errors."""


import numpy as np
import pytest

import retrograde as rg
from retrograde import linalg
from retrograde.compiler.calls import shaped
from retrograde.compiler.calls.shaped import _programs
from retrograde.core.gradient import gradient
from retrograde.errors import ArgumentError, OutOfRangeError
from retrograde.ops import _native
from together import in_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
F, RNG = rg.nn.functional, np.random.default_rng(0)
ROWS, WIDTH = 300, 301
LABELS, WEIGHT, BIAS = RNG.integers(0, WIDTH, ROWS), RNG.uniform(0.5, 2, WIDTH), RNG.standard_normal(WIDTH)
TRIANGLE = RNG.standard_normal((140, 140)) / 12 + 3 * np.eye(140)
PLACES, KERNEL, MASK = np.arange(300) % 7, RNG.standard_normal((4, 10, 3, 3)), RNG.random((ROWS, 50)) < 0.7
QUERIES = RNG.standard_normal((3, ROWS, WIDTH))[:, :50]
#: Functions of an array (ROWS, WIDTH), and of others.
CASES = {
    "softmax": (rg.softmax,), "softmax of columns": (lambda x: rg.softmax(x, 0),), "log_softmax": (rg.log_softmax,),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (WIDTH,), w, b), WEIGHT, BIAS), "standardize": (rg.standardize,),
    "rms_norm": (lambda x, w: F.rms_norm(x, (WIDTH,), w), WEIGHT), "cross_entropy": (lambda x: F.cross_entropy(x, LABELS),),
    "smoothed": (lambda x: F.cross_entropy(x, LABELS, WEIGHT.astype(x.dtype), int(LABELS[3]), label_smoothing=0.1),),
    "of each": (lambda x: F.cross_entropy(x, LABELS, reduction="none"),), "logsumexp": (lambda x: rg.logsumexp(x, -1),),
    "var": (lambda x: rg.var(x, 0, correction=1),), "std": (lambda x: rg.std(x),),
    "embedding": (lambda w: F.embedding(PLACES, w, 3),), "max_pool2d": (lambda x: F.max_pool2d(x[:, None, :300].reshape(3, 100, 30, -1), 2),),
    "avg_pool2d": (lambda x: F.avg_pool2d(x.reshape(1, 1, ROWS, WIDTH), 3, padding=1),),
    "conv2d": (lambda x, w, b: F.conv2d(x[:, :300].reshape(9, 10, 100, 10), w, b, padding=1), KERNEL, KERNEL[:, 0, 0, 0]),
    "attention": (lambda x, k, v: F.scaled_dot_product_attention(x, k, v, is_causal=True), *QUERIES[1:]),
    "masked attention": (lambda x, k, v: F.scaled_dot_product_attention(x, k, v, MASK), *QUERIES[1:]),
}
DEFINITE = TRIANGLE @ TRIANGLE.T + np.eye(140)
MATRICES = {
    "cholesky": (linalg.cholesky, [DEFINITE]), "upper": (lambda x: linalg.cholesky(x, upper=True), [DEFINITE]),
    "solve": (linalg.solve, [TRIANGLE, RNG.standard_normal((140, 9))]), "line": (linalg.solve, [TRIANGLE, RNG.standard_normal(140)]),
    "inv": (linalg.inv, [TRIANGLE]), "small": (linalg.solve, [DEFINITE[:10, :10] + RNG.random((200, 1, 1)), RNG.random((10, 3))]),
}
EQUATIONS = {
    "left": ({}, (140, 30)), "upper": ({"upper": True}, (140, 3)), "right": ({"left": False}, (20, 140)), "line": ({}, (140,)),
    "of ones": ({"unitriangular": True}, (140, 20)), "all": ({"upper": True, "left": False, "unitriangular": True}, (2, 20, 140)),
}


def _both(monkeypatch, function, arrays, g):
    """Result and gradients by compiled code, and by NumPy."""
    found = []
    nothing = _native.Native()
    nothing.provide(lambda _: lambda *_: NotImplemented)
    for native in (_native.native, nothing):
        monkeypatch.setattr(_native, "native", native)
        tensors = [rg.tensor(x, requires_grad=True) for x in arrays]
        z = function(*tensors)
        z.backward(g[: z.size].reshape(z.shape).astype(z.dtype) if z.ndim else None)
        found.append([z.data, *[t.grad.data for t in tensors]])
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_and_their_slopes_are_those_of_numpy(monkeypatch, name, dtype):
    function, *others = CASES[name]
    arrays = [x.astype(dtype) for x in (RNG.standard_normal((ROWS, WIDTH)), *others)]
    _programs.forget()
    ours, theirs = _both(monkeypatch, function, arrays, RNG.standard_normal(ROWS * WIDTH))
    assert _programs._known
    for found, expected in zip(ours, theirs, strict=True):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        tolerance = 1e-12 if dtype == np.float64 else 1e-5
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("name", EQUATIONS)
def test_triangular_equations_are_solved_as_by_numpy(monkeypatch, name):
    options, shape = EQUATIONS[name]
    _programs.forget()
    solve = lambda x, y: linalg.solve_triangular(x, y, **options)
    ours, theirs = _both(monkeypatch, solve, [TRIANGLE, RNG.standard_normal(shape)], RNG.standard_normal(9000))
    assert _programs._known
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("name", MATRICES)
def test_factors_and_solutions_are_those_of_numpy(monkeypatch, name):
    _programs.forget()
    ours, theirs = _both(monkeypatch, *MATRICES[name], RNG.standard_normal(140 * 140))
    assert _programs._known
    for found, expected in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())


def test_programs_with_much_memory_are_dropped(monkeypatch):
    monkeypatch.setattr(shaped, "_MOST", 3)
    _programs.forget()
    for width in range(300, 308):
        rg.softmax(RNG.standard_normal((ROWS, width)))
    assert len(_programs._known) == 3
    monkeypatch.setattr(shaped, "_MOST_BYTES", 0)
    x = RNG.standard_normal((ROWS, WIDTH))
    np.testing.assert_allclose(rg.softmax(x).sum(-1), 1)
    assert not _programs._known


def test_eager_rows_have_the_bits_of_compiled_ones():
    x = RNG.standard_normal((ROWS, WIDTH)).astype(np.float32)
    np.testing.assert_array_equal(rg.softmax(rg.tensor(x)).numpy(), rg.jit(rg.softmax)(x))


def test_arrays_that_are_not_contiguous_are_read_as_they_are():
    x = RNG.standard_normal((WIDTH, 2 * ROWS)).T[::2]
    exps = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(rg.softmax(rg.tensor(x)).numpy(), exps / exps.sum(-1, keepdims=True), rtol=1e-12)


def test_errors_are_those_of_small_arrays():
    x = rg.tensor(RNG.standard_normal((ROWS, WIDTH)))
    with pytest.raises(OutOfRangeError, match="class numbers must lie between 0 and 300"):
        F.cross_entropy(x, LABELS + WIDTH)
    singular = TRIANGLE.copy()
    singular[5, 5] = 0
    with pytest.raises(ArgumentError, match="singular"):
        linalg.solve_triangular(rg.tensor(singular), np.ones((140, 2)))
    with np.errstate(invalid="ignore"), pytest.raises(ArgumentError, match="singular"):
        linalg.solve_triangular(rg.tensor(singular), np.ones((140, 2)))
    assert np.isfinite(linalg.solve_triangular(rg.tensor(TRIANGLE), np.ones((140, 2))).data).all()


def test_what_is_given_out_is_not_written_again():
    x = RNG.standard_normal((ROWS, WIDTH))
    losses = [F.cross_entropy(rg.tensor(x * i), LABELS) for i in (1.0, 2.0)]
    kept = [float(loss.data) for loss in losses]
    F.cross_entropy(rg.tensor(x * 3), LABELS)
    assert [float(loss.data) for loss in losses] == kept
    assert kept[0] != kept[1]


def test_second_derivatives_of_large_rows():
    x = rg.tensor(RNG.standard_normal((ROWS, WIDTH)), requires_grad=True)
    g, h = RNG.standard_normal((2, ROWS, WIDTH))
    z = rg.softmax(x)
    (first,) = gradient([z], [x], [g], create_graph=True)
    (second,) = gradient([first], [x], [h])
    p = z.data
    slope = lambda p, v: p * (v - (v * p).sum(-1, keepdims=True))
    # The derivative of the slope in the direction h.
    step = 1e-6
    moved = [rg.softmax(x.data + sign * step * h) for sign in (1, -1)]
    np.testing.assert_allclose(second, (slope(moved[0], g) - slope(moved[1], g)) / (2 * step), rtol=0, atol=1e-8)
    np.testing.assert_allclose(first.data, slope(p, g), rtol=0, atol=1e-14)


def test_several_threads_may_use_one_program():
    inputs, found = [RNG.standard_normal((ROWS, WIDTH)) for _ in range(4)], {}
    expected = [rg.log_softmax(x) for x in inputs]

    def compute(i):
        found[i] = [rg.log_softmax(inputs[i]) for _ in range(10)]

    in_threads(compute, [(i,) for i in range(4)])
    for i in range(4):
        for array in found[i]:
            np.testing.assert_array_equal(array, expected[i])

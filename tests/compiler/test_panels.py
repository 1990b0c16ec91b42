"""panels: a matrix that a loop multiplies by in every iteration is packed once, before it."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def _drawn(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape)


def _walked(x, weight, iterations=5):
    return rg.scan(lambda h, _: (rg.tanh(h @ weight), h.sum()), x, length=iterations)


def _kinds(step):
    return [kernel.kind for kernel in step.explain().kernels]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("rows", "width"), [(32, 64), (20, 96), (33, 320), (32, 33), (2, 64), (1, 128)])
def test_values_and_gradients_of_a_loop_are_the_eager_ones(rows, width, dtype):
    x, weight = (rg.tensor(a.astype(dtype)) for a in (_drawn(rows, width), _drawn(width, width) / width))
    slopes = rg.grad(lambda x, w: (_walked(x, w)[0] ** 2).sum() + _walked(x, w.mT)[1].sum(), (0, 1))
    for got, wanted in zip(rg.jit(slopes)(x, weight), slopes(x, weight), strict=True):
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-5)


def test_a_matrix_from_outside_is_packed_before_the_first_turn():
    step = rg.jit(lambda x, w: _walked(x, w)[0])
    step(_drawn(32, 128), _drawn(128, 128))
    assert _kinds(step).count("pack") == 1
    assert _kinds(step).index("pack") < _kinds(step).index("repeat")


def test_a_matrix_that_changes_from_turn_to_turn_is_not():
    x, weights = _drawn(32, 64), _drawn(3, 64, 64)
    step = rg.jit(lambda x, ws: rg.scan(lambda h, w: (h @ w, None), x, ws)[0])
    np.testing.assert_allclose(np.asarray(step(x, weights)), x @ weights[0] @ weights[1] @ weights[2])
    assert "pack" not in _kinds(step)


def test_a_carried_matrix_is_not_packed_beforehand():
    step = rg.jit(lambda w: rg.scan(lambda h, _: (h @ h, None), w, length=3)[0])
    weight = _drawn(64, 64) / 8
    np.testing.assert_allclose(np.asarray(step(weight)), np.linalg.matrix_power(weight, 8), rtol=1e-9, atol=1e-12)
    assert "pack" not in _kinds(step)


def test_a_loop_inside_a_loop_packs_its_matrix_in_each_turn():
    x, weight = _drawn(32, 64), _drawn(64, 64) / 64

    def function(x, weight):
        return rg.scan(lambda h, _: (_walked(h, weight + 0 * h[:1, :1], 3)[0] @ weight, None), x, length=4)[0]

    np.testing.assert_allclose(np.asarray(rg.jit(function)(x, weight)), np.asarray(function(rg.tensor(x), rg.tensor(weight))),
                               rtol=1e-9, atol=1e-12)


def test_a_loop_that_python_runs_multiplies_by_the_matrix_itself():
    x, weight = _drawn(32, 64), _drawn(64, 64) / 64

    def function(x, weight):
        return rg.scan(lambda h, _: (rg.sort(h @ weight, axis=1), None), x, length=3)[0]

    step = rg.jit(function)
    np.testing.assert_allclose(np.asarray(step(x, weight)), np.asarray(function(rg.tensor(x), rg.tensor(weight))), rtol=1e-9, atol=1e-12)
    assert "pack" not in _kinds(step)


def test_the_number_of_turns_may_be_known_only_when_it_runs():
    x, weight = _drawn(32, 64), _drawn(64, 64) / 8
    step = rg.jit(lambda x, w, n: rg.fori_loop(0, n, lambda _, h: h @ w, x))
    for iterations in (0, 1, 4):
        np.testing.assert_allclose(np.asarray(step(x, weight, rg.tensor(iterations))), x @ np.linalg.matrix_power(weight, iterations), rtol=1e-9, atol=1e-12)

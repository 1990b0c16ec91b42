"""vmap: all examples at once give what a loop over them gives, with derivatives inside and outside; ops are in test_sweep_vmap."""

import numpy as np
import pytest

import retrograde as rg
from cube import Cube
from retrograde import nn
from retrograde.errors import ArgumentError, InplaceError, ShapeError, TraceError

COUNT = 3


def test_each_example_may_choose_other_rows_of_a_table_whose_cotangents_are_constants():
    table, rows = np.arange(14.0).reshape(7, 2), np.array([[1, 2], [3, 3]])
    counts = rg.vmap(rg.grad(lambda table, i: nn.functional.embedding(i, table).sum()), (None, 0))(table, rows)
    np.testing.assert_array_equal(counts[:, :, 0], [[0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 2, 0, 0, 0]])


def _data(*shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape)


def _loss(w, x):
    return (rg.tanh(x @ w) ** 2).sum() + rg.softmax(x)[0] * w[0, 0]


def test_gradients_of_examples_are_those_of_a_loop():
    w, xs = _data(4, 3), _data(5, 4, seed=1)
    found = rg.vmap(rg.grad(_loss, (0, 1)), (None, 0))(w, xs)
    wanted = [rg.grad(_loss, (0, 1))(w, x) for x in xs]
    for i in range(2):
        np.testing.assert_allclose(found[i], np.stack([g[i] for g in wanted]), rtol=1e-12)


def test_second_derivatives_pass_through_from_outside_and_from_inside():
    w, xs = _data(4, 3), _data(5, 4, seed=1)
    by_vmap = lambda w, xs: (rg.vmap(rg.grad(_loss, 1), (None, 0))(w, xs) ** 3).sum()
    by_loop = lambda w, xs: sum((rg.grad(_loss, 1)(w, x) ** 3).sum() for x in xs)
    for found, wanted in zip(rg.grad(by_vmap, (0, 1))(w, xs), rg.grad(by_loop, (0, 1))(w, xs), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-10)
    hessians = rg.vmap(rg.hessian(lambda x: _loss(w, x)))(xs)
    np.testing.assert_allclose(hessians, np.stack([rg.hessian(lambda x: _loss(w, x))(x) for x in xs]), rtol=1e-10)


def test_tensors_from_outside_receive_gradients():
    layer, xs = rg.nn.Linear(4, 2), rg.tensor(_data(5, 4), dtype=rg.float32)
    (rg.vmap(lambda x: rg.tanh(layer(x)))(xs) ** 2).sum().backward()
    found, layer.weight.grad = layer.weight.grad.data, None
    (rg.tanh(layer(xs)) ** 2).sum().backward()
    np.testing.assert_allclose(found, layer.weight.grad.data, rtol=1e-5)


def test_vmap_compiles_and_stays_one_program():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    w, xs = _data(4, 3), _data(50, 4, seed=1)
    step = rg.jit(rg.vmap(rg.grad(_loss), (None, 0)))
    np.testing.assert_allclose(np.asarray(step(w, xs)), rg.vmap(rg.grad(_loss), (None, 0))(w, xs), rtol=1e-10)
    assert len(step.explain().kernels) < 15
    np.testing.assert_allclose(np.asarray(rg.vmap(rg.jit(_loss), (None, 0))(w, xs)), [_loss(w, rg.tensor(x)).item() for x in xs],
                               rtol=1e-10)


def test_axes_of_arguments_and_results_can_be_chosen():
    x, y = _data(2, 3), _data(3, 2, seed=1)
    np.testing.assert_allclose(rg.vmap(lambda a, b: a * b, (1, 0), 1)(x, y), x * y.T)
    found = rg.vmap(lambda tree, c: {"sum": tree["a"] + c, "same": c}, (0, None))({"a": x}, 2.0)
    np.testing.assert_allclose(found["sum"], x + 2)
    np.testing.assert_allclose(found["same"], [2.0, 2.0])
    first, second = rg.vmap(lambda a: (a, a * 2), 0, (0, 1))(x)
    np.testing.assert_allclose(first, x)
    np.testing.assert_allclose(second, 2 * x.T)


def test_vmaps_nest():
    x, y = _data(4, 3), _data(5, 3, seed=1)
    every_pair = rg.vmap(rg.vmap(lambda a, b: (a * b).sum(), (None, 0)), (0, None))
    np.testing.assert_allclose(every_pair(x, y), x @ y.T)


def test_a_copy_can_be_written_to_and_what_is_outside_cannot():
    outside = rg.zeros(2, dtype=rg.float64)

    def turned(x):
        y = rg.zeros(3, dtype=rg.float64)
        y[1:] = x
        y[0] += x.sum()
        return y

    x = _data(4, 2)
    np.testing.assert_allclose(rg.vmap(turned)(x), np.concatenate([x.sum(1, keepdims=True), x], 1))

    def leaks(x):
        outside[...] = x
        return x

    with pytest.raises(TraceError, match="outside"):
        rg.vmap(leaks)(x)


def test_indices_of_examples_choose_from_what_is_the_same_for_all():
    table, places = _data(6, 3), np.array([[0, 5], [2, 2], [4, 1]])
    np.testing.assert_allclose(rg.vmap(lambda i: rg.take(rg.tensor(table), i, axis=0))(places), table[places])
    np.testing.assert_allclose(rg.vmap(lambda i: rg.tensor(table)[i])(places), table[places])
    x = _data(3, 4, 5, 6)
    for index in [(0, slice(None), [1, 2]), ([0, 1], slice(None), [2, 3]), ([0, 1], [2, 3]), (..., None, 2), (slice(1, 3), 0)]:
        np.testing.assert_allclose(rg.vmap(lambda a, index=index: a[index])(x), np.stack([a[index] for a in x]))


def test_arguments_that_do_not_fit_are_explained():
    with pytest.raises(ShapeError, match="same number of examples"):
        rg.vmap(lambda a, b: a + b)(_data(2), _data(3))
    with pytest.raises(ShapeError, match="None in in_axes"):
        rg.vmap(lambda a, b: a + b)(_data(2), 1.0)
    with pytest.raises(ArgumentError, match="in_axes"):
        rg.vmap(lambda a: a, (0, 0))(_data(2))
    with pytest.raises(TraceError, match="where"):
        rg.vmap(lambda a: a if a > 0 else -a)(_data(2))


def test_an_op_without_a_rule_runs_in_a_loop():
    x = _data(3, 4, 4) + 3 * np.eye(4)
    found = rg.vmap(lambda a: rg.linalg.matrix_rank(a))(x)
    np.testing.assert_array_equal(found, [4, 4, 4])


CORNERS = {
    "std of equal elements": lambda x: rg.std(x * 0, axis=0), "length of nothing but zeros": lambda x: rg.vector_norm(x * 0),
    "length of a zero": lambda x: rg.vector_norm(x[:1] * 0, axis=0), "std of one element": lambda x: rg.std(x[:1], axis=0),
    "cross entropy of a sure answer": lambda x: rg.cross_entropy(x * 100.0, x * 0 + 1.0),
    "binary cross entropy at 0": lambda x: rg.binary_cross_entropy(x * 0, x * 0 + 0.5), "hardswish at a corner": lambda x: rg.hardswish(x * 0 - 3.0).sum(),
}


@pytest.mark.parametrize("name", CORNERS)
def test_a_derivative_around_a_vmap_is_that_of_the_ops_own_rules_in_corners_too(name):
    function, rows = CORNERS[name], np.random.default_rng(0).normal(size=(COUNT, 3))
    one_by_one = lambda x: sum(function(x[k]).sum() * (k + 1) for k in range(COUNT))
    at_once = lambda x: (rg.vmap(function)(x).reshape(COUNT, -1).sum(-1) * np.arange(1, COUNT + 1)).sum()
    for transform in (rg.grad, lambda f: rg.jit(rg.grad(f)), lambda f: rg.grad(lambda x: (rg.grad(f)(x) ** 2).sum())):
        np.testing.assert_allclose(transform(at_once)(rows), transform(one_by_one)(rows), rtol=1e-10, atol=1e-14)


def test_what_is_detached_under_vmap_shows_what_is_written_to_what_it_was_detached_from():
    def function(x):
        y = x * 1
        fixed = y.detach()
        part = fixed[1:]
        y[1] = 3.0 * x[0]
        return fixed.sum() + y.sum() + (part * x[1]).sum()

    rows = np.random.default_rng(0).normal(size=(COUNT, 3))
    one_by_one = lambda x: rg.stack([function(x[k]) for k in range(COUNT)])
    for transform in (lambda f: f, rg.jit, lambda f: rg.grad(lambda x: (f(x) ** 2).sum()), lambda f: rg.jit(rg.grad(lambda x: (f(x) ** 2).sum()))):
        np.testing.assert_allclose(transform(rg.vmap(function))(rg.tensor(rows)), transform(one_by_one)(rg.tensor(rows)), rtol=1e-12)


@pytest.mark.parametrize("view", [lambda y: y, lambda y: y[:], lambda y: y.T, lambda y: rg.flip(y, axis=0), lambda y: y.reshape(-1)],
                         ids=["itself", "slice", "T", "flip", "reshape"])
def test_what_is_detached_under_vmap_is_written_to_unless_a_derivative_around_it_would_see(view):
    def function(x):
        y = x * 2
        fixed = view(y).detach()
        fixed += 1
        return y

    np.testing.assert_array_equal(rg.vmap(function)(np.ones((2, 3))), np.full((2, 3), 3.0))
    with pytest.raises(InplaceError, match="what is detached under vmap cannot be written to"):
        rg.grad(lambda x: rg.vmap(function)(x).sum())(np.ones((2, 3)))


def test_a_function_is_differentiated_inside_and_from_outside():
    x = _data(4, 3)
    np.testing.assert_allclose(rg.vmap(rg.grad(lambda x: Cube.apply(x).sum()))(x), 3 * x**2)
    np.testing.assert_allclose(rg.grad(lambda x: rg.vmap(Cube.apply)(x).sum())(x), 3 * x**2)


def test_checkpoints_scans_and_loops_work_inside():
    x = _data(4, 3)
    part = lambda x: rg.checkpoint(lambda y: rg.sin(y), x).sum()
    np.testing.assert_allclose(rg.vmap(rg.grad(part))(x), np.cos(x), rtol=1e-12)
    np.testing.assert_allclose(rg.grad(lambda x: rg.vmap(part)(x).sum())(x), np.cos(x), rtol=1e-12)
    np.testing.assert_allclose(rg.vmap(lambda x: rg.scan(lambda c, v: (c + v, c * v), 0.0, x)[0])(x), x.sum(1))
    np.testing.assert_allclose(rg.vmap(lambda x: rg.fori_loop(0, 3, lambda i, c: c * x.sum(), 1.0))(x), x.sum(1) ** 3)


def test_random_numbers_are_the_same_for_all_examples_and_others_at_the_next_call():
    noisy = rg.vmap(lambda x: x * 0 + rg.randn(3, dtype=rg.float64))
    first, second = noisy(_data(4, 3)), noisy(_data(4, 3))
    np.testing.assert_array_equal(first, np.broadcast_to(first[0], (4, 3)))
    assert not np.allclose(first, second)


@pytest.mark.parametrize("make", [
    lambda: (rg.nn.LSTM(3, 5, batch_first=True), (4, 6, 3), 0), lambda: (rg.nn.Conv2d(3, 4, 3), (5, 3, 8, 8), None),
    lambda: (rg.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), (3, 5, 8), None),
])
def test_layers_of_one_example_give_what_they_give_for_a_batch(make):
    layer, shape, place = make()
    x = rg.tensor(_data(*shape).astype(np.float32))
    chosen = (lambda x: layer(x)) if place is None else (lambda x: layer(x)[place])
    np.testing.assert_allclose(rg.vmap(chosen)(x).detach(), chosen(x).detach(), rtol=1e-4, atol=1e-5)


def test_python_numbers_join_examples():
    x = _data(4)
    np.testing.assert_array_equal(rg.vmap(lambda x: rg.stack([0.0, x]))(x), np.stack([np.zeros(4), x], 1))
    total = lambda x: rg.scan(lambda c, v: (c + v, c), 0.0, x)[1]
    np.testing.assert_allclose(rg.vmap(total)(_data(4, 3)), np.stack([total(x) for x in _data(4, 3)]), rtol=1e-12)


def test_an_array_cannot_be_indexed_by_an_example_but_a_tensor_can():
    table, places = np.arange(5.0), np.array([1, 3])
    with pytest.raises(TraceError, match="index a tensor instead of an array"):
        rg.vmap(lambda i: table[i])(places)
    np.testing.assert_array_equal(rg.vmap(lambda i: rg.tensor(table)[i])(places), table[places])


def test_axes_that_are_no_axes_are_told():
    with pytest.raises(ArgumentError, match="one integer or None for each argument"):
        rg.vmap(lambda d: d["a"], in_axes=({"a": 0},))({"a": np.ones(2)})
    with pytest.raises(ArgumentError, match="needs an argument with examples"):
        rg.vmap(lambda x: x, in_axes=None)(np.ones(2))


def test_examples_write_at_a_position_that_is_traced():
    x = np.random.default_rng(0).standard_normal((3, 4))

    def written(x, i, value):
        y = x * 1.0
        y[i] = value
        return y

    expected = x.copy()
    expected[:, 1] = 5.0
    np.testing.assert_array_equal(rg.jit(lambda x, i: rg.vmap(lambda x: written(x, i, 5.0))(x))(x, np.array(1)), expected)
    expected[:, 2] = x[:, 0]
    expected[:, 0] = 5.0
    step = rg.jit(lambda x, i: rg.vmap(lambda x: written(written(x, i, x[0]), i - 2, 5.0))(x))
    np.testing.assert_array_equal(step(x, np.array(2))[:, [0, 2, 3]], expected[:, [0, 2, 3]])
    slope = rg.jit(lambda x, i: rg.vmap(rg.grad(lambda x: (written(x, i, 2.0) ** 2).sum()))(x))(x, np.array(3))
    np.testing.assert_allclose(slope, 2 * x * (np.arange(4) != 3))


@pytest.mark.parametrize("function", [rg.vector_norm, lambda z: rg.vector_norm(z, ord=3), lambda z: rg.std(z.real) + rg.vector_norm(z[:1]),
                                      lambda z: (rg.einsum("i,j->ij", z, z) * (2 + 1j)).imag.sum()],
                         ids=["length", "power", "parts", "complex results"])
def test_a_derivative_around_vmap_of_complex_examples_is_that_of_each(function):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(COUNT, 3)) + 1j * rng.normal(size=(COUNT, 3))
    for transform in (lambda f: f, rg.jit):
        found = transform(rg.grad(lambda z: rg.vmap(function)(z).sum()))(rows)
        np.testing.assert_allclose(found, [rg.grad(function)(row) for row in rows], rtol=1e-12)


def test_a_pad_of_numbers_by_no_widths_is_mapped():
    np.testing.assert_array_equal(rg.vmap(lambda x: rg.pad(x, ()) * 2)(np.array([0.3, 0.7])), [0.6, 1.4])

"""jvp, linearize and jacfwd: forward derivatives against the reverse ones and against differences."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError


def _function(x, y):
    return {"a": rg.sin(x) * y.sum(), "b": x @ y[: x.shape[0]]}


def _points():
    rng = np.random.default_rng(0)
    return (rng.standard_normal(3), rng.standard_normal(4)), (rng.standard_normal(3), rng.standard_normal(4))


def test_the_change_is_that_of_differences():
    primals, tangents = _points()
    value, change = rg.jvp(_function, primals, tangents)
    step = 1e-6
    ends = [_function(*[rg.tensor(p + s * step * t) for p, t in zip(primals, tangents, strict=True)]) for s in (1, -1)]
    for name in ("a", "b"):
        np.testing.assert_allclose(value[name], _function(*map(rg.tensor, primals))[name].data, rtol=1e-14)
        np.testing.assert_allclose(change[name], (ends[0][name].data - ends[1][name].data) / (2 * step), rtol=1e-7)


def test_a_linearized_function_serves_many_tangents():
    primals, tangents = _points()
    _, push = rg.linearize(_function, *primals)
    for scale in (1.0, -2.0):
        scaled = tuple(scale * t for t in tangents)
        np.testing.assert_allclose(push(*scaled)["a"], rg.jvp(_function, primals, scaled)[1]["a"], rtol=1e-12)


def test_jacobians_by_columns_are_those_by_rows():
    x, y = _points()[0]
    function = lambda x, y: rg.outer(rg.sin(x), y * x[0]) + x[1] ** 2
    for argnums in (0, 1, (0, 1)):
        found, wanted = rg.jacfwd(function, argnums)(x, y), rg.jacrev(function, argnums)(x, y)
        pairs = zip(found, wanted, strict=True) if isinstance(argnums, tuple) else [(found, wanted)]
        for a, b in pairs:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_forward_over_reverse_is_the_matrix_of_second_derivatives():
    x = _points()[0][0]
    loss = lambda x: (rg.sin(x) * x[0]).sum()
    np.testing.assert_allclose(rg.jacfwd(rg.grad(loss))(x), rg.hessian(loss)(x), rtol=1e-12, atol=1e-14)
    v = np.array([1.0, -1.0, 2.0])
    np.testing.assert_allclose(rg.jvp(rg.grad(loss), (x,), (v,))[1], rg.hessian(loss)(x) @ v, rtol=1e-12)


def test_changes_can_be_differentiated_and_batched():
    x = _points()[0][0]
    slope = lambda x: rg.jvp(lambda x: (x**3).sum(), (x,), (np.ones(3),))[1]
    np.testing.assert_allclose(rg.grad(slope)(x), 6 * x, rtol=1e-12)
    rows = np.eye(3)
    pushed = rg.vmap(lambda v: rg.jvp(rg.sin, (x,), (v,))[1])(rows)
    np.testing.assert_allclose(pushed, np.diag(np.cos(x)), rtol=1e-12)


def test_compiled_changes_are_the_same():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    primals, tangents = _points()
    function = lambda x, v: rg.jvp(lambda x: rg.tanh(x) * x.sum(), (x,), (v,))[1]
    np.testing.assert_allclose(np.asarray(rg.jit(function)(primals[0], tangents[0])), function(primals[0], tangents[0]), rtol=1e-12)


def test_aux_comes_back_and_misfits_are_explained():
    value, change, aux = rg.jvp(lambda x: (x * 2, "seen"), (1.0,), (3.0,), has_aux=True)
    assert (float(value), float(change), aux) == (2.0, 6.0, "seen")
    with pytest.raises(ShapeError, match="shapes of primals"):
        rg.jvp(rg.sin, (np.ones(3),), (np.ones(2),))
    with pytest.raises(ArgumentError, match="tuple"):
        rg.jvp(rg.sin, 1.0, 1.0)


def test_changes_are_arrays_or_tensors_as_the_arguments_are():
    function, x, v = lambda x: rg.sin(x) * x[0], np.array([0.5, 1.5]), np.ones(2)
    for primal, tangent, kind in ((x, v, np.ndarray), (rg.tensor(x), v, rg.Tensor), (x, rg.tensor(v), rg.Tensor)):
        found = rg.jvp(function, (primal,), (tangent,))[1]
        assert type(found) is kind is type(rg.linearize(function, primal)[1](tangent)) is type(rg.make_jvp(function)(primal)(tangent)[1])
        assert not getattr(found, "requires_grad", False)


def test_changes_of_many_tangents_are_arrays_too():
    push = rg.linearize(lambda x: rg.sin(x) * x[0], np.array([0.5, 1.5]))[1]
    tangents = np.arange(6.0).reshape(3, 2)
    found = rg.vmap(push)(tangents)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, [push(v) for v in tangents])

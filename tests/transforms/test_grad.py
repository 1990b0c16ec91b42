"""grad and its relatives: arrays in, arrays out, trees, any order."""

from dataclasses import dataclass

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, GraphError, ShapeError


@dataclass
class Line:
    slope: object
    offset: object


def test_arrays_in_arrays_out_tensors_in_tensors_out():
    for given, kind in ((np.array([1.0, 2.0]), np.ndarray), (rg.tensor([1.0, 2.0]), rg.Tensor)):
        value, gradient = rg.value_and_grad(lambda x: (x**2).sum())(given)
        assert type(value) is type(gradient) is kind
        np.testing.assert_array_equal(np.asarray(gradient), [2.0, 4.0])


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
def test_derivatives_nest_to_any_order(order):
    function, expected = rg.sin, [np.sin, np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x)]
    for _ in range(order):
        function = rg.grad(function)
    assert function(0.7) == pytest.approx(expected[order % 4](0.7))


def test_inner_and_outer_derivatives_are_not_confused():
    assert rg.grad(lambda x: x * rg.grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert rg.grad(lambda x: x * rg.grad(lambda y: x * y * y)(2.0))(3.0) == 24.0
    assert rg.grad(lambda x: rg.grad(lambda y: y**2)(x) * x)(3.0) == 12.0


def test_argnums_chooses_arguments():
    def function(x, y, z):
        return x * y + z

    assert rg.grad(function, argnums=1)(2.0, 3.0, 4.0) == 2.0
    assert rg.grad(function, argnums=(0, -1))(2.0, 3.0, 4.0) == (3.0, 1.0)
    with pytest.raises(ArgumentError, match="3"):
        rg.grad(function, argnums=3)(2.0, 3.0, 4.0)


def test_trees_of_arrays_have_trees_of_gradients():
    tree = {"b": [1.0, (2.0, None)], "a": Line(3.0, 4.0)}
    found = rg.grad(lambda t: t["b"][0] * t["b"][1][0] * t["a"].slope + t["a"].offset ** 2)(tree)
    assert found["b"] == [6.0, (3.0, None)]
    assert found["a"] == Line(2.0, 8.0)


def test_has_aux_hands_the_rest_through():
    gradient, aux = rg.grad(lambda x: (x**2, {"double": x * 2}), has_aux=True)(3.0)
    assert gradient == 6.0
    assert aux["double"] == 6.0
    assert isinstance(aux["double"], np.ndarray)


def test_a_function_of_several_results_is_refused():
    with pytest.raises(GraphError, match=r"\(2,\).*jacobian"):
        rg.grad(lambda x: x * 2)(np.array([1.0, 2.0]))


def test_what_does_not_matter_has_a_gradient_of_zeros():
    np.testing.assert_array_equal(rg.grad(lambda x, y: y * 1, argnums=0)(np.ones(3), 2.0), np.zeros(3))
    assert rg.grad(lambda _: 3.0)(1.0) == 0.0


def test_a_gradient_can_be_differentiated_in_tensors_from_outside():
    w = rg.tensor(np.array([1.0, 2.0]), requires_grad=True)
    slope = rg.grad(lambda x: (w * x * x).sum())(np.array([3.0, 4.0]))
    assert isinstance(slope, rg.Tensor)
    slope.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [6.0, 8.0])


def test_vjp_can_be_pulled_back_repeatedly_and_takes_trees():
    (total, parts), pullback = rg.vjp(lambda x, y: ((x * y).sum(), [x + y]), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert total == 11.0
    np.testing.assert_array_equal(parts[0], [4.0, 6.0])
    for scale in (1.0, 2.0):
        dx, dy = pullback((scale, [np.array([10.0, 20.0])]))
        np.testing.assert_array_equal(dx, [10 + 3 * scale, 20 + 4 * scale])
        np.testing.assert_array_equal(dy, [10 + 1 * scale, 20 + 2 * scale])
    with pytest.raises(ArgumentError, match="2 leaves"):
        pullback(1.0)


def test_jacobian_has_the_shape_of_the_result_and_then_of_the_argument():
    x = np.arange(1.0, 7.0).reshape(2, 3)
    found = rg.jacobian(lambda t: rg.stack([t.sum(axis=0), (t**2).sum(axis=0)]))(x)
    assert found.shape == (2, 3, 2, 3)
    np.testing.assert_array_equal(found[0], np.broadcast_to(np.eye(3)[:, None], (3, 2, 3)))
    np.testing.assert_array_equal(found[1], np.eye(3)[:, None] * 2 * x)
    both = rg.jacobian(lambda a, b: a * b, argnums=(0, 1))(np.ones(2), np.full(2, 3.0))
    np.testing.assert_array_equal(both[0], np.eye(2) * 3)
    assert rg.jacobian(lambda t: t[:0])(np.ones(2)).shape == (0, 2)


def test_hessian_of_a_quadratic_form():
    matrix = np.array([[2.0, 1.0], [0.0, 3.0]])
    np.testing.assert_allclose(rg.hessian(lambda x: x @ matrix @ x)(np.array([1.0, -2.0])), matrix + matrix.T)


def test_integer_arrays_are_refused_and_python_integers_are_numbers():
    assert rg.grad(lambda x: x**2)(3) == 6.0
    with pytest.raises(TypeError, match="int64"):
        rg.grad(lambda x: x.sum())(np.array([1, 2]))


def test_under_no_grad_gradients_are_still_computed_but_not_recorded():
    w = rg.tensor(2.0, requires_grad=True)
    with rg.no_grad():
        found = rg.grad(lambda x: x * x)(w)
    assert found.item() == 4.0
    assert not found.requires_grad


@pytest.mark.parametrize("result", [None, "1", {"loss": 1.0}, np.ones(3)])
def test_what_returns_no_number_has_no_gradient_and_says_so(result):
    with pytest.raises(GraphError, match="returns one number, got"):
        rg.grad(lambda x: result)(1.0)


def test_a_forgotten_has_aux_is_an_error_and_no_gradient_of_zero():
    with pytest.raises(GraphError, match="got tuple; pass has_aux=True"):
        rg.grad(lambda x: (x * 2, x))(1.0)
    assert rg.grad(lambda x: 3.0)(1.0) == 0


def test_a_tree_of_results_has_a_tree_of_jacobians():
    x = np.array([1.0, 2.0])
    for jacobian in (rg.jacobian, rg.jacfwd):
        found = jacobian(lambda x: (x**2, {"sum": x.sum()}))(x)
        np.testing.assert_array_equal(found[0], np.diag(2 * x))
        np.testing.assert_array_equal(found[1]["sum"], [1, 1])
    second = rg.hessian(lambda d: d["a"] ** 2 * d["b"])({"a": 1.0, "b": 2.0})
    assert {(i, j): float(v) for i, row in second.items() for j, v in row.items()} == {
        ("a", "a"): 4, ("a", "b"): 2, ("b", "a"): 2, ("b", "b"): 0}
    with pytest.raises(GraphError, match="returns none"):
        rg.jacobian(lambda x: None)(x)


@pytest.mark.parametrize("cotangent", [np.ones(2), np.ones((1, 3))])
def test_a_cotangent_that_does_not_fit_is_told(cotangent):
    with pytest.raises(ShapeError, match=r"the shape of the value, \(3,\), got"):
        rg.vjp(np.sin, np.ones(3))[1](cotangent)

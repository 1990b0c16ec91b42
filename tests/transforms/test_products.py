"""Products with derivatives: against the matrices themselves, nested, and linked to outer derivatives."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError

X = np.array([0.3, -0.7, 1.1])
V = np.array([1.0, 2.0, -1.0])


def scalar(x):
    return (rg.sin(x) ** 3).sum() * x[0]


def vector(x):
    return rg.sin(x) * x[0] + x**2


def test_products_are_those_with_the_matrices():
    hessian, jacobian = rg.hessian(scalar)(X), rg.jacobian(vector)(X)
    np.testing.assert_allclose(rg.hessian_vector_product(scalar)(X, V), hessian @ V)
    np.testing.assert_allclose(rg.make_hvp(scalar)(X)[0](V), hessian @ V)
    np.testing.assert_allclose(rg.vector_jacobian_product(vector)(X, V), V @ jacobian)
    np.testing.assert_allclose(rg.make_jvp(vector)(X)(V)[1], jacobian @ V)
    np.testing.assert_allclose(rg.make_vjp(vector)(X)[0](V), V @ jacobian)
    np.testing.assert_allclose(rg.make_ggnvp(vector)(X)(V), jacobian.T @ jacobian @ V)
    np.testing.assert_allclose(rg.elementwise_grad(vector)(X), jacobian.sum(0))


def test_the_second_derivatives_of_a_vector_have_three_axes():
    found = rg.hessian(vector)(X)
    assert found.shape == (3, 3, 3)
    np.testing.assert_allclose(found, rg.jacobian(rg.jacobian(vector))(X))


@pytest.mark.parametrize("argnum", [0, 1])
def test_an_argument_is_chosen_by_either_name(argnum):
    function = lambda x, y: (x * y**2).sum()
    np.testing.assert_array_equal(rg.grad(function, argnum=argnum)(X, V), rg.grad(function, argnum)(X, V))
    np.testing.assert_array_equal(rg.jacobian(function, argnum=argnum)(X, V), rg.jacobian(function, argnums=argnum)(X, V))


def test_gradients_by_name_and_with_more_results():
    function = lambda x, scale=2.0: (x * scale).sum()
    found = rg.multigrad_dict(function)(X)
    np.testing.assert_allclose(found["x"], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(found["scale"], X.sum())
    np.testing.assert_allclose(rg.grad_named(function, "scale")(X, 3.0), X.sum())
    gradient, aux = rg.grad_and_aux(lambda x: ((x * x).sum(), "more"))(X)
    np.testing.assert_allclose(gradient, 2 * X)
    assert aux == "more"


def test_the_value_of_a_pullback_stays_linked_to_an_outer_derivative():
    assert rg.grad(lambda a: rg.vjp(lambda x: a * x * x, 3.0)[0])(2.0) == 9
    assert rg.grad(lambda a: rg.vjp(lambda x: x * x, a)[0])(2.0) == 4
    assert rg.grad(lambda a: rg.make_jvp(lambda x: a * x * x)(3.0)(1.0)[1])(2.0) == 6
    assert rg.grad(lambda x: rg.make_jvp(lambda x: x * x * x)(x)(1.0)[1])(2.0) == 12


def test_arrays_in_give_arrays_out_although_derivatives_were_nested():
    found = rg.grad(lambda a: rg.vjp(lambda x: a * x * x, 3.0)[1](1.0)[0])(2.0)
    assert isinstance(found, np.ndarray)
    assert not isinstance(rg.make_jvp(vector)(X)(V)[1], rg.Tensor)


def test_slopes_of_complex_results_are_refused():
    with pytest.raises(DTypeError, match="real results"):
        rg.elementwise_grad(lambda x: x * 1j)(X)


def test_a_holomorphic_gradient_is_the_complex_derivative():
    z = np.array([1.0 + 2.0j, -0.5j])
    np.testing.assert_allclose(rg.holomorphic_grad(lambda z: rg.exp(z * z).sum())(z), 2 * z * np.exp(z * z))
    np.testing.assert_allclose(rg.holomorphic_grad(lambda z: (z**2).sum())(z), np.conj(rg.grad(lambda z: (z**2).real.sum())(z)))


def test_products_are_taken_in_several_arguments_at_once():
    pullback, value = rg.make_vjp(lambda x, y: x * y, (0, 1))(3.0, 4.0)
    assert (value, pullback(1.0)) == (12, (4, 3))
    assert rg.make_jvp(lambda x, y: x * y, [0, 1])(3.0, 4.0)((1.0, 10.0)) == (12, 34)


def test_a_gradient_of_a_complex_result_is_refused():
    with pytest.raises(DTypeError, match="real number"):
        rg.grad(lambda x: x * (1 + 2j))(1.0)

"""Complex numbers: the gradient is the direction of steepest ascent, whatever way it is asked for."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import GraphError, ShapeError
from retrograde.testing import check_gradients

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3)) + 1j * RNG.standard_normal((2, 3))
Y = RNG.standard_normal((3,)) + 1j * RNG.standard_normal((3,))


def loss(x):
    z = x * x * Y + 3 * x
    return (z.real**2 + 2 * z.imag).sum()


def ascent(x):
    """d/da + i d/db of the loss at x = a + i b."""
    derivative = 2 * x * Y + 3
    z = x * x * Y + 3 * x
    return (2 * z.real + 2j) * np.conj(derivative)


def test_the_gradient_is_the_direction_of_steepest_ascent():
    x = rg.tensor(X, requires_grad=True)
    loss(x).backward()
    np.testing.assert_allclose(x.grad.data, ascent(X), rtol=1e-12)


def test_every_way_to_a_gradient_has_the_same_convention():
    np.testing.assert_allclose(rg.grad(loss)(X), ascent(X), rtol=1e-12)
    x, seen = rg.tensor(X, requires_grad=True), []
    y = x * 1
    y.register_hook(seen.append)
    rg.checkpoint(loss, y).backward()
    np.testing.assert_allclose(seen[0].data, ascent(X), rtol=1e-12)
    np.testing.assert_allclose(x.grad.data, ascent(X), rtol=1e-12)


def test_a_function_sees_gradients_as_users_do():
    class Square(rg.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * rg.conj(2 * x)

    x, y = (rg.tensor(X, requires_grad=True) for _ in range(2))
    ((Square.apply(x) * Y).real ** 2).sum().backward()
    ((y * y * Y).real ** 2).sum().backward()
    np.testing.assert_allclose(x.grad.data, y.grad.data, rtol=1e-12)


def test_the_gradient_of_a_real_number_is_real():
    x = rg.tensor(np.array([1.0, 2.0]), requires_grad=True)
    ((x * (1 + 2j)).imag * (x + 1j).real).sum().backward()
    assert x.grad.dtype == rg.float64
    np.testing.assert_allclose(x.grad.data, 4 * np.array([1.0, 2.0]))


@pytest.mark.parametrize("function", [
    rg.sin, rg.exp, rg.tanh, rg.square, rg.conj, rg.real, rg.imag, rg.angle, rg.sqrt, rg.log, rg.reciprocal, rg.view_as_real,
    lambda x: x**3, lambda x: x / Y, lambda x: Y / x, lambda x: x @ Y, lambda x: rg.vecdot(x, x + 1), lambda x: rg.prod(x, axis=0),
    lambda x: rg.cumprod(x, axis=1), lambda x: rg.einsum("ij,j->i", x, Y), lambda x: rg.where(np.eye(2, 3) > 0, x, 2 * x),
    lambda x: rg.vector_norm(x, axis=1), lambda x: rg.concatenate([x, x.real]), lambda x: x[:, [0, 0]], lambda x: rg.mean(x, axis=1),
    lambda x: rg.view_as_complex(rg.view_as_real(x)), lambda x: rg.polar(x.real, x.imag), lambda x: rg.kron(x, x.real),
], ids=range(28))
def test_derivatives_of_order_2(function):
    check_gradients(function, X, order=2, rtol=1e-5)


def test_a_complex_result_needs_a_gradient_to_start_from():
    x = rg.tensor(X, requires_grad=True)
    with pytest.raises(GraphError, match="complex"):
        x.sum().backward()
    x.sum().backward(np.asarray(1j))
    np.testing.assert_allclose(x.grad.data, np.full((2, 3), 1j))


def test_pairs_of_numbers_are_complex_ones():
    assert rg.view_as_complex(rg.tensor([[1.0, 2.0]])).tolist() == [1 + 2j]
    with pytest.raises(ShapeError, match="size 2"):
        rg.view_as_complex(rg.ones(2, 3))
    assert rg.tensor([1j]).dtype == rg.complex64

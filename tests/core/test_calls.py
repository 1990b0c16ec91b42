from fractions import Fraction

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.calls import direct
from retrograde.core.value import Projection, Value


def leaf(*numbers):
    return rg.tensor(list(numbers), requires_grad=True)


# A list of values where an op takes an array.
@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize(("function", "slope"), [
    (lambda x, y: rg.sum([x, y]), 1.0),
    (lambda x, y: rg.sum((x, y), axis=0), 1.0),
    (lambda x, y: rg.multiply([x, y], 3.0).sum(), 3.0),
    (lambda x, y: rg.multiply(3.0, [x, y]).sum(), 3.0),
    (lambda x, y: rg.negative([x, 1.0, y]).sum(), -1.0),
    (lambda x, y: rg.matmul([[x, y]], np.array([[2.0], [2.0]], "f")).sum(), 2.0),
    (lambda x, y: rg.where(np.array([True, True]), [x, y], 0.0).sum(), 1.0),
])
def test_values_in_a_list_receive_their_gradients(function, slope, compiled):
    gradients = compiled(rg.grad(function, argnums=(0, 1)))(rg.tensor(2.0), rg.tensor(5.0))
    assert [g.item() for g in gradients] == [slope, slope]


def test_a_list_of_values_keeps_their_dtype_beside_python_numbers():
    x = rg.tensor(1.0, requires_grad=True)
    assert rg.sum([x, 2.0, 3]).dtype == rg.float32
    assert rg.sum([x, np.float64(2.0)]).dtype == rg.float64


def test_a_list_of_arrays_without_a_value_gives_an_array():
    assert isinstance(rg.sum([np.ones(2), np.ones(2)]), np.float64)
    assert isinstance(rg.multiply([1.0, 2.0], np.ones(2)), np.ndarray)


def test_values_of_different_shapes_in_a_list_are_an_error_that_names_the_op():
    with pytest.raises(rg.errors.ShapeError, match="stack"):
        rg.sum([leaf(1.0), leaf(1.0, 2.0)])


# Kernels that are one function of a library.
def test_a_kernel_that_only_calls_a_function_is_that_function():
    def sine(x, /):
        """Text."""
        return np.sin(x)

    def total(x, y, /):
        return np.add(x, y)

    assert direct(sine) is np.sin
    assert direct(total) is np.add


def test_a_kernel_that_does_anything_else_stays_itself():
    def turned(x, y, /):
        return np.subtract(y, x)

    def with_a_constant(x, /):
        return np.maximum(x, 0)

    def with_a_method(x, /):
        return x.sum()

    for kernel in (turned, with_a_constant, with_a_method):
        assert direct(kernel) is kernel


# Records.
def test_a_function_with_one_output_is_one_record():
    class Double(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0)
    y = Double.apply(x)
    assert not isinstance(y.record, Projection) and y.record.parents == (x.record,)


def test_a_function_with_an_output_in_a_tuple_gives_a_tuple():
    class Double(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return (x * 2,)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(1.0, 2.0)
    (y,) = Double.apply(x)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2])


def test_the_second_derivative_of_a_function_that_saves_its_output():
    class Exponential(rg.Function):
        @staticmethod
        def forward(ctx, x):
            z = rg.exp(x)
            ctx.save_for_backward(z)
            return z

        @staticmethod
        def backward(ctx, g):
            (z,) = ctx.saved_tensors
            return g * z

    found = rg.grad(rg.grad(rg.grad(Exponential.apply)))(0.5)
    np.testing.assert_allclose(found, np.exp(0.5))


@pytest.mark.parametrize("operate", [lambda x, c: x * c, lambda x, c: c - x, lambda x, c: rg.divide(x, c)])
@pytest.mark.parametrize("constant", [2.0, 3, True, np.float64(2.0), np.ones((2, 1)), np.ones(3, "f")])
def test_gradients_have_shape_and_dtype_of_their_tensor_beside_any_constant(operate, constant):
    x = leaf(1.0, 2.0, 3.0)
    operate(x, constant).sum().backward()
    assert x.grad.shape == (3,) and x.grad.dtype == rg.float32


@pytest.mark.parametrize("function", [lambda x: x + Fraction(1, 2), lambda x: Fraction(1, 2) * x])
@pytest.mark.parametrize("needs", [False, True])
def test_what_numpy_makes_objects_of_is_no_operand(function, needs):
    with pytest.raises(rg.errors.DTypeError, match="an array of numbers is needed, got one of objects"):
        function(rg.tensor([1.0, 2.0], requires_grad=needs))


def test_a_value_says_of_what_kind_ops_make_it_by_its_class_or_else_by_its_algebra():
    class Other(Value):
        algebra = rg.ops.get("add").algebra

    assert rg.nn.Parameter(rg.zeros(2)).kind is rg.Tensor is Other(np.zeros(2)).kind
    assert type(rg.add(Other(np.zeros(2)), Other(np.ones(2)))) is rg.Tensor
    assert Value.kind is None

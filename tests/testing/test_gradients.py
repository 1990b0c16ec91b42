import numpy as np
import pytest

import retrograde as rg
from cube import Cube
from retrograde.errors import ArgumentError, DTypeError, GradientCheckError
from retrograde.testing import check_gradients

X = np.array([[0.3, -1.2, 2.0], [1.1, 0.7, -0.4]])


class CubeWrongAtOrderOne(Cube):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * 1.0005 * x * x


class HalfWrongSquareOfThree(rg.Function):
    """`3 x²`, right forward, with a derivative that is off by 0.05 %."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 3 * x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 6 * 1.0005 * x


class CubeWrongAtOrderTwo(Cube):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * HalfWrongSquareOfThree.apply(x)


class CubeOnRawArrays(Cube):
    """The classic mistake: the derivative is right, but written outside the graph."""

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * rg.tensor(3 * x.data * x.data)


class CubeThatForgetsItsCotangent(Cube):
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return rg.tensor(g.data) * 3 * x * x


class SumOverTheWrongAxis(rg.Function):
    """Sum over the last axis of a square matrix, whose gradient is spread along the first: right for equal cotangents."""

    @staticmethod
    def forward(ctx, x):
        return x.sum(axis=1)

    @staticmethod
    def backward(ctx, g):
        return rg.broadcast_to(g, (3, 3)) * 1


class WrongInOneElement(rg.Function):
    @staticmethod
    def forward(ctx, x):
        return rg.sin(x) * 1

    @staticmethod
    def backward(ctx, g):
        scale = np.ones((2, 3))
        scale[1, 2] = 1.0005
        return g * np.cos(X) * scale


class WrongShape(rg.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g.sum() * 2


def test_right_derivatives_pass_up_to_order_3():
    check_gradients(Cube.apply, X, order=3)


def test_a_rule_that_is_off_by_a_twentieth_of_a_percent_is_caught_at_order_1():
    with pytest.raises(GradientCheckError, match=r"order 1 in input 0"):
        check_gradients(CubeWrongAtOrderOne.apply, X, order=1)


def test_a_rule_whose_derivative_is_off_by_a_twentieth_of_a_percent_is_caught_at_order_2():
    check_gradients(CubeWrongAtOrderTwo.apply, X, order=1)
    with pytest.raises(GradientCheckError, match=r"order 2 in input 0"):
        check_gradients(CubeWrongAtOrderTwo.apply, X, order=2)


def test_an_error_in_one_element_is_caught_and_located():
    with pytest.raises(GradientCheckError, match=r"at index \(1, 2\) reverse mode gives"):
        check_gradients(WrongInOneElement.apply, X, order=1)


def test_a_rule_on_raw_arrays_is_caught_at_order_2():
    check_gradients(CubeOnRawArrays.apply, X, order=1)
    with pytest.raises(GradientCheckError, match="order 2 in input 0"):
        check_gradients(CubeOnRawArrays.apply, X)


def test_a_rule_that_is_constant_in_its_cotangent_is_caught_at_order_2():
    with pytest.raises(GradientCheckError, match="cotangent of output 0"):
        check_gradients(CubeThatForgetsItsCotangent.apply, X)


def test_a_gradient_along_the_wrong_axis_is_caught_because_cotangents_are_uneven():
    with pytest.raises(GradientCheckError):
        check_gradients(SumOverTheWrongAxis.apply, np.eye(3), order=1)


def test_a_gradient_of_the_wrong_shape_is_caught():
    with pytest.raises((GradientCheckError, rg.errors.ShapeError), match="shape"):
        check_gradients(WrongShape.apply, X, order=1)


def test_the_message_has_both_values():
    class Doubled(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 0 + 3

    with pytest.raises(GradientCheckError, match=r"reverse mode gives 3 and finite differences -?[\d.]+"):
        check_gradients(Doubled.apply, np.array([2.0]))


def test_the_input_at_fault_is_named():
    with pytest.raises(GradientCheckError, match="in input 1, leaf 1"):
        check_gradients(lambda x, d: x * d["a"] + CubeWrongAtOrderOne.apply(d["b"]), (X, {"a": X, "b": X}))


def test_trees_of_inputs_and_outputs_are_checked():
    check_gradients(lambda d, k: {"a": rg.tanh(d["x"]) * d["k"], "b": (d["x"].sum(), k)}, ({"x": X, "k": 3}, "text"))


def test_integers_are_handed_through():
    check_gradients(lambda x, i: x[i], (X, np.array([0, 0, 1])))


def test_tensors_of_any_float_dtype_are_checked_as_float64():
    seen = []
    check_gradients(lambda x: (seen.append(x.dtype), rg.sin(x))[1], rg.tensor([1.0, 2.0]))
    assert set(seen) == {rg.float64}


def test_an_input_that_the_result_does_not_depend_on_has_a_gradient_of_zero():
    check_gradients(lambda x, y: x * 2, (X, X))


def test_inputs_are_left_alone():
    x = rg.tensor(X, requires_grad=True)
    check_gradients(lambda x: x * x, x)
    assert x.grad is None
    assert (x.data == X).all()


def test_empty_inputs_and_numbers_are_checked():
    check_gradients(rg.sin, np.ones((0, 3)))
    check_gradients(lambda x: x**2, 1.5)


def test_nan_is_never_right():
    with np.errstate(invalid="ignore"), pytest.raises(GradientCheckError, match="nan"):
        check_gradients(lambda x: x * np.nan, X, order=1)


def test_complex_numbers_are_checked_in_both_parts():
    points = np.array([1 + 2j, 0.5 - 1j])
    check_gradients(lambda x: x * x * (2 - 1j), points)
    with pytest.raises(GradientCheckError, match="input 0"):
        check_gradients(lambda x: rg.conj(x).detach() * x, points)


def test_inputs_that_cannot_be_checked_are_refused():
    with pytest.raises(DTypeError, match="float dtype, got int64"):
        check_gradients(lambda x: x, np.array([1, 2]))
    with pytest.raises(ArgumentError, match="order"):
        check_gradients(rg.sin, X, order=0)

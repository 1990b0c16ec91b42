"""Checks by autograd's names: they take what it takes, and catch a wrong rule in each mode."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, GradientCheckError
from retrograde.extend import defjvp, defvjp, primitive
from retrograde.test_util import check_equivalent, check_grads, combo_check
from retrograde.wrap_util import unary_to_nary

X = np.array([0.5, 1.5])


def wrong_in_second(x, y):
    return x * rg.stop_gradient(y)


def test_the_second_argument_says_in_which_argument_derivatives_are_checked():
    check_grads(wrong_in_second)(X, X)
    check_grads(wrong_in_second, 0)(X, X)
    for argnum in (1, (0, 1), [1]):
        with pytest.raises(GradientCheckError, match="wrong_in_second"):
            check_grads(wrong_in_second, argnum)(X, X)


@pytest.mark.parametrize(("mode", "name"), [("fwd", "JVP"), ("rev", "VJP")])
def test_each_mode_catches_a_rule_that_is_off_by_a_twentieth_of_a_percent(mode, name):
    @primitive
    def doubled(x):
        return 2 * x

    defvjp(doubled, lambda answer, x: lambda g: 2.001 * g)
    with pytest.raises(AssertionError, match=rf"\({name}\) check of doubled"):
        check_grads(doubled, modes=[mode])(1.0)


def test_the_second_order_catches_a_wrong_rule_within_a_rule():
    @primitive
    def doubled(x):
        return 2 * x

    @primitive
    def same(x):
        return x * 1.0

    defvjp(doubled, lambda answer, x: lambda g: same(g) * 2)
    defvjp(same, lambda answer, x: lambda g: g * 1.001)
    check_grads(doubled, modes=["rev"], order=1)(1.0)
    with pytest.raises(AssertionError, match="check of vjp_doubled"):
        check_grads(doubled, modes=["rev"], order=2)(1.0)


def test_a_wrong_forward_rule_is_caught_in_both_modes():
    for mode in ("fwd", "rev"):
        @primitive
        def doubled(x):
            return 2 * x

        defjvp(doubled, lambda v, answer, x: 2.001 * v)
        with pytest.raises(AssertionError, match="check of doubled"):
            check_grads(doubled, modes=[mode])(1.0)


def test_all_combinations_are_tried():
    tried = []

    def noted(x, y, scale=1.0):
        tried.append((float(np.sum(rg.tracer.getval(x))), float(rg.tracer.getval(y)), scale))
        return x * y * scale

    combo_check(noted, (0, 1), modes=["rev"], order=1)([1.0, X], [2.0], scale=[1.0, 3.0])
    assert {(1.0, 2.0, 1.0), (1.0, 2.0, 3.0), (2.0, 2.0, 1.0), (2.0, 2.0, 3.0)} <= set(tried)


def test_what_differs_in_shape_dtype_or_value_is_not_equivalent():
    check_equivalent([X, 1.0], [X + 1e-9, np.ones(())])
    for other in (X[:1], X.astype(np.float32), X * 1.001, [X]):
        with pytest.raises(GradientCheckError):
            check_equivalent(X, other)


def test_unknown_modes_are_refused():
    with pytest.raises(ArgumentError, match="modes"):
        check_grads(rg.sin, modes=["sideways"])(1.0)


def test_an_operator_of_one_argument_becomes_one_of_any():
    @unary_to_nary
    def both_ways(function, x, step):
        return function(x + step), function(x)

    def function(a, b=2.0):
        return a * b

    assert both_ways(function, 0, 1.0)(3.0, b=5.0) == (20.0, 15.0)
    assert both_ways(function, step=1.0, argnum=1)(3.0, 5.0) == (18.0, 15.0)
    assert both_ways(function, 0, 0).__name__ == "function"

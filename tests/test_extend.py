"""Primitives: black boxes with derivatives of their own."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, MissingRuleError
from retrograde.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    primitive_vjps,
    vspace,
)
from retrograde.testing import check_gradients

X = np.array([0.5, 1.5])


def test_a_primitive_sees_arrays_and_its_rule_gives_derivatives_of_any_order():
    seen = []

    @primitive
    def cube(x):
        seen.append(type(x))
        return x**3

    defvjp(cube, lambda answer, x: lambda g: 3 * g * x**2)
    check_gradients(cube, X, order=2)
    assert set(seen) == {np.ndarray}
    assert cube(2.0) == 8.0
    assert cube.__name__ == "cube"


def test_rules_are_for_the_arguments_that_they_name():
    @primitive
    def scaled(factor, x, *, shift=0.0):
        return factor * x + shift

    defvjp(scaled, lambda answer, factor, x, shift: lambda g: g * x, argnums=[1])
    with pytest.raises(MissingRuleError, match="argument 0"):
        rg.grad(lambda f: scaled(f, X, shift=1.0).sum())(2.0)
    defvjp(scaled, None, lambda answer, factor, x, shift: lambda g: g * factor)
    np.testing.assert_array_equal(rg.grad(lambda x: scaled(2.0, x, shift=1.0).sum())(X), [2.0, 2.0])
    assert rg.grad(lambda f: scaled(f, X, shift=1.0).sum())(2.0) == 0


def test_arguments_and_results_may_be_trees():
    @primitive
    def both(pair):
        return pair["a"] * 2, pair["b"] * 3

    defvjp_argnums(both, lambda argnums, answer, args, kwargs: lambda g: [{"a": 2 * g[0], "b": 3 * g[1]} for _ in argnums])
    found = rg.grad(lambda pair: both(pair)[0].sum() + (both(pair)[1] ** 2).sum())({"a": X, "b": X})
    np.testing.assert_allclose(found["a"], [2.0, 2.0])
    np.testing.assert_allclose(found["b"], 18 * X)


def test_without_a_rule_the_error_names_the_function():
    @primitive
    def lonely(x):
        return x

    with pytest.raises(MissingRuleError, match="lonely"):
        rg.grad(lambda x: lonely(x).sum())(X)


def test_only_primitives_take_rules():
    for give in (defvjp, defjvp):
        with pytest.raises(ArgumentError, match="@primitive"):
            give(np.sin, None)


def test_what_is_not_traced_is_a_constant():
    size = notrace_primitive(lambda x: float(np.sum(x)))
    np.testing.assert_allclose(rg.grad(lambda x: (x * size(x)).sum())(X), [2.0, 2.0])


def test_forward_rules_alone_give_derivatives_of_any_order_both_ways():
    @primitive
    def product(x, y, shift=0.0):
        return x * y + shift

    defjvp(product, lambda v, answer, x, y, shift: v * y, lambda v, answer, x, y, shift: x * v)
    check_gradients(lambda x, y: product(x, y, shift=0.0), (X, X + 1), order=2)
    x, v = X, np.array([1.0, -2.0])
    assert rg.jvp(lambda x: product(x, 3.0, shift=0.0), (x,), (v,))[1].tolist() == (3 * v).tolist()


def test_forward_rules_of_complex_numbers_are_transposed_in_the_convention_of_gradients():
    @primitive
    def turned(z):
        return z * (2 + 1j)

    defjvp(turned, lambda v, answer, z: v * (2 + 1j))
    z = np.array([0.3 + 1j, -2j])
    theirs = rg.grad(lambda z: rg.real(z * (2 + 1j)).sum())(z)
    np.testing.assert_allclose(rg.grad(lambda z: rg.real(turned(z)).sum())(z), theirs)


def test_a_forward_rule_of_none_is_a_derivative_of_zero_and_a_missing_one_an_error():
    @primitive
    def first(x, y):
        return x + 0 * y

    defjvp(first, lambda v, answer, x, y: v, None)
    assert rg.grad(lambda y: first(X, y).sum())(X).tolist() == [0, 0]
    defjvp(first, lambda v, answer, x, y: v)
    with pytest.raises(MissingRuleError, match="argument 1"):
        rg.grad(lambda y: first(X, y).sum())(X)


def test_a_linear_primitive_needs_a_rule_for_the_way_back():
    @primitive
    def tripled(x):
        return 3 * x

    def_linear(tripled)
    defjvp(tripled, "same")
    with pytest.raises(MissingRuleError, match="transpose"):
        rg.jvp(tripled, (X,), (X,))
    defvjp(tripled, lambda answer, x: lambda g: tripled(g))
    check_gradients(tripled, X, order=2)


def test_one_function_may_give_all_forward_rules():
    @primitive
    def weighted(x, y):
        return 2 * x + 3 * y

    defjvp_argnum(weighted, lambda number, v, answer, args, kwargs: (2, 3)[number] * v)
    assert [g.tolist() for g in rg.grad(lambda x, y: weighted(x, y).sum(), (0, 1))(X, X)] == [[2, 2], [3, 3]]


def test_a_rule_that_is_taken_away_is_missing():
    @primitive
    def doubled(x):
        return 2 * x

    defvjp(doubled, lambda answer, x: lambda g: 2 * g)
    assert rg.grad(doubled)(1.0) == 2
    primitive_vjps.pop(doubled)
    with pytest.raises(MissingRuleError, match="doubled"):
        rg.grad(doubled)(1.0)


def test_values_that_are_differentiated_are_boxes():
    seen = []
    rg.grad(lambda x: (seen.append((isinstance(x, Box), rg.tracer.isbox(x), rg.tracer.getval(x))), x * x)[1])(3.0)
    assert seen == [(True, True, 3.0)]
    assert not rg.tracer.isbox(X)
    assert rg.tracer.getval(X) is X


def test_a_vector_space_is_known_by_structure_shapes_and_dtypes():
    value = {"a": 1.0, "b": [np.zeros((2, 1), np.complex128)]}
    space = vspace(value)
    assert space == vspace({"a": np.zeros(()), "b": [np.ones((2, 1), complex)]})
    assert space != vspace({"a": 1.0, "b": [np.zeros((2, 1))]})
    assert isinstance(space, VSpace)
    assert space.size == 5
    basis = list(space.standard_basis())
    gram = [[float(space.inner_prod(x, y)) for x in basis] for y in basis]
    np.testing.assert_array_equal(gram, np.eye(5))
    np.testing.assert_array_equal(space.ones()["b"][0], np.full((2, 1), 1 + 1j))
    check_gradients(lambda x, y: space.inner_prod(x, y), (space.randn(), space.randn()))
    with pytest.raises(DTypeError, match="floats"):
        vspace("text")


def test_a_tensor_that_a_primitive_is_given_by_name_has_a_gradient_or_is_refused():
    @rg.primitive
    def scaled(x, factor=2.0, *, shift=0.0):
        return x * factor + shift

    rg.extend.defvjp(scaled, lambda ans, x, factor=2.0, **_: lambda g: g * factor, lambda ans, x, factor=2.0, **_: lambda g: g * x)
    assert rg.grad(lambda a: scaled(3.0, factor=a))(5.0) == 3.0
    assert rg.grad(lambda a: scaled(factor=a, x=a, shift=1.0))(5.0) == 10.0
    with pytest.raises(ArgumentError, match="shift= by name"):
        rg.grad(lambda a: scaled(3.0, shift=a))(5.0)


FAMILIES = ["elementwise", "reduction", "movement", "contraction", "matrix", "transform", "indexing", "search", "conversion",
            "composite", "loss", "sampling", "comparison", "creation"]


@pytest.mark.parametrize("family", FAMILIES)
def test_an_op_with_an_argument_that_rules_read_as_something_else_is_refused(family):
    decorate, known = getattr(rg.ops._families, family), set(rg.ops.names())

    def of_result(x, z, /):
        return x * z

    def of_cotangent(g, /, axis=None):
        return g

    def of_option(x, /, z=1):
        return x * z

    def of_shape(x, x_shape, /):
        return x + x_shape

    for kernel, told in ((of_result, "z is the result"), (of_cotangent, "g is the cotangent"), (of_option, "z is the result"),
                         (of_shape, "x_shape is the shape of x")):
        with pytest.raises(ArgumentError, match=told):
            decorate()(kernel)
    assert set(rg.ops.names()) == known


def test_a_name_that_ends_in_shape_stands_for_itself_where_nothing_has_the_name_before_it():
    @rg.ops.elementwise()
    def stretched(x, new_shape, /):
        return x * new_shape

    try:
        stretched.defvjp(lambda g, new_shape: g * new_shape, lambda g, x: g * x)
        assert rg.grad(lambda a: stretched(a, 3.0))(2.0) == 3.0
    finally:
        rg.core.registry.unregister("stretched")

"""What goes wrong says which op, with what, and what to do; each error is also the builtin that users would catch."""

import inspect

import numpy as np
import pytest

import retrograde as rg
from retrograde import errors
from retrograde.errors import MissingRuleError


@pytest.fixture
def t():
    return rg.ones(2, 3, requires_grad=True)


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda t: t + rg.ones(4), ValueError, ["add(float32[2, 3], float32[4])", "shapes (2, 3) and (4,) do not broadcast"]),
    (lambda t: t @ rg.ones(2, 3), ValueError, ["matmul(float32[2, 3], float32[2, 3])"]),
    (lambda t: t.reshape(7), ValueError, ["reshape(float32[2, 3], (7,)"]),
    (lambda t: t.sum(axis=5), IndexError, ["sum(float32[2, 3]", "axis 5"]),
    (lambda t: t[9], IndexError, ["getitem(float32[2, 3], 9)"]),
    (lambda t: t["a"], (IndexError, TypeError), ["getitem(float32[2, 3], 'a')"]),
    (lambda t: rg.concatenate([t, rg.ones(4, 4)]), ValueError, ["concatenate(", "float32[2, 3]"]),
    (lambda t: rg.sin("text"), TypeError, ["sin('text')"]),
    (lambda t: t + "text", TypeError, ["add(float32[2, 3], 'text')"]),
    (lambda t: rg.softmax(t, axis=4), IndexError, ["softmax(float32[2, 3], 4)"]),
    (lambda t: rg.einsum("ij,jk->ik", t, t), ValueError, ["einsum(", "one length for axis 'j', got 3 and 2"]),
    (lambda t: rg.shrink(t, ((0, 9), (0, 1))), ValueError, ["shrink(float32[2, 3]", "0 <= start <= stop"]),
    (lambda t: rg.astype(t, "nonsense"), TypeError, ["nonsense", "data type"]),
], ids=["add", "matmul", "reshape", "axis", "index", "text index", "concatenate", "text", "tensor and text", "composite", "einsum", "shrink", "dtype"])
def test_an_error_in_an_op_names_it_and_what_it_was_called_with(t, call, error, words):
    with pytest.raises(errors.RetrogradeError) as caught:
        call(t)
    assert isinstance(caught.value, error)
    for word in words:
        assert word in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(("call", "words"), [
    (lambda t: t.sum(dim=1), "sum.. takes axis=, .*not dim="),
    (lambda t: rg.argmax(t, dim=1, keepdim=True), "argmax.. takes axis=, keepdims=, .*not dim=, keepdim="),
    (lambda t: rg.stack([t, t], dim=0), "stack.. takes axis="),
    (lambda t: t.sum(along=1), "unexpected keyword argument 'along'"),
], ids=["sum", "argmax", "stack", "unknown"])
def test_arguments_by_the_names_of_other_libraries_are_told_their_names_here(t, call, words):
    with pytest.raises(TypeError, match=words):
        call(t)


def test_plain_arrays_raise_the_same_errors():
    with pytest.raises(errors.ShapeError, match="add"):
        rg.add(np.ones(2), np.ones(3))


def test_a_missing_derivative_says_how_to_add_one():
    @rg.ops.elementwise(name="underived")
    def underived(x, /):
        """Without a rule."""
        return np.sin(x)

    try:
        with pytest.raises(MissingRuleError, match=r"underived\.defvjp"):
            underived(rg.ones(2, requires_grad=True)).sum().backward()
    finally:
        rg.ops.unregister("underived")


def test_a_rule_for_one_operand_alone_stops_the_gradient_of_the_other(t):
    @rg.ops.elementwise(name="lopsided")
    def lopsided(x, y, /):
        """A rule for x alone."""
        return x * y

    lopsided.defvjp(lambda g, y: g * y, None)
    try:
        y = rg.ones(2, 3, requires_grad=True)
        lopsided(t, y).sum().backward()
        assert t.grad is not None
        assert y.grad is None
    finally:
        rg.ops.unregister("lopsided")


def test_rules_that_do_not_fit_the_op_are_refused_when_they_are_given():
    @rg.ops.elementwise(name="strict")
    def strict(x, y, /):
        """Two operands."""
        return x * y

    try:
        with pytest.raises(errors.ArgumentError, match="2 operands, and defvjp got 1"):
            strict.defvjp(lambda g: g)
        with pytest.raises(errors.ArgumentError, match=r"reads 'w'.*z, x, y, x_shape, y_shape"):
            strict.defvjp(lambda g, w: g, None)
    finally:
        rg.ops.unregister("strict")


def test_a_rule_that_returns_the_wrong_shape_is_an_error_and_not_a_wrong_gradient():
    @rg.ops.elementwise(name="misshapen", broadcasts=False)
    def misshapen(x, /):
        """A rule of the wrong shape."""
        return x * 2

    misshapen.defvjp(lambda g: g.sum())
    x = rg.ones(2, requires_grad=True)
    try:
        with pytest.raises(errors.ShapeError, match=r"rule of misshapen must return a gradient of shape \(2,\).*got \(\)"):
            misshapen(x).sum().backward()
    finally:
        rg.ops.unregister("misshapen")


@pytest.mark.parametrize("kernel", [lambda x, y, /: (x * y).sum(), lambda x, y, /: (x * y)[None], lambda x, y, /: x], ids=range(3))
@pytest.mark.parametrize("way", ["plain", "eager", "jit", "vmap"])
def test_an_elementwise_op_that_returns_another_shape_is_an_error(kernel, way):
    shrinking = rg.ops.elementwise(name="shrinking")(kernel)
    x, y = np.ones((3, 1)), np.ones(2)
    calls = {
        "plain": lambda: shrinking(x, y), "eager": lambda: shrinking(rg.tensor(x), rg.tensor(y)),
        "jit": lambda: rg.jit(shrinking)(x, y), "vmap": lambda: rg.vmap(shrinking, in_axes=(0, None))(x, y),
    }
    try:
        with pytest.raises(errors.ShapeError, match=r"an op by element must return .* in shape \([\d, ]*\), got"):
            calls[way]()
    finally:
        rg.ops.unregister("shrinking")


def test_an_elementwise_op_of_a_users_broadcasts_operands_of_all_kinds():
    @rg.ops.elementwise(name="scaled")
    def scaled(x, y, /, factor=2):
        """`x` times `y` times a number."""
        return x * y * factor

    try:
        for found in (scaled(rg.ones(3, 1), 2.0), scaled(np.ones((3, 1)), np.full(1, 2.0), factor=2), rg.jit(scaled)(np.ones((3, 1)), 2.0)):
            assert np.asarray(found).tolist() == [[4.0]] * 3
        assert scaled(rg.ones(3, 1), rg.ones(2)).shape == (3, 2)
        assert scaled(1.0, 2.0) == 4.0
    finally:
        rg.ops.unregister("scaled")


@pytest.mark.parametrize("name", [n for n, e in vars(errors).items() if inspect.isclass(e) and e is not errors.RetrogradeError])
def test_every_error_is_ours_and_a_builtin_and_stands_in_the_tree(name):
    error = getattr(errors, name)
    assert issubclass(error, errors.RetrogradeError)
    assert any(base.__module__ == "builtins" and base not in (Exception, BaseException, object) for base in error.__mro__)
    assert name in errors.__doc__
    assert error.__doc__

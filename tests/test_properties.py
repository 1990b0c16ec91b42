"""Properties of all shapes and axes, with hypothesis: NumPy is the oracle for values, finite differences for derivatives."""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays, basic_indices, integer_array_indices, mutually_broadcastable_shapes

import retrograde as rg
from retrograde.testing import assert_close, check_gradients

SHAPES = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=3)
QUICK = settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def numbers(shape, seed=0):
    return np.random.default_rng(seed).uniform(0.3, 2.0, shape)


@st.composite
def shape_and_axes(draw, min_dims=1):
    """A shape and some of its axes: None, an integer or a tuple, negative or not, Python's or NumPy's."""
    shape = draw(array_shapes(min_dims=min_dims, max_dims=4, min_side=1, max_side=3))
    chosen = draw(st.lists(st.sampled_from(range(len(shape))), unique=True, max_size=len(shape)))
    signed = [a - len(shape) if draw(st.booleans()) else a for a in chosen]
    kind = draw(st.sampled_from([int, np.int64, np.int32]))
    signed = [kind(a) for a in signed]
    forms = [None, tuple(signed), *signed[:1]]
    return shape, draw(st.sampled_from(forms))


@QUICK
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=4, min_side=0, max_side=3), st.sampled_from(["add", "multiply", "divide", "subtract",
                                                                                                          "power", "hypot", "logaddexp"]))
def test_binary_ops_broadcast_as_numpy_and_hand_back_gradients_of_the_operands_shapes(shapes, name):
    x, y = (numbers(shape, seed) for seed, shape in enumerate(shapes.input_shapes))
    op = getattr(rg, name)
    assert_close(op(rg.tensor(x), rg.tensor(y)), np.asarray(getattr(np, name)(x, y)))
    check_gradients(op, (x, y), order=1)


@QUICK
@given(mutually_broadcastable_shapes(num_shapes=3, max_dims=3, max_side=3))
def test_where_broadcasts_three_operands(shapes):
    c, x, y = (numbers(shape, seed) for seed, shape in enumerate(shapes.input_shapes))
    mask = c > 1
    assert_close(rg.where(mask, rg.tensor(x), rg.tensor(y)), np.where(mask, x, y))
    check_gradients(lambda a, b: rg.where(mask, a, b), (x, y), order=1)


@QUICK
@given(mutually_broadcastable_shapes(signature="(n?,k),(k,m?)->(n?,m?)", max_dims=2, min_side=0, max_side=3))
def test_matmul_takes_vectors_matrices_and_broadcast_batches(shapes):
    x, y = (numbers(shape, seed) for seed, shape in enumerate(shapes.input_shapes))
    assert_close(rg.tensor(x) @ rg.tensor(y), np.asarray(x @ y))
    check_gradients(rg.matmul, (x, y), order=1)


@QUICK
@given(shape_and_axes(), st.booleans(), st.sampled_from(["sum", "mean", "prod", "max", "min", "std", "var", "logsumexp"]))
def test_reductions_take_every_axis_that_numpy_takes(pair, keepdims, name):
    shape, axis = pair
    x = numbers(shape)
    op = getattr(rg, name)
    if name == "logsumexp":
        expected = np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))
    else:
        expected = getattr(np, name)(x, axis=axis, keepdims=keepdims)
    assert_close(op(rg.tensor(x), axis=axis, keepdims=keepdims), np.asarray(expected))
    # The standard deviation of one number has no derivative.
    assume(name != "std" or np.all(expected > 1e-3))
    check_gradients(lambda t: op(t, axis=axis, keepdims=keepdims), x, order=1)


@QUICK
@given(SHAPES, st.data())
def test_basic_indices_give_what_numpy_gives_and_scatter_their_gradient(shape, data):
    x = numbers(shape)
    index = data.draw(basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    t = rg.tensor(x, requires_grad=True)
    found = t[index]
    assert_close(found, np.asarray(x[index]))
    weights = numbers(found.shape, 1)
    found.backward(weights)
    expected = np.zeros_like(x)
    expected[index] = weights
    assert_close(t.grad, expected)


@QUICK
@given(array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=4), st.data())
def test_integer_array_indices_add_gradients_of_repeated_elements(shape, data):
    x = numbers(shape)
    index = data.draw(integer_array_indices(shape, result_shape=array_shapes(max_dims=2, max_side=4)))
    t = rg.tensor(x, requires_grad=True)
    found = t[index]
    assert_close(found, np.asarray(x[index]))
    weights = numbers(found.shape, 1)
    found.backward(weights)
    expected = np.zeros_like(x)
    np.add.at(expected, index, weights)
    assert_close(t.grad, expected)


@QUICK
@given(array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), st.data())
def test_boolean_indices_select_and_scatter(shape, data):
    x = numbers(shape)
    mask = data.draw(arrays(bool, shape))
    t = rg.tensor(x, requires_grad=True)
    found = t[mask]
    assert_close(found, x[mask])
    weights = numbers(found.shape, 1)
    found.backward(weights)
    expected = np.zeros_like(x)
    expected[mask] = weights
    assert_close(t.grad, expected)


@QUICK
@given(SHAPES, st.data())
def test_writes_to_an_index_are_those_of_numpy(shape, data):
    x = numbers(shape)
    index = data.draw(basic_indices(shape, allow_newaxis=False, allow_ellipsis=True))
    value = numbers(np.shape(x[index]), 1)
    t, v = rg.tensor(x, requires_grad=True), rg.tensor(value, requires_grad=True)
    y = t * 1.0
    y[index] = v
    expected = x.copy()
    expected[index] = value
    assert_close(y, expected)
    weights = numbers(shape, 2)
    y.backward(weights)
    mask = np.ones(shape, bool)
    mask[index] = False
    assert_close(t.grad, weights * mask)
    assert_close(v.grad, np.asarray(weights[index]))


@QUICK
@given(array_shapes(min_dims=1, max_dims=4, max_side=3), st.data())
def test_permutations_are_undone_by_their_derivative(shape, data):
    axes = data.draw(st.permutations(range(len(shape))))
    axes = tuple(a - len(shape) if data.draw(st.booleans()) else a for a in axes)
    x = numbers(shape)
    assert_close(rg.permute_dims(rg.tensor(x), axes), x.transpose(axes))
    check_gradients(lambda t: rg.permute_dims(t, axes), x, order=1)


@QUICK
@given(mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_broadcast_to_is_undone_by_its_derivative(shapes):
    x = numbers(shapes.input_shapes[0])
    assert_close(rg.broadcast_to(rg.tensor(x), shapes.result_shape), np.broadcast_to(x, shapes.result_shape))
    check_gradients(lambda t: rg.broadcast_to(t, shapes.result_shape), x, order=1)


@QUICK
@given(st.lists(st.integers(0, 3), min_size=1, max_size=4), st.integers(0, 1), st.booleans())
def test_concatenation_hands_each_part_its_own(sizes, axis, is_negative):
    parts = [numbers((n, 2) if axis == 0 else (2, n), i) for i, n in enumerate(sizes)]
    axis = axis - 2 if is_negative else axis
    assert_close(rg.concatenate([rg.tensor(p) for p in parts], axis=axis), np.concatenate(parts, axis=axis))
    check_gradients(lambda *t: rg.concatenate(t, axis=axis), tuple(parts), order=1)


@QUICK
@given(shape_and_axes(), st.sampled_from(["cumsum", "cumprod", "sort", "flip", "softmax", "log_softmax"]))
def test_ops_along_an_axis_take_every_axis(pair, name):
    shape, axis = pair
    if isinstance(axis, tuple):
        assume(axis and name == "flip" or axis and name == "softmax")
    x = np.random.default_rng(0).permutation(np.linspace(0.3, 2, int(np.prod(shape)))).reshape(shape)
    assume(axis is not None or name != "log_softmax")
    check_gradients(lambda t: getattr(rg, name)(t, axis), x, order=1)


@QUICK
@given(st.sampled_from([np.int8, np.int64, np.uint8, np.float16, np.float32, np.float64, np.bool_]),
       st.sampled_from([np.int8, np.int64, np.uint8, np.float16, np.float32, np.float64, np.bool_]),
       st.sampled_from(["add", "multiply", "divide", "maximum", "power"]))
def test_dtypes_promote_as_in_numpy(first, second, name):
    assume(not (name == "power" and np.bool_ in (first, second)))
    x, y = np.ones(2, first), np.ones(2, second)
    assert getattr(rg, name)(rg.tensor(x), rg.tensor(y)).dtype == getattr(np, name)(x, y).dtype


@QUICK
@given(st.sampled_from(["float16", "bfloat16", "float32", "float64"]), st.sampled_from([2, 2.5]),
       st.sampled_from(["add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "remainder", "floor_divide", "hypot", "atan2"]),
       st.booleans())
def test_python_numbers_never_promote(dtype, number, name, on_the_left):
    x = rg.ones(3, dtype=dtype, requires_grad=True)
    op = getattr(rg, name)
    z = op(number, x) if on_the_left else op(x, number)
    assert z.dtype == x.dtype
    if z.requires_grad:
        z.sum().backward()
        assert x.grad.dtype == x.dtype


@pytest.mark.parametrize("axis", [2, -3, (0, 2), (0, 0), 1.5, "x"])
def test_axes_that_do_not_exist_are_errors_that_name_the_op(axis):
    x = rg.ones(2, 3)
    for name in ("sum", "mean", "max", "logsumexp", "flip", "std"):
        with pytest.raises((ValueError, TypeError, IndexError), match=name):
            getattr(rg, name)(x, axis=axis)

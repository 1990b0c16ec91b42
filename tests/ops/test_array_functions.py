"""Gathering, sorting, spread, matrices, repetition, rounding, roots, hyperbolic: what NumPy does, with derivatives."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import AxisError, OutOfRangeError, ShapeError
from retrograde.ops import get
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
X = RNG.permutation(24).reshape(4, 6) * 0.3 - 3.1
UNIT = RNG.uniform(-0.9, 0.9, (3, 4))


def _tile(x, repetitions):
    return np.tile(x, repetitions)


def _split(x, sections, axis=0):
    return np.split(x, sections, axis)


CASES = [
    ("take", (X, np.array([[0, 5], [5, 5]])), {"axis": 1}, np.take),
    ("take", (X, np.array([23, 0, 0])), {}, np.take),
    ("take_along_axis", (X, np.array([[0, 3, 3, 2, 1, 1]])), {"axis": 0}, np.take_along_axis),
    ("pick", (X, np.array([5, 0, 3, 3])), {"axis": 1}, lambda x, i, axis: x[np.arange(4), i]),
    ("sort", (X,), {}, np.sort), ("sort", (X,), {"axis": 0}, np.sort), ("sort", (X,), {"axis": None}, np.sort),
    ("sort", (X,), {"axis": 1, "descending": True}, lambda x, axis, descending: np.sort(x, axis)[:, ::-1]),
    ("var", (X,), {"axis": 0}, np.var), ("var", (X,), {"correction": 1}, lambda x, correction: np.var(x, ddof=1)),
    ("std", (X,), {"axis": (0, -1), "keepdims": True}, np.std), ("std", (X,), {"axis": 1}, np.std),
    ("var", (X,), {"axis": 1, "where": X > -2}, np.var), ("std", (X,), {"where": X > 0, "keepdims": True}, np.std),
    ("diagonal", (X,), {"offset": 1}, np.diagonal), ("trace", (X,), {"offset": -1}, np.trace),
    ("diag", (X[0],), {"k": -2}, np.diag), ("diag", (X,), {"k": 1}, np.diag), ("tril", (X,), {"k": 1}, np.tril),
    ("triu", (X,), {"k": -1}, np.triu), ("repeat", (X,), {"repeats": 2}, np.repeat),
    ("repeat", (X,), {"repeats": [2, 0, 1, 3], "axis": 0}, np.repeat), ("repeat", (X,), {"repeats": 3, "axis": -1}, np.repeat),
    ("tile", (X,), {"repetitions": (2, 1, 3)}, _tile),
    ("tile", (X,), {"repetitions": 2}, _tile), ("roll", (X,), {"shift": 5}, np.roll),
    ("roll", (X,), {"shift": (1, -2), "axis": (0, 1)}, np.roll), ("split", (X,), {"sections": 2}, _split),
    ("split", (X,), {"sections": [1, 4], "axis": 1}, _split),
    ("floor", (X + 0.03,), {}, np.floor), ("ceil", (X + 0.03,), {}, np.ceil), ("trunc", (X + 0.03,), {}, np.trunc),
    ("round", (X + 0.03,), {}, np.round),
    ("sinh", (X,), {}, np.sinh), ("cosh", (X,), {}, np.cosh), ("asinh", (X,), {}, np.arcsinh), ("atan", (X,), {}, np.arctan),
    ("asin", (UNIT,), {}, np.arcsin), ("acos", (UNIT,), {}, np.arccos), ("atanh", (UNIT,), {}, np.arctanh),
    ("acosh", (2 + UNIT,), {}, np.arccosh), ("rsqrt", (2 + UNIT,), {}, lambda x: x**-0.5), ("cbrt", (2 + UNIT,), {}, np.cbrt),
]


@pytest.mark.parametrize(("name", "args", "kwargs", "expected"), CASES)
def test_values_are_those_of_numpy_and_derivatives_match_finite_differences(name, args, kwargs, expected):
    op = get(name)
    for array in (args[0], args[0].astype(np.float32), np.asfortranarray(args[0])):
        found, wanted = op.call(rg.tensor(array), *args[1:], **kwargs), expected(array, *args[1:], **kwargs)
        found, wanted = (found, wanted) if op.is_multiple else ([found], [wanted])
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == array.dtype
            np.testing.assert_allclose(a.data, b, rtol=1e-6 if array.dtype == np.float32 else 1e-12)
    check_gradients(lambda x: op.call(x, *args[1:], **kwargs), args[0], rtol=1e-5)


def test_array_api_names_and_numpy_names_are_the_same_ops():
    for name, alias in (("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("atan2", "arctan2"), ("asinh", "arcsinh"),
                        ("acosh", "arccosh"), ("atanh", "arctanh")):
        assert get(alias) is get(name)
    assert np.arctan(rg.tensor([1.0])).tolist() == pytest.approx([np.pi / 4])


def test_argsort_is_stable_both_ways():
    x = np.array([1.0, 0.0, 1.0, 0.0])
    assert get("argsort").call(rg.tensor(x)).tolist() == [1, 3, 0, 2]
    assert get("argsort").call(rg.tensor(x), descending=True).tolist() == [0, 2, 1, 3]


def test_sort_hands_each_cotangent_to_where_its_element_was():
    x = rg.tensor([2.0, 1.0, 2.0, 0.0], requires_grad=True)
    get("sort").call(x).backward(np.array([1.0, 2, 3, 4]))
    assert x.grad.tolist() == [3, 2, 4, 1]


def test_the_derivative_of_the_spread_of_a_constant_is_zero():
    x = rg.ones(2, 3, requires_grad=True)
    get("std").call(x).backward()
    assert not x.grad.data.any()


def test_rounding_has_no_slope():
    x = rg.tensor([0.4, 2.5, 3e9], requires_grad=True)
    for name in ("floor", "ceil", "trunc", "round"):
        get(name).call(x).sum().backward()
        assert x.grad.tolist() == [0, 0, 0]
    assert get("round").call(x).tolist() == [0, 2, 3e9]


def test_positions_out_of_range_are_refused():
    x = rg.tensor(X)
    for name, index in (("take", 24), ("take_along_axis", np.full((4, 1), 6)), ("pick", np.array([0, 0, 0, 6])),
                        ("pick", np.array([0, 0, 0, -1]))):
        with pytest.raises(OutOfRangeError):
            get(name).call(x, index)
    with pytest.raises(ShapeError):
        get("pick").call(x, np.zeros(3, int))
    with pytest.raises(ShapeError):
        get("split").call(x, 3)


def test_numpy_functions_work_on_tensors():
    x = rg.tensor(X, requires_grad=True)
    for z, expected in ((np.sort(x, axis=0), np.sort(X, 0)), (np.std(x), np.std(X)), (np.roll(x, 2), np.roll(X, 2)),
                        (np.trace(x), np.trace(X)), (np.tril(x), np.tril(X)), (np.take(x, [1, 2]), np.take(X, [1, 2])),
                        (np.floor(x), np.floor(X)), (np.tile(x, 2), np.tile(X, 2)), (np.hypot(x, 1.0), np.hypot(X, 1.0))):
        np.testing.assert_allclose(z.data, expected)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_adding_along_an_axis_is_numpys_whatever_the_layout_and_the_sign_of_positions(axis):
    rng = np.random.default_rng(0)
    for x in (rng.standard_normal((4, 5, 6)), rng.standard_normal((6, 5, 4)).T):
        places = rng.integers(-3, 3, x.shape)
        wanted = np.zeros([3 if d == axis % 3 else n for d, n in enumerate(x.shape)])
        for index in np.ndindex(x.shape):
            target = list(index)
            target[axis] = places[index]
            wanted[tuple(target)] += x[index]
        np.testing.assert_allclose(rg.add_along_axis(x, wanted.shape, places, axis), wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("count", [2, 20])
def test_arrays_that_fit_no_line_are_refused_by_adding_along_an_axis_eager_and_compiled(count):
    for x, shape, places, axis in (((count, 2), (2, 3), (count, 2), 0), ((2, count), (2, 3), (2, count), 5), ((count,), (2, 3), (count,), 0),
                                   ((2, count, 1), (2, 3), (2, count), 1), ((3, count), (2, 3), (1, count), 1), ((2, 2), (0, 1), (2, 2), 1)):
        def added(x, places, shape=shape, axis=axis):
            return rg.add_along_axis(x, shape, places, axis)

        for function in (added, rg.jit(added)):
            with pytest.raises((ShapeError, AxisError)):
                function(rg.ones(x), rg.zeros(places, dtype="int64"))

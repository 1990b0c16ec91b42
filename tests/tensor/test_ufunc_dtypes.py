"""NumPy's ufuncs of tensors with a `dtype`: what it says they are computed in, as of arrays."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import DTypeError, UnsupportedError

UFUNCS = {name: f for name in dir(np) if isinstance(f := getattr(np, name), np.ufunc) and f.__name__ == name}
#: What a narrow type cannot hold of many results, or rounds; the types that hold it.
WIDER = [(np.int8, np.int32), (np.uint8, np.int64), (np.int8, np.float64), (np.float32, np.float64), (np.float16, np.float32), (np.float64, np.float32)]


def operands(ufunc, dtype):
    """An array for each input, at the ends of what its type holds where those are numbers for the ufunc."""
    x = np.array([[100, 60, 3, 7], [127, 90, 80, 1], [2, 127, 50, 6], [9, 126, 88, 127]], dtype)
    x = x if np.dtype(dtype).kind in "iu" else (x / np.asarray(127, dtype)).astype(dtype)
    return [x, x[::-1] - np.asarray(x.dtype.kind == "i", dtype)][: ufunc.nin]


def outcome(ufunc, arrays, dtype):
    """What a ufunc makes of arrays, as a list of arrays; None where it has no such results."""
    try:
        with np.errstate(all="ignore"):
            found = ufunc(*arrays, dtype=dtype)
    except (TypeError, UnsupportedError):
        return None
    return [np.asarray(z) for z in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize(("narrow", "dtype"), WIDER, ids=lambda dtype: np.dtype(dtype).name)
def test_results_are_those_of_numpy_computed_in_the_dtype(narrow, dtype):
    compared = []
    for name, ufunc in UFUNCS.items():
        arrays = operands(ufunc, narrow)
        expected = outcome(ufunc, arrays, dtype)
        if expected is None:
            continue
        found = outcome(ufunc, list(map(rg.asarray, arrays)), dtype)
        if found is None:
            continue  # there is no counterpart, which is said
        tolerance = 0 if expected[0].dtype.kind in "iub" else 8 * np.finfo(expected[0].dtype).eps
        for z, e in zip(found, expected, strict=True):
            assert z.dtype == e.dtype, name
            np.testing.assert_allclose(z, e, rtol=tolerance, atol=tolerance, err_msg=name)
        compared.append(name)
    assert {"add", "multiply", "subtract", "maximum", "matmul", "vecdot", "matvec", "vecmat", "square"} <= set(compared)


def test_compiled_results_are_those_of_numpy_too():
    chosen = [UFUNCS[name] for name in ("add", "multiply", "subtract", "square", "negative", "matmul", "vecdot", "matvec")]
    for narrow, dtype in ((np.int8, np.int32), (np.float32, np.float64)):
        arrays = operands(np.add, narrow)
        found = rg.jit(lambda x, y, dtype=dtype: [ufunc(*(x, y)[: ufunc.nin], dtype=dtype) for ufunc in chosen])(*map(rg.asarray, arrays))
        for ufunc, z in zip(chosen, found, strict=True):
            expected = ufunc(*arrays[: ufunc.nin], dtype=dtype)
            assert z.dtype == dtype
            np.testing.assert_allclose(z, expected, rtol=0 if dtype == np.int32 else 1e-15, err_msg=ufunc.__name__)


def test_gradients_go_through_what_is_computed_in_another_dtype():
    x = np.array([3e30, -2e30], np.float32)
    loss = lambda x: np.multiply(x, x, dtype=np.float64).sum() / 1e60  # beyond the largest float32 in between
    for slope in (rg.grad(loss), rg.jit(rg.grad(loss))):
        found = np.asarray(slope(rg.asarray(x)))
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, 2 * x.astype(np.float64) / 1e60, rtol=1e-6)


@pytest.mark.parametrize("dtype", [None, np.int32, np.float64])
def test_reductions_take_what_those_of_numpy_take(dtype):
    x = np.array([[100, 127, 90], [120, 60, 127]], np.int8)
    mask, compared = np.array([[True, False, True], [False, True, True]]), 0
    for ufunc in (np.add, np.multiply, np.maximum, np.minimum, np.logical_and, np.logical_or):
        for options in ({}, {"axis": None}, {"axis": 1, "keepdims": True}, {"initial": 5}, {"axis": (0, 1)}, {"initial": 3, "where": mask}):
            is_of_truth = ufunc in (np.logical_and, np.logical_or)
            if is_of_truth and (dtype or "initial" in options):
                continue
            found, expected = (ufunc.reduce(a, dtype=dtype, **options) for a in (rg.asarray(x), x))
            assert np.asarray(found).dtype == expected.dtype
            np.testing.assert_array_equal(found, expected, err_msg=f"{ufunc.__name__} {options}")
            compared += 1
        if ufunc in (np.add, np.multiply):
            np.testing.assert_array_equal(ufunc.accumulate(rg.asarray(x), axis=1, dtype=dtype), ufunc.accumulate(x, axis=1, dtype=dtype))
            with pytest.raises(rg.errors.ShapeError, match="one axis"):
                ufunc.accumulate(rg.asarray(x), axis=None)
    assert compared == (24 if dtype else 32)


def test_functions_of_numpy_compute_in_the_dtype_that_they_are_given():
    x = np.array([[3e38, 2e38, 1], [1e38, 3.3e38, 2], [1, 1, 3e38]], np.float32)
    small = np.array([[100, 127, 90], [120, 60, 127], [99, 5, 88]], np.int8)
    for f in (np.trace, np.sum, np.mean, np.var, np.std, np.cumsum, np.nansum, np.nanmean, np.cov, np.corrcoef):
        np.testing.assert_allclose(f(rg.asarray(x), dtype=np.float64), f(x, dtype=np.float64), rtol=1e-12, err_msg=f.__name__)
        found = np.asarray(f(rg.asarray(small), dtype=np.float32))
        assert found.dtype == np.float32, f.__name__
        np.testing.assert_allclose(found, f(small, dtype=np.float32), rtol=1e-5, err_msg=f.__name__)
    with pytest.raises(DTypeError, match="computed in floats"):
        np.var(rg.asarray(small), dtype=np.int32)


def test_gradients_go_to_tensors_in_a_list():
    x = rg.tensor([1.0, 2.0]).requires_grad_(True)
    np.add([x[0], x[1] * 3], x, dtype=np.float64).sum().backward()
    np.testing.assert_array_equal(x.grad, [2, 4])


def test_numbers_and_arrays_beside_a_tensor_are_taken_as_numpy_takes_them():
    x = np.array([100, 127], np.int8)
    t = rg.asarray(x)
    for f in (lambda x: np.add(x, 200, dtype=np.int16), lambda x: np.add.outer(x, x, dtype=np.int32), lambda x: np.multiply([3, 4], x, dtype=np.int64),
              lambda x: np.add(x, x, dtype=np.int32, where=[True, False], out=np.zeros(2, np.int32)), lambda x: np.multiply(1.5, x, dtype=np.float32),
              lambda x: np.add(x + np.float32(0.5), 1, dtype=np.int32, casting="unsafe"), lambda x: np.divmod(x, 7, dtype=np.int32)):
        for found, expected in zip(np.atleast_2d(f(t)), np.atleast_2d(f(x)), strict=True):
            assert np.asarray(found).dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


def test_what_numpy_refuses_is_refused():
    x = rg.asarray(np.array([1.5, 2.5], np.float32))
    for f in (lambda: np.add(x, x, dtype=np.int32), lambda: np.logical_and(x, x, dtype=np.float32), lambda: np.multiply(x, 2j, dtype=np.float32)):
        with pytest.raises(DTypeError, match="convert them"):
            f()

import numpy as np
import pytest

import retrograde as rg
from retrograde.testing import assert_close


def test_equal_trees_agree():
    assert_close({"a": rg.tensor([1.0, 2.0]), "b": [np.arange(3), 1.5]}, {"a": np.float32([1, 2]), "b": [np.arange(3), 1.5]})


@pytest.mark.parametrize(("dtype", "step"), [("float64", 1e-8), ("float32", 1e-5), ("float16", 1e-2), ("bfloat16", 1e-1)])
def test_the_tolerance_follows_the_dtype(dtype, step):
    x = rg.ones(3, dtype=dtype)
    assert_close(x, x)
    with pytest.raises(AssertionError, match=r"at index \(0,\)"):
        assert_close(x + step, x)


def test_the_worst_element_is_shown():
    with pytest.raises(AssertionError, match=r"expected 2.0 at index \(1, 0\), got 2.5; 2 of 4 elements"):
        assert_close(np.array([[1.0, 3.1], [2.5, 4.0]]), np.array([[1.0, 3.0], [2.0, 4.0]]))


def test_shape_dtype_and_structure_must_agree():
    with pytest.raises(AssertionError, match=r"expected shape \(3,\), got \(1, 3\)"):
        assert_close(np.ones((1, 3)), np.ones(3))
    with pytest.raises(AssertionError, match="expected dtype float64, got float32"):
        assert_close(np.ones(3, np.float32), np.ones(3))
    assert_close(np.ones(3, np.float32), np.ones(3), check_dtype=False)
    with pytest.raises(AssertionError, match="2 leaves, got 1"):
        assert_close([1.0], [1.0, 2.0])


def test_nan_and_infinity_agree_with_themselves_alone():
    x = np.array([np.nan, np.inf, -np.inf])
    assert_close(x, x)
    with pytest.raises(AssertionError):
        assert_close(x, np.array([np.nan, np.inf, np.inf]))
    with pytest.raises(AssertionError):
        assert_close(x, np.array([0.0, np.inf, -np.inf]))


def test_integers_must_be_equal():
    with pytest.raises(AssertionError):
        assert_close(np.array([1000000]), np.array([1000001]))


def test_python_numbers_agree_with_arrays_of_any_dtype():
    assert_close(rg.tensor(0.1), 0.1)

"""loop_values: operands of any dtypes meet as NumPy has it."""

from itertools import product

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

DTYPES = ("bool", "int8", "int32", "int64", "uint8", "float32", "float64")
NUMBERS = (2, 2.5, True, -1, 300)
COMPARISONS = ("less", "less_equal", "equal", "not_equal", "greater", "greater_equal")
OTHERS = ("logical_and", "logical_or", "logical_xor", "maximum", "minimum", "add", "multiply", "power", "floor_divide", "atan2")
RNG = np.random.default_rng(0)


def drawn(dtype):
    numbers = RNG.integers(0, 5, 19) if dtype != "bool" else RNG.integers(0, 2, 19)
    return numbers.astype(dtype) + (0.5 if dtype.startswith("float") else np.zeros((), dtype))


def works(function, arrays):
    """Whether NumPy has the operation."""
    try:
        function(*arrays)
    except (rg.errors.RetrogradeError, OverflowError, ArithmeticError, TypeError, ValueError):
        return False
    return True


def assert_alike(cases):
    """Cases, (function, arrays), compiled together, give what they give on their own."""
    with np.errstate(all="ignore"):
        cases = [(f, list(map(rg.asarray, arrays))) for f, arrays in cases]
        cases = [case for case in cases if works(*case)]
        wanted = [np.asarray(f(*arrays)) for f, arrays in cases]
        got = rg.jit(lambda rows: [f(*row) for (f, _), row in zip(cases, rows, strict=True)])([arrays for _, arrays in cases])
    for (_, arrays), a, b in zip(cases, wanted, map(np.asarray, got), strict=True):
        assert (b.shape, b.dtype) == (a.shape, a.dtype), arrays
        np.testing.assert_allclose(b, a, rtol=1e-6 if a.dtype.kind == "f" else 0, err_msg=repr(arrays))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [*COMPARISONS, *OTHERS])
def test_operands_of_two_dtypes_meet_as_in_numpy(name):
    pairs = [(drawn(a), drawn(b)) for a, b in product(DTYPES, repeat=2)]
    assert_alike([(getattr(rg, name), (x, np.maximum(y, 1) if name == "floor_divide" else y)) for x, y in pairs])


@pytest.mark.parametrize("name", [*COMPARISONS, "logical_and", "logical_or", "add", "multiply", "maximum"])
def test_an_operand_and_a_python_number_meet_as_in_numpy(name):
    op = getattr(rg, name)
    right = [(lambda x, n=n: op(x, n), (drawn(dtype),)) for dtype, n in product(DTYPES, NUMBERS)]
    left = [(lambda x, n=n: op(n, x), (drawn(dtype),)) for dtype, n in product(DTYPES, NUMBERS)]
    assert_alike(left + right)


def test_operations_on_one_operand_take_every_dtype():
    names = ("isnan", "isinf", "isfinite", "sign", "abs", "floor", "sinc", "square", "logical_not")
    assert_alike([(getattr(rg, name), (drawn(dtype),)) for name, dtype in product(names, DTYPES)])


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "abs"])
def test_what_is_made_of_truth_values_is_one_for_whoever_reads_it(name):
    x, y = np.array([True, True, False, False] * 5), np.array([True, False, True, False] * 5)
    made = (lambda x, y: rg.abs(x)) if name == "abs" else getattr(rg, name)
    readers = [lambda z: z == x, lambda z: z.astype("float32"), lambda z: z.sum(), rg.min, rg.all, lambda z: z > x, lambda z: z + np.int8(3)]
    assert_alike([(lambda x, y, read=read: read(made(x, y)), (x, y)) for read in readers])


@pytest.mark.parametrize("join", [rg.concatenate, rg.stack])
def test_arrays_that_are_joined_meet_as_in_numpy(join):
    pairs = [(drawn(a), drawn(b)) for a, b in product([*DTYPES, "float16", "uint32"], repeat=2)]
    assert_alike([(lambda x, y: join([x, y, x]), pair) for pair in pairs])


def test_numbers_without_a_real_kernel_are_told_from_others():
    assert_alike([(lambda x: x < 1 + 2j, (drawn("float32"),)), (lambda x: True / x, (drawn("complex64") + 1,)),
                  (lambda x: rg.power(x, True), (drawn("complex64"),))])

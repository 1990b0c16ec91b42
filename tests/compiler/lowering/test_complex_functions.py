"""complex_functions: functions of complex numbers have the values of eager code, also where parts are large, zero or not finite."""

import numpy as np
import pytest

import retrograde as rg
from complex_cases import DTYPES, check, drawn

#: Each case is traced once, on purpose.
pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning", "ignore::RuntimeWarning")

FUNCTIONS = ["abs", "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
             "square", "reciprocal", "negative", "conj", "real", "imag", "sign", "angle", "isnan", "isinf", "isfinite", "logical_not"]
PAIRS = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y, "/": lambda x, y: x / y, "**": lambda x, y: x**y,
    "==": lambda x, y: x == y.conj(), "!=": lambda x, y: x != x * 1, "where": lambda x, y: rg.where(x.real > 0, x, y),
    "real left": lambda x, y: x.real * y / (y.imag + 2j), "real right": lambda x, y: (x - y.real) / y.imag,
    "numbers": lambda x, y: (2 - x) * 1j + y / 3 - (1 + 2j) * x, "parts": lambda x, y: rg.complex(x.imag, y.real),
    "powers": lambda x, y: x**2 + y**3 - x**-1 + y**0 + x**0.5 + y**1j, "casts": lambda x, y: x.real.astype(x.dtype) * y}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name, dtype):
    check(getattr(rg, name), drawn(5, 37, dtype=dtype))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PAIRS)
def test_functions_of_two(name, dtype):
    check(PAIRS[name], drawn(5, 37, dtype=dtype), drawn(5, 37, seed=1, dtype=dtype))
    check(PAIRS[name], drawn(3, 1, 4, dtype=dtype), drawn(5, 1, seed=1, dtype=dtype))


#: Numbers of which squares overflow or vanish, zeros of either sign, and points next to where functions bend.
FINITE = np.array([complex(a, b) for a in (0.0, -0.0, 1.0, -2.0, 1e300, -1e300, 1e-300, 0.3, 1 + 1e-9) for b in (0.0, -0.0, 1.0, -2.0, 1e300, 1e-300)])
TOUCHING = np.array([complex(a, b) for a in (0.0, 1.0, -2.0, np.inf, -np.inf, np.nan) for b in (0.0, -0.0, 1.0, -3.0, np.inf, np.nan)])


def assert_parts_close(found, wanted):
    found, wanted = (np.stack([x.real, x.imag]) for x in (found, wanted))
    size = np.hypot(*np.nan_to_num(wanted))
    is_close = (found == wanted) | np.isnan(found) & np.isnan(wanted) | (np.abs(found - wanted) <= 1e-14 * size)
    assert is_close.all(), (found[~is_close], wanted[~is_close])


@pytest.mark.parametrize("name", ["abs", "sqrt", "exp", "expm1", "log", "log1p", "sin", "cos", "sinh", "cosh", "tanh", "reciprocal", "sign"])
def test_what_is_finite_overflows_no_earlier_than_in_numpy(name):
    function = getattr(rg, name)
    assert_parts_close(np.asarray(rg.jit(function)(rg.tensor(FINITE))), np.asarray(function(rg.tensor(FINITE))))


def test_quotients_overflow_no_earlier_than_in_numpy():
    x, y = [part.ravel() for part in np.meshgrid(FINITE, FINITE)]
    assert_parts_close(np.asarray(rg.jit(lambda x, y: x / y)(rg.tensor(x), rg.tensor(y))), x / y)


@pytest.mark.parametrize("name", ["abs", "isnan", "isinf", "isfinite", "conj"])
def test_infinities_and_unknown_numbers_are_those_of_numpy(name):
    found = np.asarray(rg.jit(getattr(rg, name))(rg.tensor(TOUCHING)))
    np.testing.assert_allclose(found, np.asarray(getattr(rg, name)(rg.tensor(TOUCHING))), rtol=1e-15)


def test_infinite_parts_of_products():
    x = TOUCHING[~np.isnan(TOUCHING)]
    y = np.array([2.0 + 1j, -1 + 0.5j, 3 - 4j])[:, None]
    np.testing.assert_array_equal(np.asarray(rg.jit(lambda x, y: x * y)(rg.tensor(x), rg.tensor(y))), x * y)


def test_a_real_factor_scales_each_part_by_itself():
    x, y = rg.tensor([2.0]), rg.tensor([complex(np.inf, 1)])
    for function in (lambda x, y: x * y, lambda x, y: y * 2, lambda x, y: x.astype("complex64") * y, lambda x, y: y / (1 / x)):
        assert rg.jit(function)(x, y).item() == complex(np.inf, 2)


def test_wide_constants_widen():
    wide = np.full(3, 1 / 3 + 0j)
    check(lambda x: (x * wide, x + np.complex128(0.1), x * 0.1j, x == wide), drawn(3, dtype="complex64"))


ZEROS = {
    "a number": lambda z: 0.0 * z,
    "on both sides": lambda z: (-0.0 * z) * (-0.0 * z),
    "an imaginary one": lambda z: 0j * z,
    "a whole one": lambda z: z * 0,
    "computed": lambda z: rg.zeros_like(z) * z,
    "a matrix": lambda z: np.zeros((2, 2)) @ z,
    "a matrix on the right": lambda z: z @ np.zeros((2, 2), "complex128"),
}


@pytest.mark.parametrize("function", ZEROS.values(), ids=ZEROS)
def test_zero_times_what_is_not_finite_is_not_zero(function):
    z = rg.tensor(np.array([[1 + 2j, np.inf + 1j], [np.nan + 0j, 3j]]))
    with np.errstate(invalid="ignore"):
        wanted = np.isfinite(np.asarray(function(z)))
    np.testing.assert_array_equal(np.isfinite(np.asarray(rg.jit(function)(z))), wanted)

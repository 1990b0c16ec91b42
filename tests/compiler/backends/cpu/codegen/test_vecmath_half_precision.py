"""float16 and bfloat16 are read and written as NumPy and ml_dtypes convert them, on every processor."""

import numpy as np
import pytest
from harness import compile_map

from retrograde.compiler.target import named
from retrograde.dtypes import as_dtype

DTYPES = ["float16", "bfloat16"]
#: This processor, and one without instructions for either type.
TARGETS = {"this processor": None, "no instructions": named("x86-64-v2")}
LANES = [1, 2, 4, 8, 64]
PATTERNS = np.arange(1 << 16, dtype=np.uint16)


def same(found, expected):
    """Whether arrays have the same bits, and NaN of the same sign where the other has it."""
    kind, is_nan = f"u{expected.itemsize}", np.isnan(expected)
    signs = [x.view(kind)[is_nan] >> (8 * expected.itemsize - 1) for x in (found, expected)]
    return (np.array_equal(found.view(kind)[~is_nan], expected.view(kind)[~is_nan]) and np.array_equal(np.isnan(found), is_nan)
            and np.array_equal(*signs))


def mapped(emit, source, lanes, result, name):
    return compile_map(emit, source, lanes, result=result, aim=TARGETS[name])


def converted(dtype):
    return lambda k, x: k.convert(x, dtype)


def neighbours(dtype):
    """All numbers of a type as float32, those half way between two, and what is next to these on both sides."""
    with np.errstate(all="ignore"):
        exact = PATTERNS.view(as_dtype(dtype)).astype(np.float32)
        finite = np.sort(exact[np.isfinite(exact)])
        halves = np.append(finite[:-1] / 2 + finite[1:] / 2, [65520, -65520, 3.4e38, 3.3961776e38, np.inf, -np.inf]).astype(np.float32)
        beside = [np.nextafter(halves, np.float32(side * np.inf)) for side in (-1, 1)]
    hidden = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0x7FC00000], np.uint32).view(np.float32)
    return np.concatenate([exact, halves, *beside, hidden])


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_is_widened_as_it_is(dtype, lanes, name):
    x = PATTERNS.view(as_dtype(dtype))
    with np.errstate(invalid="ignore"):  # NumPy warns of signalling NaN
        expected = x.astype(np.float32)
    assert same(mapped(converted("float32"), dtype, lanes, "float32", name)(x), expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_rounded_to_the_nearest_and_halves_to_even(dtype, lanes, name):
    x = neighbours(dtype)
    with np.errstate(all="ignore"):
        expected = x.astype(as_dtype(dtype))
    assert same(mapped(lambda k, x: x, "float32", lanes, dtype, name)(x), expected)
    # What is rounded in registers is what memory would have.
    wide = expected.astype(np.float32)
    assert same(mapped(converted(dtype), "float32", lanes, "float32", name)(x), wide)


@pytest.mark.parametrize("name", TARGETS)
def test_float64_is_rounded_to_float16_once(name):
    with np.errstate(invalid="ignore"):
        halves = neighbours("float16").astype(np.float64)
    x = np.concatenate([halves, halves + 2.0**-60, halves * (1 + 2.0**-40), [2049 + 2.0**-30, 65520 - 2.0**-30, 1e300, -1e300]])
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    assert same(mapped(converted("float16"), "float64", 8, "float16", name)(x), expected)


def test_a_nan_is_quiet_whatever_its_payload():
    x = np.array([0x7F800001, 0xFF80FFFF, 0x7FFFFFFF], np.uint32).view(np.float32)
    for name in TARGETS:
        found = mapped(lambda k, x: x, "float32", 1, "bfloat16", name)(x).view(np.uint16)
        assert np.array_equal(found & 0x7FC0, [0x7FC0] * 3)
        assert np.array_equal(mapped(lambda k, x: x, "float32", 1, "float16", name)(x).view(np.uint16) & 0x7E00, [0x7E00] * 3)


@pytest.mark.parametrize("name", TARGETS)
def test_one_subnormal_number_among_others_is_not_flushed(name):
    x = np.full(64, 3.14159, np.float32)
    x[17] = 1e-39
    found = mapped(lambda k, x: x, "float32", 64, "bfloat16", name)(x)
    assert found[17] != 0 and same(found, x.astype(as_dtype("bfloat16")))

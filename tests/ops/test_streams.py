"""Streams of random numbers: the same however many are drawn at a time, right to rounding, and distributed as they should be."""

import numpy as np
import pytest

from retrograde.compiler.graph.infer import infer
from retrograde.core import registry
from retrograde.core.symbol import Symbol
from retrograde.ops.random import _box_muller, _streams
from retrograde.ops.random._philox import CHUNK
from retrograde.ops.random.draws import random_bits, random_integers, random_mask, random_normal, random_uniform

stats = pytest.importorskip("scipy.stats")

FLOATS = ["float32", "float64"]
#: What key 1 gives from its first block on; floats by their bits.
WORDS = [3823634032, 3842641596, 2515673792, 3054873127]
UNIFORM = [1063512070, 1063586318, 1058402850, 1060509098]
NORMAL = [1052951524, 3197612478, 3196008205, 3212869053]
NORMAL_OF_64_BITS = [13834177856754114549, 13830907321435777991]
INTEGERS = [7, 3, 4, 1, -2, 4]


def chances_and_turns(words, dtype):
    """The two uniform numbers behind each pair, as long doubles."""
    words = words.astype(np.longdouble)
    if dtype == "float32":
        return (words[::2].astype(np.float32) * np.float32(2.0**-32) + np.float32(2.0**-33)).astype(np.longdouble), (
            words[1::2] * np.longdouble(2.0**-32))
    parts = np.floor(words[::2] / 32) * 2**26 + np.floor(words[1::2] / 64)
    return 1 - parts[::2] * np.longdouble(2.0**-53), parts[1::2] * np.longdouble(2.0**-53)


def assert_on_circles(x, y, chance, turn, dtype):
    """Check pairs against the formula, to a few of the steps that numbers as large as the radius have."""
    radius, angle = np.sqrt(-2 * np.log(chance)), 8 * np.arctan(np.longdouble(1)) * turn
    error = np.maximum(np.abs(x - radius * np.cos(angle)), np.abs(y - radius * np.sin(angle)))
    # Where a chance is 1 the logarithm is 0, and so is the radius.
    assert (error <= 3 * float(np.finfo(dtype).eps) * radius).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_are_those_of_box_and_muller_to_rounding(dtype):
    state, width = (3, 9), 1 if dtype == "float32" else 2
    found = random_normal(state, (40_000,), dtype).astype(np.longdouble)
    chance, turn = chances_and_turns(random_bits(state, (40_000 * width,)), dtype)
    assert_on_circles(found[::2], found[1::2], chance, turn, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_of_extreme_words_are_finite(dtype):
    edges = [0, 1, 2, 2**29 - 1, 2**29, 2**29 + 1, 2**30, 2**31 - 1, 2**31, 7 * 2**29 - 1, 7 * 2**29, 2**32 - 129, 2**32 - 1]
    width = 2 if dtype == "float32" else 4
    words = np.stack(np.meshgrid(*[np.array(edges, np.uint32)] * width, indexing="ij")).reshape(width, -1)
    pair = _box_muller.normal_pair(_box_muller.OnArrays, *words.view(np.int32))
    found = np.stack(pair, -1).reshape(-1)
    assert found.dtype == dtype
    assert np.isfinite(found).all()
    assert np.abs(found).max() < (6.8 if dtype == "float32" else 8.6)
    chance, turn = chances_and_turns(words.T.reshape(-1), dtype)
    assert_on_circles(*pair, chance, turn, dtype)


def test_numbers_have_the_same_bits_on_every_machine():
    # Written down once: who changes them changes what every seed gives.
    assert random_bits((1, 0), (4,)).tolist() == WORDS
    assert random_uniform((1, 0), (4,)).view(np.uint32).tolist() == UNIFORM
    assert random_normal((1, 0), (4,)).view(np.uint32).tolist() == NORMAL
    assert random_normal((1, 0), (2,), "float64").view(np.uint64).tolist() == NORMAL_OF_64_BITS
    assert random_integers((1, 0), (6,), -5, 9).tolist() == INTEGERS




@pytest.mark.parametrize("op", [random_bits, random_uniform, random_normal, lambda *args: random_normal(*args, "float64"),
                                lambda *args: random_uniform(*args, "float64"), lambda *args: random_mask(*args, 0.3),
                                lambda *args: random_integers(*args, -3, 11), lambda *args: random_integers(*args, 0, 2**50)])
def test_a_draw_is_a_part_of_the_stream(op):
    whole = op((5, 0), (3 * 4 * CHUNK,))
    per_block = 4 if whole.dtype.itemsize < 8 else 2
    for block, count in ((0, 1), (7, 13), (CHUNK - 1, 3 * per_block), (CHUNK, CHUNK), (3, CHUNK * per_block + 5)):
        np.testing.assert_array_equal(op((5, block), (count,)), whole[block * per_block :][:count])
    for keywords in ({"skip": 3},) if hasattr(op, "op") else ():
        np.testing.assert_array_equal(op((5, 4), (9,), **keywords), whole[7 * per_block :][:9])


def test_the_shape_of_a_draw_is_known_without_drawing():
    state = Symbol(None, (), (2,), np.dtype(np.int64))
    shape = (10**6, 10**6)
    for name, arguments, dtype in (("random_normal", (np.dtype("float64"), 0), "float64"), ("random_mask", (0.5, 0), "bool"),
                                   ("random_uniform", ("float32", 0), "float32"), ("random_bits", (0,), "uint32"),
                                   ("random_integers", (0, 5, 0), "int64")):
        assert infer(registry.get(name), (state, shape, *arguments)) == (shape, np.dtype(dtype))
    assert infer(registry.get("random_permutation"), (state, 10**12)) == ((10**12,), np.dtype("int64"))


def normals(count, dtype="float32", key=11, block=0):
    return random_normal((key, block), (count,), dtype).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal_numbers_pass_a_test_of_kolmogorov_and_smirnov(dtype):
    assert stats.kstest(normals(100_000, dtype), "norm").pvalue > 0.001
    assert stats.kstest(random_uniform((11, 0), (100_000,), dtype), "uniform").pvalue > 0.001
    # What a pair has in common must not show: its sum, its difference, its radius and its angle.
    x, y = normals(200_000, dtype).reshape(-1, 2).T
    for found, law in (((x + y) / 2**0.5, "norm"), ((x - y) / 2**0.5, "norm"), ((x * x + y * y) / 2, "expon")):
        assert stats.kstest(found, law).pvalue > 0.001
    assert stats.kstest(np.arctan2(y, x) / (2 * np.pi) + 0.5, "uniform").pvalue > 0.001


@pytest.mark.parametrize("dtype", FLOATS)
def test_tails_of_normal_numbers_are_as_heavy_as_they_should_be(dtype):
    x = normals(1_000_000, dtype)
    for bound in (2, 3, 4, 4.5):
        for side in (x, -x):
            expected = len(x) * stats.norm.sf(bound)
            assert abs((side > bound).sum() - expected) < 4.5 * expected**0.5 + 1


def test_streams_are_not_correlated():
    base = normals(100_000)
    others = {
        "the next key": normals(100_000, key=12), "a key with one other bit": normals(100_000, key=11 + 2**63),
        "the next block": normals(100_000, block=1), "far away": normals(100_000, block=2**40),
    }
    for name, other in others.items():
        for f in (lambda x: x, np.square, np.abs):
            assert abs(np.corrcoef(f(base), f(other))[0, 1]) < 4.5 / len(base) ** 0.5, name
    for lag in (1, 2, 3, 4, 8, 64, 1000):
        for f in (lambda x: x, np.square):
            assert abs(np.corrcoef(f(base)[:-lag], f(base)[lag:])[0, 1]) < 4.5 / len(base) ** 0.5, lag


def test_integers_are_equally_likely():
    counts = np.bincount(random_integers((2, 0), (70_000,), 0, 7), minlength=7)
    assert stats.chisquare(counts).pvalue > 0.001
    wide = random_integers((2, 0), (10_000,), -(2**40), 2**40)
    assert stats.kstest((wide + 2.0**40) / 2.0**41, "uniform").pvalue > 0.001


def test_native_code_is_asked_once_enough_was_drawn(monkeypatch):
    asked = []
    drawn = _streams.Patience(lambda kind, key, block, result, parameters: asked.append((kind.name, result.size)) or NotImplemented)
    monkeypatch.setattr(_streams, "drawn", drawn)
    expected = random_bits((1, 2), (5000,))
    assert not asked
    drawn._drawn = drawn._PATIENCE
    np.testing.assert_array_equal(random_bits((1, 2), (5000,)), expected)
    assert asked == [("bits", 5000)]
    random_bits((1, 2), (5,))
    assert asked == [("bits", 5000)]


@pytest.mark.parametrize(("kind", "dtype"), [(k, d) for k in (_streams.NORMAL, _streams.UNIFORM) for d in FLOATS])
@pytest.mark.parametrize(("block", "count"), [(0, 1), (5, 3), (8191, 50), (2**32 - 3, 20), (7, 50_000)])
def test_numbers_made_alone_are_those_of_the_stream(kind, dtype, block, count):
    kind = kind[np.dtype(dtype)]
    np.testing.assert_array_equal(_streams.numbers_alone(kind, 3, block, count), _streams.numbers(kind, 3, block, count))

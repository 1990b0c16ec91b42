
import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, DTypeError, GraphError
from retrograde.ops.random import _philox
from retrograde.ops.random.draws import (
    Draws,
    Generator,
    default_generator,
    drawing_from,
    manual_seed,
    preserved_state,
    random_bits,
    random_normal,
    random_uniform,
)
from retrograde.ops.random.dropout import dropout, feature_dropout
from retrograde.tensor import random
from together import in_threads

# Counter, key and words of the known-answer tests of Random123 (kat_vectors, philox4x32 10).
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return np.array([int(word, 16) for word in text.split()], np.uint32)


@pytest.fixture(autouse=True)
def _same_start():
    with preserved_state():
        manual_seed(0)
        yield


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_philox_gives_the_published_answers(counter, key, expected):
    counters = np.repeat(words(counter)[:, None], 3, axis=1)
    np.testing.assert_array_equal(_philox.philox(counters, words(key))[:, 1], words(expected))


def test_word_i_of_a_stream_depends_on_i_alone():
    long = random_bits((7, 0), (5 * 4 * _philox.CHUNK // 2,))
    for start, count in ((0, 5), (3, 9), (_philox.CHUNK - 1, 4 * _philox.CHUNK + 9), (_philox.CHUNK, 8)):
        np.testing.assert_array_equal(random_bits((7, start), (count,)), long[4 * start : 4 * start + count])
    assert random_bits((7, 1 << 33), (4,)).tolist() != random_bits((7, 0), (4,)).tolist()
    np.testing.assert_array_equal(_philox.philox(words("0 2 0 0")[:, None], words("7 0"))[:, 0], random_bits((7, 1 << 33), (4,)))


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)])
def test_uniform_numbers_lie_on_the_grid_below_one(dtype, bits):
    x = random_uniform((1, 0), (20001,), rg.dtypes.as_dtype(dtype))
    assert x.dtype == rg.dtypes.as_dtype(dtype)
    x = x.astype(np.float64)
    assert x.min() >= 0
    assert x.max() < 1
    np.testing.assert_array_equal(x * 2.0**bits, np.floor(x * 2.0**bits))
    assert abs(x.mean() - 0.5) < 4 * 0.29 / 20001**0.5


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_have_the_moments_of_the_normal_distribution(dtype):
    x = random_normal((1, 0), (100_001,), dtype)
    assert x.dtype == dtype
    x = x.astype(np.float64)
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((x**power).mean() - moment) < 4 * (spread / len(x)) ** 0.5
    assert abs(np.corrcoef(x[:-1:2], x[1::2])[0, 1]) < 0.02
    assert np.isfinite(x).all()


def test_creation_functions():
    assert random.rand(2, 3).shape == random.randn((2, 3)).shape == (2, 3)
    assert random.rand(()).shape == random.randn(()).shape == random.uniform().shape == ()
    assert random.randn(0, 3).shape == (0, 3)
    assert random.rand(2, dtype=rg.float64, requires_grad=True).requires_grad
    assert random.randn_like(rg.zeros(2, 3, dtype=rg.float64)).dtype == rg.float64
    x = random.uniform(-2, 3, (1000,)).data
    assert -2 <= x.min() < -1.9
    assert 2.9 < x.max() <= 3
    assert random.normal(5, 0.1, (1000,)).data.mean() == pytest.approx(5, abs=0.02)
    with pytest.raises(DTypeError):
        random.rand(2, dtype=rg.int64)
    with pytest.raises(ArgumentError):
        random.normal(std=-1)


def test_integers_permutations_and_coins():
    x = random.randint(-2, 3, (5000,))
    assert x.dtype == rg.int64
    counts = np.bincount(x.data + 2, minlength=5)
    assert len(counts) == 5
    assert abs(counts - 1000).max() < 150
    assert random.randint(7, (3,)).shape == (3,)
    wide = random.randint(-(2**62), 2**62, (100,)).data
    assert wide.max() - wide.min() > 2**61
    assert sorted(random.permutation(50).tolist()) == list(range(50))
    rows = random.permutation(rg.tensor([[1.0, 1.0], [2.0, 2.0]])).tolist()
    assert sorted(rows) == [[1, 1], [2, 2]]
    coins = random.bernoulli(np.full(2000, 0.25))
    assert set(coins.tolist()) == {0, 1}
    assert coins.data.mean() == pytest.approx(0.25, abs=0.04)
    with pytest.raises(ArgumentError):
        random.randint(3, 3, (2,))


def test_a_seed_gives_the_same_numbers_again():
    first = random.rand(5).tolist()
    second = random.rand(5).tolist()
    manual_seed(0)
    assert random.rand(5).tolist() == first
    assert second != first
    assert random.rand(5, generator=Generator(0)).tolist() == first
    assert Generator(-1).initial_seed() == 2**64 - 1


def test_a_state_can_be_kept_and_set():
    generator = Generator(3)
    random.rand(7, generator=generator)
    state = generator.get_state()
    expected = random.randn(5, generator=generator).tolist()
    generator.set_state(state)
    assert random.randn(5, generator=generator).tolist() == expected
    with preserved_state(generator):
        random.rand(100, generator=generator)
    assert random.rand(3, generator=generator).tolist() != expected[:3]
    with pytest.raises(ArgumentError):
        generator.set_state([1])


def test_threads_never_receive_the_same_numbers():
    generator, seen = Generator(0), []

    def draw():
        seen.extend([random.randint(2**40, (4,), generator=generator).tolist() for _ in range(50)])

    in_threads(draw, [()] * 4)
    assert len({tuple(s) for s in seen}) == 200
    assert int(generator.get_state()[1]) == 200 * 2


def test_dropout_drops_with_probability_p_and_keeps_the_mean():
    x = rg.ones(20_000, requires_grad=True)
    z = dropout(x, p=0.1)
    dropped = z.data == 0
    assert dropped.mean() == pytest.approx(0.1, abs=0.01)
    np.testing.assert_array_equal(z.data[~dropped], np.float32(1 / 0.9))
    z.sum().backward()
    np.testing.assert_array_equal(x.grad.data, z.data)
    assert z.dtype == rg.float32


def test_dropout_is_one_record_with_a_mask_of_booleans():
    x = rg.ones(4, 5, requires_grad=True)
    record = dropout(x).record
    assert record.parents == (x.record,)
    (kept,) = [a for a in record.saved[0] if isinstance(a, np.ndarray)]
    assert kept.dtype == bool


def test_dropout_at_the_edges():
    x = rg.ones(3, 4, 5, 6, requires_grad=True)
    assert dropout(x, 0.0) is x
    assert dropout(x, 0.5, training=False) is x
    assert not dropout(x, 1.0).data.any()
    assert dropout(rg.ones(0, 3), 0.5).shape == (0, 3)
    channels = feature_dropout(x, 0.5).data.reshape(3, 4, 30)
    assert (channels == channels[..., :1]).all()
    for p in (-0.1, 1.1):
        with pytest.raises(ArgumentError):
            dropout(x, p)


def test_a_checkpoint_draws_the_same_numbers_when_it_is_run_again():
    own = Generator(9)

    def function(x):
        inner = rg.checkpoint(lambda y: dropout(y * 2, 0.5) + dropout(y, 0.5, generator=own), x)
        return dropout(inner, 0.3)

    for wrap in (lambda f: f, rg.checkpoint):
        manual_seed(1)
        own.manual_seed(9)
        x = rg.ones(1000, requires_grad=True)
        z = wrap(function)(x)
        after = default_generator.get_state().tolist()
        random.rand(10)
        z.sum().backward()
        np.testing.assert_allclose(x.grad.data, z.data, rtol=1e-6)
        assert default_generator.get_state().tolist() == [after[0], after[1] + 3]


def test_drawing_more_when_run_again_is_an_error():
    draws = Draws()
    with draws.recorded():
        random.rand(1)
    with draws.replayed():
        random.rand(1)
        with pytest.raises(GraphError):
            random.rand(1)


@pytest.mark.parametrize("draw", [random.rand, random.randn])
def test_the_default_generator_is_the_first_to_be_asked(draw):
    before = default_generator.get_state()[1]
    draw(4)
    draw(4, generator=Generator(0))
    assert default_generator.get_state()[1] == before + 1


def test_draws_within_drawing_from_are_of_that_generator_also_in_compiled_code():
    rg.manual_seed(1)
    outside = rg.get_rng_state()
    drawn = lambda x: rg.rand(3) + dropout(x, 0.5)
    with drawing_from(rg.random.Generator(9)):
        eager, state = drawn(rg.ones(3)).tolist(), rg.get_rng_state()
    with drawing_from(rg.random.Generator(9)):
        compiled = rg.jit(drawn)
        assert compiled(rg.ones(3)).tolist() == eager
        assert rg.get_rng_state().tolist() == state.tolist()
        first = compiled(rg.ones(3)).tolist()
        rg.manual_seed(9)
        assert compiled(rg.ones(3)).tolist() == eager != first
    assert rg.get_rng_state().tolist() == outside.tolist()

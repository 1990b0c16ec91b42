"""Arrays filled by native kernels have the bits that NumPy gives."""

from types import SimpleNamespace

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import drawing
from retrograde.compiler.backends.cpu.units import library
from retrograde.compiler.calls.eager import eager
from retrograde.ops.random import _streams
from together import in_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

KINDS = {
    "bits": (_streams.BITS,), "mask": (_streams.MASK, 2**30), "float32": (_streams.UNIFORM[rg.float32],),
    "float64": (_streams.UNIFORM[rg.float64],), "normal": (_streams.NORMAL[rg.float32],),
    "normal of 64 bits": (_streams.NORMAL[rg.float64],), "integers": (_streams.INTEGERS, -7, 2**32),
    "few integers": (_streams.INTEGERS, 2**40, 3),
}
fill = drawing.Filler(patience=0)
_nothing = lambda *_: False
STATES = [(0, 0), (7, 5), (2**63 + 12345, 2**32 - 2), (2**40 + 1, 2**35 + 3)]


@pytest.fixture
def _numpy_only(monkeypatch):
    monkeypatch.setattr(_streams, "drawn", _streams.Patience(_nothing))


@pytest.mark.usefixtures("_numpy_only")
@pytest.mark.parametrize("name", KINDS)
def test_filled_arrays_have_the_bits_that_numpy_gives(name):
    kind, *parameters = KINDS[name]
    for (key, block), count in zip(STATES * 2, (1, 3, 31, 32, 1000, 65_537, 100_003, 64), strict=True):
        result = np.empty(count, kind.dtype)
        assert fill(kind, key, block, result, tuple(parameters))
        expected = _streams.numbers(kind, key, block, count, *parameters)
        assert result.tobytes() == expected.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_filled_arrays_are_the_same_for_any_number_of_threads(threads):
    kind, before = _streams.NORMAL[rg.float32], rg.get_num_threads()
    rg.set_num_threads(threads)
    try:
        found = np.empty(1_000_003, np.float32)
        assert fill(kind, 3, 1, found, ())
    finally:
        rg.set_num_threads(before)
    parts = [np.empty(count, np.float32) for count in (400_000, 600_003)]
    assert all([fill(kind, 3, block, part, ()) for block, part in zip((1, 100_001), parts, strict=True)])
    np.testing.assert_array_equal(found, np.concatenate(parts))


def test_kinds_without_a_kernel_are_left_to_numpy():
    assert not fill(_streams.NORMAL[rg.float16], 1, 0, np.empty(2000, np.float16), ())
    assert not fill(_streams.WIDE_INTEGERS, 1, 0, np.empty(2000, np.int64), (0, 2**40))


def test_seeds_give_the_same_numbers_before_and_after_kernels_are_loaded(monkeypatch):
    draws = lambda: [rg.randn(3000).numpy(), rg.rand(50, 41, dtype=rg.float64).numpy(), rg.randint(9, (2000,)).numpy(),
                     rg.dropout(rg.ones(4000), 0.3).numpy(), rg.randn(7).numpy()]
    with rg.ops.random.draws.preserved_state():
        rg.manual_seed(4)
        monkeypatch.setattr(_streams, "drawn", _streams.Patience(_nothing))
        _streams._chunk.cache_clear()
        expected = draws()
        rg.manual_seed(4)
        _streams.drawn.fill, _streams.drawn._drawn = fill, _streams.drawn._PATIENCE
        _streams._chunk.cache_clear()
        for found, wanted in zip(draws(), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_kernels_that_are_not_on_disk_are_compiled_when_much_was_drawn(monkeypatch):
    asked, found = [], np.empty(1000, np.float32)
    monkeypatch.setattr(drawing, "library", lambda: SimpleNamespace(
        load_stored=lambda names: asked.append(len(names)), load=library().load, address=library().address))
    patient = drawing.Filler(patience=10000)
    assert [patient(_streams.NORMAL[rg.float32], 1, 0, found, ()) for _ in range(4)] == [False, False, True, True]
    assert asked == [2]


def test_nothing_is_compiled_where_programs_run_by_numpy(monkeypatch):
    monkeypatch.setenv("RETROGRADE_COMPILER", "reference")
    assert eager("fill")(_streams.NORMAL[rg.float32], 1, 0, np.empty(2000, np.float32), ()) is NotImplemented


def test_several_threads_may_draw_at_the_same_time():
    kind, found = _streams.NORMAL[rg.float32], {}

    def draw(key):
        found[key] = [np.empty(400_000, np.float32) for _ in range(3)]
        for block, array in enumerate(found[key]):
            fill(kind, key, block, array, ())

    in_threads(draw, [(key,) for key in range(4)])
    for key, arrays in found.items():
        for block, array in enumerate(arrays):
            np.testing.assert_array_equal(array[:5000], _streams.numbers(kind, key, block, 5000))

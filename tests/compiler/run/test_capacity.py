"""What cannot fit into memory is an error before it is allocated."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.run import capacity
from retrograde.errors import MemoryLimitError
from training_steps import training_step


@pytest.fixture
def short_of_memory(monkeypatch):
    monkeypatch.setattr(capacity, "available", lambda: 3 << 26)


def outer(x, y):
    return rg.sort(x[:, None] * y, axis=0)


def test_a_program_that_cannot_fit_is_refused_and_says_what_is_large(short_of_memory):
    x = rg.ones(1 << 13, dtype=rg.float64)
    with pytest.raises(MemoryLimitError, match=r"192 MiB are free: 512 MiB for \w+ float64\[8192, 8192\].*smaller batches"):
        rg.jit(outer)(x, x)
    with rg.lazy():
        y = outer(x, x)
    with pytest.raises(MemoryError):
        y.realize()
    assert rg.jit(outer)(x[:8], x[:8]).shape == (8, 8)


def test_state_and_gradients_are_as_they_were_after_the_refusal(short_of_memory):
    w = rg.ones(1 << 13, requires_grad=True)
    step = rg.jit(training_step(rg.optim.SGD([w], lr=0.5, momentum=0.9), lambda x: outer(w, x).sum()))
    with pytest.raises(MemoryLimitError):
        step(rg.ones(1 << 13))
    assert w.grad is None
    assert np.array_equal(w.detach(), np.ones(1 << 13))
    assert step(rg.ones(1 << 3)).item() == 1 << 16


def test_what_is_free_is_known_and_positive():
    free = capacity.available()
    assert free is None or free > 0


def test_sizes_are_told_in_words():
    assert [capacity.told(n) for n in (12, 2048, 3 << 40, 5 << 60)] == ["12 B", "2 KiB", "3 TiB", "5.24e+06 TiB"]


def test_what_fits_to_the_byte_fits_and_a_machine_that_tells_nothing_is_trusted(monkeypatch):
    for free, nbytes, fits in ((1 << 27, 1 << 27, True), (1 << 27, (1 << 27) + 1, False), (0, (1 << 26) - 1, True), (0, 1 << 26, False),
                               (None, 1 << 60, True)):
        monkeypatch.setattr(capacity, "available", lambda free=free: free)
        if fits:
            capacity.check_fits(nbytes, [])
        else:
            with pytest.raises(MemoryLimitError):
                capacity.check_fits(nbytes, [])

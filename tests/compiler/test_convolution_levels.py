"""The precision of convolutions is a setting of all that is computed from then on: of what depends on it, and of nothing else."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.kernels.winograd import Winograd

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


@pytest.fixture(autouse=True)
def _restored():
    before = rg.get_convolution_precision()
    yield
    rg.set_convolution_precision(before)


def drawn(columns=27):
    rng = np.random.default_rng(columns)
    return [rg.tensor(rng.standard_normal(shape).astype(np.float32)) for shape in ((2, 64, 24, columns), (64, 64, 3, 3))]


def by_level(compute):
    """What a function computes with each level, and with the first one again, as bytes."""
    found = []
    for level in ("highest", "high", "medium", "highest"):
        rg.set_convolution_precision(level)
        found.append(np.asarray(compute()).tobytes())
    return found


def follows(found):
    """Whether each level was computed in its own way."""
    return len(set(found)) == 3 and found[0] == found[-1]


def test_lazy_convolutions_follow_the_level():
    x, weight = drawn()

    def compute():
        with rg.lazy():
            return rg.conv2d(x, weight, None, 1, 1) * 2

    assert follows(by_level(compute))


def test_the_way_back_of_a_compiled_function_follows_the_level():
    x, weight = drawn()
    x.requires_grad_()
    step = rg.jit(lambda x: rg.conv2d(x, weight, None, 1, 1))
    result = step(x)

    def compute():
        """The function is called once: only its derivative is made anew."""
        x.grad = None
        result.backward(rg.ones_like(result), retain_graph=True)
        return x.grad

    assert follows(by_level(compute))


def test_second_derivatives_follow_the_level():
    x, weight = drawn()
    step = rg.jit(rg.grad(lambda x: (rg.conv2d(x, weight, None, 1, 1) ** 2).sum()))
    assert follows(by_level(lambda: rg.grad(lambda x: (step(x) ** 2).sum())(x)))


def test_a_convolution_in_a_loop_follows_the_level():
    x, weight = drawn()
    step = rg.jit(lambda x: rg.scan(lambda c, _: (rg.tanh(rg.conv2d(c, weight, None, 1, 1)), None), x, None, length=2)[0])
    assert follows(by_level(lambda: step(x)))


def test_functions_without_convolutions_are_not_traced_anew():
    step, x = rg.jit(lambda x: rg.softmax(x @ x)), rg.tensor(np.eye(5))
    assert len(set(by_level(lambda: step(x)))) == 1
    again = rg.jit(lambda x: rg.softmax(x @ x))  # as an earlier process has stored it
    by_level(lambda: again(x))
    assert step.traces == again.traces == 1


def test_a_function_that_asks_for_the_level_is_traced_anew():
    step = rg.jit(lambda x: x * len(rg.get_convolution_precision()))
    assert by_level(lambda: step(rg.ones(1))) == [np.float32(n).tobytes() for n in (7, 4, 6, 7)]
    assert step.traces == 3


def test_what_is_found_on_disk_is_explained_as_it_was_made(monkeypatch):
    monkeypatch.setenv("RETROGRADE_VERIFY", "0")  # else it would be planned at once
    x, weight = drawn(29)
    for _ in range(2):
        step = rg.jit(lambda x: rg.conv2d(x, weight, None, 1, 1))
        step(x)
    rg.set_convolution_precision("highest")
    assert [kernel.kind for kernel in step.explain().kernels if kernel.kind != "pack"] == ["winograd"]


@pytest.mark.parametrize("level", ["highest", "medium"])
def test_a_level_that_another_thread_sets_while_a_program_is_made_is_that_of_the_next(level, monkeypatch):
    """It comes between the choice of a kernel and its code."""
    x, weight = drawn({"highest": 31, "medium": 33}[level])
    write = Winograd.launches

    def interrupted(self, step, assembler):
        rg.set_convolution_precision(level)
        return write(self, step, assembler)

    monkeypatch.setattr(Winograd, "launches", interrupted)
    step = rg.jit(lambda x: rg.conv2d(x, weight, None, 1, 1))
    found = [np.asarray(step(x)).tobytes() for _ in range(3)]
    assert found[0] != found[1] == found[2]
    monkeypatch.undo()
    for setting, wanted in zip(("high", level), found, strict=False):
        rg.set_convolution_precision(setting)
        assert np.asarray(rg.jit(lambda x: rg.conv2d(x, weight, None, 1, 1))(x)).tobytes() == wanted

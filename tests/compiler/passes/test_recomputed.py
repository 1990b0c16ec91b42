"""repeated places: what a loop would compute at several places for each of its numbers is computed once."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.passes import recomputed
from retrograde.compiler.passes.recomputed import met_at_several_places
from retrograde.compiler.pipeline import planned
from retrograde.errors import RetrogradeError
from tests.compiler.snapshots.programs import of_seed
from tests.compiler.snapshots.telling import graph_of

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

SQUARE = np.random.default_rng(0).standard_normal((16, 16))
STEPS = 6


def _rolled(x):
    return x + 0.1 * rg.tanh(rg.roll(x, 1, 0) + rg.roll(x, -1, 0) + rg.roll(x, 1, 1) + rg.roll(x, -1, 1) - 4 * x)


def _padded(x):
    y = rg.pad(x, 1)
    return x + 0.1 * rg.tanh(y[2:, 1:-1] + y[:-2, 1:-1] + y[1:-1, 2:] + y[1:-1, :-2] - 4 * x)


def _butterfly(x):
    even, odd = x[::2], x[1::2]
    return rg.tanh(rg.concatenate([even + odd, even - odd]))


FUNCTIONS = {"rolled": _rolled, "padded": _padded, "mirrored": lambda x: rg.tanh(x + x.T),
             "reversed": lambda x: rg.tanh(x - 2 * x[::-1]),
             "butterfly": _butterfly, "several": lambda x: _padded(_rolled(x)), "differences": lambda x: rg.tanh(x[:, 1:] - x[:, :-1]),
             "halves": lambda x: rg.tanh(x[..., ::2] - x[..., 1::2]) if x.shape[-1] > 1 else x}


def _repeated(function, steps=STEPS):
    def repeated(x):
        for _ in range(steps):
            x = function(x)
        return x

    return repeated


@pytest.mark.parametrize("name", FUNCTIONS)
def test_repeated_steps_and_their_gradient_are_the_eager_ones(name):
    repeated = _repeated(FUNCTIONS[name])
    for f in (repeated, rg.grad(lambda x: (repeated(x) ** 2).sum())):
        np.testing.assert_allclose(np.asarray(rg.jit(f)(SQUARE)), np.asarray(f(SQUARE)), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["rolled", "padded", "mirrored", "reversed", "butterfly", "differences"])
def test_each_step_is_computed_once_for_each_number(name):
    step = rg.jit(_repeated(FUNCTIONS[name]))
    step(SQUARE)
    kernels = step.explain().kernels
    found = sum(kernel.ops.count("tanh") for kernel in kernels)
    assert found == STEPS


def test_many_steps_compile_to_code_of_their_number():
    sizes = []
    for steps in (5, 10, 20):
        step = rg.jit(rg.grad(lambda x, steps=steps: (_repeated(_rolled, steps)(x) ** 2).sum()))
        step(SQUARE)
        sizes.append(sum(len(kernel.ops) for kernel in step.explain().kernels))
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), rel=0.1)


def test_what_is_cheap_is_read_at_several_places_without_a_pass_of_its_own():
    step = rg.jit(lambda x: rg.roll(2 * x, 1, 0) + rg.roll(2 * x, -1, 0))
    step(SQUARE)
    assert len(step.explain().kernels) == 1


@pytest.mark.filterwarnings("ignore")
@np.errstate(all="ignore")
def test_loops_that_are_passed_over_would_have_met_nothing_at_several_places(monkeypatch):
    found = 0
    for seed in range(0, 300, 12):
        for function, operands in list(of_seed(seed).values())[:2]:
            try:
                schedule = planned(graph_of(function, operands)).schedule
            except (RetrogradeError, ArithmeticError, TypeError, ValueError):
                continue
            quick = [met_at_several_places(schedule, is_expensive) for is_expensive in (schedule._is_expensive, lambda node: True)]
            with monkeypatch.context() as patch:
                patch.setattr(recomputed, "_that_move", lambda moving, schedule: [s for s in schedule.steps if s.kernel.fuses and moving])
                assert quick == [met_at_several_places(schedule, some) for some in (schedule._is_expensive, lambda node: True)]
            found += len(quick[1])
    assert found

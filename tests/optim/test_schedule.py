import math

import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError


def optimizer():
    return optim.SGD([nn.Parameter(rg.ones(1))], lr=1.0)


def rates(schedule, steps):
    found = []
    for _ in range(steps):
        found.append(schedule.get_last_lr()[0])
        schedule.step()
    return found


MAKERS = {
    "StepLR": (lambda o: optim.StepLR(o, 2, 0.5), [1, 1, 0.5, 0.5, 0.25]),
    "MultiStepLR": (lambda o: optim.MultiStepLR(o, [1, 3], 0.1), [1, 0.1, 0.1, 0.01, 0.01]),
    "ExponentialLR": (lambda o: optim.ExponentialLR(o, 0.5), [1, 0.5, 0.25]),
    "LinearLR": (lambda o: optim.LinearLR(o, 0.5, 1.0, 2), [0.5, 0.75, 1, 1]),
    "LambdaLR": (lambda o: optim.LambdaLR(o, lambda t: 1 / (1 + t)), [1, 1 / 2, 1 / 3]),
    "CosineAnnealingLR": (lambda o: optim.CosineAnnealingLR(o, 4, 0.2),
                          [0.2 + 0.8 * (1 + math.cos(math.pi * t / 4)) / 2 for t in range(5)]),
    "SequentialLR": (lambda o: optim.SequentialLR(o, [optim.LinearLR(o, 0.5, 1.0, 2), optim.ExponentialLR(o, 0.5)], [2]),
                     [0.5, 0.75, 1, 0.5, 0.25]),
    "ChainedScheduler": (lambda o: optim.ChainedScheduler([optim.LinearLR(o, 0.5, 1.0, 2), optim.ExponentialLR(o, 0.5)]),
                         [0.5, 0.375, 0.25, 0.125]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_rates_follow_the_formula(name):
    make, expected = MAKERS[name]
    assert rates(make(optimizer()), len(expected)) == pytest.approx(expected)


@pytest.mark.parametrize("name", MAKERS)
def test_a_schedule_goes_on_from_its_state(name):
    make, expected = MAKERS[name]
    first, second = make(optimizer()), make(optimizer())
    first.step()
    second.load_state_dict(first.state_dict())
    assert rates(second, len(expected) - 1) == pytest.approx(expected[1:])


@pytest.mark.parametrize("make", [
    lambda o, lib: lib.StepLR(o, 3, 0.3), lambda o, lib: lib.CosineAnnealingLR(o, 7, 0.01), lambda o, lib: lib.LinearLR(o, 0.2, 0.9, 4),
    lambda o, lib: lib.ChainedScheduler([lib.ConstantLR(o, 0.3, 4), lib.StepLR(o, 3, 0.5), lib.CosineAnnealingLR(o, 12)]),
])
def test_rates_agree_with_torch(make):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = make(torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0), torch.optim.lr_scheduler)
    found = []
    for _ in range(10):
        found.append(theirs.get_last_lr()[0])
        theirs.optimizer.step()
        theirs.step()
    assert rates(make(optimizer(), optim.lr_scheduler), 10) == pytest.approx(found)


def test_a_plateau_lowers_the_rate_after_patience():
    o = optimizer()
    schedule = optim.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, min_lr=0.3)
    seen = []
    for loss in [1.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.4]:
        schedule.step(loss)
        seen.append(schedule.get_last_lr()[0])
    assert seen == [1, 1, 1, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3]


def test_each_group_may_have_a_function_of_its_own():
    o = optim.SGD([{"params": [nn.Parameter(rg.ones(1))]} for _ in range(2)], lr=1.0)
    assert optim.LambdaLR(o, [lambda t: 2, lambda t: 3]).get_last_lr() == [2, 3]
    with pytest.raises(ValueError, match="one function for each"):
        optim.LambdaLR(o, [lambda t: 1])


def adaptive():
    return optim.SGD([nn.Parameter(rg.ones(1))], lr=1.0, momentum=0.5)


CYCLES = {
    "OneCycleLR": lambda o, lib: lib.OneCycleLR(o, 0.5, total_steps=10),
    "OneCycleLR of three phases": lambda o, lib: lib.OneCycleLR(o, 0.5, epochs=5, steps_per_epoch=3, three_phase=True, pct_start=0.4,
                                                                anneal_strategy="linear", div_factor=5.0, final_div_factor=10.0),
    "CosineAnnealingWarmRestarts": lambda o, lib: lib.CosineAnnealingWarmRestarts(o, 3, 2, 0.05),
    "CosineAnnealingWarmRestarts, always as long": lambda o, lib: lib.CosineAnnealingWarmRestarts(o, 4),
    "CyclicLR": lambda o, lib: lib.CyclicLR(o, 0.1, 0.6, 3, 2),
    "CyclicLR, half as high each time": lambda o, lib: lib.CyclicLR(o, 0.1, 0.6, 2, mode="triangular2"),
    "CyclicLR that shrinks": lambda o, lib: lib.CyclicLR(o, 0.1, 0.6, 4, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "PolynomialLR": lambda o, lib: lib.PolynomialLR(o, 6, 2.0),
    "ConstantLR": lambda o, lib: lib.ConstantLR(o, 0.2, 4),
    "MultiplicativeLR": lambda o, lib: lib.MultiplicativeLR(o, lambda t: 1 / (1 + t)),
}

#: Learning rate and momentum after each step, as PyTorch 2.13 gives them.
RECORDED = {
    "OneCycleLR": [(0.02, 0.95), (0.26, 0.9), (0.5, 0.85), (0.475242316007, 0.854951556605), (0.405872826975, 0.868825509907),
        (0.305631010968, 0.888873953302), (0.194370989032, 0.911126046698), (0.0941291730251, 0.931174490093), (0.0247596839933,
        0.945048443395), (2e-06, 0.95)],
    "OneCycleLR of three phases": [(0.1, 0.95), (0.18, 0.93), (0.26, 0.91), (0.34, 0.89), (0.42, 0.87), (0.5, 0.85), (0.42,
        0.87), (0.34, 0.89), (0.26, 0.91), (0.18, 0.93)],
    "CosineAnnealingWarmRestarts": [(1, 0.5), (0.7625, 0.5), (0.2875, 0.5), (1, 0.5), (0.936362066798, 0.5), (0.7625, 0.5),
        (0.525, 0.5), (0.2875, 0.5), (0.113637933202, 0.5), (1, 0.5)],
    "CosineAnnealingWarmRestarts, always as long": [(1, 0.5), (0.853553390593, 0.5), (0.5, 0.5), (0.146446609407, 0.5), (1,
        0.5), (0.853553390593, 0.5), (0.5, 0.5), (0.146446609407, 0.5), (1, 0.5), (0.853553390593, 0.5)],
    "CyclicLR": [(0.1, 0.9), (0.266666666667, 0.866666666667), (0.433333333333, 0.833333333333), (0.6, 0.8), (0.35, 0.85), (0.1,
        0.9), (0.266666666667, 0.866666666667), (0.433333333333, 0.833333333333), (0.6, 0.8), (0.35, 0.85)],
    "CyclicLR, half as high each time": [(0.1, 0.9), (0.35, 0.85), (0.6, 0.8), (0.35, 0.85), (0.1, 0.9), (0.225, 0.875), (0.35,
        0.85), (0.225, 0.875), (0.1, 0.9), (0.1625, 0.8875)],
    "CyclicLR that shrinks": [(0.1, 0.5), (0.2125, 0.5), (0.3025, 0.5), (0.373375, 0.5), (0.42805, 0.5), (0.32143375, 0.5),
        (0.23286025, 0.5), (0.1597871125, 0.5), (0.1, 0.5), (0.148427561125, 0.5)],
    "PolynomialLR": [(1, 0.5), (0.694444444444, 0.5), (0.444444444444, 0.5), (0.25, 0.5), (0.111111111111, 0.5),
        (0.0277777777778, 0.5), (0, 0.5), (0, 0.5), (0, 0.5), (0, 0.5)],
    "ConstantLR": [(0.2, 0.5), (0.2, 0.5), (0.2, 0.5), (0.2, 0.5), (1, 0.5), (1, 0.5), (1, 0.5), (1, 0.5), (1, 0.5), (1, 0.5)],
    "MultiplicativeLR": [(1, 0.5), (0.5, 0.5), (0.166666666667, 0.5), (0.0416666666667, 0.5), (0.00833333333333, 0.5),
        (0.00138888888889, 0.5), (0.000198412698413, 0.5), (2.48015873016e-05, 0.5), (2.7557319224e-06, 0.5), (2.7557319224e-07,
        0.5)],
}


def _moved(schedule, count):
    found = []
    for _ in range(count):
        group = schedule.optimizer.param_groups[0]
        found.append((group["lr"], group["momentum"]))
        schedule.optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize("name", CYCLES)
def test_cycles_are_those_that_were_recorded_of_torch(name):
    found = _moved(CYCLES[name](adaptive(), optim.lr_scheduler), 10)
    for got, wanted in zip(found, RECORDED[name], strict=True):
        assert got == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", CYCLES)
def test_cycles_agree_with_torch(name):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.5)
    wanted = _moved(CYCLES[name](theirs, torch.optim.lr_scheduler), 10)
    for got, expected in zip(_moved(CYCLES[name](adaptive(), optim.lr_scheduler), 10), wanted, strict=True):
        assert got == pytest.approx(expected, rel=1e-9)


def test_a_cycle_ends_and_needs_momentum_to_move():
    schedule = optim.OneCycleLR(adaptive(), 0.5, total_steps=4)
    for _ in range(4):
        schedule.step()
    with pytest.raises(ArgumentError, match="total_steps"):
        schedule.step()
    with pytest.raises(ArgumentError, match="cycle_momentum"):
        optim.CyclicLR(optim.Adagrad([nn.Parameter(rg.ones(1))]), 0.1, 0.2)

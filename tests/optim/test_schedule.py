import math

import pytest

import retrograde as rg
from retrograde import nn, optim


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

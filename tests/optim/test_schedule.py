import math

import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, CheckpointError, DTypeError, TraceError


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
    second.optimizer.load_state_dict(first.optimizer.state_dict())
    assert rates(second, len(expected) - 1) == pytest.approx(expected[1:])


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
    with pytest.raises(ValueError, match="lr_lambda needs one value for each of 2 groups, got 1"):
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


def test_a_cycle_ends_and_needs_momentum_to_move():
    schedule = optim.OneCycleLR(adaptive(), 0.5, total_steps=4)
    for _ in range(4):
        schedule.step()
    with pytest.raises(ArgumentError, match="total_steps"):
        schedule.step()
    with pytest.raises(ArgumentError, match="cycle_momentum"):
        optim.CyclicLR(optim.Adagrad([nn.Parameter(rg.ones(1))]), 0.1, 0.2)


def after(optimizer, schedules, steps):
    found = []
    for _ in range(steps):
        for schedule in schedules:
            schedule.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_two_schedules_multiply_what_each_finds():
    o = optim.SGD([nn.Parameter(rg.ones(1))], lr=0.1)
    found = after(o, [optim.ExponentialLR(o, 0.9), optim.MultiStepLR(o, [3, 8], 0.1)], 9)
    wanted = [0.1 * 0.9**t * 0.1 ** ((t >= 3) + (t >= 8)) for t in range(1, 10)]
    assert found == pytest.approx(wanted, rel=1e-12)


def test_a_cut_by_a_plateau_is_kept_by_the_schedules_after_it():
    o = optimizer()
    plateau, decay = optim.ReduceLROnPlateau(o, factor=0.5, patience=0), optim.ExponentialLR(o, 0.9)
    for loss in (1.0, 2.0, 3.0):
        plateau.step(loss)
        decay.step()
    assert o.param_groups[0]["lr"] == pytest.approx(0.9**3 / 4)
    assert plateau.get_last_lr() == pytest.approx([0.9**2 / 4])  # as its own step left it


@pytest.mark.parametrize(("make", "factors"), [
    (lambda o: optim.ExponentialLR(o, 0.9), [0.9, 0.9]), (lambda o: optim.StepLR(o, 2, 0.5), [1, 0.5]),
    (lambda o: optim.MultiplicativeLR(o, lambda t: 1 / t), [1 / 3, 1 / 4]),
    (lambda o: optim.LinearLR(o, 0.5, 1.0, 4), [7 / 6, 8 / 7]), (lambda o: optim.PolynomialLR(o, 5), [2 / 3, 1 / 2]),
], ids=lambda value: "")
def test_a_rate_set_by_hand_is_kept(make, factors):
    o = optimizer()
    schedule = make(o)
    after(o, [schedule], 2)
    o.param_groups[0]["lr"] = 10.0
    assert after(o, [schedule], 2) == pytest.approx([10 * factors[0], 10 * factors[0] * factors[1]])


def test_a_state_restores_hyperparameters_and_not_the_optimizer():
    first, second = optimizer(), optimizer()
    old, new = optim.StepLR(first, 2, 0.5), optim.StepLR(second, 7, 0.1)
    after(first, [old], 3)
    new.load_state_dict(old.state_dict())
    assert (new.step_size, new.gamma, new.last_epoch, new.get_last_lr()) == (2, 0.5, 3, [0.5])
    assert second.param_groups[0]["lr"] == 1.0
    with pytest.raises(CheckpointError, match="step_size"):
        optim.ExponentialLR(second, 0.5).load_state_dict(old.state_dict())


def test_states_of_combined_schedules_and_of_functions_with_attributes_are_whole():
    class Power:
        def __init__(self, base):
            self.base = base

        def __call__(self, t):
            return self.base**t

    def made(base):
        o = optimizer()
        return optim.SequentialLR(o, [optim.ChainedScheduler([optim.ConstantLR(o, 0.5, 2)]), optim.LambdaLR(o, Power(base))], [3])

    first, second = made(0.5), made(0.9)
    after(first.optimizer, [first], 4)
    second.load_state_dict(first.state_dict())
    assert after(second.optimizer, [second], 2) == after(first.optimizer, [first], 2) == [0.25, 0.125]


def test_constant_and_linear_factors_of_no_steps_stay():
    for name, options in (("ConstantLR", {"factor": 0.25}), ("LinearLR", {"start_factor": 0.25})):
        o = optimizer()
        assert after(o, [getattr(optim, name)(o, total_iters=0, **options)], 3) == [0.25] * 3


def test_a_group_that_is_added_later_follows_or_is_refused():
    o = optimizer()
    decay, formula = optim.ExponentialLR(o, 0.5), optim.LambdaLR(o, lambda t: 1.0)
    o.add_param_group({"params": [nn.Parameter(rg.ones(1))], "lr": 8.0})
    decay.step()
    assert decay.get_last_lr() == [0.5, 4.0]
    with pytest.raises(ArgumentError, match="add_param_group"):
        formula.step()


def test_lists_give_each_group_its_own():
    o = optim.SGD([{"params": [nn.Parameter(rg.ones(1))]} for _ in range(2)], lr=1.0, momentum=0.9)
    cycle = optim.CyclicLR(o, [0.1, 1.0], [0.3, 5.0], 2, base_momentum=[0.5, 0.6], max_momentum=[0.7, 0.8])
    cycle.step()
    assert cycle.get_last_lr() == pytest.approx([0.2, 3.0])
    assert [group["momentum"] for group in o.param_groups] == pytest.approx([0.6, 0.7])
    once = optim.OneCycleLR(o, [1.0, 2.0], 10, div_factor=4.0)
    assert once.get_last_lr() == [0.25, 0.5]
    plateau = optim.ReduceLROnPlateau(o, patience=0, min_lr=[0.2, 0.01])
    for loss in (1.0, 1.0):
        plateau.step(loss)
    assert plateau.get_last_lr() == pytest.approx([0.2, 0.05])
    with pytest.raises(ArgumentError, match="each of 2 groups"):
        optim.CyclicLR(o, 0.1, [0.3])


def test_a_rate_that_is_a_tensor_stays_that_tensor_and_the_first_one_is_a_copy():
    rate = rg.tensor(1.0)
    o = optim.SGD([nn.Parameter(rg.ones(1))], lr=rate)
    schedule = optim.LambdaLR(o, lambda t: 0.5**t)
    after(o, [schedule], 3)
    assert o.param_groups[0]["lr"] is rate and float(rate) == 0.125 and float(o.param_groups[0]["initial_lr"]) == 1.0
    before = schedule.get_last_lr()[0]
    schedule.step()
    assert float(before) == 0.125


@pytest.mark.parametrize("rate", [1.0, "tensor"])
def test_a_jitted_step_reads_what_chained_schedules_set(rate):
    w = nn.Parameter(rg.zeros(1))
    o = optim.SGD([w], lr=rg.tensor(1.0) if rate == "tensor" else rate)
    schedules = [optim.ExponentialLR(o, 0.5), optim.MultiStepLR(o, [2], 0.1)]

    @rg.jit
    def step():
        o.zero_grad()
        w.sum().backward()
        o.step()

    for _ in range(4):
        step()
        for schedule in schedules:
            schedule.step()
    assert float(w[0]) == pytest.approx(-(1 + 0.5 + 0.025 + 0.0125))


def test_a_schedule_is_not_stepped_in_a_jitted_function():
    schedule = optim.ExponentialLR(optimizer(), 0.5)

    @rg.jit
    def step(x):
        schedule.step()
        return x * 2

    with pytest.raises(TraceError, match="after the jitted step"):
        step(rg.ones(2))
    assert schedule.last_epoch == 0 and schedule.get_last_lr() == [1.0]


def test_a_resumed_schedule_needs_the_first_rates():
    o = optimizer()
    with pytest.raises(ArgumentError, match="initial_lr"):
        optim.StepLR(o, 2, last_epoch=3)
    o.param_groups[0]["initial_lr"] = 1.0
    assert after(o, [optim.StepLR(o, 6, 0.5, last_epoch=3)], 2) == [1.0, 0.5]


def test_warm_restarts_go_to_any_step():
    o = optimizer()
    schedule = optim.CosineAnnealingWarmRestarts(o, 1, 3)
    found = []
    for epoch in (0.5, 1, 2.5, 4, 40, 121, 120.999999):  # cycles begin at 0, 1, 4, 13, 40, 121
        schedule.step(epoch)
        found.append(schedule.get_last_lr()[0])
    assert found == pytest.approx([0.5, 1, 0.5, 1, 1, 1, 0], abs=1e-9)


def test_schedules_of_schedules_refuse_what_they_cannot_step():
    o = optimizer()
    for make in (lambda s: optim.ChainedScheduler(s), lambda s: optim.SequentialLR(o, s, [3] * (len(s) - 1))):
        with pytest.raises(ArgumentError, match="ReduceLROnPlateau"):
            make([optim.ExponentialLR(o, 0.5), optim.ReduceLROnPlateau(o)])
        with pytest.raises(DTypeError, match="list of schedules"):
            make([])
        with pytest.raises(ArgumentError, match="one optimizer"):
            make([optim.ExponentialLR(o, 0.5), optim.ExponentialLR(optimizer(), 0.5)])


def test_a_chain_begins_anew_at_its_milestone():
    o = optimizer()
    chain = optim.ChainedScheduler([optim.ConstantLR(o, 0.5, 2), optim.ExponentialLR(o, 0.5)])
    assert after(o, [optim.SequentialLR(o, [optim.ConstantLR(o, 0.1, 9), chain], [3])], 5) == [0.1, 0.1, 0.5, 0.25, 0.25]

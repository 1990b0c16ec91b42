"""Every schedule beside PyTorch's: 40 steps by itself and in pairs, with what people do to learning rates in between."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim

torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of steps before the optimizer's, and of `step(epoch)`

STEPS = 40


class Root:
    """A function with state, which is saved with the schedule."""

    def __init__(self, power):
        self.power = power

    def __call__(self, t):
        return (1 + t) ** -self.power


SIMPLE = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda t: 1 / (1 + t)),
    "LambdaLR, one for each": lambda s, o: s.LambdaLR(o, [Root(0.5), lambda t: 0.9**t]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda t: 0.8 if t % 3 else 1.1),
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.3),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [17, 3, 8, 8], 0.1),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 7),
    "ConstantLR of 0 steps": lambda s, o: s.ConstantLR(o, 0.25, 0),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.7, 9),
    "LinearLR, down": lambda s, o: s.LinearLR(o, 1.0, 0.1, 12),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 25, 1.7),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 12, 0.01),
    "CosineAnnealingLR of one step": lambda s, o: s.CosineAnnealingLR(o, 1, 0.3),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.05),
    "CosineAnnealingWarmRestarts, always as long": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=STEPS + 3),
    "OneCycleLR of three phases, a list": lambda s, o: s.OneCycleLR(
        o, [0.5, 2.0], epochs=11, steps_per_epoch=4, pct_start=0.4, anneal_strategy="linear", three_phase=True, div_factor=5.0,
        final_div_factor=10.0, base_momentum=[0.8, 0.7], max_momentum=[0.9, 0.95]),
    "OneCycleLR without momentum": lambda s, o: s.OneCycleLR(o, 0.5, STEPS + 3, cycle_momentum=False),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.1, 0.6, 3, 5),
    "CyclicLR of lists": lambda s, o: s.CyclicLR(o, [0.1, 0.2], [0.6, 1.2], 4, mode="triangular2", base_momentum=[0.7, 0.6],
                                                 max_momentum=[0.8, 0.95]),
    "CyclicLR, a saw": lambda s, o: s.CyclicLR(o, 0.1, 0.6, 5, 0),
    "CyclicLR, shrinking": lambda s, o: s.CyclicLR(o, 0.1, [0.6, 0.5], 4, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "CyclicLR, a function": lambda s, o: s.CyclicLR(o, 0.1, 0.6, 4, scale_fn=Root(0.7), scale_mode="iterations"),
    "SWALR": lambda s, o: _swa(s).SWALR(o, [0.05, 0.2], 13),
    "SWALR at once": lambda s, o: _swa(s).SWALR(o, 0.05, 0, "linear"),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, min_lr=[0.01, 0.2]),
    "ReduceLROnPlateau of a score": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.3, 2, 0.1, "abs", min_lr=1e-3, eps=1e-3),
}
#: Those that can stand where nobody tells them a loss.
PLAIN = {name: make for name, make in SIMPLE.items() if not name.startswith("Reduce")}
COMBINED = {
    "SequentialLR of three": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 5), s.LambdaLR(o, lambda t: 0.9**t), s.CosineAnnealingWarmRestarts(o, 4, 2)], [5, 15]),
    "SequentialLR within SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.SequentialLR(o, [s.ConstantLR(o, 0.2, 3), s.ExponentialLR(o, 0.9)], [6]), s.StepLR(o, 2, 0.5)], [14]),
    "SequentialLR that begins with ChainedScheduler": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.LinearLR(o, 0.5, 1.0, 4), s.ExponentialLR(o, 0.95)]), s.StepLR(o, 4, 0.5)], [9]),
    "SequentialLR at once": lambda s, o: s.SequentialLR(o, [s.ExponentialLR(o, 0.5), s.StepLR(o, 4, 0.5)], [0]),
    "ChainedScheduler of three": lambda s, o: s.ChainedScheduler(
        [s.LambdaLR(o, lambda t: 1 / (1 + t)), s.ConstantLR(o, 0.3, 4), s.CosineAnnealingLR(o, 12)]),
    "ChainedScheduler of SequentialLR": lambda s, o: s.ChainedScheduler(
        [s.SequentialLR(o, [s.LinearLR(o, 0.1, 1.0, 5), s.ExponentialLR(o, 0.9)], [5]), s.MultiStepLR(o, [7, 20])], o),
}
ALL = {**SIMPLE, **COMBINED}


def _swa(schedulers):
    return torch.optim.swa_utils if schedulers is torch.optim.lr_scheduler else optim.swa_utils


def _parameter(library):
    return torch.nn.Parameter(torch.ones(1)) if library is torch.optim else nn.Parameter(rg.ones(1))


def _tensor(library, number):
    return torch.tensor(number, dtype=torch.float64) if library is torch.optim else rg.tensor(np.array(number))


def _optimizer(library, kind="SGD", lr=float):
    options = {"momentum": 0.5} if kind == "SGD" else {}
    rates = [_tensor(library, rate) if lr == "tensor" else rate for rate in (1.0, 0.4)]
    return getattr(library, kind)([{"params": [_parameter(library)], "lr": rate} for rate in rates], lr=0.1, **options)


def _seen(optimizer, schedules):
    found = []
    for group in optimizer.param_groups:
        momentum = group["betas"][0] if "betas" in group else group["momentum"]
        found += [float(group["lr"]), float(momentum)]
    return found + [float(rate) for schedule in schedules for rate in schedule.get_last_lr()]


def _losses():
    return np.abs(np.random.default_rng(3).normal(size=STEPS) + np.linspace(1.5, 0, STEPS))


def _go(optimizer, schedules, times=range(STEPS), meddle=None):
    """What learning rates and momenta are seen over some steps; `meddle(t)` is called before each, and may give other schedules."""
    found, losses = [], _losses()
    for t in times:
        if meddle is not None:
            schedules = meddle(t) or schedules
        for schedule in schedules:
            schedule.step(losses[t]) if type(schedule).__name__ == "ReduceLROnPlateau" else schedule.step()
        found.append(_seen(optimizer, schedules))
    return found


def _both(story):
    """The same story with both libraries."""
    ours, theirs = (story(library) for library in (optim, torch.optim))
    for t, (got, wanted) in enumerate(zip(ours, theirs, strict=True)):
        np.testing.assert_allclose(got, wanted, rtol=1e-7, atol=1e-14, err_msg=f"step {t}")


def _some(names, name, count=6):
    """A few of `names` to go with `name`, other ones for each."""
    names = list(names)
    chosen = np.random.default_rng(names.index(name)).choice(len(names), count, replace=False)
    return [names[i] for i in chosen]


def _made(library, *names, **options):
    optimizer = _optimizer(library, **options)
    return optimizer, [ALL[name](library.lr_scheduler, optimizer) for name in names]


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", ALL)
def test_a_schedule_has_the_rates_of_torch(name, kind):
    _both(lambda library: _go(*_made(library, name, kind=kind)))


@pytest.mark.parametrize("name", ALL)
def test_a_rate_that_is_a_tensor_is_set_in_place(name):
    def story(library):
        optimizer, schedules = _made(library, name, lr="tensor")
        rates = [group["lr"] for group in optimizer.param_groups]
        found = _go(optimizer, schedules)
        assert all(rate is group["lr"] for rate, group in zip(rates, optimizer.param_groups, strict=True))
        return found

    _both(story)


@pytest.mark.parametrize("name", ALL)
def test_two_schedules_are_chained_as_in_torch(name):
    for other in _some(ALL, name):
        _both(lambda library, other=other: _go(*_made(library, name, other)))


@pytest.mark.parametrize("name", ALL)
def test_a_rate_set_by_hand_is_kept_as_in_torch(name):
    def story(library):
        optimizer, schedules = _made(library, name)

        def meddle(t):
            if t in (5, 23):
                optimizer.param_groups[1]["lr"] = 0.77

        return _go(optimizer, schedules, meddle=meddle)

    _both(story)


@pytest.mark.parametrize("name", ALL)
def test_states_loaded_in_the_middle_go_on_as_in_torch(name):
    def story(library):
        first, schedules = _made(library, name, "ExponentialLR")
        found = _go(first, schedules, range(17))
        second, again = _made(library, name, "ExponentialLR")
        again[1].gamma = 0.1
        for new, old in zip(again, schedules, strict=True):
            new.load_state_dict(old.state_dict())
        found.append(_seen(second, again))  # the schedules' states alone leave the optimizer as it is
        second.load_state_dict(first.state_dict())
        return [*found, _seen(second, again), *_go(second, again, range(17, STEPS))]

    _both(story)


@pytest.mark.parametrize("name", ALL)
def test_a_state_of_torch_is_taken(name):
    optimizer, schedules = _made(torch.optim, name)
    _go(optimizer, schedules, range(17))
    ours, again = _made(optim, name)
    again[0].load_state_dict(schedules[0].state_dict())
    for group, theirs in zip(ours.param_groups, optimizer.param_groups, strict=True):
        group.update({key: value for key, value in theirs.items() if key != "params"})
    found = [_go(o, s, range(17, STEPS)) for o, s in ((ours, again), (optimizer, schedules))]
    np.testing.assert_allclose(*found, rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("name", PLAIN)
def test_one_schedule_after_another_is_as_in_torch(name):
    for other in _some(PLAIN, name):
        def story(library, other=other):
            optimizer, schedules = _made(library, name, other)
            return _go(optimizer, [library.lr_scheduler.SequentialLR(optimizer, schedules, [11])])

        _both(story)


@pytest.mark.parametrize("name", PLAIN)
def test_schedules_at_once_are_as_in_torch(name):
    for other in _some(PLAIN, name):
        def story(library, other=other):
            optimizer, schedules = _made(library, name, other)
            return _go(optimizer, [library.lr_scheduler.ChainedScheduler(schedules)])

        _both(story)


@pytest.mark.parametrize("last_epoch", [0, 5, 11])
@pytest.mark.parametrize("name", PLAIN)
def test_schedules_resume_at_a_step_as_in_torch(name, last_epoch):
    if "one for each" in name or "lists" in name or "a list" in name:
        return  # made of functions of one argument below

    def story(library):
        first, schedules = _made(library, name)
        found = _go(first, schedules, range(last_epoch))
        second = _optimizer(library)
        second.load_state_dict(first.state_dict())
        return found + _go(second, [_resumed(library, second, schedules[0], last_epoch)], range(last_epoch, 30))

    _both(story)


def _resumed(library, optimizer, schedule, last_epoch):
    """A schedule of the same class, made anew at `last_epoch`."""
    name = type(schedule).__name__
    options = {
        "LambdaLR": {"lr_lambda": lambda t: 1 / (1 + t)}, "MultiplicativeLR": {"lr_lambda": lambda t: 0.9}, "StepLR": {"step_size": 3},
        "MultiStepLR": {"milestones": [8, 12]}, "ExponentialLR": {"gamma": 0.8}, "CosineAnnealingLR": {"T_max": 9, "eta_min": 0.1},
        "CosineAnnealingWarmRestarts": {"T_0": 4, "T_mult": 2}, "OneCycleLR": {"max_lr": 0.4, "total_steps": 50},
        "CyclicLR": {"base_lr": 0.1, "max_lr": 0.7, "step_size_up": 4}, "SWALR": {"swa_lr": 0.1},
    }.get(name, {})
    if name == "OneCycleLR":
        options["cycle_momentum"] = schedule.cycle_momentum
    made = getattr(library.swa_utils if name == "SWALR" else library.lr_scheduler, name)
    return made(optimizer, **options, last_epoch=last_epoch)


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "ExponentialLR", "ConstantLR", "LinearLR", "PolynomialLR",
                                  "ReduceLROnPlateau of a score"])
def test_a_group_that_is_added_later_is_scheduled_as_in_torch(name):
    def story(library):
        optimizer, schedules = _made(library, name)

        def meddle(t):
            if t == 6:
                optimizer.add_param_group({"params": [_parameter(library)], "lr": 0.9})

        return _go(optimizer, schedules, meddle=meddle)

    _both(story)


@pytest.mark.parametrize("name", [name for name in PLAIN if "SWALR" not in name])
def test_schedules_go_to_a_step_as_in_torch(name):
    def story(library):
        optimizer, [schedule] = _made(library, name)
        epochs = [3, 9, 1, 25, 0]
        if name.startswith("CosineAnnealingWarm"):
            epochs += [0.5, 2.25, 9.75, 21.5, 3.0]
        found = []
        for epoch in epochs:
            schedule.step(epoch)
            found.append(_seen(optimizer, [schedule]))
            schedule.step()
            found.append(_seen(optimizer, [schedule]))
        return found

    _both(story)


@pytest.mark.parametrize("lr", ["number", "tensor"])
@pytest.mark.parametrize("name", ALL)
def test_a_jitted_step_reads_the_rates_of_schedules(name, lr):
    if name.startswith(("OneCycleLR", "CyclicLR")) and "without momentum" not in name and "shrinking" not in name:
        return  # another momentum is another program
    optimizer, schedules = _made(optim, name, "ExponentialLR", lr=lr)
    weights = [group["params"][0] for group in optimizer.param_groups]

    @rg.jit
    def step(x):
        optimizer.zero_grad()
        sum(((w - x) ** 2).sum() for w in weights).backward()
        optimizer.step()

    theirs, others = _made(torch.optim, name, "ExponentialLR", lr=lr)
    members = [group["params"][0] for group in theirs.param_groups]
    for t, loss in enumerate(_losses()[:12]):
        step(rg.tensor(np.float32(t / 8)))
        theirs.zero_grad()
        sum(((w - t / 8) ** 2).sum() for w in members).backward()
        theirs.step()
        for schedule in (*schedules, *others):
            schedule.step(loss) if type(schedule).__name__ == "ReduceLROnPlateau" else schedule.step()
        np.testing.assert_allclose([float(w[0]) for w in weights], [float(w[0]) for w in members], rtol=2e-5)

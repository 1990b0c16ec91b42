"""Averages of weights: against their definitions, and against PyTorch's schedule."""

import math

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError
from retrograde.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


def trajectory(count=6):
    rng = np.random.default_rng(0)
    return [rng.standard_normal((2, 3)).astype(np.float32) for _ in range(count)]


def shown(averaged, model, numbers):
    for x in numbers:
        nn.init.constant_(model.weight, x)
        averaged.update_parameters(model)
    return averaged.module.weight.detach().numpy()


def moving(numbers, decay):
    mean = numbers[0]
    for x in numbers[1:]:
        mean = decay * mean + (1 - decay) * x
    return mean


@pytest.mark.parametrize("options", [{}, {"avg_fn": get_swa_avg_fn()}, {"multi_avg_fn": get_swa_multi_avg_fn()}])
def test_the_average_is_the_mean_of_all_that_was_shown(options):
    model, numbers = nn.Linear(3, 2), trajectory()
    averaged = AveragedModel(model, **options)
    np.testing.assert_allclose(shown(averaged, model, numbers), np.mean(numbers, axis=0), rtol=1e-5, atol=1e-6)
    assert list(averaged.state_dict()) == ["n_averaged", "module.weight", "module.bias"]
    x = rg.ones(1, 3)
    np.testing.assert_allclose(averaged(x).detach(), x.numpy() @ np.mean(numbers, axis=0).T + model.bias.detach().numpy(), rtol=1e-5)


@pytest.mark.parametrize("options", [{"avg_fn": get_ema_avg_fn(0.8)}, {"multi_avg_fn": get_ema_multi_avg_fn(0.8)}])
def test_the_moving_average_starts_with_what_was_shown_first(options):
    model, numbers = nn.Linear(3, 2), trajectory()
    np.testing.assert_allclose(shown(AveragedModel(model, **options), model, numbers), moving(numbers, 0.8), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"multi_avg_fn": get_ema_multi_avg_fn(0.9)}])
def test_a_compiled_step_averages_as_an_eager_one(options):
    results = []
    for compiles in (False, True):
        rg.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        optimizer, averaged = optim.SGD(model.parameters(), lr=0.1), AveragedModel(model, **options)

        def step(x, model=model, optimizer=optimizer, averaged=averaged):
            optimizer.zero_grad()
            loss = (model(x) ** 2).mean()
            loss.backward()
            optimizer.step()
            averaged.update_parameters(model)
            return loss

        run = rg.jit(step) if compiles else step
        rng = np.random.default_rng(1)
        for _ in range(5):
            run(rg.tensor(rng.standard_normal((8, 3)).astype(np.float32)))
        results.append(averaged.state_dict())
        assert averaged.n_averaged.item() == 5
    for name, eager in results[0].items():
        np.testing.assert_allclose(results[1][name].numpy(), eager.numpy(), rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("use_buffers", [False, True])
def test_buffers_are_copied_or_averaged(use_buffers):
    model = nn.BatchNorm1d(1)
    averaged = AveragedModel(model, use_buffers=use_buffers)
    for value in (1.0, 4.0):
        nn.init.constant_(model.running_mean, value)
        nn.init.constant_(model.num_batches_tracked, int(value))
        averaged.update_parameters(model)
    assert averaged.module.running_mean.tolist() == ([2.5] if use_buffers else [4.0])
    assert averaged.module.num_batches_tracked.item() == (2 if use_buffers else 4)


def test_an_average_can_be_saved_and_gone_on_with():
    model, numbers = nn.Linear(3, 2), trajectory()
    first, second = AveragedModel(model), AveragedModel(model)
    shown(first, model, numbers[:3])
    second.load_state_dict(first.state_dict())
    np.testing.assert_allclose(shown(second, model, numbers[3:]), np.mean(numbers, axis=0), rtol=1e-5, atol=1e-6)


def test_batch_norm_takes_its_statistics_from_the_loader():
    rng = np.random.default_rng(0)
    model = nn.Sequential(nn.BatchNorm1d(3, momentum=0.3), nn.Linear(3, 1)).eval()
    batches = [rg.tensor(rng.standard_normal((8, 3)).astype(np.float32) * 2 + 1) for _ in range(4)]
    model[0].running_mean += 100
    update_bn([(x, None) for x in batches], model)
    numbers = np.stack([x.numpy() for x in batches])
    np.testing.assert_allclose(model[0].running_mean, numbers.mean(axis=(0, 1)), rtol=1e-5)
    np.testing.assert_allclose(model[0].running_var, numbers.var(axis=1, ddof=1).mean(axis=0), rtol=1e-5)
    assert model[0].momentum == 0.3 and not model.training and not model[0].training


def rates(optimizer, schedule, swa, steps, start):
    found = []
    for t in range(steps):
        (swa if t >= start else schedule).step()
        found.append([group["lr"] for group in optimizer.param_groups])
    return found


@pytest.mark.parametrize("options", [{"anneal_epochs": 4}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 0}], ids=str)
def test_the_rate_goes_from_where_another_schedule_left_it(options):
    optimizer = optim.SGD([{"params": [nn.Parameter(rg.ones(1))]}, {"params": [nn.Parameter(rg.ones(1))], "lr": 0.5}], lr=1.0)
    schedule, swa = optim.ExponentialLR(optimizer, 0.9), SWALR(optimizer, [0.05, 0.3], **options)
    optimizer.step()
    epochs, found = options["anneal_epochs"], np.array(rates(optimizer, schedule, swa, 8, 2))
    parts = [1.0 if not epochs else min(t / epochs, 1) for t in range(1, 7)]
    if options.get("anneal_strategy") != "linear":
        parts = [(1 - math.cos(math.pi * part)) / 2 for part in parts]
    ends, starts = np.array([0.05, 0.3]), found[1]
    # An annealing of no steps is over as soon as the schedule is made.
    expected = [ends * part + starts * (1 - part) for part in parts]
    np.testing.assert_allclose(found[2:], expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{"anneal_epochs": 4}, {"anneal_epochs": 3, "anneal_strategy": "linear"}, {"anneal_epochs": 0}], ids=str)
def test_the_rates_are_those_of_torch(options):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    found = []
    for library, parameter in ((optim, nn.Parameter(rg.ones(1))), (torch.optim, torch.nn.Parameter(torch.ones(1)))):
        optimizer = library.SGD([parameter], lr=1.0)
        swa = library.swa_utils.SWALR(optimizer, 0.05, **options)
        optimizer.step()
        schedule = library.lr_scheduler.ExponentialLR(optimizer, 0.9)
        found.append(rates(optimizer, schedule, swa, 8, 3))
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_a_schedule_goes_on_from_its_state():
    optimizer = optim.SGD([nn.Parameter(rg.ones(1))], lr=1.0)
    swa = SWALR(optimizer, 0.1, anneal_epochs=5)
    for _ in range(2):
        swa.step()
    state, rate = swa.state_dict(), optimizer.param_groups[0]["lr"]
    other = optim.SGD([nn.Parameter(rg.ones(1))], lr=7.0)
    again = SWALR(other, 0.3, anneal_epochs=9)
    again.load_state_dict(state)
    assert other.param_groups[0]["lr"] != rate and again.get_last_lr() == [rate]
    other.load_state_dict(optimizer.state_dict())
    swa.step()
    again.step()
    assert other.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]


@pytest.mark.parametrize(("make", "told"), [
    (lambda p: AveragedModel(nn.Linear(1, 1), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn()), "got both"),
    (lambda p: get_ema_multi_avg_fn(1.5), "decay must lie between 0 and 1"),
    (lambda p: SWALR(optim.SGD([p]), 0.1, anneal_strategy="step"), '"cos" or "linear"'),
    (lambda p: SWALR(optim.SGD([p]), 0.1, anneal_epochs=-1), "anneal_epochs must be"),
    (lambda p: SWALR(optim.SGD([p]), [0.1, 0.2]), "swa_lr needs one value for each of 1 groups, got 2"),
])
def test_wrong_arguments_of_averages_are_named(make, told):
    with pytest.raises(ArgumentError, match=told):
        make(nn.Parameter(rg.ones(1)))

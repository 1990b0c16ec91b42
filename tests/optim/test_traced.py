"""Optimizers inside jit: the same steps as outside."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.01, "weight_decay": 0.2}),
    ("Adagrad", {"lr": 0.01, "lr_decay": 0.1, "initial_accumulator_value": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True, "eps": 1e-2}),
    ("Adadelta", {"lr": 0.5}),
    ("Adamax", {"lr": 0.01}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "fused": True}),
    ("ASGD", {"lr": 0.05, "lambd": 0.1, "t0": 3, "weight_decay": 0.1}),
    ("Adafactor", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
]


def trainer(name, options, compiles, bias=True):
    rng = np.random.default_rng(1)
    model = nn.Sequential(nn.Linear(5, 7, bias), nn.Tanh(), nn.Linear(7, 3, bias))
    for p in model.parameters():
        p.data[...] = rng.standard_normal(p.shape) * 0.4
    optimizer = getattr(optim, name)(model.parameters(), **{"lr": 1e-3, **options})

    def step(x, y):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return model, optimizer, rg.jit(step) if compiles else step


def batches(count):
    rng = np.random.default_rng(2)
    return [(rg.tensor(rng.standard_normal((8, 5), np.float32)), rg.tensor(rng.standard_normal((8, 3), np.float32)))
            for _ in range(count)]


def both(name, options):
    return trainer(name, options, compiles=False), trainer(name, options, compiles=True)


def assert_alike(a, b, rtol=2e-5):
    for p, q in zip(a.parameters(), b.parameters(), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=rtol, atol=1e-6)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_compiled_steps_are_the_eager_ones(name, options):
    (model, _, step), (other, _, compiled) = both(name, options)
    for x, y in batches(12):
        assert compiled(x, y).item() == pytest.approx(step(x, y).item(), rel=1e-5)
    assert_alike(model, other)


def test_compiled_steps_of_muon_are_the_eager_ones():
    options = {"lr": 0.05, "weight_decay": 0.3}
    (model, _, step), (other, _, compiled) = (trainer("Muon", options, compiles, bias=False) for compiles in (False, True))
    for x, y in batches(8):
        assert compiled(x, y).item() == pytest.approx(step(x, y).item(), rel=1e-5)
    assert_alike(model, other, rtol=2e-4)


def test_a_schedule_changes_the_rate_without_tracing_anew():
    (model, optimizer, step), (other, optimizer_inside, compiled) = both("Adam", {"lr": 0.02})
    schedules = [optim.ExponentialLR(o, 0.7) for o in (optimizer, optimizer_inside)]
    for x, y in batches(6):
        step(x, y)
        compiled(x, y)
        for schedule in schedules:
            schedule.step()
    assert_alike(model, other)
    assert compiled.traces == 1


def test_an_option_that_changes_is_traced_anew():
    (model, optimizer, step), (other, optimizer_inside, compiled) = both("Adam", {"lr": 0.02})
    for i, (x, y) in enumerate(batches(4)):
        for o in (optimizer, optimizer_inside):
            o.param_groups[0]["betas"] = (0.9, 0.999) if i < 2 else (0.5, 0.9)
        step(x, y)
        compiled(x, y)
    assert_alike(model, other)
    assert compiled.traces == 2


def test_eager_and_compiled_steps_can_follow_each_other():
    (model, optimizer, step), (other, optimizer_inside, compiled) = both("Adam", {"lr": 0.02})
    for i, (x, y) in enumerate(batches(6)):
        step(x, y)
        (compiled if i % 2 else compiled.__wrapped__)(x, y)
    assert_alike(model, other)
    assert [s["step"].item() for s in optimizer_inside.state.values()] == [6] * 4
    for a, b in zip(optimizer.state.values(), optimizer_inside.state.values(), strict=True):
        np.testing.assert_allclose(a["exp_avg_sq"].numpy(), b["exp_avg_sq"].numpy(), rtol=2e-5)


def test_gradients_can_be_read_after_a_compiled_step():
    (model, _, step), (other, _, compiled) = both("SGD", {"lr": 0.1})
    for x, y in batches(3):
        step(x, y)
        compiled(x, y)
        for p, q in zip(model.parameters(), other.parameters(), strict=True):
            np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-4, atol=1e-6)
    kept = other[0].weight.grad
    before = kept.numpy().copy()
    compiled(*batches(1)[0])
    np.testing.assert_array_equal(kept.numpy(), before)


def test_clipping_inside_jit_is_clipping_outside():
    models = []
    for compiles in (False, True):
        model, optimizer, _ = trainer("SGD", {"lr": 0.5}, compiles=False)

        def step(x, y, model=model, optimizer=optimizer):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            norm = optim.clip_grad_norm_(model.parameters(), 0.1)
            optim.clip_grad_value_(model.parameters(), 0.05)
            optimizer.step()
            return norm

        run = rg.jit(step) if compiles else step
        models.append((model, [run(x, y).item() for x, y in batches(3)]))
    assert_alike(models[0][0], models[1][0])
    np.testing.assert_allclose(models[0][1], models[1][1], rtol=1e-5)


def test_a_trace_that_fails_leaves_parameters_and_state_as_they_were():
    p = nn.Parameter(rg.ones(2))
    optimizer = optim.Adam([p])

    @rg.jit
    def step(x):
        loss = (p * x).sum()
        loss.backward()
        optimizer.step()
        return float(loss)

    with pytest.raises(rg.errors.TraceError):
        step(rg.ones(2))
    assert p.tolist() == [1, 1]
    assert p.grad is None
    assert not optimizer.state


def test_parameters_that_an_optimizer_is_given_later_are_updated_by_compiled_steps():
    def trained(run):
        first, second = nn.Parameter(rg.tensor([1.0, 2.0])), nn.Parameter(rg.tensor([3.0, 4.0]))
        optimizer = optim.SGD([first], lr=0.1)

        @run
        def step(x):
            optimizer.zero_grad()
            loss = ((first * second * x) ** 2).sum()
            loss.backward()
            optimizer.step()

        for i in range(4):
            if i == 2:
                optimizer.add_param_group({"params": [second], "lr": 0.01})
            step(rg.tensor([0.1, 0.1 * i]))
        return [*first.tolist(), *second.tolist(), *second.grad.tolist()]

    np.testing.assert_allclose(trained(rg.jit), trained(lambda f: f), rtol=1e-5)


def test_compiled_steps_find_the_gradients_of_each_call_also_without_their_history():
    def trained(run):
        weight = nn.Parameter(rg.tensor([1.0, 2.0]))
        optimizer = optim.SGD([weight], lr=0.1)

        @run
        def step(x):
            if weight.grad is not None:
                optimizer.zero_grad(set_to_none=False)
            ((weight * x) ** 2).sum().backward()
            optimizer.step()
            return weight.grad.detach() * 1

        return [step(rg.tensor([1.0, float(i)])).tolist() for i in range(4)]

    np.testing.assert_allclose(trained(rg.jit), trained(lambda f: f), rtol=1e-5)


def test_a_gradient_that_a_compiled_function_reads_as_numbers_is_read_anew():
    weight = nn.Parameter(rg.ones(2))
    scaled = rg.jit(lambda x: x * float(weight.grad.numpy().sum()))
    for gradient in ([1.0, 2.0], [5.0, 6.0]):
        weight.grad = rg.tensor(gradient)
        assert scaled(rg.ones(1)).tolist() == [sum(gradient)]

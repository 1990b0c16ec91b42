"""Whether tensors from outside require gradients can be set in a jitted step, with the effect that it has without jit."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim

X = np.array([1.0, 2.0], np.float32)


def test_a_tensor_that_is_made_to_require_gradients_has_them_after_each_call_of_one_program():
    x = rg.tensor(X)

    @rg.jit
    def step():
        x.requires_grad_()
        loss = (x * x).sum()
        loss.backward()
        return loss

    for _ in range(3):
        x.requires_grad, x.grad = False, None
        assert step().item() == 5
        assert x.requires_grad and x.grad.tolist() == [2, 4]
    assert step.traces == 1


def test_a_tensor_that_is_let_alone_in_between_requires_gradients_again_in_the_end():
    w = rg.tensor([3.0], requires_grad=True)

    @rg.jit
    def function(x):
        w.requires_grad_(False)
        alone = (w * 5).sum()
        w.requires_grad_(True)
        return (x * w).sum() + alone

    for _ in range(2):
        w.grad = None
        loss = function(X)
        loss.backward()
        assert loss.item() == 24 and w.grad.tolist() == [3] and w.requires_grad
    assert function.traces == 1


def test_a_function_that_cannot_be_traced_leaves_tensors_as_they_were():
    w = rg.tensor([3.0], requires_grad=True)
    record = w.record

    @rg.jit
    def function(x):
        w.requires_grad_(False)
        return float((x * w).sum())

    with pytest.raises(rg.errors.TraceError):
        function(X)
    assert w.record is record


def adversaries(wrap):
    """Losses of a generator and a critic that is trained, then held still, in one step; and the state of the critic."""
    rg.manual_seed(0)
    maker, critic = nn.Linear(2, 3), nn.Linear(3, 1)
    first, second = (optim.SGD(model.parameters(), lr=0.1) for model in (critic, maker))

    @wrap
    def step(noise, real):
        critic.requires_grad_(True)
        first.zero_grad()
        found = (critic(maker(noise).detach()) - critic(real)).mean()
        found.backward()
        first.step()
        critic.requires_grad_(False)
        second.zero_grad()
        made = -critic(maker(noise)).mean()
        made.backward()
        second.step()
        return found, made

    losses = [[loss.item() for loss in step(rg.tensor([[1.0, i]]), rg.ones(1, 3))] for i in range(4)]
    return losses, critic.weight.requires_grad, critic.weight.grad, step


def test_a_step_that_holds_one_of_two_models_still_is_what_it_is_without_jit():
    losses, requires_grad, gradient, _ = adversaries(lambda f: f)
    found = adversaries(rg.jit)
    np.testing.assert_allclose(found[0], losses, rtol=1e-5, atol=1e-6)
    assert found[1] is requires_grad is False
    np.testing.assert_allclose(np.asarray(found[2]), np.asarray(gradient), rtol=1e-5)
    assert found[3].traces == 2  # for a critic that may learn at first, and for one that is still held

from functools import partial

import numpy as np
import pytest
from torch_oracle import assert_as_torch

import retrograde as rg
from retrograde.errors import ArgumentError, BroadcastWarning, ShapeError
from retrograde.ops.networks.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    huber_loss,
    l1_loss,
    mse_loss,
    smooth_l1_loss,
)
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((2, 4, 3))
CHANCES = RNG.uniform(0.05, 0.95, (4, 3))
WEIGHT, POSITIVE = RNG.uniform(0, 1, (4, 1)), RNG.uniform(0, 2, 3)
REDUCTIONS = ("mean", "sum", "none")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("loss", "slope"), [
    (mse_loss, lambda d: 2 * d), (l1_loss, np.sign), (huber_loss, lambda d: np.clip(d, -1, 1)),
    (smooth_l1_loss, lambda d: np.clip(d, -1, 1))])
def test_gradient_is_the_slope_shared_as_the_reduction_says(loss, slope, reduction):
    x, y = rg.tensor(X, requires_grad=True), rg.tensor(Y, requires_grad=True)
    z = loss(x, y, reduction=reduction)
    seed = RNG.standard_normal(z.shape)
    z.backward(seed)
    expected = seed * slope(X - Y) / (X.size if reduction == "mean" else 1)
    np.testing.assert_allclose(x.grad.data, expected, rtol=1e-12)
    np.testing.assert_allclose(y.grad.data, -expected, rtol=1e-12)


def test_a_broadcast_target_receives_the_sum():
    x, y = rg.tensor(X, requires_grad=True), rg.tensor(Y[:1], requires_grad=True)
    with pytest.warns(BroadcastWarning):
        mse_loss(x, y).backward()
    np.testing.assert_allclose(y.grad.data, (2 / X.size * (Y[:1] - X)).sum(0, keepdims=True), rtol=1e-12)


PAIRED = (mse_loss, l1_loss, huber_loss, smooth_l1_loss, binary_cross_entropy, binary_cross_entropy_with_logits)


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loss", PAIRED)
def test_shapes_that_differ_and_broadcast_are_warned_of_once_at_the_users_line(loss, wrap):
    x, y = rg.tensor(CHANCES[:, :1]), rg.tensor(CHANCES[:, 0])
    with pytest.warns(BroadcastWarning, match=r"shapes \(4, 1\) and \(4,\), which broadcast to \(4, 4\).*reshape") as told:
        wrap(lambda x, y: loss(x, y))(x, y)
    assert len(told) == 1 and told[0].filename == __file__


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loss", PAIRED)
def test_equal_shapes_numbers_and_batches_of_a_vmap_are_not_warned_of(loss, wrap):
    x = rg.tensor(CHANCES)
    wrap(lambda x: loss(x, x))(x)
    wrap(lambda x: loss(x, 0.5))(x)
    wrap(lambda x: loss(x, rg.tensor(0.5)))(x)
    rg.vmap(wrap(lambda x, y: loss(x, y)), in_axes=(0, None))(x, x[0])


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("loss", PAIRED)
def test_shapes_that_do_not_broadcast_are_refused_in_the_name_of_the_loss(loss, wrap):
    with pytest.raises(ShapeError, match=r"shapes \(4, 3\) and \(3, 3\) do not broadcast"):
        wrap(lambda x, y: loss(x, y))(rg.tensor(CHANCES), rg.tensor(CHANCES[:3]))


def test_chances_outside_of_0_to_1_are_refused_where_they_can_be_seen():
    with pytest.raises(ArgumentError, match=r"between 0 and 1, got 1\.5; of logits.* binary_cross_entropy_with_logits"):
        binary_cross_entropy(rg.tensor([0.5, 1.5]), rg.tensor([0.0, 1.0]))
    with pytest.raises(ArgumentError, match=r"between 0 and 1, got -1\.0 in the target"):
        binary_cross_entropy(rg.tensor([0.5, 1.0]), rg.tensor([-1.0, 1.0]))
    rg.jit(lambda x, y: binary_cross_entropy(x, y))(rg.tensor([0.5, 1.5]), rg.tensor([0.0, 1.0]))  # which does not look


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("positive", [None, POSITIVE])
def test_binary_losses_match_finite_differences(reduction, weight, positive):
    check_gradients(lambda x, y: binary_cross_entropy_with_logits(x, y, weight, reduction, positive), (X, CHANCES))
    check_gradients(lambda x, y: binary_cross_entropy(x, y, weight, reduction), (CHANCES * 0.8 + 0.1, CHANCES[::-1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_binary_losses_stay_finite_at_the_extremes(dtype):
    for loss, points in ((binary_cross_entropy_with_logits, [-800, 800, -800, 800]), (binary_cross_entropy, [0, 1, 1, 0])):
        x = rg.tensor(np.array(points, dtype), requires_grad=True)
        z = loss(x, np.array([0, 1, 1, 0], dtype), reduction="none")
        z.sum().backward()
        assert np.isfinite(z.data).all()
        assert np.isfinite(x.grad.data).all()
        np.testing.assert_allclose(z.data[:2], 0, atol=1e-30)
        assert z.dtype == x.grad.dtype == dtype


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_results_are_those_of_torch(reduction):
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    weight, positive = torch.tensor(WEIGHT), torch.tensor(POSITIVE)
    for ours, kwargs in ((mse_loss, {}), (l1_loss, {}), (huber_loss, {"delta": 0.5}), (smooth_l1_loss, {"beta": 2.0}),
                         (smooth_l1_loss, {"beta": 0.0})):
        theirs = getattr(F, ours.__name__)
        assert_as_torch(partial(ours, reduction=reduction, **kwargs), partial(theirs, reduction=reduction, **kwargs), X, Y)
    assert_as_torch(lambda x, y: binary_cross_entropy_with_logits(x, y, WEIGHT, reduction, POSITIVE),
                    partial(F.binary_cross_entropy_with_logits, weight=weight, reduction=reduction, pos_weight=positive),
                    X, CHANCES)
    assert_as_torch(lambda x: binary_cross_entropy(x, CHANCES, WEIGHT, reduction),
                    lambda x: F.binary_cross_entropy(x, torch.tensor(CHANCES), weight, reduction=reduction), 0.9 - 0.8 * CHANCES)


def test_each_loss_is_one_record():
    x = rg.tensor(X, requires_grad=True)
    for loss in (mse_loss, l1_loss, huber_loss, binary_cross_entropy_with_logits):
        assert loss(x, CHANCES).record.parents[0] is x.record


def test_wrong_arguments_are_refused():
    for call in (lambda: mse_loss(X, Y, "average"), lambda: huber_loss(X, Y, delta=0), lambda: smooth_l1_loss(X, Y, beta=-1)):
        with pytest.raises(ArgumentError):
            call()

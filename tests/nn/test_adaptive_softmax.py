"""AdaptiveLogSoftmaxWithLoss: what the comparison with PyTorch does not show."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, ShapeError


@pytest.fixture
def softmax():
    rg.manual_seed(0)
    return nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], 2.0)


def test_the_chances_of_all_classes_add_up_to_one_and_hold_those_of_the_targets(softmax):
    x, target = rg.randn(6, 8), rg.tensor([3, 19, 0, 9, 4, 10])
    chances = softmax.log_prob(x).detach().numpy()
    np.testing.assert_allclose(np.exp(chances).sum(axis=1), 1, rtol=1e-5)
    output, loss = softmax(x, target)
    np.testing.assert_allclose(output.detach(), chances[np.arange(6), target.numpy()], rtol=1e-5)
    assert loss.item() == pytest.approx(-output.detach().numpy().mean(), rel=1e-6)
    assert softmax.predict(x).tolist() == chances.argmax(axis=1).tolist()


def test_parts_without_targets_receive_no_gradient(softmax):
    softmax(rg.randn(3, 8), rg.tensor([1, 5, 6])).loss.backward()
    assert np.abs(softmax.tail[0][0].weight.grad.numpy()).max() > 0
    assert softmax.tail[1][0].weight.grad is None


@pytest.mark.parametrize(("make", "error", "told"), [
    (lambda s: nn.AdaptiveLogSoftmaxWithLoss(8, 20, []), ArgumentError, "cutoffs must be integers that grow"),
    (lambda s: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 4]), ArgumentError, r"got \[4, 4\]"),
    (lambda s: nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 20]), ArgumentError, "below n_classes=20"),
    (lambda s: s(rg.ones(2, 8), rg.tensor([1, 20])), ArgumentError, "between 0 and 19, got some between 1 and 20"),
    (lambda s: s(rg.ones(2, 8), rg.tensor([1])), ShapeError, r"\(2, 8\) and \(1,\)"),
])
def test_what_does_not_fit_an_adaptive_softmax_is_named(softmax, make, error, told):
    with pytest.raises(error, match=told):
        make(softmax)

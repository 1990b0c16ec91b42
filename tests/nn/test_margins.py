"""Losses of margins: what the recorded cases leave out."""

import numpy as np

import retrograde as rg
from retrograde import nn


def test_weights_of_classes_multiply_the_terms_of_their_examples():
    scores, target = np.random.default_rng(0).standard_normal((5, 3)), np.array([0, 2, 1, 1, 0])
    weight = np.array([0.5, 1.0, 2.0])
    plain = nn.MultiMarginLoss(reduction="none")(rg.tensor(scores), rg.tensor(target))
    weighted = nn.MultiMarginLoss(weight=weight, reduction="none")(rg.tensor(scores), rg.tensor(target))
    np.testing.assert_allclose(weighted, plain.data * weight[target])


def test_a_distance_of_your_own_is_used():
    anchor, positive, negative = map(rg.tensor, np.random.default_rng(1).standard_normal((3, 4, 2)))
    city_blocks = lambda x, y: rg.abs(x - y).sum(axis=-1)
    loss = nn.TripletMarginWithDistanceLoss(distance_function=city_blocks, margin=0.5, reduction="none")
    wanted = np.maximum(np.abs(anchor - positive).sum(-1).data - np.abs(anchor - negative).sum(-1).data + 0.5, 0)
    np.testing.assert_allclose(loss(anchor, positive, negative), wanted)


def test_a_variance_below_the_least_counts_as_that_and_still_receives_a_gradient():
    variance = rg.tensor([0.01, 2.0], requires_grad=True)
    nn.GaussianNLLLoss(eps=0.5, reduction="sum")(rg.zeros(2), rg.ones(2), variance).backward()
    np.testing.assert_allclose(variance.grad, [0.5 / 0.5 - 0.5 / 0.25, 0.5 / 2 - 0.5 / 4])

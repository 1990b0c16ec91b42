"""Functions of layers by the names that PyTorch gives their arguments."""

import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde.nn import functional

X, WEIGHT, TARGET = rg.randn(2, 3, generator=rg.Generator(0)), rg.ones(4, 3), rg.tensor([0, 2])
IMAGE = rg.randn(1, 1, 4, 4, generator=rg.Generator(1))
NAMED = {
    "linear": (lambda: functional.linear(input=X, weight=WEIGHT, bias=rg.ones(4)), lambda: functional.linear(X, WEIGHT, rg.ones(4))),
    "linear in another order": (lambda: functional.linear(bias=None, weight=WEIGHT, input=X), lambda: functional.linear(X, WEIGHT)),
    "conv2d": (lambda: functional.conv2d(input=IMAGE, weight=rg.ones(2, 1, 2, 2), padding="same"), lambda: functional.conv2d(IMAGE, rg.ones(2, 1, 2, 2), padding="same")),
    "cross_entropy": (lambda: functional.cross_entropy(input=X, target=TARGET, reduction="sum"), lambda: functional.cross_entropy(X, TARGET, reduction="sum")),
    "mse_loss": (lambda: functional.mse_loss(X, target=X * 2), lambda: functional.mse_loss(X, X * 2)),
    "embedding": (lambda: functional.embedding(input=TARGET, weight=WEIGHT), lambda: functional.embedding(TARGET, WEIGHT)),
    "interpolate": (lambda: functional.interpolate(IMAGE, scale_factor=2, mode="bilinear"), lambda: functional.interpolate(IMAGE, None, 2, "bilinear")),
    "relu": (lambda: functional.relu(X, inplace=True), lambda: functional.relu(X)),
    "leaky_relu": (lambda: functional.leaky_relu(input=X, negative_slope=0.1, inplace=True), lambda: functional.leaky_relu(X, 0.1)),
    "dropout": (lambda: functional.dropout(X, p=0.5, training=False, inplace=True), lambda: X),
}


@pytest.mark.parametrize("way", [lambda f: f, rg.jit])
@pytest.mark.parametrize("name", NAMED)
def test_arguments_may_be_given_by_the_names_of_pytorch(name, way):
    named, placed = NAMED[name]
    np.testing.assert_allclose(way(named)().numpy(), placed().numpy(), rtol=1e-6)


def test_a_name_that_is_unknown_is_refused():
    with pytest.raises(TypeError, match="inplace"):
        functional.linear(X, WEIGHT, inplace=True)
    with pytest.raises(TypeError, match="slope"):
        functional.relu(X, slope=1)


@pytest.mark.parametrize("name", ["relu", "conv2d", "dropout2d", "fold", "logsigmoid", "cross_entropy"])
def test_functions_are_pickled_by_their_names(name):
    assert pickle.loads(pickle.dumps(getattr(functional, name))) is getattr(functional, name)

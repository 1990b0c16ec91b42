"""Copies: what holds a jitted function or a generator can be copied and pickled, and goes on by itself."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

X = np.ones((3, 4), np.float32)
COPIES = {"deepcopy": copy.deepcopy, "pickle": lambda x: pickle.loads(pickle.dumps(x))}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 2)
        self.compiled = rg.jit(self.applied)

    def applied(self, x):
        return self.layer(x)

    def forward(self, x):
        return self.compiled(x)


@rg.jit
def doubled(x):
    return 2 * x


@pytest.mark.parametrize("name", COPIES)
def test_a_module_that_holds_a_jitted_method_is_copied_with_it(name):
    net = Net()
    before = np.asarray(net(X).detach())
    other = COPIES[name](net)
    np.testing.assert_array_equal(np.asarray(other(X).detach()), before)
    with rg.no_grad():
        other.layer.bias += 1
    np.testing.assert_allclose(np.asarray(other(X).detach()), before + 1, rtol=1e-6)
    np.testing.assert_array_equal(np.asarray(net(X).detach()), before)


@pytest.mark.parametrize("name", COPIES)
def test_a_jitted_model_is_copied_with_its_parameters(name):
    model = rg.jit(nn.Linear(4, 2))
    np.testing.assert_array_equal(np.asarray(model(X).detach()), np.asarray(COPIES[name](model)(X).detach()))


def test_a_jitted_function_of_a_module_is_found_by_its_name():
    doubled(X)
    assert pickle.loads(pickle.dumps(doubled)) is doubled


@pytest.mark.parametrize("name", COPIES)
def test_a_generator_goes_on_where_it_was_copied(name):
    generator = rg.Generator(5)
    rg.randn(7, generator=generator)
    other = COPIES[name](generator)
    np.testing.assert_array_equal(rg.randn(9, generator=other).numpy(), rg.randn(9, generator=generator).numpy())

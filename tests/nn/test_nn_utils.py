"""utils: parameters as one vector, and back."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ShapeError


def test_parameters_become_a_vector_with_gradients_and_come_back():
    model = nn.Linear(3, 2)
    vector = nn.utils.parameters_to_vector(model.parameters())
    np.testing.assert_array_equal(vector.detach(), np.concatenate([p.detach().numpy().reshape(-1) for p in model.parameters()]))
    (vector * rg.arange(8)).sum().backward()
    np.testing.assert_array_equal(model.bias.grad, [6, 7])
    nn.utils.vector_to_parameters(rg.arange(8), model.parameters())
    np.testing.assert_array_equal(model.weight.detach(), np.arange(6).reshape(2, 3))
    np.testing.assert_array_equal(model.bias.detach(), [6, 7])
    with pytest.raises(ShapeError, match="8 numbers"):
        nn.utils.vector_to_parameters(rg.zeros(7), model.parameters())

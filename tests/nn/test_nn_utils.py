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


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("side", ["left", "right"])
def test_sequences_are_filled_up_and_receive_their_gradients(batch_first, side):
    sequences = [rg.ones(n, 2, requires_grad=True) for n in (3, 1, 2)]
    found = nn.utils.rnn.pad_sequence(sequences, batch_first, -5.0, side)
    rows = found if batch_first else found.swapaxes(0, 1)
    assert rows.shape == (3, 3, 2) and rows[1, :, 0].tolist() == ([1.0, -5.0, -5.0] if side == "right" else [-5.0, -5.0, 1.0])
    (found * 2).sum().backward()
    assert [x.grad.tolist() for x in sequences] == [[[2.0, 2.0]] * n for n in (3, 1, 2)]


def test_sequences_are_taken_out_of_a_batch_again():
    sequences = [rg.tensor([1.0, 2.0]), rg.tensor([3.0])]
    for batch_first in (False, True):
        found = nn.utils.rnn.unpad_sequence(nn.utils.rnn.pad_sequence(sequences, batch_first), [2, 1], batch_first)
        assert [x.tolist() for x in found] == [[1.0, 2.0], [3.0]]
    with pytest.raises(ShapeError, match=r"differ in length alone, the first axis, got shapes \[\(2,\), \(1, 1\)\]"):
        nn.utils.rnn.pad_sequence([rg.ones(2), rg.ones(1, 1)])

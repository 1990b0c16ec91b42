"""Parameters: their data may be set, as PyTorch's users do, to an array or to a tensor."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import DTypeError, ShapeError, TraceError


def test_data_set_to_a_tensor_is_its_array():
    p, other = nn.Parameter(rg.zeros(2)), nn.Parameter(rg.tensor([3.0, 4.0]))
    p.data = other
    assert p.data is other.data and p.requires_grad
    (p * p).sum().backward()
    assert p.grad.tolist() == [6.0, 8.0] and other.grad is None


def test_data_set_to_what_is_no_array_of_its_shape_is_refused():
    p = nn.Parameter(rg.zeros(2))
    for wrong in (rg.zeros(3), np.zeros((2, 1), np.float32)):
        with pytest.raises(ShapeError, match=r"keeps its shape, \(2,\), got \("):
            p.data = wrong
    for wrong in (None, 1.0, [1.0, 2.0]):
        with pytest.raises(DTypeError, match="is an array, or a tensor whose array is taken, got"):
            p.data = wrong
    for wrong in (rg.tensor([1, 2]), np.zeros(2, np.int32)):
        with pytest.raises(DTypeError, match="only tensors of a float dtype"):
            p.data = wrong
    assert p.tolist() == [0.0, 0.0]


def test_data_set_in_a_compiled_step_is_written_at_every_call():
    target, source = nn.Parameter(rg.zeros(2)), nn.Parameter(rg.tensor([4.0, 8.0]))

    @rg.jit
    def follow():
        with rg.no_grad():
            target.data = 0.5 * target + 0.5 * source
        return target.sum()

    assert [follow().item() for _ in range(3)] == [6.0, 9.0, 10.5]
    assert target.tolist() == [3.5, 7.0] and follow.traces == 1 and target.requires_grad


def test_data_set_to_an_array_in_a_compiled_step_is_refused():
    target, source = nn.Parameter(rg.zeros(2)), nn.Parameter(rg.tensor([4.0, 8.0]))

    @rg.jit
    def follow():
        target.data = 0.5 * target.data + 0.5 * source.data

    with pytest.raises(TraceError, match="is set to a tensor, got an array, which would be constant"):
        follow()
    assert target.tolist() == [0.0, 0.0] and target.requires_grad


def test_data_set_to_a_lazy_tensor_is_computed():
    p = nn.Parameter(rg.zeros(2))
    with rg.lazy():
        p.data = rg.ones(2) * 3
        total = p.sum()
    assert total.item() == 6.0 and p.tolist() == [3.0, 3.0]

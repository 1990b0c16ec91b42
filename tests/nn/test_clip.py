import math

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim


def parameters(*gradients):
    made = []
    for g in gradients:
        p = nn.Parameter(rg.zeros(len(g)))
        p.grad = rg.tensor(g)
        made.append(p)
    return [*made, nn.Parameter(rg.zeros(1))]


@pytest.mark.parametrize(("order", "norm"), [(2.0, 5.0), (1.0, 7.0), (math.inf, 4.0)])
def test_gradients_are_scaled_together(order, norm):
    ps = parameters([3.0, 0.0], [-4.0])
    assert optim.clip_grad_norm_(ps, 1.0, order).item() == pytest.approx(norm)
    np.testing.assert_allclose([*ps[0].grad.tolist(), *ps[1].grad.tolist()], [3 / norm, 0, -4 / norm], rtol=1e-5)


def test_small_gradients_stay():
    ps = parameters([0.3], [0.4])
    nn.utils.clip_grad_norm_(ps, 1.0)
    assert ps[0].grad.item() == np.float32(0.3)


def test_values_are_clipped_even_in_memory_that_cannot_be_written():
    ps = parameters([3.0, -0.1])
    ps[0].grad = rg.Tensor(np.broadcast_to(np.float32(3), (2,)))
    optim.clip_grad_value_(ps, 0.5)
    assert ps[0].grad.tolist() == [0.5, 0.5]


def test_a_norm_that_is_not_finite_can_be_an_error():
    ps = parameters([math.nan])
    with pytest.raises(FloatingPointError, match="cannot be clipped"):
        optim.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)


def test_the_norm_of_some_gradients_can_scale_others():
    ps = parameters([3.0, 0.0], [-4.0])
    total = nn.utils.get_total_norm([p.grad for p in ps if p.grad is not None])
    assert total.item() == pytest.approx(5.0)
    nn.utils.clip_grads_with_norm_(ps[:1], 1.0, total)
    np.testing.assert_allclose([*ps[0].grad.tolist(), *ps[1].grad.tolist()], [0.6, 0, -4], rtol=1e-5)

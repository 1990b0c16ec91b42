"""Anomaly mode: the first NaN or infinity is an error that names the op, the user's line and the number that made it."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import AnomalyError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def leaf(*numbers):
    return rg.tensor(np.array(numbers), requires_grad=True)


def test_the_first_infinity_forward_names_op_line_and_input():
    with rg.detect_anomaly(), pytest.raises(AnomalyError) as caught:
        rg.log(leaf(1.0, 0.0, 2.0)) * 2
    text = str(caught.value)
    assert text.startswith("log made -inf at index (1,)")
    assert "test_anomaly.py" in text
    assert "test_the_first_infinity_forward_names_op_line_and_input" in text
    assert "input 0 is 0.0" in text


def test_the_first_nan_backward_names_op_and_line_and_the_safe_form():
    x = leaf(0.0, 4.0)
    with rg.detect_anomaly():
        y = (rg.sqrt(x) * x).sum()
        with pytest.raises(AnomalyError, match=r"gradient of sqrt .*test_anomaly.py") as caught:
            y.backward()
    assert "rg.where" in str(caught.value)
    assert x.grad is None


def test_numbers_that_came_in_broken_are_not_blamed_on_the_op():
    with rg.detect_anomaly():
        rg.sin(rg.tensor([np.nan, 1.0]))
        rg.tensor([np.inf]) * 2.0
    with rg.detect_anomaly(), pytest.raises(AnomalyError, match="exp made inf"):
        rg.exp(rg.tensor([np.float64(1e4)]))


def test_broadcast_inputs_are_shown_at_their_own_place():
    with rg.detect_anomaly(), pytest.raises(AnomalyError, match=r"index \(0, 2\).*input 0 is 1.0 at index \(0, 0\); input 1 is 0.0 at index \(2,\)"):
        rg.divide(rg.ones(2, 1), rg.tensor([1.0, 1.0, 0.0]))


def test_a_graph_made_outside_is_walked_with_less_to_say():
    x = leaf(0.0)
    y = rg.sqrt(x).sum()
    with rg.detect_anomaly(), pytest.raises(AnomalyError, match="wrap that too"):
        y.backward()


def test_composites_and_reductions_are_watched():
    for call in (lambda: rg.softmax(rg.tensor([-np.inf, -np.inf]) * 1.0), lambda: rg.norm(rg.tensor([1e200, 1e200], dtype=rg.float64)),
                 lambda: rg.concatenate([rg.log(rg.zeros(1)), rg.ones(1)]), lambda: rg.mean(rg.zeros(0))):
        with rg.detect_anomaly(), pytest.raises(AnomalyError):
            call()


def test_ordinary_numbers_pass_and_the_result_is_the_same():
    x = leaf(1.0, 2.0)
    with rg.detect_anomaly():
        (rg.log(x) * rg.softmax(x)).sum().backward()
    watched, x.grad = x.grad, None
    (rg.log(x) * rg.softmax(x)).sum().backward()
    np.testing.assert_array_equal(watched.data, x.grad.data)


def test_the_safe_form_of_where_that_the_message_names_gives_zero():
    x = leaf(-1.0, 0.0, 2.0)
    bare = rg.grad(lambda t: rg.where(t > 0, rg.log(t), 0).sum())(x.detach())
    assert np.isnan(bare.numpy()[1])
    safe = rg.grad(lambda t: rg.where(t > 0, rg.log(rg.where(t > 0, t, 1)), 0).sum())(x.detach())
    np.testing.assert_array_equal(safe.numpy(), [0.0, 0.0, 0.5])


def test_a_gradient_that_overflows_is_found_in_second_derivatives_too():
    x = leaf(1e-300)
    with rg.detect_anomaly(), pytest.raises(AnomalyError, match="gradient of"):
        rg.grad(rg.grad(lambda t: rg.log(t).sum()))(x.detach())

"""Modes: what is recorded, and by whom it is seen."""

import asyncio
import threading

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import AnomalyError, ShapeError


def leaf(*values):
    return rg.tensor(np.array(values), requires_grad=True)


def test_no_grad_records_nothing_and_ends_on_errors_too():
    x = leaf(1.0)
    with pytest.raises(ShapeError), rg.no_grad():
        x.reshape(7)
    assert (x * 2).requires_grad


def test_modes_nest_and_decorate():
    x = leaf(1.0)

    @rg.no_grad()
    def plain():
        with rg.enable_grad():
            inner = x * 2
        return inner, x * 2

    inner, outer = plain()
    assert inner.requires_grad
    assert not outer.requires_grad
    with rg.set_grad_enabled(False):
        assert not (x * 2).requires_grad
    with rg.inference_mode():
        assert not x[0:1].requires_grad


def test_detach_and_stop_gradient_cut_the_graph():
    x = leaf(2.0, 3.0)
    (x * x.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2.0, 3.0])
    np.testing.assert_array_equal(rg.grad(lambda t: (rg.stop_gradient(t) * t).sum())(np.array([2.0, 3.0])), [2.0, 3.0])


def test_no_grad_in_one_thread_does_not_act_on_others():
    x, inside, seen = leaf(1.0), threading.Event(), []
    done = threading.Event()

    def other():
        inside.wait()
        seen.append((x * 2).requires_grad)
        done.set()

    thread = threading.Thread(target=other)
    thread.start()
    with rg.no_grad():
        inside.set()
        done.wait()
    thread.join()
    assert seen == [True]


def test_no_grad_in_one_asyncio_task_does_not_act_on_others():
    x = leaf(1.0)

    async def quiet(entered, leave):
        with rg.no_grad():
            entered.set()
            await leave.wait()
            return (x * 2).requires_grad

    async def loud(entered, leave):
        await entered.wait()
        found = (x * 2).requires_grad
        leave.set()
        return found

    async def both():
        entered, leave = asyncio.Event(), asyncio.Event()
        return await asyncio.gather(quiet(entered, leave), loud(entered, leave))

    assert asyncio.run(both()) == [False, True]


def test_threads_differentiate_side_by_side():
    def work(n, out):
        x = rg.tensor(np.full(50, float(n)), requires_grad=True)
        y = x
        for _ in range(200):
            y = y * 1.01 + rg.sin(y) * 0.01
        y.sum().backward()
        out[n] = x.grad.numpy()

    found, expected = {}, {}
    threads = [threading.Thread(target=work, args=(n, found)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in range(6):
        work(n, expected)
        np.testing.assert_array_equal(found[n], expected[n])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_anomaly_mode_names_op_line_and_input_of_the_first_infinity_forward():
    with rg.detect_anomaly(), pytest.raises(AnomalyError) as caught:
        rg.log(leaf(1.0, 0.0, 2.0)) * 2
    text = str(caught.value)
    assert "log made -inf at index (1,)" in text
    assert "test_modes.py" in text
    assert "input 0 is 0.0" in text


def test_anomaly_mode_names_op_line_and_input_of_the_first_nan_backward():
    x = leaf(0.0, 4.0)
    with rg.detect_anomaly():
        y = (rg.sqrt(x) * x).sum()
        with pytest.raises(AnomalyError, match=r"gradient of sqrt .*test_modes.py") as caught:
            y.backward()
    assert "rg.where" in str(caught.value)
    assert x.grad is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_safe_form_of_where_that_anomaly_mode_names_gives_zero():
    x = leaf(-1.0, 0.0, 2.0)
    bare = rg.grad(lambda t: rg.where(t > 0, rg.log(t), 0).sum())(x.detach())
    assert np.isnan(bare.numpy()[1])
    safe = rg.grad(lambda t: rg.where(t > 0, rg.log(rg.where(t > 0, t, 1)), 0).sum())(x.detach())
    np.testing.assert_array_equal(safe.numpy(), [0.0, 0.0, 0.5])

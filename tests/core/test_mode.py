import asyncio
import contextvars
import threading

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.mode import current, is_recording
from together import in_threads


@pytest.fixture
def x():
    return rg.tensor(np.array([1.0, 2.0]), requires_grad=True)


def test_no_grad_records_nothing(x):
    with rg.no_grad():
        y = x * 2
        assert not y.requires_grad
        with rg.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad
    assert y.is_leaf


def test_modes_are_restored_on_errors(x):
    for mode in (rg.no_grad, rg.inference_mode, rg.detect_anomaly):
        with pytest.raises(KeyError), mode():
            raise KeyError
        assert current() is None


def test_modes_decorate_functions_again_and_again(x):
    @rg.no_grad()
    def double(x):
        return x * 2

    assert not double(x).requires_grad
    assert not double(x).requires_grad
    assert (x * 2).requires_grad
    assert double.__name__ == "double"


def test_a_decorated_recursive_function_restores_the_mode(x):
    @rg.no_grad()
    def countdown(n):
        return x * 2 if n == 0 else countdown(n - 1)

    assert not countdown(3).requires_grad
    assert is_recording()


def test_one_context_manager_can_be_used_twice_and_nested(x):
    mode = rg.no_grad()
    with mode:
        with mode:
            pass
        assert not is_recording()
    assert is_recording()
    with mode:
        assert not is_recording()


def test_set_grad_enabled_chooses(x):
    with rg.set_grad_enabled(False):
        assert not (x * 2).requires_grad
        with rg.set_grad_enabled(True):
            assert (x * 2).requires_grad


def test_requires_grad_can_be_asked_for_inside_no_grad():
    with rg.no_grad():
        w = rg.tensor(1.0, requires_grad=True)
    (w * 2).backward()
    assert w.grad.item() == 2.0


def test_inference_mode_records_no_views(x):
    with rg.inference_mode():
        base = rg.tensor([1.0, 2.0])
        assert base[:1].base is None
        assert not (x * 2).requires_grad


def test_backward_inside_no_grad_works_on_a_graph_made_outside(x):
    y = (x * x).sum()
    with rg.no_grad():
        y.backward()
    np.testing.assert_array_equal(x.grad.data, [2.0, 4.0])


def test_backward_leaves_the_mode_as_it_was(x):
    (x * x).sum().backward()
    assert current() is None
    with rg.no_grad():
        (rg.tensor(1.0, requires_grad=True)).backward()
        assert not is_recording()


def test_a_mode_in_one_thread_does_not_act_in_another(x):
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with rg.no_grad():
            entered.set()
            leave.wait(10)
            seen.append((x * 2).requires_grad)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(10)
    assert (x * 2).requires_grad
    leave.set()
    thread.join()
    assert seen == [False]


def test_threads_may_build_and_walk_graphs_at_the_same_time():
    def work(k):
        w = rg.tensor(np.full(50, float(k)), requires_grad=True)
        for _ in range(30):
            (rg.sin(w) * w).sum().backward()
        return w.grad.data / 30

    for k, g in enumerate(in_threads(work, [(float(k),) for k in range(8)])):
        np.testing.assert_allclose(g, np.sin(k) + k * np.cos(k), rtol=1e-12)


def test_a_thread_inherits_a_mode_from_a_copied_context(x):
    with rg.no_grad():
        context = contextvars.copy_context()
    assert in_threads(context.run, [(lambda: (x * 2).requires_grad,)]) == [False]
    assert is_recording()


def test_asyncio_tasks_do_not_see_each_others_modes(x):
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


def test_a_task_inherits_the_mode_of_its_start_and_does_not_write_it_back(x):
    async def child():
        inherited = is_recording()
        rg.set_grad_enabled(True).__enter__()
        return inherited

    async def parent():
        with rg.no_grad():
            inherited = await asyncio.create_task(child())
            return inherited, is_recording()

    assert asyncio.run(parent()) == (False, False)


def test_detach_and_stop_gradient_cut_the_graph(x):
    (x * x.detach()).sum().backward()
    np.testing.assert_array_equal(x.grad.data, [1.0, 2.0])
    np.testing.assert_array_equal(rg.grad(lambda t: (rg.stop_gradient(t) * t).sum())(np.array([2.0, 3.0])), [2.0, 3.0])

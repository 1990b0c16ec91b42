"""Threads: programs share the workers of the process, which another thread may replace, and do not hold them for nothing."""

import os
import threading
import warnings

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu import threads

pytest.importorskip("llvmlite", reason="the compiler comes with llvmlite")
NUMBERS = np.linspace(0.0, 1.0, 700 * 700).reshape(700, 700)
LONG = 60.0


@pytest.fixture(autouse=True)
def _as_before():
    before = rg.get_num_threads()
    yield
    rg.set_num_threads(before)


def finished(*targets):
    """Run each of `targets` in a thread of its own, to the end."""
    workers = [threading.Thread(target=target, daemon=True) for target in targets]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(LONG)
    return not any(worker.is_alive() for worker in workers)


def test_a_pool_that_was_closed_just_before_it_is_used_is_left_for_the_new_one(monkeypatch):
    step = rg.jit(lambda x: rg.sin(x @ x))
    expected = step(NUMBERS)
    current, given = threads.pool, []

    def late():
        given.append(current())
        if len(given) == 1:
            rg.set_num_threads(2)  # as another thread may, between the question and the use
        return given[-1]

    monkeypatch.setattr(threads, "pool", late)
    np.testing.assert_array_equal(step(NUMBERS), expected)
    if rg.get_num_threads() > 1:
        assert len(given) == 2 and not given[0].is_open and given[1].is_open


def test_the_number_of_threads_may_be_set_while_programs_run():
    step, wrong = rg.jit(lambda x: rg.exp(x @ x * 1e-3).sum(axis=0)), []
    expected = step(NUMBERS)

    def work():
        wrong.extend(n for n in range(30) if not np.array_equal(step(NUMBERS), expected))

    def change():
        for n in range(60):
            rg.set_num_threads(1 + n % 3)

    assert finished(work, change) and not wrong


def test_the_workers_are_free_for_others_while_a_program_is_in_a_library_call():
    inside, left, results = threading.Event(), threading.Event(), []

    @rg.ops.elementwise(samples=rg.ops.uniform(-3, 3))
    def met(x, /):
        """`x`, once somebody else has run a program."""
        inside.set()
        results.append(left.wait(LONG))
        return x * 1.0

    product = rg.jit(lambda x: rg.sin(x @ x))
    expected = product(NUMBERS)
    calling = rg.jit(lambda x: rg.cos(met(x @ x) @ x).sum())
    left.set()
    calling(NUMBERS)  # compiled
    inside.clear(), left.clear(), results.clear()

    def other():
        inside.wait(LONG)
        results.append(np.array_equal(product(NUMBERS), expected))
        left.set()

    try:
        assert finished(lambda: calling(NUMBERS), other) and results == [True, True]
    finally:
        rg.ops.unregister("met")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_waits_for_whoever_is_starting_a_pool_so_that_the_child_can_start_its_own():
    held, forking = threading.Event(), threading.Event()

    def starting():
        with threads._LOCK:
            held.set()
            forking.wait(LONG)

    os.register_at_fork(before=forking.set)  # runs before those that were registered earlier
    other = threading.Thread(target=starting)
    other.start()
    held.wait(LONG)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that threads are running is the point
        child = os.fork()
    if child == 0:
        os._exit(int(threads._LOCK.locked()))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    other.join()
    assert not threads._LOCK.locked()


@pytest.mark.parametrize(("platform", "machine", "can_share"), [("linux", "x86_64", True), ("linux", "riscv64", False), ("darwin", "x86_64", False)])
def test_work_is_shared_where_workers_can_wait_for_each_other(monkeypatch, platform, machine, can_share):
    monkeypatch.setattr(threads.sys, "platform", platform)
    monkeypatch.setattr(threads, "MACHINE", machine)
    monkeypatch.setitem(threads._state, "threads", 3)
    assert threads._can_share() is can_share
    assert threads.get_num_threads() == (3 if can_share else 1)


def test_the_code_that_runs_steps_is_that_of_several_threads_where_they_can_share():
    assert (threads.parallel.SERIAL in threads.unit.__wrapped__().text) is not threads._can_share()

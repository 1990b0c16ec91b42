"""Locks that forked children can take, and threads that cannot be started."""

import os
import subprocess
import sys
import threading

import pytest

import retrograde as rg
from retrograde.once import forkable

LONG = 60


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_lock_that_another_thread_holds_is_free_in_a_child_and_ones_own_stays_held():
    theirs, own, held, over = forkable(), forkable(), threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: theirs.acquire() and held.set() or over.wait(LONG) and theirs.release())
    thread.start()
    held.wait(LONG)
    with own:
        child = os.fork()
        if child == 0:
            os._exit(0 if theirs.acquire(timeout=1) and own._is_owned() else 1)
    assert not theirs.acquire(blocking=False)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


FORK = """
import os, signal, threading
import numpy as np, retrograde as rg
f = rg.jit(lambda x: rg.fori_loop(0, LENGTH, lambda i, c: rg.sin(c * 1.01), x).sum())
x = np.linspace(0, 1, 10_000)
wanted = float(f(x))
stopped = threading.Event()
def work():
    while not stopped.is_set():
        f(x)
thread = threading.Thread(target=work)
thread.start()
for _ in range(5):
    child = os.fork()
    if child == 0:
        signal.alarm(50)  # which ends a child that waits for a lock
        os._exit(0 if float(f(x)) == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stopped.set()
thread.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_that_is_forked_while_a_thread_is_in_a_jitted_function_can_call_it():
    subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK.replace("LENGTH", "500")], check=True, timeout=300)


NO_THREADS = """
import threading
import numpy as np
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
import retrograde as rg
rg.set_num_threads(4)
x = np.linspace(0, 1, 1_000_000).reshape(1000, 1000)
np.testing.assert_allclose(rg.jit(lambda x: rg.tanh(x @ x).sum())(x), np.tanh(x @ x).sum())
rg.save_run("run", wait=False, x=3)
assert rg.load_run("run") == {"x": 3}
try:
    list(rg.data.Loader(x, workers=2))
except rg.errors.WorkerError as error:
    assert "0 of 2 workers were started" in str(error)
else:
    raise AssertionError
"""


def test_where_no_thread_can_be_started_work_is_done_without_or_it_is_an_error_of_ours(tmp_path):
    environment = {**os.environ, "RETROGRADE_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", NO_THREADS], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_an_argument_that_is_nested_very_deep_is_an_error_of_ours():
    deep = rg.ones(1)
    for _ in range(5000):
        deep = [deep]
    for function in (rg.jit(lambda x: x), rg.grad(lambda x: 0.0), rg.tree.leaves, rg.tree.structure, lambda x: rg.tree.map(id, x),
                     lambda x: rg.checkpoint(lambda y: y, x)):
        with pytest.raises(rg.errors.RetrogradeError):
            function(deep)

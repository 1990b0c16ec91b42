"""The process of one rival: `python -m benchmarks.worker suite case rival [size]`.

It prepares, says that it is ready, and then answers requests, one line of JSON each, until its input ends. Between
requests it does nothing.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback

import numpy as np

from .process import HOST, LIFELINE

# So many numbers of an array are compared, and its norm.
SAMPLE = 64


def main():
    """Prepare the rival and answer requests."""
    if LIFELINE in os.environ:
        threading.Thread(target=_end_with_the_runner, args=(int(os.environ.pop(LIFELINE)),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # What a library prints must not be taken for an answer.
    module, case, rival, *sizes = sys.argv[1:]
    cases = {found.name: found for found in importlib.import_module(module).CASES}
    try:
        prepare = cases[case].host if rival == HOST else cases[case].rivals[rival]
        prepared = prepare(*map(int, sizes))
        print(json.dumps({"ready": True}), file=answers)
        for line in sys.stdin:
            request, argument = json.loads(line)
            print(json.dumps({"answer": ANSWERS[request](prepared, argument)}), file=answers)
    except ImportError as error:
        print(json.dumps({"problem": str(error)}), file=answers)
    except Exception as error:  # noqa: BLE001 - whatever a library raises is the reason why it is left out
        traceback.print_exc()
        print(json.dumps({"problem": _in_short(error)}), file=answers)


def _end_with_the_runner(lifeline):
    """End this process and those that it has started once the runner is gone, in the middle of a measurement too."""
    os.read(lifeline, 1)
    os.killpg(0, signal.SIGKILL)


def seconds(step, count):
    """Seconds that one call takes, as the mean of `count` calls after a few that do not count."""
    return cost(step, count)[0]


def cost(step, count):
    """Seconds that one call takes, and CPU seconds of all threads, as means of `count` calls after a few others.

    One call alone is so long that it needs none before it.
    """
    for _ in range((count > 1) + count // 10):
        step()
    start, start_cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count, (time.process_time() - start_cpu) / count


def first(step, _):
    """Seconds that the first call takes."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def first_cost(step, _):
    """CPU seconds of all threads that the first call takes."""
    start = time.process_time()
    step()
    return time.process_time() - start


def trail(step, count):
    """What the first `count` calls return, or give in place of that: a sample of each array, and its norm."""
    found, outputs = [], getattr(step, "outputs", step)
    for _ in range(count):
        for leaf in _leaves(outputs()):
            array = _array(leaf).astype(np.float64).ravel()
            found += [array[:: max(1, array.size // SAMPLE)].tolist(), [float(np.linalg.norm(array))]]
    return found


def peak(steps, _):
    """Bytes by which memory grows at most during the large step."""
    small, large = steps
    small()
    _tidy()
    before = _reset_peak()
    large()
    _tidy()
    _reset_peak()
    large()
    return _status("VmHWM") - before


def growth(function, _):
    """Bytes by which memory grows at most during a call."""
    _tidy()
    before = _reset_peak()
    function()
    return _status("VmHWM") - before


def numbers(function, _):
    """All numbers of the arrays that a call gives."""
    return [_array(leaf).astype(np.float64).ravel().tolist() for leaf in _leaves(function())]


def figures(function, count):
    """What the rival measures by itself."""
    return function(count)


def _in_short(error):
    """The kind of an error and the first line of what it says."""
    said = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {said[:200]}" if said else type(error).__name__


def _leaves(result):
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in _leaves(part)]
    return [] if result is None else [result]


def _array(leaf):
    return np.asarray(leaf.numpy() if hasattr(leaf, "numpy") else leaf)


def _tidy():
    """Give memory that nothing uses back, so that it is not counted."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim:
        trim(0)


def _reset_peak():
    """Set the greatest memory of this process to what it has now, which is returned."""
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a file of the kernel
        file.write("5")
    return _status("VmHWM")


def _status(name):
    with open("/proc/self/status") as file:  # noqa: PTH123 - a file of the kernel
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


ANSWERS = {"seconds": seconds, "cost": cost, "first": first, "first_cost": first_cost, "trail": trail, "peak": peak,
           "figures": figures, "growth": growth, "numbers": numbers}


if __name__ == "__main__":
    main()

"""The process of one rival: `python -m benchmarks.worker module case rival`.

It prepares, says that it is ready, and then answers requests, one line of JSON each, until its input ends. Between
requests it does nothing.
"""

import gc
import importlib
import json
import os
import sys
import time


def main():
    """Prepare the rival and answer requests."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # What a library prints must not be taken for an answer.
    module, case, rival = sys.argv[1:]
    cases = {found.name: found for found in importlib.import_module(module).CASES}
    try:
        prepared = cases[case].rivals[rival]()
    except ImportError as error:
        print(json.dumps({"missing": str(error)}), file=answers)
        return
    print(json.dumps({"ready": True}), file=answers)
    for line in sys.stdin:
        request, argument = json.loads(line)
        print(json.dumps(ANSWERS[request](prepared, argument)), file=answers)


def seconds(step, count):
    """Seconds that one call takes, as the mean of `count` calls after a few that do not count."""
    for _ in range(1 + count // 10):
        step()
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def peak(steps, _):
    """Bytes by which memory grows at most during the large step."""
    small, large = steps
    small()
    gc.collect()
    before = _reset_peak()
    large()
    return _status("VmHWM") - before


def figures(function, count):
    """What the rival measures by itself."""
    return function(count)


def _reset_peak():
    """Set the greatest memory of this process to what it has now, which is returned."""
    with open("/proc/self/clear_refs", "w") as file:  # noqa: PTH123 - a file of the kernel
        file.write("5")
    return _status("VmHWM")


def _status(name):
    with open("/proc/self/status") as file:  # noqa: PTH123 - a file of the kernel
        line = next(line for line in file if line.startswith(name))
    return int(line.split()[1]) * 1024


ANSWERS = {"seconds": seconds, "peak": peak, "figures": figures}

if __name__ == "__main__":
    main()

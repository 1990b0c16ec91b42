"""A suite of benchmarks for the tests of how is measured: its rivals count, fail or sleep. Their processes load this file and no more."""

import time

import numpy as np

from benchmarks.case import Timed, Tuning


def counting(scale=1.0):
    """A rival whose calls return 1, 2, 3 ... times `scale`."""
    calls = iter(range(1, 10**9))
    return lambda: np.array([next(calls) * scale, 1.0])


def absent():
    raise ImportError("no module of that name")


def failing():
    def step():
        raise ValueError("a number is too small\nand more")

    return step


def sleeping():
    time.sleep(100)


# The processes of rivals find them here.
RIVALS = {"retrograde": counting, "same": counting, "other": lambda: counting(1.001), "absent": absent, "failing": failing,
          "sleeping": sleeping}


def scorer():
    """A host: a prompt gets as many of ten items right as it is long, and each is said to have taken all calls."""
    def answer(request):
        answer.calls = request.get("begin", getattr(answer, "calls", 0))
        if "prompt" not in request:
            return {"url": "", "task": {}}
        hits = [int(i < len(request["prompt"])) for i in range(10)]
        return {"score": sum(hits) / 10, "hits": hits, "calls": answer.calls}

    return answer


def tuner(length):
    return lambda: lambda given: "x" * (length + given["seed"])


TUNERS = {"retrograde": tuner(8), "better": tuner(9), "worse": tuner(2), "absent": absent}
CASES = [Timed("count", "counting", RIVALS),
         Tuning("tune", "tuning", TUNERS, host=scorer, calls=50)]

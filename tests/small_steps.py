"""A suite of steps on several threads for the tests of how real models are measured: its rivals count, or take memory."""

import numpy as np

from benchmarks.case import Bytes, Difference, Growth, Steps

from .small_suite import absent, counting


class Told:
    """A step that returns nothing that could be compared, and says itself what is."""

    def __init__(self):
        self.outputs = counting()

    def __call__(self):
        return np.array([0.5])


# The processes of rivals find them here.
RIVALS = {"retrograde": lambda threads: counting(), "same": lambda threads: Told(),
          "on two": lambda threads: counting(1.0 if threads == 2 else 1.1), "absent": lambda threads: absent(),
          "retrograde, small": lambda threads: counting(7.0)}
MEGABYTE = 1 << 20
CASES = [Steps("steps", "counting", RIVALS, parts=4, apart=("retrograde, small",)),
         Bytes("bytes", "bytes", {"retrograde": lambda: lambda _: 100, "rival": lambda: lambda _: 250, "absent": absent}),
         Growth("growth", "memory", {"retrograde": lambda: lambda: np.ones(32 * MEGABYTE, np.uint8).sum()}),
         Difference("difference", "numbers", {"retrograde": lambda: lambda: [np.zeros((2, 100)), np.ones(3)],
                                              "rival": lambda: lambda: [np.full((2, 100), 0.25), np.array([1.0, 1.0, 0.5])]})]

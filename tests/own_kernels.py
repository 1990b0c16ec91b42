"""Kernels as users write them: all but the last depend on nothing but their arguments."""

import functools
import math

import numpy as np

FACTOR, PAIR, TABLE, FROZEN = 1.5, (2.0, 3), np.array(2.5), np.array(0.5, np.float32)
FROZEN.flags.writeable = False


def softsign(x, /):
    """`x` divided by one more than its magnitude."""
    return x / (1 + np.abs(x))


def halved(x):
    return x * FACTOR / PAIR[0]


def by_other_functions(x, /):
    return functools.reduce(lambda total, n: total + halved(x) ** n, range(1, 4), 0.0) + FROZEN


def by_a_loop(x, /, count=3):
    for _ in range(count):
        x = np.where(x > 0.5, np.sqrt(np.abs(x)), x * x) + math.pi
    return x


def of_two(x, y, /):
    return np.arctan2(x, y) * np.hypot(x, y)


def by_a_table(x, /):
    return x * TABLE

"""Data sets for tests of workers: at the top of a module, so that other processes can load them."""

import os
import signal
import time

import numpy as np

from retrograde.data import sample_generator, worker_info


class Numbered:
    """Rows of their own number, and a random one."""

    def __init__(self, count, shape=(2, 3)):
        self.count, self.shape = count, shape

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        return np.full(self.shape, i, np.float32), sample_generator().normal()


class Faulty(Numbered):
    """Row 5 does what it is told to."""

    def __init__(self, fault):
        super().__init__(8)
        self.fault = fault

    def __getitem__(self, i):
        if i == 5:
            self.fault()
        return super().__getitem__(i)

    def where(self, i):
        return f"shelf {i}"


class Stubborn(Exception):  # noqa: N818
    """An error that cannot be made again from its pickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


def missing():
    raise KeyError("no such label")


def stubborn():
    raise Stubborn("one", "two")


def stopped():
    next(iter([]))


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def left():
    os._exit(3)


def slow():
    time.sleep(30)


def owner(i):
    """The worker and the process that make row i."""
    return worker_info().id if worker_info() else -1, os.getpid()


def double(x):
    return 2 * x


def noisy(x, generator):
    return x + generator.normal()


def refuse(number):
    raise RuntimeError(f"worker {number} will not")

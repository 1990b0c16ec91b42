"""purity: a function is pure if its code reads nothing that can change, and changes nothing from outside."""

import functools
import os
from time import time

import numpy as np
import pytest

import retrograde as rg
from own_kernels import by_a_loop, by_a_table, by_other_functions, halved, of_two, softsign
from retrograde.compiler.lowering.purity import is_pure

FACTOR = 1.5  # which is written to


def _writes(x):
    global FACTOR  # noqa: PLW0603 - what is looked for
    FACTOR = 2.0
    return x


def _keeps(x, seen=[]):  # noqa: B006 - what is looked for
    return x


def _prints(x):
    print(x)
    return x


def _with_a_layer():
    layer = rg.nn.Linear(2, 2)
    return lambda x: layer(x)


def _counting():
    count = 0

    def counting(x):
        nonlocal count
        count += 1
        return x

    return counting


def _names(x):
    x.name = "x"
    return x


def _of_this_process(x):
    return x * os.getpid()


def _at_this_time(x):
    return x * time()


class _Scale:
    """A class of a user's, which may do anything."""


def _by_a_class(x):
    return x, _Scale()


MIXED = (2.0, _prints)


def _by_a_tuple(x):
    return MIXED[1](x)


def _by_default(x, then=_prints):
    return then(x)


def _repeated(x, count=3):
    return x if count == 0 else _repeated(x * 2, count - 1)


def _by_a_cell(x):
    twice = x * 2

    def inner():
        return twice + np.float32(1)

    return inner()


def _checked(x):
    if x is None:
        raise ValueError("there is no number")
    return x


@pytest.mark.parametrize("function", [_names, _of_this_process, _at_this_time, _by_a_class, _by_a_tuple, _by_default, _writes, _keeps, _prints, _with_a_layer(), _counting(), functools.wraps(softsign)(_prints),
                                      lambda x: functools.partial(_prints)(x), lambda x: [_prints(v) for v in x], by_a_table])
def test_a_function_that_reads_or_writes_what_changes_is_not_pure(function):
    assert not is_pure(function)


@pytest.mark.parametrize("function", [_repeated, _by_a_cell, _checked, softsign, halved, by_other_functions, by_a_loop, of_two, lambda x: rg.sin(x) * np.pi,
                                      lambda x, axis=(0, 1): np.sum(x, axis)])
def test_a_function_of_its_arguments_is_pure(function):
    assert is_pure(function)

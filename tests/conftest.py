"""What holds for all tests: each pass of the compiler is verified, and BLAS works on one thread."""

import gc
import os
import sys

import pytest

from tiers import mark_what_is_not_drawn

os.environ.setdefault("RETROGRADE_VERIFY", "1")
# The tests run on all cores as it is. Threads of BLAS, and of OpenMP, spin while they wait for one another: with a process on each
# core, most of what products of matrices took was that. They are read when NumPy is loaded, and by the processes that tests start.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


@pytest.hookimpl(hookwrapper=True)
def pytest_collection():
    """The collector rests while tests are collected: it would search, for a third of the time, what is kept until the end."""
    gc.disable()
    yield
    gc.freeze()
    gc.unfreeze()  # they count as old now
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before pytest chooses by marks
def pytest_collection_modifyitems(items):
    """Tests of which the default run has a part are marked."""
    mark_what_is_not_drawn(items)


@pytest.fixture(autouse=True)
def _jitted_by_no_other_test():
    """What other tests have given to `jit`, to be called once each, is not counted with what this one does: there is a warning of it."""
    if (retracing := sys.modules.get("retrograde.transforms.retracing")) is not None:
        retracing._MADE.clear()


@pytest.fixture
def young_heap():
    """The collector sees what the test makes alone, not the million objects of all tests, which take it most of a second each time."""
    gc.freeze()
    yield
    gc.unfreeze()

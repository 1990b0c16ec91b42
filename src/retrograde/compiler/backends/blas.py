"""BLAS: the threads of the library that NumPy multiplies matrices with, where that can be told how many to use.

threadpoolctl knows all such libraries; where it is not installed, the OpenBLAS that comes with NumPy's and SciPy's wheels is told
directly. Others go on as they were.
"""

import ctypes
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

#: What OpenBLAS calls the function in wheels, with and without 64-bit integers, and elsewhere.
_SETTERS = ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads", "openblas_set_num_threads64_",
            "openblas_set_num_threads")


def set_num_threads(count):
    """Let products of NumPy's use `count` threads."""
    if find_spec("threadpoolctl") is not None:
        # Not as a context manager: it lasts.
        import_module("threadpoolctl").threadpool_limits(count, user_api="blas")
        return
    for setter in _setters():
        setter(count)


def _setters():
    """The function that sets the number of threads, of each OpenBLAS of a wheel that this process has loaded."""
    site = Path(np.__file__).parents[1]
    for folder in ("numpy.libs", "scipy.libs"):
        for path in sorted((site / folder).glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path), getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_NOW", 0))
            except OSError:
                continue  # it is not loaded
            found = [name for name in _SETTERS if hasattr(library, name)]
            if found:
                yield getattr(library, found[0])

"""Tests of the heap: memory of large arrays that were freed is there for the next ones."""

import os
import platform
import subprocess
import sys

import pytest

_FAULTS = """
import resource
import numpy as np
import retrograde as rg

def held():
    found = [np.ones(3 << 20, np.uint8) for _ in range(5)]

{code}
held()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    held()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def _faults(code, **environment):
    given = {"PYTHONPATH": ":".join(filter(None, sys.path)), **environment}
    ran = subprocess.run([sys.executable, "-c", _FAULTS.format(code=code)], env={**os.environ, **given}, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have heaps of their own")
def test_arrays_made_anew_between_steps_cost_no_page_faults_once_compiled_code_is_loaded():
    pages = 10 * 5 * (3 << 20) // 4096
    # By itself glibc gives them back each time: else this test shows nothing.
    assert _faults("") > pages // 2
    assert _faults("rg.sin(rg.ones(100_000))") < pages // 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have heaps of their own")
def test_thresholds_that_a_user_has_set_are_kept():
    assert _faults("rg.sin(rg.ones(100_000))", MALLOC_TRIM_THRESHOLD_="131072") > 10 * 5 * (3 << 20) // 4096 // 2

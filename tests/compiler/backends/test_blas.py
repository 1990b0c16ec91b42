"""The number of threads is also that of the library that NumPy multiplies with."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends import blas

threadpoolctl = pytest.importorskip("threadpoolctl", reason="it comes with the extra `demo`")


def _threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {found["num_threads"] for found in threadpoolctl.threadpool_info() if found["user_api"] == "blas"}


@pytest.fixture
def restored():
    before = rg.get_num_threads()
    with threadpoolctl.threadpool_limits():
        yield
    rg.set_num_threads(before)


def test_blas_has_as_many_threads_as_compiled_code(restored):
    for count in (1, 2, 1):
        rg.set_num_threads(count)
        assert _threads() == {count}


def test_the_blas_of_a_wheel_is_told_without_threadpoolctl(restored, monkeypatch):
    if not list(blas._setters()):
        pytest.skip("NumPy multiplies with another library than the OpenBLAS of its wheels")
    monkeypatch.setattr(blas, "find_spec", lambda name: None)
    monkeypatch.setattr(blas, "import_module", lambda name: pytest.fail(f"{name} is not there"))
    for count in (1, 2, 1):
        rg.set_num_threads(count)
        assert count in _threads()

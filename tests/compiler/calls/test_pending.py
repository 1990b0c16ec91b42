"""Pending: what is not computed yet, as NumPy sees it."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


def test_numpy_gets_a_copy_where_it_asks_for_one_and_the_array_itself_else():
    with rg.lazy():
        pending = (rg.tensor(np.arange(3.0)) + 1).raw
        assert np.shares_memory(np.asarray(pending), pending.realized())
        assert not np.shares_memory(np.array(pending, copy=True), pending.realized())
        np.testing.assert_array_equal(np.array(pending, copy=True), [1.0, 2.0, 3.0])
        assert np.asarray(pending, np.float32).dtype == np.float32

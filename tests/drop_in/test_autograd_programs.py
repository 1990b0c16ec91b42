"""Programs written for HIPS autograd run with nothing but the import changed, and compute the same."""

import numpy as np
import pytest

import retrograde as rg
from benchmarks.workloads.autograd_programs import PROGRAMS, library

pytest.importorskip("scipy")


def leaves(result):
    """The numbers in a result, whatever its structure; dictionaries by their keys."""
    if isinstance(result, dict):
        return [leaf for key in sorted(result) for leaf in leaves(result[key])]
    if isinstance(result, (list, tuple)):
        return [leaf for part in result for leaf in leaves(part)]
    assert not isinstance(result, rg.Tensor)
    return [np.asarray(result)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_it_does_with_autograd(name):
    pytest.importorskip("autograd")
    ours, theirs = (leaves(PROGRAMS[name](library(package))()) for package in ("retrograde", "autograd"))
    assert len(ours) == len(theirs)
    for found, expected in zip(ours, theirs, strict=True):
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 if name == "dynamics" else 1e-9)

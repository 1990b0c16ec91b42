"""Programs for other processors compute there what their functions compute here; `python -m tests.deploy.other_processors` runs all."""

import os
import sys

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from foreign_functions import LEVELS, functions
from other_processors import PROCESSORS, difference, differences, loader, missing

import retrograde as rg

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.environ.get("RETROGRADE_COMPILER") == "reference", reason="programs are exported by compiled code, for Linux")


@pytest.fixture(scope="module")
def loaders(tmp_path_factory):
    """The loader for a target, built once."""
    made = {}

    def built(target):
        if (reason := missing(target)) is not None:
            pytest.skip(reason)
        if target not in made:
            made[target] = loader(target, tmp_path_factory.mktemp(target))
        return made[target]

    return built


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", functions())
@pytest.mark.parametrize("target", PROCESSORS)
def test_a_program_computes_on_its_processor_what_the_function_does_here(target, name, loaders):
    assert max(differences(name, target, loaders(target))) < 1


@pytest.mark.parametrize("level", LEVELS)
def test_convolutions_that_are_run_there_are_made_of_tiles(level):
    """Else tiles would pass for right that were never computed."""
    before = rg.get_convolution_precision()
    rg.set_convolution_precision(level)
    try:
        _, make, *options = functions()[f"convolution_{level}_float32"]
        f, args = make(*options)
        f(*args)
        kinds = [kernel.kind for kernel in f.explain().kernels]
    finally:
        rg.set_convolution_precision(before)
    assert kinds.count("winograd") == 3
    assert "convolution" not in kinds


@pytest.mark.parametrize("wrong", [(0, 1.001), (1, np.nan), (2, -np.inf), (3, 0.0), (2, 5.0)])
def test_wrong_numbers_are_found(wrong):
    right = np.array([1, 2, np.inf, np.nan], np.float32)
    assert difference(right, right) == 0
    found = right.copy()
    found[wrong[0]] = wrong[1]
    assert difference(found, right) > 1

"""Products of bfloat16 in pairs, on any processor with the instruction, also where others are faster."""

import numpy as np
import pytest
from matmul_harness import Bound, operand

from retrograde.compiler.backends.cpu.codegen import matmul
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.index.problem import Problem
from retrograde.dtypes import as_dtype

LAYOUTS = ["row", "column", "spaced"]
SIZES = [(64, 64, 64), (33, 47, 70), (16, 200, 16), (130, 17, 1026), (300, 320, 310)]
#: A processor with these instructions, and for which they are chosen.
ABLE = target()._replace(name="znver4")


@pytest.mark.skipif(not ABLE.has_bfloat16, reason="this processor has no instructions for bfloat16")
@pytest.mark.parametrize("right", LAYOUTS)
@pytest.mark.parametrize("left", LAYOUTS)
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_pairs_are_multiplied_and_added_in_float32(size, left, right):
    m, n, k = size
    generator = np.random.default_rng(1)
    a, b = operand(generator, m, k, as_dtype("bfloat16"), left), operand(generator, k, n, as_dtype("bfloat16"), right)
    c = np.full((m, n), np.nan, np.float32)
    strides = [tuple(step // x.itemsize for step in x.strides) for x in (a, b, c)]
    Bound(a, b, c, plan=matmul.choose_pairs(ABLE, Problem("float32", m, n, k, *strides)))()
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    assert (np.abs(c - wide_a @ wide_b) <= k * 2.0**-24 * (np.abs(wide_a) @ np.abs(wide_b))).all()

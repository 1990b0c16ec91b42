"""Joined gradients: the gradient of a loop over parts of an array is one array, whatever the parts and their order."""

import numpy as np
import pytest

import retrograde as rg

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

TABLE = np.random.default_rng(0).standard_normal((20, 12))
#: More parts than are added up in one loop.
MANY = range(11)


def _numbers(x):
    return sum(rg.sin(x[i, j] * (i + 1)) * (j - 3) for i in range(20) for j in range(12))


LOOPS = {
    "all numbers": _numbers,
    "some numbers": lambda x: sum(rg.sin(x[i, i] * x[19 - i, 3]) for i in MANY),
    "all rows": lambda x: sum(rg.sin(x[i] * i).sum() for i in range(20)),
    "some rows, one of them twice": lambda x: sum(rg.exp(x[i % 10]).prod() for i in MANY),
    "rows from the back": lambda x: sum(rg.sin(x[-1 - i]).sum() * i for i in MANY),
    "columns": lambda x: sum(rg.cos(x[:, j]).prod() for j in MANY),
    "parts of rows": lambda x: sum(rg.sin(x[i, : i + 1]).sum() for i in MANY),
    "the same part of all rows": lambda x: sum((x[i, 2:5] ** 2).sum() * i for i in range(20)),
    "the same part of all columns": lambda x: sum((x[3:9, j] ** 2).sum() * j for j in range(12)),
    "rows and the whole": lambda x: sum(rg.sin(x[i]).sum() for i in MANY) + (x**3).sum() + rg.sin(x[4:9]).sum(),
    "rows and columns": lambda x: sum(rg.sin(x[i] * x[:12, i]).sum() for i in MANY),
    "overlapping ranges": lambda x: sum(rg.sin(x[i : i + 5]).sum() for i in MANY),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LOOPS)
def test_gradients_of_loops_over_parts_are_the_eager_ones(name):
    slope = rg.grad(LOOPS[name])
    np.testing.assert_allclose(np.asarray(rg.jit(slope)(TABLE)), np.asarray(slope(TABLE)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", ["all numbers", "some numbers", "all rows", "some rows, one of them twice", "columns"])
def test_no_loop_chooses_among_the_parts_for_each_number(name):
    step = rg.jit(rg.grad(LOOPS[name]))
    step(TABLE)
    scatters = sum(kernel.ops.count("scatter_add") for kernel in step.explain().kernels)
    assert scatters <= 2


def test_one_number_of_an_array_is_read_where_it_is():
    step = rg.jit(lambda x: x[2, 3] * x[-1, 0])
    np.testing.assert_array_equal(np.asarray(step(TABLE)), TABLE[2, 3] * TABLE[-1, 0])
    assert [kernel.kind for kernel in step.explain().kernels] == ["loop"]

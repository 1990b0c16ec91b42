"""Work fused into products: on operands as they are read, on results before they are stored."""

import numpy as np
import pytest
from matmul_harness import assert_product, compile_module, operand

from retrograde.compiler.codegen import ir, target
from retrograde.compiler.codegen.matmul import Hooks, MatmulKernel, problem_of
from retrograde.compiler.codegen.target import SCALAR_TYPES

# One of each kind of kernel: packed, direct, dot products, swapped dot products, streamed.
SHAPES = [(70, 90, 600), (13, 21, 30), (60, 2, 500), (2, 60, 500), (1, 300, 20), (1, 333, 999)]
LAYOUTS = [("row", "row", "row"), ("column", "column", "row"), ("row", "column", "column"), ("spaced", "row", "spaced")]
ITEM = SCALAR_TYPES["float32"]


def kernel(**hooks):
    return MatmulKernel(compile_module, target.host(), Hooks(**hooks))


def constant(kind, number):
    return ir.Constant(kind, [number] * kind.count if hasattr(kind, "count") else number)


def relu(builder, value):
    zero = constant(value.type, 0.0)
    return builder.select(builder.fcmp_unordered(">", value, zero), value, zero)


def bias_relu(builder, value, site):
    return relu(builder, builder.fadd(value, site.load(site.pointer(0), 0, 1, ITEM)))


def operands(m, n, k, layouts):
    generator = np.random.default_rng(m + n + k)
    sizes = ((m, k), (k, n), (m, n))
    return [operand(generator, *size, "float32", layout) for size, layout in zip(sizes, layouts, strict=True)]


@pytest.mark.parametrize("layouts", LAYOUTS)
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_epilogue_adds_a_bias_and_applies_relu(m, n, k, layouts):
    a, b, c = operands(m, n, k, layouts)
    bias = np.linspace(-9, 9, n).astype("float32")
    kernel(epilogue=bias_relu)(a, b, c, (bias,), count=3)
    assert_product(c, np.maximum(a.astype("f8") @ b.astype("f8") + bias, 0), k)


@pytest.mark.parametrize("layouts", LAYOUTS[:2])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_epilogue_reads_a_residual_and_stores_a_second_output(m, n, k, layouts):
    def epilogue(builder, value, site):
        site.store(value, site.pointer(1), 1, m)
        return builder.fadd(value, site.load(site.pointer(0), n, 1, ITEM))

    a, b, c = operands(m, n, k, layouts)
    residual = np.arange(m * n, dtype="float32").reshape(m, n) % 17
    second = np.full((n, m), np.nan, "float32")
    kernel(epilogue=epilogue)(a, b, c, (residual, second), count=2)
    product = a.astype("f8") @ b.astype("f8")
    assert_product(c, product + residual, k)
    assert_product(second.T, product, k)


@pytest.mark.parametrize("layouts", LAYOUTS[1:3])
@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_prologues_see_every_element_of_both_operands(m, n, k, layouts):
    def left(builder, value, site):
        return builder.fmul(value, site.load(site.pointer(0), k, 1, ITEM))

    def right(builder, value, site):
        return builder.fadd(value, site.load(site.pointer(1), 1, 0, ITEM))

    a, b, c = operands(m, n, k, layouts)
    mask = (np.arange(m * k).reshape(m, k) % 3 > 0).astype("float32")
    shift = np.linspace(-1, 1, k).astype("float32")
    kernel(left=left, right=right)(a, b, c, (mask, shift), count=2)
    assert_product(c, (a * mask).astype("f8") @ (b + shift[:, None]).astype("f8"), k)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_lanes_past_the_end_do_not_leak_from_a_prologue(m, n, k):
    def one_more(builder, value, site):
        return builder.fadd(value, constant(value.type, 1.0))

    a, b, c = operands(m, n, k + 1, ("row", "column", "row"))
    kernel(left=one_more, right=one_more)(a, b, c)
    assert_product(c, (a + 1).astype("f8") @ (b + 1).astype("f8"), k)


@pytest.mark.parametrize(("m", "n", "k"), SHAPES)
def test_column_sums_are_those_of_what_was_stored(m, n, k):
    a, b, c = operands(m, n, k, LAYOUTS[0])
    fused = kernel(epilogue=lambda builder, value, site: relu(builder, value), column_sums=0)
    sums = np.full(fused.plan(problem_of(a, b, c)).column_sum_shape, np.nan, "float32")
    fused(a, b, c, (sums,), count=4)
    assert_product(sums.sum(axis=(0, 1)), c.astype("f8").sum(axis=0), k)
    again = np.zeros_like(sums)
    fused(a, b, c, (again,), count=1)
    assert np.array_equal(sums, again)


def test_hooks_know_the_batch():
    def epilogue(builder, value, site):
        scale = builder.load(builder.gep(site.pointer(0), [site.batch], source_etype=ITEM), typ=ITEM)
        lanes = ir.Constant(value.type, ir.Undefined)
        for lane in range(value.type.count):
            lanes = builder.insert_element(lanes, scale, ir.IntType(32)(lane))
        return builder.fmul(value, lanes)

    generator = np.random.default_rng(0)
    a, b = (operand(generator, 9, 9, "float32", "row", (4,)) for _ in range(2))
    scale = np.arange(4, dtype="float32")
    c = kernel(epilogue=epilogue)(a, b, np.empty((4, 9, 9), "float32"), (scale,), count=3)
    assert_product(c, (a.astype("f8") @ b.astype("f8")) * scale[:, None, None], 9)

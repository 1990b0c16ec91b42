import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.codegen.quantized_blocks import BLOCKS
from retrograde.ops.networks._quantizing import FORMATS, packed, unpacked
from retrograde.ops.networks.quantized import quantized_linear_input
from together import on_threads


def blocks_of(name, outputs, count, seed=0):
    """Rows of blocks, and their numbers; of formats that are only read, blocks of random bits with ordinary scales."""
    form, rng = FORMATS[name], np.random.default_rng(seed)
    if form.pack:
        made = packed(rng.standard_normal((outputs, count)).astype(np.float32), name)
    else:
        made = rng.integers(0, 256, (outputs * count // form.size, form.nbytes), dtype=np.uint8)
        for place in ((208,) if name == "Q6_K" else (0, 2)):
            made[:, place : place + 2] = rng.uniform(-1e-2, 1e-2, len(made)).astype("<f2").view(np.uint8).reshape(-1, 2)
        made = made.reshape(outputs, -1)
    return made, unpacked(made, name)


@pytest.mark.parametrize("name", FORMATS)
def test_unpacked_numbers_are_bitwise_those_of_numpy(name):
    blocks, numbers = blocks_of(name, 7, 768)
    f = rg.jit(lambda x: rg.dequantize(x, name))
    np.testing.assert_array_equal(f(rg.asarray(blocks)), numbers)
    assert [kernel.kind for kernel in f.explain().kernels] == ["unpacking"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("name", FORMATS)
def test_products_are_those_of_the_numbers(name, rows):
    blocks, numbers = blocks_of(name, 37, 512)
    x = np.random.default_rng(1).standard_normal((rows, 512)).astype(np.float32)
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, name))
    found = f(rg.asarray(x), rg.asarray(blocks))
    np.testing.assert_allclose(found, x.astype(np.float64) @ numbers.T.astype(np.float64), rtol=1e-5, atol=1e-4)
    kinds = [kernel.kind for kernel in f.explain().kernels]
    assert kinds == (["quantized product"] if rows <= 8 or name == "F32" else ["quantized matmul"])


@pytest.mark.parametrize("name", ["Q4_1", "Q6_K", "BF16", "F32"])
def test_a_row_is_bitwise_the_same_whatever_rows_are_beside_it(name):
    blocks = rg.asarray(blocks_of(name, 530, 512)[0])
    x = np.random.default_rng(1).standard_normal((8, 512)).astype(np.float32)
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, name))
    alone = [np.asarray(f(rg.asarray(row), blocks)) for row in x[:, None]]
    for count in (2, 5, 8):
        np.testing.assert_array_equal(f(rg.asarray(x[:count]), blocks), np.concatenate(alone[:count]))


def test_products_are_bitwise_the_same_on_any_number_of_threads():
    blocks = rg.asarray(blocks_of("Q4_0", 4096, 1024)[0])
    x = rg.asarray(np.random.default_rng(1).standard_normal((2, 1024)).astype(np.float32))
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, "Q4_0"))
    found = on_threads(lambda: np.asarray(f(x, blocks)))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -0.0, 6e-8, 65504.0])
def test_special_numbers_of_16_bits_are_widened_right(special):
    weights = np.full((1, 32), special, "<f2")
    found = rg.jit(lambda b: rg.dequantize(b, "F16"))(rg.asarray(weights.view(np.uint8)))
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), weights.astype(np.float32).view(np.uint32))


@pytest.mark.parametrize("count", [1, 7, 52, 105])
@pytest.mark.parametrize("name", ["F16", "BF16", "F32"])
def test_rows_that_no_vector_fits_are_whole_with_zeros_and_each_is_bitwise_the_same_beside_others(name, count):
    weights = np.random.default_rng(0).standard_normal((33, count)).astype(np.float32)
    blocks, x = rg.asarray(packed(weights, name)), np.random.default_rng(1).standard_normal((20, count)).astype(np.float32)
    weights = unpacked(np.asarray(blocks), name)
    f, h = rg.jit(lambda x, b: rg.quantized_linear(x, b, name)), rg.jit(lambda g, b: quantized_linear_input(g, b, name))
    alone = np.concatenate([f(rg.asarray(row), blocks) for row in x[:, None]])
    for rows in (2, 5, 8, 20):
        found = f(rg.asarray(x[:rows]), blocks)
        np.testing.assert_allclose(found, x[:rows] @ weights.T, rtol=1e-5, atol=1e-5)
        if rows <= 8 or name == "F32":
            np.testing.assert_array_equal(found, alone[:rows])
    np.testing.assert_allclose(f(rg.asarray(x[0]), blocks), alone[0], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(h(rg.asarray(alone), blocks), alone @ weights, rtol=1e-5, atol=1e-4)


def test_gradients_go_through_a_compiled_product():
    blocks, numbers = blocks_of("Q8_0", 37, 512)
    x = rg.tensor(np.random.default_rng(1).standard_normal((3, 512)).astype(np.float32))
    found = rg.jit(rg.grad(lambda x: (rg.quantized_linear(x, rg.asarray(blocks), "Q8_0") ** 2).sum()))(x)
    expected = 2 * (np.asarray(x) @ numbers.T) @ numbers
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("part", [(), (2, 5), (1, None)])
@pytest.mark.parametrize("shape", [(3, 64), (2, 3, 10), (20, 32), (64,), (0, 32)])
def test_weights_of_float32_have_the_gradient_of_a_product(shape, part):
    rng = np.random.default_rng(0)
    x, w = rg.asarray(rng.standard_normal(shape).astype(np.float32)), rg.asarray(rng.standard_normal((7, shape[-1])).astype(np.float32))
    ours = lambda x, w: (rg.quantized_linear(x, w, "F32", *part) ** 2).sum()
    plain = lambda x, w: ((x @ w[slice(*part or (None,))].T) ** 2).sum()
    back = lambda f: lambda x, w: sum((g ** 2).sum() for g in rg.grad(f, (0, 1))(x, w))
    for f, wanted in ((ours, plain), (back(ours), back(plain))):
        expected = rg.grad(wanted, (0, 1))(x, w)
        for slopes in (rg.grad(f, (0, 1)), rg.jit(rg.grad(f, (0, 1)))):
            for found, other in zip(slopes(x, w), expected, strict=True):
                np.testing.assert_allclose(found, other, rtol=1e-3, atol=1e-5 * float(abs(other).max()) if other.size else 0)


def test_parts_of_weights_are_counted_by_integers():
    x, blocks = rg.ones(3, 64), rg.asarray(np.zeros((2, 68), np.uint8))
    for f in (lambda x: rg.quantized_linear(x, blocks, "Q8_0", 1.0), lambda x: rg.quantized_linear(x, blocks, "Q8_0", 0, 1.5)):
        for wrapped in (f, rg.jit(f)):
            with pytest.raises(rg.errors.DTypeError, match="integer"):
                wrapped(x)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "F32"])
def test_cotangents_of_many_rows_meet_the_blocks_themselves(name):
    blocks, numbers = blocks_of(name, 53, 768)
    g = np.random.default_rng(1).standard_normal((11, 53)).astype(np.float32)
    f = rg.jit(lambda g, b: quantized_linear_input(g, b, name))
    np.testing.assert_allclose(f(rg.asarray(g), rg.asarray(blocks)), g.astype(np.float64) @ numbers, rtol=1e-5, atol=1e-3)
    assert [kernel.kind for kernel in f.explain().kernels] == ["quantized matmul"]


def test_many_rows_are_bitwise_the_same_on_any_number_of_threads():
    # Three threads part 768 columns within a block of 256, and three do not part 40 tiles evenly.
    blocks, rng, before = rg.asarray(blocks_of("Q4_K", 640, 768)[0]), np.random.default_rng(1), rg.get_num_threads()
    x, g = [rg.asarray(rng.standard_normal((500, count)).astype(np.float32)) for count in (768, 640)]
    f = rg.jit(lambda x, g: (rg.quantized_linear(x, blocks, "Q4_K"), quantized_linear_input(g, blocks, "Q4_K")))
    found = []
    try:
        for count in (1, 2, 3):
            rg.set_num_threads(count)
            found.append([np.asarray(part) for part in f(x, g)])
    finally:
        rg.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(other[0], found[0][0])
        np.testing.assert_array_equal(other[1], found[0][1])


@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.parametrize("part", [(0, 52), (17, 30), (52, None)])
def test_some_rows_of_weights_are_read_where_they_lie(rows, part):
    blocks, numbers = blocks_of("Q5_0", 53, 96)
    x, chosen = np.random.default_rng(1).standard_normal((rows, 96)).astype(np.float32), numbers[slice(*part)]
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, "Q5_0", *part))
    found = f(rg.asarray(x), rg.asarray(blocks))
    np.testing.assert_allclose(found, x @ chosen.T, rtol=1e-4, atol=1e-4)
    h = rg.jit(lambda g, b: quantized_linear_input(g, b, "Q5_0", *part))
    np.testing.assert_allclose(h(found, rg.asarray(blocks)), np.asarray(found) @ chosen, rtol=1e-4, atol=1e-3)
    assert {kernel.kind for kernel in (*f.explain().kernels, *h.explain().kernels)} == {"quantized matmul"}
    with pytest.raises(rg.errors.ShapeError, match="between 0 and 53"):
        rg.quantized_linear(rg.asarray(x), rg.asarray(blocks), "Q5_0", 50, 54)


def test_weights_are_never_numbers_in_memory_in_a_compiled_step():
    # Two layers that were unpacked whole would take two matrices of 4 MB at once; panels of one at a time take one.
    first, second = [rg.asarray(blocks_of("Q8_0", 1024, 1024, seed)[0]) for seed in (0, 1)]
    loss = lambda x: (rg.quantized_linear(rg.tanh(rg.quantized_linear(x, first, "Q8_0")), second, "Q8_0") ** 2).sum()
    f = rg.jit(rg.grad(loss))
    f(rg.asarray(np.ones((16, 1024), np.float32)))
    assert not [kernel for kernel in f.explain().kernels if kernel.kind == "unpacking"]
    assert f.explain().arena_bytes < 6 << 20


def test_code_and_ops_agree_on_the_sizes_of_blocks():
    assert BLOCKS.keys() == FORMATS.keys()
    for name, block in BLOCKS.items():
        assert block.nbytes / block.size == FORMATS[name].nbytes / FORMATS[name].size


@pytest.mark.parametrize(("name", "asked", "cache"), [
    ("F32", 4, 2), ("F16", 4, 2), ("BF16", 4, 2),  # a line for each of four rows
    ("Q8_0", 3, 1),  # four blocks of 34 bytes
    ("Q4_K", 0, 1),  # whose rows are read one by one
])
def test_what_the_next_rows_read_is_asked_for_line_by_line(name, asked, cache):
    # Of a row of x alone: of several, fewer outputs are computed at once.
    blocks = blocks_of(name, 8, 768)[0]
    product = rg.jit(lambda x: rg.quantized_linear(x, rg.asarray(blocks), name))
    product(np.ones((1, 768), np.float32))
    (code,) = [kernel.llvm for kernel in product.explain().kernels if kernel.kind == "quantized product"]
    calls = [line for line in code.splitlines() if 'call void @"llvm.prefetch' in line or "call void @llvm.prefetch" in line]
    assert len(calls) == asked
    assert all([f"i32 {4 - cache}, i32 1)" in line for line in calls])

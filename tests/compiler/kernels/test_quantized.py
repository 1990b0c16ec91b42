import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends.cpu.codegen.quantized.blocks import BLOCKS
from retrograde.ops.networks._quantizing import FORMATS, packed, unpacked


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


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 8, 9])
@pytest.mark.parametrize("name", FORMATS)
def test_products_are_those_of_the_numbers(name, rows):
    blocks, numbers = blocks_of(name, 37, 512)
    x = np.random.default_rng(1).standard_normal((rows, 512)).astype(np.float32)
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, name))
    found = f(rg.asarray(x), rg.asarray(blocks))
    np.testing.assert_allclose(found, x.astype(np.float64) @ numbers.T.astype(np.float64), rtol=1e-5, atol=1e-4)
    kinds = [kernel.kind for kernel in f.explain().kernels]
    assert kinds == (["quantized product"] if rows <= 8 or name == "F32" else ["unpacking", "matmul"])


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
    f, before = rg.jit(lambda x, b: rg.quantized_linear(x, b, "Q4_0")), rg.get_num_threads()
    try:
        found = []
        for count in (1, 2, 3):
            rg.set_num_threads(count)
            found.append(np.asarray(f(x, blocks)))
    finally:
        rg.set_num_threads(before)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


@pytest.mark.parametrize("special", [np.inf, -np.inf, np.nan, 0.0, -0.0, 6e-8, 65504.0])
def test_special_numbers_of_16_bits_are_widened_right(special):
    weights = np.full((1, 32), special, "<f2")
    found = rg.jit(lambda b: rg.dequantize(b, "F16"))(rg.asarray(weights.view(np.uint8)))
    np.testing.assert_array_equal(np.asarray(found).view(np.uint32), weights.astype(np.float32).view(np.uint32))


def test_rows_that_no_vector_fits_are_computed_all_the_same():
    weights = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float16)
    x = np.random.default_rng(1).standard_normal((2, 7)).astype(np.float32)
    found = rg.jit(lambda x, b: rg.quantized_linear(x, b, "F16"))(rg.asarray(x), rg.asarray(weights.view(np.uint8)))
    np.testing.assert_allclose(found, x @ weights.astype(np.float32).T, rtol=1e-5, atol=1e-5)


def test_gradients_go_through_a_compiled_product():
    blocks, numbers = blocks_of("Q8_0", 37, 512)
    x = rg.tensor(np.random.default_rng(1).standard_normal((3, 512)).astype(np.float32))
    found = rg.jit(rg.grad(lambda x: (rg.quantized_linear(x, rg.asarray(blocks), "Q8_0") ** 2).sum()))(x)
    expected = 2 * (np.asarray(x) @ numbers.T) @ numbers
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


def test_code_and_ops_agree_on_the_sizes_of_blocks():
    assert BLOCKS.keys() == FORMATS.keys()
    for name, block in BLOCKS.items():
        assert block.nbytes / block.size == FORMATS[name].nbytes / FORMATS[name].size

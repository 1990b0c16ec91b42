"""Which kind each form of a node is of: the kernel that knows it, or a library call where none does."""

import numpy as np
import pytest

from graphs import called, leaf
from retrograde.compiler import cost, kinds
from retrograde.compiler.graph.recorder import PICK
from retrograde.compiler.kernels import fourier, pooling, selection
from retrograde.core.symbol import Symbol
from retrograde.ops.random._streams import MOST_CHOICES

F32, F64, F16, I64, I32, I8, U8, C64, C128 = map(np.dtype, (
    np.float32, np.float64, np.float16, np.int64, np.int32, np.int8, np.uint8, np.complex64, np.complex128))
X, D, H, W, Z, EMPTY = leaf(4, 6), leaf(4, 6, dtype=F64), leaf(4, 6, dtype=F16), leaf(4, 6, dtype=I64), leaf(4, 6, dtype=C64), leaf(0, 6)
P = leaf(5, dtype=I64)
KNOWN = np.ones((4, 6), np.float32)


def kind(node):
    return kinds.Facts().kind(node).__class__.__name__


def check(cases):
    found = [(name, kind(node)) for name, node, _ in cases]
    assert found == [(name, wanted) for name, _, wanted in cases]


def test_elementwise_ops_of_the_dtypes_that_loops_know():
    check([("float32", called("exp", X), "Elementwise"), ("float64", called("exp", D), "Elementwise"),
           ("int64", called("add", W, 1), "Elementwise"), ("bool", called("less", X, X), "Elementwise"),
           ("empty", called("exp", EMPTY), "Library")])


def test_views_and_new_shapes():
    check([("transposed", called("permute_dims", X, (1, 0)), "View"), ("reshaped", called("reshape", X, (24,)), "Reshaped"), ("cut", called("reshape", X, (4, 2, 3)), "View"),
           ("with one more axis", called("reshape", X, (4, 1, 6)), "View"),
           ("empty", called("permute_dims", EMPTY, (1, 0)), "Library"), ("empty reshaped", called("reshape", EMPTY, (0,)), "Library"),
           ("complex cut", called("reshape", Z, (4, 2, 3)), "View"), ("complex otherwise", called("reshape", Z, (8, 3)), "Reshaped"),
           ("complex transposed", called("permute_dims", Z, (1, 0)), "Library"),
           ("uint8", called("permute_dims", leaf(3, 4, dtype=U8), (1, 0)), kind(called("reshape", leaf(3, 4, dtype=U8), (12,))))])


def test_parts_of_complex_numbers():
    check([("real", called("real", Z), "Part"), ("imag", called("imag", Z), "Part"),
           ("both", called("complex", X, X), "Pair"), ("empty", called("complex", EMPTY, EMPTY), "Library"),
           ("none", called("real", leaf(0, dtype=C64)), "Library")])


def test_elements_at_positions():
    check([("along an axis", called("take", X, P, axis=0), "Gather"), ("int32", called("take", X, leaf(5, dtype=I32), axis=0), "Gather"),
           ("line by line", called("take_along_axis", X, leaf(4, 2, dtype=I64), axis=1), "Gather"),
           ("of a constant", called("take", KNOWN, P, axis=0), "Library"),
           ("of no dtype of loops", called("take", leaf(4, 6, dtype=np.dtype(np.uint16)), P, axis=0), "Library"),
           ("of all elements", called("take", X, P, axis=None), "Library"),
           ("no positions", called("take", X, leaf(0, dtype=I64), axis=0), "Library")])


def test_rows_that_are_written():
    rows, counts = leaf(5, 6), leaf(5, dtype=np.dtype(np.bool_))
    check([("a row for each position", called("put_rows", X, rows, P, counts), "RowUpdate"),
           ("complex", called("put_rows", Z, leaf(5, 6, dtype=C64), P, counts), "Library"),
           ("of one number each", called("put_rows", leaf(4, 1), leaf(5, 1), P, counts), "Library"),
           ("one for all", called("put_rows", X, leaf(6), P, counts), "Library"),
           ("of another dtype", called("put_rows", X, leaf(5, 6, dtype=F64), P, counts), "Library"),
           ("of a vector", called("put_rows", leaf(4), leaf(5), P, counts), "Library"),
           ("none", called("put_rows", X, leaf(0, 6), leaf(0, dtype=I64), leaf(0, dtype=np.dtype(np.bool_))), "Library"),
           ("linked", called("sum_along_places", X, leaf(4, dtype=I64)), "SumAlongPlaces"),
           ("linked numbers of half precision", called("sum_along_places", H, leaf(4, dtype=I64)), "Library"),
           ("linked by a constant", called("sum_along_places", X, np.arange(4)), "Library")])


def test_folds_and_running_folds():
    check([("sum", called("sum", X, axis=0), "Reduction"), ("of none", called("sum", EMPTY), "Library"),
           ("running", called("cumsum", X, axis=0), "Running"), ("float64", called("cumsum", D, axis=1), "Running"),
           ("complex", called("cumsum", Z, axis=1), "Running"), ("integers", called("cumsum", W, axis=1), "Library"),
           ("empty", called("cumsum", EMPTY, axis=1), "Library"), ("over all", called("cumsum", X), "Library"),
           ("known", called("cumsum", KNOWN, axis=0), "Library"), ("float16", called("cumsum", H, axis=0), "Library")])


def test_products_of_matrices():
    a, b, v = leaf(4, 6), leaf(6, 5), leaf(6)
    check([("matrices", called("matmul", a, b), "Matmul"), ("many", called("matmul", leaf(3, 4, 6), leaf(3, 6, 5)), "Matmul"),
           ("float64", called("matmul", D, leaf(6, 5, dtype=F64)), "Matmul"), ("a known one", called("matmul", a, np.ones((6, 5), np.float32)), "Matmul"),
           ("with a vector", called("matmul", a, v), "Library"), ("of a vector", called("matmul", v, b), "Library"),
           ("two dtypes", called("matmul", a, leaf(6, 5, dtype=F64)), "Library"), ("integers", called("matmul", W, leaf(6, 5, dtype=I64)), "Library"),
           ("empty", called("matmul", EMPTY, b), "Library"), ("complex", called("matmul", Z, leaf(6, 5, dtype=C64)), "Library")])


def test_products_of_bytes():
    a, b, c = leaf(20, 18, dtype=I8), leaf(18, 16, dtype=I8), leaf(18, 16, dtype=U8)
    check([("with signs", called("integer_matmul", a, b), "IntegerMatmul"), ("mixed", called("integer_matmul", a, c), "IntegerMatmul"),
           ("many", called("integer_matmul", leaf(3, 20, 18, dtype=I8), b), "IntegerMatmul"),
           ("a known one", called("integer_matmul", a, np.ones((18, 16), np.int8)), "Library"),
           ("of odd steps", called("integer_matmul", leaf(20, 19, dtype=I8), leaf(19, 16, dtype=I8)), "Library"),
           ("of few rows", called("integer_matmul", leaf(15, 18, dtype=I8), b), "Library")])


def test_products_by_quantised_weights():
    few, many, blocks = leaf(8, 64), leaf(9, 64), leaf(5, 68, dtype=U8)
    check([("few rows", called("quantized_linear", few, blocks, "Q8_0"), "QuantizedProduct"),
           ("many rows", called("quantized_linear", many, blocks, "Q8_0"), "QuantizedMatmul"),
           ("some of the weights", called("quantized_linear", few, blocks, "Q8_0", 1, 4), "QuantizedMatmul"),
           ("rounded", called("quantized_linear", few, blocks, "Q8_0", activations="int8"), "IntegerProduct"),
           ("float64", called("quantized_linear", leaf(8, 64, dtype=F64), blocks, "Q8_0"), "Library"),
           ("known", called("quantized_linear", few, np.ones((5, 68), np.uint8), "Q8_0"), "Library")])


IMAGE, FILTER = leaf(2, 3, 8, 8), leaf(4, 3, 3, 3)


def test_convolutions():
    check([("plain", called("conv2d", IMAGE, FILTER), "Convolution"),
           ("a known filter", called("conv2d", IMAGE, np.ones((4, 3, 3, 3), np.float32)), "Convolution"),
           ("all known", called("conv2d", np.ones(IMAGE.shape, np.float32), np.ones(FILTER.shape, np.float32)), "Library"),
           ("two dtypes", called("conv2d", IMAGE, leaf(4, 3, 3, 3, dtype=F64)), "Library"),
           ("no images", called("conv2d", leaf(0, 3, 8, 8), FILTER), "Library"),
           ("complex", called("conv2d", leaf(2, 3, 8, 8, dtype=C64), leaf(4, 3, 3, 3, dtype=C64)), "Library")])


def several(name, *arguments):
    """A node of an op with several results, which are asked for one by one."""
    node = called(name, *arguments)
    return Symbol(node.op, node.args, None, None)


def taps(image, size):
    return several("max_pool2d_with_taps", image, (size, size), (size, size), (0, 0), (1, 1), False)


def pick(node, number, shape, dtype):
    return Symbol(PICK, (node, number), shape, dtype)


def test_pooling():
    most = int(pooling._MOST_PLACES ** 0.5)
    large = taps(leaf(1, 1, most + 1, most + 1), most + 1)
    check([("greatest", taps(IMAGE, 2), "Several"), ("its result", pick(taps(IMAGE, 2), 0, (2, 3, 4, 4), F32), "Pooling"),
           ("as large as is known", taps(leaf(1, 1, most, most), most), "Several"), ("too large", large, "Library"),
           ("its result", pick(large, 0, (1, 1, 1, 1), F32), "Library"),
           ("mean", called("avg_pool2d", IMAGE, (2, 2), (2, 2)), "Pooling"),
           ("of integers", taps(leaf(2, 3, 8, 8, dtype=I64), 2), "Library"),
           ("known", called("avg_pool2d", np.ones(IMAGE.shape, np.float32), (2, 2), (2, 2)), "Library"),
           ("none", called("avg_pool2d", leaf(0, 3, 8, 8), (2, 2), (2, 2)), "Library")])


def test_linear_algebra():
    a = leaf(4, 4)
    check([("factors", called("cholesky", a), "LinearAlgebra"), ("many", called("cholesky", leaf(3, 4, 4)), "LinearAlgebra"),
           ("triangular", called("solve_triangular", a, leaf(4, 2)), "LinearAlgebra"),
           ("two dtypes", called("solve_triangular", a, leaf(4, 2, dtype=F64)), "Library"),
           ("none", called("cholesky", leaf(0, 4, 4)), "Library"), ("complex", called("cholesky", leaf(4, 4, dtype=C64)), "Library")])


def test_places_in_an_order():
    ranks, most = np.arange(3), selection._MOST_SELECTED
    check([("first few", called("top_indices", X, 3, 1, True), "Ranking"), ("another axis", called("top_indices", X, 3, 0, True), "Library"),
           ("from the end", called("top_indices", X, 3, -1, False), "Ranking"),
           ("too many", called("top_indices", leaf(4, 2 * cost.MOST_RANKED), cost.MOST_RANKED + 1, 1, True), "Library"),
           ("as many as are known", called("top_indices", leaf(4, 2 * cost.MOST_RANKED), cost.MOST_RANKED, 1, True), "Ranking"),
           ("integers", called("top_indices", W, 3, 1, True), "Library"), ("none", called("top_indices", EMPTY, 3, 1, True), "Library"),
           ("known", called("top_indices", KNOWN, 3, 1, True), "Library"),
           ("ranks", called("rank_indices", X, ranks), "Selection"), ("float64", called("rank_indices", D, ranks), "Selection"),
           ("of each row", called("rank_indices", X, leaf(4, 3, dtype=I64)), "Selection"),
           ("int32", called("rank_indices", X, ranks.astype(np.int32)), "Library"),
           ("integers", called("rank_indices", W, ranks), "Library"), ("no ranks", called("rank_indices", X, ranks[:0]), "Library"),
           ("no rows", called("rank_indices", EMPTY, ranks), "Library"), ("known", called("rank_indices", KNOWN, ranks), "Library"),
           ("many", called("rank_indices", leaf(4, 4 * most), np.arange(most)), "Selection"),
           ("too many", called("rank_indices", leaf(4, 4 * most), np.arange(most + 1)), "Library")])


def test_sums_at_positions():
    check([("lines", called("scatter_add", leaf(5, 6), (9, 6), P), "Scatter"),
           ("along the second axis", called("scatter_add", leaf(4, 5), (4, 9), (slice(None), P)), "Scatter"),
           ("int32", called("scatter_add", leaf(5, 6), (9, 6), leaf(5, dtype=I32)), "Scatter"),
           ("int16", called("scatter_add", leaf(5, 6), (9, 6), leaf(5, dtype=np.dtype(np.int16))), "Library"),
           ("integers", called("scatter_add", leaf(5, 6, dtype=I64), (9, 6), P), "Library"),
           ("one line for all", called("scatter_add", leaf(6), (9, 6), P), "Library"),
           ("a part of an axis", called("scatter_add", leaf(2, 5), (4, 9), (slice(0, 2), P)), "Library"),
           ("a slice", called("scatter_add", leaf(3, 6), (9, 6), slice(2, 5)), "Pieces"),
           ("none", called("scatter_add", leaf(0, 6), (9, 6), leaf(0, dtype=I64)), "Scatter"),
           ("float16", called("scatter_add", leaf(5, 6, dtype=F16), (9, 6), P), "Library"),
           ("to none", called("scatter_add", leaf(5, 0), (9, 0), P), "Library")])


def test_draws():
    state = leaf(4, dtype=np.dtype(np.uint64))
    check([("normal", called("random_normal", state, (5,), F32), "Random"), ("float64", called("random_normal", state, (5,), F64), "Random"),
           ("none", called("random_normal", state, (0,), F32), "Library"), ("float16", called("random_normal", state, (5,), F16), "Library"),
           ("of a known state", called("random_normal", np.zeros(4, np.uint64), (5,), F32), "Library"),
           ("few choices", called("random_integers", state, (5,), 0, MOST_CHOICES, I64), "Random"),
           ("many choices", called("random_integers", state, (5,), 0, MOST_CHOICES + 1, I64), "Library")])


def test_attention_to_a_cache():
    cache, lengths = leaf(2, 9, 2, 8), leaf(2, dtype=I64)
    arrays = leaf(2, 1, 4, 8), leaf(2, 1, 2, 8), leaf(2, 1, 2, 8), cache, cache
    few = leaf(2, 1, 4, 6), leaf(2, 1, 2, 6), leaf(2, 1, 2, 6), leaf(2, 9, 2, 6), leaf(2, 9, 2, 6)
    check([(name, called("cached_attention", *arrays, lengths, 1.0, None), wanted) for name, arrays, lengths, wanted in (
        ("float32", arrays, lengths, "CachedAttention"), ("six numbers of a head", few, lengths, "Library"),
        ("known lengths", arrays, np.ones(2, np.int64), "Library"), ("lengths of int32", arrays, leaf(2, dtype=I32), "Library"),
        ("a cache of float64", (*arrays[:4], leaf(2, 9, 2, 8, dtype=F64)), lengths, "Library"),
        ("a known cache", (*arrays[:4], np.zeros((2, 9, 2, 8), np.float32)), lengths, "Library"))])


def fft(x, axis=-1, norm=None, name="transform_axes"):
    return called(name, x, axis, norm)


def of_length(size, rows=4, dtype=C64):
    return leaf(rows, size, dtype=dtype)


@pytest.mark.parametrize(("node", "wanted"), [
    (fft(of_length(64), (1,)), "Fourier"), (fft(of_length(64), (0,)), "Fourier"), (fft(of_length(64), (0, 1)), "Library"),
    (fft(of_length(64, dtype=C128), (1,), "ortho", "inverse_transform_axes"), "Fourier"),
    (fft(np.ones((4, 64), np.complex64), (1,)), "Library"), (fft(of_length(1), (1,)), "Library"), (fft(of_length(2), (1,)), "Fourier"),
    (fft(of_length(fourier._LONGEST), (1,)), "Fourier"), (fft(of_length(2 * fourier._LONGEST), (1,)), "Library"),
    (fft(of_length(2 * 10007), (1,)), "Library"), (fft(of_length(64, rows=0), (1,)), "Library"),
    (fft(of_length(64, dtype=F32), 1, None, "real_transform"), "Fourier"), (fft(of_length(63, dtype=F32), 1, None, "real_transform"), "Library"),
    (fft(of_length(2, dtype=F32), 1, None, "real_transform"), "Library"),
    (called("inverse_real_transform", of_length(33), 64, 1, None), "Fourier"), (called("inverse_real_transform", of_length(32), 63, 1, None), "Library"),
])
def test_transforms(node, wanted):
    assert kind(node) == wanted

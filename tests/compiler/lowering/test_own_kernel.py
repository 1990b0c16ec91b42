"""Kernels of users' ops are compiled where they can be traced, and run as they are, as library calls, everywhere else."""

import math

import numpy as np
import pytest

import retrograde as rg
from graphs import leaf
from own_kernels import by_a_loop, by_a_table, by_other_functions, of_two, softsign
from retrograde.compiler.lowering import own_kernel
from retrograde.ops._samples import uniform

X = np.linspace(-2.0, 2.0, 12).reshape(3, 4)


@pytest.fixture
def define():
    """Define an op for the time of one test."""
    names = []

    def define(kernel, family="elementwise", **facts):
        function = getattr(rg.ops, family)(**facts)(kernel)
        names.append(function.__name__)
        return function

    yield define
    for name in names:
        rg.ops.unregister(name)


def is_called(function, *args):
    """Whether a jitted function, called with `args`, runs a kernel as it is."""
    function(*args)
    words = str(function.explain()).split()
    return any(rg.ops.get(name).is_foreign and name in words for name in rg.ops.names())


@pytest.mark.parametrize("kernel", [softsign, by_other_functions, by_a_loop])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_that_traces_is_compiled_and_gives_the_same(define, kernel, dtype):
    op, x = define(kernel), rg.asarray(X.astype(dtype))
    compiled = rg.jit(op)
    np.testing.assert_allclose(compiled(x), kernel(X.astype(dtype)), rtol=3e-6 if dtype == "float32" else 1e-12)
    assert compiled(x).dtype == dtype
    assert not is_called(compiled, x)


def test_operands_are_broadcast_and_may_be_numbers(define):
    op, y = define(of_two), rg.asarray(np.linspace(0.5, 1.0, 4))
    compiled = rg.jit(lambda x, y: (op(x, y), op(2.0, y), op(x, 3)))
    for found, wanted in zip(compiled(X, y), (of_two(X, y.numpy()), of_two(2.0, y.numpy()), of_two(X, 3)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert not is_called(compiled, X, y)


def test_derivatives_and_bodies_of_loops_have_it_in_their_kernels(define):
    op = define(softsign)
    op.defvjp(lambda g, x: g / (1 + abs(x)) ** 2)
    slope = rg.grad(lambda x: op(x).sum())
    curved = rg.grad(lambda x: slope(x).sum())
    x = rg.asarray(X)
    for function in (slope, curved, lambda x: rg.scan(lambda carry, row: (op(carry + row),) * 2, x[0], x)[1]):
        compiled = rg.jit(function)
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-12)
        assert not is_called(compiled, x)


def test_several_results_and_other_families_are_traced_too(define):
    def split_in_two(x, /):
        return np.maximum(x, 0), np.minimum(x, 0).sum(axis=1)

    def by_columns(x, /, axis=0):
        return (x - x.mean(axis=axis, keepdims=True)).max(axis=axis)

    x = rg.asarray(X)
    both, top = define(split_in_two, "reduction", is_multiple=True), define(by_columns, "reduction")
    compiled = rg.jit(lambda x: (*both(x), top(x), top(x, 1)))
    wanted = (*split_in_two(X), by_columns(X), by_columns(X, 1))
    for found, right in zip(compiled(x), wanted, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)
    assert not is_called(compiled, x)


def in_numpy_alone(x, /):
    return np.asarray(x) * 2


def by_numbers(x, /):
    return np.array([math.exp(v) for v in np.ravel(x)]).reshape(np.shape(x))


def by_what_it_holds(x, /):
    return x * 2 if np.all(x > 0) else -x


@pytest.mark.parametrize("kernel", [in_numpy_alone, by_numbers, by_what_it_holds, by_a_table])
def test_a_kernel_that_numpy_alone_can_run_is_called(define, kernel):
    compiled, x = rg.jit(define(kernel)), rg.asarray(X)
    for array in (X, np.abs(X) + 1):
        np.testing.assert_array_equal(compiled(array), kernel(array))
    assert is_called(compiled, x)


def test_a_kernel_that_means_something_else_for_tensors_is_called(define):
    """NumPy's `transpose(0, 1)` leaves a matrix as it is, that of tensors exchanges its axes; the mean of integers differs in dtype."""

    def exchanged(x, /):
        return x.transpose(0, 1)

    compiled, square = rg.jit(define(exchanged, "movement")), X[:, :3].copy()
    np.testing.assert_array_equal(compiled(rg.asarray(square)), square)
    assert is_called(compiled, square)

    def average(x, /):
        return x.mean(axis=0)

    whole = np.arange(12).reshape(3, 4)
    compiled = rg.jit(define(average, "reduction"))
    np.testing.assert_array_equal(compiled(rg.asarray(whole)), whole.mean(axis=0))
    assert compiled(rg.asarray(whole)).dtype == average(whole).dtype


def test_a_kernel_that_draws_or_counts_does_so_at_each_call(define):
    rng, count = np.random.default_rng(0), []

    def noisy(x, /):
        return x + rng.normal(size=np.shape(x))

    def noisy_by_numpy(x, /):
        return x + np.random.normal(size=np.shape(x))

    def counted(x, /):
        count.append(1)
        return x * 2

    for kernel in (noisy, noisy_by_numpy):
        compiled = rg.jit(define(kernel))
        assert not np.array_equal(compiled(X), compiled(X))
    compiled = rg.jit(define(counted))
    compiled(X)
    before = len(count)
    compiled(X)
    assert len(count) == before + 1


def test_what_a_kernel_reads_that_can_change_is_read_at_each_call(define):
    held, option = np.array(1.0), {"scale": 1.0}

    def by_an_array(x, /):
        return x * held

    def by_an_option(x, /):
        return x * option["scale"]

    ops = [rg.jit(define(by_an_array)), rg.jit(define(by_an_option))]
    for compiled in ops:
        np.testing.assert_array_equal(compiled(X), X)
    held[...] = 3
    option["scale"] = 3.0
    for compiled in ops:
        np.testing.assert_array_equal(compiled(X), X * 3)


@pytest.mark.parametrize(("dtype", "most", "shape"), [("float32", 3, (3, 2)), ("float32", None, (5, 2)), ("int64", 3, (3, 2)), ("bool", 3, (3, 2)),
                                                      ("complex64", None, (5, 2))])
def test_what_a_kernel_is_tried_on_has_the_dtype_and_is_small_where_it_may_be(dtype, most, shape):
    drawn = own_kernel._drawn(leaf(5, 2, dtype=dtype), uniform(-9, 9), np.random.default_rng(0), most)
    assert (drawn.shape, drawn.dtype, drawn.flags.writeable) == (shape, dtype, False)
    assert len(np.unique(drawn)) > 1 and (dtype != "complex64" or drawn.imag.any())


def test_a_kernel_is_tried_on_known_arrays_as_they_are_and_on_all_of_a_list():
    known = np.arange(10.0).reshape(5, 2)
    one, (two, number) = own_kernel._drawn([known, (leaf(4), "x")], uniform(), np.random.default_rng(0), 3)
    np.testing.assert_array_equal(one, known[:3])
    assert not np.shares_memory(one, known) and not one.flags.writeable and known.flags.writeable
    assert (two.shape, number) == ((3,), "x")


F32, F64, C64, I64 = np.float32, np.float64, np.complex64, np.int64


@pytest.mark.parametrize(("found", "wanted", "are_equal"), [
    (np.ones(3), np.ones(3), True), (rg.ones(3), np.ones(3, F32), True), (np.ones(3), np.ones(4), False), (np.ones(3, F32), np.ones(3), False),
    (np.ones(3) + 1e-12, np.ones(3), True), (np.ones(3) + 1e-6, np.ones(3), False),
    (np.ones(3, F32) + F32(1e-5), np.ones(3, F32), True), (np.ones(3, F32) + F32(1e-2), np.ones(3, F32), False),
    (np.ones(3, np.float16) + np.float16(1e-2), np.ones(3, np.float16), True), (np.ones(3, np.float16) * 2, np.ones(3, np.float16), False),
    (np.ones(3, C64) * 1j, np.ones(3, C64) * 1j, True), (np.ones(3, C64) * 1j, np.ones(3, C64) * 2j, False), (np.ones(3, C64), np.ones(3, C64) + 1j, False),
    (np.arange(3), np.arange(3), True), (np.arange(3), np.arange(3) + 1, False), (np.array([True]), np.array([False]), False),
    (np.full(3, np.nan), np.full(3, np.nan), False),  # nothing is told by it
    (np.array([1.0, np.nan]), np.array([1.0, np.nan]), True), (np.array([1.0, 2.0]), np.array([1.0, np.nan]), False),
    (np.zeros(0), np.zeros(0), True),
    ((np.ones(2), np.arange(2)), (np.ones(2), np.arange(2)), True), ([np.ones(2)], (np.ones(2),), True),
    ((np.ones(2), np.arange(2)), (np.ones(2), np.arange(2) + 1), False), ((np.ones(2),), (np.ones(2), np.ones(2)), False),
    (np.ones((2, 2)), (np.ones(2), np.ones(2)), False),
])
def test_results_are_the_same_in_structure_dtype_and_numbers_but_for_rounding(found, wanted, are_equal):
    assert own_kernel._are_equal(found, wanted) is are_equal

"""The micro-kernel by itself: each loader, masks at edges, ranges of k, epilogues. Sums are compared to the bit."""

import ctypes
from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

from retrograde.compiler.backends.cpu.codegen import emit, ir
from retrograde.compiler.backends.cpu.codegen.emit import BYTE, I64, POINTER, address, at
from retrograde.compiler.backends.cpu.codegen.micro_kernel import (
    Blocks,
    Functions,
    Lines,
    Paces,
    Panels,
    Rows,
    Table,
    Tile,
    Walk,
    added_chains,
    broadcast,
    contiguous,
    each_height,
    from_registers,
    lane_sum,
    lane_sums,
    loaded_if,
    minus,
    store,
    unrolled,
)
from retrograde.compiler.backends.cpu.codegen.vectors import InVectors
from retrograde.compiler.backends.cpu.engine import engine, object_code
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.target import ITEM_BYTES

_NUMBERS = count()


@dataclass(frozen=True)
class Spec(InVectors):
    dtype: str
    lanes: int

    @property
    def item_bytes(self):
        return ITEM_BYTES[self.dtype]


def run(write, *arguments):
    """Compile `write(b, arguments)` and call it: arrays become pointers, whole numbers are numbers of 64 bits."""
    name = f"test_micro_kernel_{next(_NUMBERS)}"
    module = ir.Module(name, target())
    kinds = [POINTER if isinstance(x, np.ndarray) else I64 for x in arguments]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    write(b, function.args)
    b.ret_void()
    engine().load([object_code(module, target())])
    types = [ctypes.c_void_p if isinstance(x, np.ndarray) else ctypes.c_int64 for x in arguments]
    ctypes.CFUNCTYPE(None, *types)(engine().address(name))(*[x.ctypes.data if isinstance(x, np.ndarray) else x for x in arguments])


def product(a, b, start=0):
    """Row i times column j as a tile adds it up: one k after the other, each product rounded before it is added."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype) + a.dtype.type(start)
    for k in range(a.shape[1]):
        total = total + a[:, k, None] * b[None, k]
    return total


def columns_of(spec, width):
    return range(0, width * spec.lanes, spec.lanes)


def places_of(b, spec, c, tile):
    """Where C is, whose rows are as wide as the tile."""
    return [at(b, c, spec.item, i * tile.width * spec.lanes + j) for i in range(tile.height) for j in columns_of(spec, tile.width)]


def lefts(b, spec, kind, a, height, k, steps):
    """A loader by its name, of A: in rows of k numbers, in a packed panel, or in rows that begin with the last k."""
    moved = lambda i: address(b, a, b.mul(I64(i), k), spec.item)
    if kind == "rows":
        return Rows([moved(i) for i in range(height)], 1, spec.item, broadcast(spec))
    if kind == "rows in bytes":
        return Rows([moved(i) for i in range(height)], spec.item_bytes, BYTE, broadcast(spec))
    if kind == "lines":
        return Lines([moved(i) for i in range(height)], 1, spec.item, broadcast(spec), 1)
    if kind == "paces":
        return Paces(a, I64(1), spec, [b.mul(I64(i), k) for i in range(height)], broadcast(spec))
    if kind == "panels":
        return Panels(b, a, height, k, spec)
    return Blocks(a, height, range(0, steps * height, height), spec, range(height), broadcast(spec))


LEFTS = {"rows": False, "rows in bytes": False, "lines": False, "paces": False, "panels": True, "blocks": True}


def rights(spec, kind, y, width, steps):
    """A loader by its name, of B in rows as wide as the tile."""
    wide, load = width * spec.lanes, contiguous(spec)
    if kind == "walk":
        return Walk(y, wide * spec.item_bytes, spec, columns_of(spec, width), load)
    if kind == "paces":
        return Paces(y, I64(wide), spec, columns_of(spec, width), load)
    return Blocks(y, wide, range(0, steps * wide, wide), spec, columns_of(spec, width), load)


@pytest.mark.parametrize("right", ["walk", "paces", "blocks"])
@pytest.mark.parametrize("left", LEFTS)
def test_each_loader_reads_every_k_once_and_in_order(left, right):
    generator = np.random.default_rng(11)
    for steps, dtype in ((1, "float64"), (4, "float32")):
        height, width, depth = int(generator.integers(1, 7)), int(generator.integers(1, 4)), int(generator.integers(1, 14))
        spec = Spec(dtype, target().lanes(dtype))
        a = generator.standard_normal((height, depth)).astype(dtype)
        y = generator.standard_normal((depth, width * spec.lanes)).astype(dtype)
        c = np.full((height, width * spec.lanes), np.nan, dtype)
        tile = Tile(spec.vector, height, width, False)

        def write(b, arguments, tile=tile, spec=spec, steps=steps):
            a, y, c, k = arguments
            loaders = lefts(b, spec, left, a, tile.height, k, steps), rights(spec, right, y, tile.width, steps)
            store(b, tile.over(b, unrolled(b, k, steps), *loaders, tile.zeros()), places_of(b, spec, c, tile))

        run(write, np.ascontiguousarray(a.T) if LEFTS[left] else a, y, c, depth)
        np.testing.assert_array_equal(c, product(a, y))


def test_no_k_leaves_what_sums_began_with():
    spec, c = Spec("float64", target().lanes("float64")), np.full(target().lanes("float64"), 7.0)
    tile = Tile(spec.vector, 1, 1, True)

    def write(b, arguments):
        c, k = arguments
        loaders = lefts(b, spec, "rows", c, 1, k, 4), rights(spec, "walk", c, 1, 4)
        store(b, tile.over(b, unrolled(b, k, 4), *loaders, loaded_if(b, emit.I1(1), [c], spec.vector)), [c])

    run(write, c, 0)
    np.testing.assert_array_equal(c, 7.0)


@pytest.mark.parametrize("is_added", [False, True])
def test_sums_begin_with_zeros_or_with_what_is_there(is_added):
    generator, spec = np.random.default_rng(3), Spec("float32", target().lanes("float32"))
    a, y = generator.standard_normal((3, 9)).astype("f4"), generator.standard_normal((9, 2 * spec.lanes)).astype("f4")
    c = np.full((3, 2 * spec.lanes), 0.3, "f4")
    tile = Tile(spec.vector, 3, 2, False)

    def write(b, arguments):
        a, y, c, k, flag = arguments
        places = places_of(b, spec, c, tile)
        sums = loaded_if(b, b.icmp_signed("!=", flag, I64(0)), places, spec.vector)
        loaders = lefts(b, spec, "rows", a, 3, k, 4), rights(spec, "walk", y, 2, 4)
        store(b, tile.over(b, unrolled(b, k, 4), *loaders, sums), places)

    run(write, a, y, c, 9, int(is_added))
    np.testing.assert_array_equal(c, product(a, y, 0.3 if is_added else 0))


@pytest.mark.parametrize("rest", [1, 2, 3])
def test_masked_lanes_are_zero_and_nothing_beyond_them_counts(rest):
    spec = Spec("float64", target().lanes("float64"))
    if rest >= spec.lanes:
        pytest.skip("a vector of this machine is not longer")
    generator, wide = np.random.default_rng(rest), spec.lanes + rest
    a, y = generator.standard_normal((2, 6)), np.full((6, 2 * spec.lanes), np.nan)
    y[:, :wide] = generator.standard_normal((6, wide))
    c, tile = np.full((2, 2 * spec.lanes), np.nan), Tile(spec.vector, 2, 2, False)

    def write(b, arguments):
        a, y, c, k = arguments
        mask = emit.lane_mask(b, I64(rest), spec.lanes)
        load = contiguous(spec, lambda j: mask if j == 1 else None)
        right = Walk(y, 2 * spec.lanes * 8, spec, columns_of(spec, 2), load)
        store(b, tile.over(b, unrolled(b, k, 4), lefts(b, spec, "rows", a, 2, k, 4), right, tile.zeros()), places_of(b, spec, c, tile))

    run(write, a, y, c, 6)
    np.testing.assert_array_equal(c[:, :wide], product(a, y[:, :wide]))
    np.testing.assert_array_equal(c[:, wide:], 0)


@pytest.mark.parametrize("together", [1, 3])
def test_a_table_of_taps_is_read_tap_by_tap(together):
    generator, spec, taps = np.random.default_rng(5), Spec("float32", target().lanes("float32")), 6
    places = generator.permutation(40)[:taps].astype(np.int64)
    weights, image = generator.standard_normal((2, taps)).astype("f4"), generator.standard_normal(40 + spec.lanes).astype("f4")
    c, tile = np.empty((2, spec.lanes), "f4"), Tile(spec.vector, 2, 1, False)

    def write(b, arguments):
        panel, image, table, c = arguments
        left = Blocks(panel, 2, range(0, 2 * together, 2), spec, range(2), broadcast(spec))
        right = Table(image, table, spec, [0], contiguous(spec))
        store(b, tile.over(b, [(0, taps, together, together)], left, right, tile.zeros()), places_of(b, spec, c, tile))

    run(write, np.ascontiguousarray(weights.T), image, places, c)
    np.testing.assert_array_equal(c, product(weights, np.stack([image[p : p + spec.lanes] for p in places])))


@pytest.mark.parametrize(("height", "width", "chains"), [(1, 1, 1), (1, 1, 8), (3, 2, 1), (2, 1, 3)])
def test_dot_products_add_up_chains_and_then_lanes(height, width, chains):
    generator, spec = np.random.default_rng(8), Spec("float32", target().lanes("float32"))
    depth = 4 * chains * spec.lanes
    a, y = (generator.standard_normal((n, depth)).astype("f4") for n in (height, width))
    c, tile = np.empty((height, width), "f4"), Tile(spec.vector, height, width, False, chains)

    def write(b, arguments):
        *pointers, c, k = arguments
        lines = [[at(b, p, spec.item, i * depth) for i in range(n)] for p, n in zip(pointers, (height, width), strict=True)]
        loaders = [Lines(pointers, 1, spec.item, contiguous(spec), spec.lanes) for pointers in lines]
        sums = tile.over(b, [(I64(0), k, chains * spec.lanes, chains)], *loaders, tile.zeros())
        for place, total in enumerate(added_chains(b, sums, height * width)):
            emit.store(b, lane_sum(b, total), at(b, c, spec.item, place))

    run(write, a, y, c, depth)
    parts = (a[:, None] * y[None]).reshape(height, width, 4, chains, spec.lanes)
    sums = ((parts[:, :, 0] + parts[:, :, 1]) + parts[:, :, 2]) + parts[:, :, 3]
    sums = [sums[:, :, i] for i in range(chains)]
    while len(sums) > 1:
        sums = [x + y for x, y in zip(sums[::2], sums[1::2], strict=False)] + sums[len(sums) // 2 * 2 :]
    total = sums[0]
    while total.shape[-1] > 1:
        total = total[..., : total.shape[-1] // 2] + total[..., total.shape[-1] // 2 :]
    np.testing.assert_array_equal(c, total[..., 0])


def test_short_vectors_of_lane_sums():
    for dtype in ("float32", "float64"):
        spec, group = Spec(dtype, target().lanes(dtype)), 16 // ITEM_BYTES[dtype]
        x, out = np.arange(group * spec.lanes, dtype=dtype).reshape(group, -1) ** 2, np.empty(group, dtype)

        def write(b, arguments, spec=spec, group=group):
            vectors = [emit.load(b, at(b, arguments[0], spec.item, i * spec.lanes), spec.vector) for i in range(group)]
            emit.store(b, lane_sums(b, vectors, group), arguments[1])

        run(write, x, out)
        np.testing.assert_array_equal(out, x.sum(axis=1))


def test_a_step_takes_values_from_registers_and_differences():
    spec = Spec("float64", target().lanes("float64"))
    a, y = np.array([2.0, 3.0]), np.arange(1.0, spec.lanes + 1)
    c, tile = np.full((2, spec.lanes), 10.0), Tile(spec.vector, 2, 1, True)

    def write(b, arguments):
        a, y, c = arguments
        places, values = places_of(b, spec, c, tile), [emit.load(b, y, spec.vector)]
        factors = Rows([at(b, a, spec.item, i) for i in range(2)], 1, spec.item, minus(broadcast(spec)))
        sums = [emit.load(b, place, spec.vector) for place in places]
        store(b, tile.step(b, factors.read(b, (I64(0), 0)), from_registers(values), sums), places)

    run(write, a, y, c)
    np.testing.assert_array_equal(c, 10 - a[:, None] * y)


def test_an_epilogue_of_its_own_receives_the_sums():
    spec, generator = Spec("float32", target().lanes("float32")), np.random.default_rng(2)
    a, y = generator.standard_normal((4, 5)).astype("f4"), generator.standard_normal((5, spec.lanes)).astype("f4")
    c, tile = np.empty((4, spec.lanes), "f4"), Tile(spec.vector, 4, 1, False)

    def write(b, arguments):
        a, y, c, k = arguments
        sums = tile.over(b, unrolled(b, k, 4), lefts(b, spec, "rows", a, 4, k, 4), rights(spec, "walk", y, 1, 4), tile.zeros())
        positive = [b.select(b.fcmp_ordered(">", x, emit.zeros(spec.vector)), x, emit.zeros(spec.vector)) for x in sums]
        store(b, positive, places_of(b, spec, c, tile))

    run(write, a, y, c, 5)
    np.testing.assert_array_equal(c, np.maximum(product(a, y), 0))


@pytest.mark.parametrize("tallest", [1, 2, 6, 8])
def test_heights_cover_each_row_once(tallest):
    for first, end in [(0, 0), (0, 1), (2, 7), (1, 20), (3, 3 + 2 * tallest)]:
        seen = np.zeros(32)

        def write(b, arguments):
            seen, first, end = arguments
            for height, row in each_height(b, first, end, tallest):
                for i in range(height):
                    place = at(b, seen, ir.DoubleType(), row, i)
                    emit.store(b, b.fadd(emit.load(b, place, ir.DoubleType()), ir.DoubleType()(1.0)), place)

        run(write, seen, first, end)
        np.testing.assert_array_equal(np.flatnonzero(seen), np.arange(first, end))
        assert seen.max(initial=0) <= 1


def test_a_function_is_written_once_for_each_size():
    written, out = [], np.zeros(4)

    def fill(b, arguments, value, place):
        written.append((value, place))
        emit.store(b, ir.DoubleType()(float(value)), at(b, arguments[0], ir.DoubleType(), place))

    def write(b, arguments):
        functions = Functions(b.module, f"{b.function.name}_fill", fill)
        for size in [(5, 0), (6, 3), (5, 0)]:
            functions.call(b, size, arguments)

    run(write, out)
    assert written == [(5, 0), (6, 3)]
    np.testing.assert_array_equal(out, [5, 0, 0, 6])

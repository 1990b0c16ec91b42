"""Correlation as an implicit matrix product: tiles of a few output channels by a few vectors of pixels.

Row k of the right matrix, one tap of one channel, is the image itself from a certain place on, so nothing is copied but the
image with its border. What tiles compute past the end of a row of pixels is left out when rows are stored.
See layout.py for the scratch memory.
"""

from functools import partial
from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import I64, at
from ..micro_kernel import Blocks, Functions, Table, Tile, broadcast, contiguous, store
from ..vectors import odd_lines
from .entry import Entry, RowsEntry, adding, clear_vectors, copy_row
from .image import lay_out
from .layout import Layout, heights


class Correlating(NamedTuple):
    """A correlation with the steps of its arrays, in elements.

    source   of images, channels, rows and columns
    weight   of output channels, input channels and groups, and of each of the kernel's places
    """

    layout: Layout
    source: tuple
    weight: tuple
    places: tuple
    bias: int | None  # the step of the bias

    @property
    def packed(self):
        """How many numbers the packed weights of all groups have."""
        correlation = self.layout.correlation
        taps = sum([len(grid.taps) for grid in correlation.grids])
        return correlation.groups * correlation.outputs * correlation.inputs * taps

    @property
    def sums(self):
        """Numbers from one row of a tile's results to the next."""
        layout = self.layout
        widest = max([layout.flat(grid, layout.highest) for grid in layout.correlation.grids])
        return odd_lines(widest + layout.lanes, layout.dtype)

    @property
    def room(self):
        """Numbers of scratch memory of one chunk: a group's images, then the results of a row of tiles."""
        return odd_lines(self.layout.correlation.inputs * self.layout.channel + self.layout.rows * self.sums, self.layout.dtype)

    @property
    def tiles(self):
        """(height, how many) of the tiles over output channels."""
        return heights(self.layout.correlation.outputs, self.layout.rows)


# Weights


def write_packing(module, name, plan):
    """The entry that packs the weights: for each grid, group and tile the weights of each channel and tap, side by side.

    Its buffers are the weights and the room for the packed ones; its word is the number of chunks.
    """
    entry = Entry(module, name, ("weight", "packed"), ("chunks",), {None: plan.layout.item})
    b, correlation = entry.builder, plan.layout.correlation
    deal = partial(entry.share, parts=entry.words["chunks"])
    # Chunks share groups where there are some, else the tiles of the only one.
    first, end = deal(correlation.groups) if correlation.groups > 1 else (0, 1)
    for grid, start in zip(correlation.grids, _grid_starts(plan), strict=True):
        places = table_of(module, f"{name}_places_{start}", [plan.places[tap.weight] for tap in grid.taps])
        with emit.loop(b, first, end) as group:
            source = at(b, entry.pointers["weight"], plan.layout.item, (group.index, plan.weight[2]))
            target = at(b, entry.pointers["packed"], plan.layout.item, start, (group.index, _group_size(plan, grid)))
            for height, row in _each_tile(b, plan, _all if correlation.groups > 1 else deal):
                here = at(b, source, plan.layout.item, (row, plan.weight[0]))
                there = at(b, target, plan.layout.item, (row, correlation.inputs * len(grid.taps)))
                with emit.loop(b, 0, correlation.inputs) as channel, emit.loop(b, 0, len(grid.taps)) as tap:
                    place = b.load(at(b, places, I64, tap.index), typ=I64)
                    line = at(b, here, plan.layout.item, (channel.index, plan.weight[1]), place)
                    number = b.add(b.mul(channel.index, I64(len(grid.taps))), tap.index)
                    to = at(b, there, plan.layout.item, (number, height))
                    # The weights of all rows of a tile for one tap lie side by side, as the tile reads them: one line of the
                    # cache after the other.
                    for i in range(height):
                        value = emit.load(b, at(b, line, plan.layout.item, i * plan.weight[0]), plan.layout.item)
                        emit.store(b, value, at(b, to, plan.layout.item, i))
    b.ret_void()
    return entry.function


def _grid_starts(plan):
    starts, total = [], 0
    for grid in plan.layout.correlation.grids:
        starts.append(total)
        total += plan.layout.correlation.groups * _group_size(plan, grid)
    return starts


def _group_size(plan, grid):
    return plan.layout.correlation.outputs * plan.layout.correlation.inputs * len(grid.taps)


def _all(count):
    """First and end of all of `count` things."""
    return 0, count


def _each_tile(builder, plan, deal=_all):
    """Run over the tiles of one group as (height, first output channel); the body is emitted once for each height.

    `deal(count)` says which of the tiles of a height it runs over.
    """
    first = 0
    for height, count in plan.tiles:
        with emit.loop(builder, *deal(count)) as tile:
            yield height, builder.add(builder.mul(tile.index, I64(height)), I64(first))
        first += height * count


def table_of(module, name, numbers):
    """Numbers that lie in memory."""
    kind = ir.ArrayType(I64, max(len(numbers), 1))
    return ir.Table(module, f"{name}.{len(module.globals)}", ir.Constant(kind, numbers or [0]))


# Images


def write_correlation(module, name, plan):
    """The entry that computes all results of the images of a chunk.

    Its buffers are the source, packed weights, bias, result and scratch memory; its words the number of tasks, which are
    bands of images, and of chunks.
    """
    entry = Entry(module, name, _BUFFERS, ("tasks", "chunks"), {None: plan.layout.item})
    b, images = entry.builder, _Images(entry, plan, entry.chunk)
    first, end = entry.share(entry.words["tasks"], entry.words["chunks"])
    with emit.loop(b, first, end) as task, emit.loop(b, 0, plan.layout.correlation.groups) as group:
        images.compute(task.index, group.index)
    b.ret_void()
    return entry.function


def write_correlation_rows(module, name, plan):
    """The entry that computes a block of rows, each of which is what one group makes of one image; see `RowsEntry`."""
    entry = RowsEntry(module, name, _BUFFERS, {None: plan.layout.item}, ("source", "result"))
    b, images = entry.builder, _Images(entry, plan, entry.frame)
    groups, bands = I64(plan.layout.correlation.groups), plan.layout.bands
    with emit.loop(b, *entry.block()) as row, emit.loop(b, 0, bands) as band:
        image, group = b.sdiv(row.index, groups), b.srem(row.index, groups)
        images.compute(b.add(b.mul(image, I64(bands)), band.index), group)
    b.ret_void()
    return entry.function


_BUFFERS = "source", "packed", "bias", "result", "scratch"


class _Images:
    """What computes results, in the scratch memory of number `room`."""

    def __init__(self, entry, plan, room):
        self._entry, self._plan = entry, plan
        b, layout, inputs = entry.builder, plan.layout, plan.layout.correlation.inputs
        self._tiles = Functions(entry.module, entry.function.name, partial(_write_tile, plan))
        self._scratch = at(b, entry.pointers["scratch"], layout.item, (room, plan.room))
        self._sums = at(b, self._scratch, layout.item, inputs * layout.channel)
        # The borders are made once for all tasks: what is laid out afterwards leaves them alone.
        clear_vectors(b, layout, self._scratch, inputs * layout.channel)

    def compute(self, task, group):
        """All output channels of one group, of one band of an image."""
        entry, plan, layout, b = self._entry, self._plan, self._plan.layout, self._entry.builder
        image, first_row, rows = band_of(b, layout, task)
        first = group, layout.correlation.inputs * plan.source[1]
        source = at(b, entry.pointers["source"], layout.item, (image, plan.source[0]), first)
        lay_out(b, layout, layout.item, source, plan.source[1:], self._scratch, first_row)
        for number in range(len(layout.correlation.grids)):
            _sweep(entry, plan, self._tiles, number, group, (image, first_row, rows), self._scratch, self._sums)


def band_of(builder, layout, task):
    """(image, first row, rows) of a task; rows are a Python number where there is one band."""
    if layout.bands == 1:
        return task, I64(0), layout.band_rows
    image, band = builder.sdiv(task, I64(layout.bands)), builder.srem(task, I64(layout.bands))
    first = builder.add(builder.mul(band, I64(layout.band_rows)), emit.minimum(builder, band, layout.tall))
    is_tall = builder.icmp_signed("<", band, I64(layout.tall))
    return image, first, builder.add(I64(layout.band_rows), builder.zext(is_tall, I64))


def _widths(plan, grid):
    """The widths of tiles, in vectors, that a grid needs, the full one first."""
    layout = plan.layout
    # A band may end before its highest row, so that any number of vectors may be left: a width for each is compiled.
    if layout.bands > 1:
        return [layout.vectors, *range(1, layout.vectors)]
    vectors = -(-layout.flat(grid, grid.rows[2]) // layout.lanes)
    return [width for width in (layout.vectors if vectors >= layout.vectors else 0, vectors % layout.vectors) if width]


def _sweep(entry, plan, tiles, number, group, band, scratch, sums):
    """All output channels of one grid of a group, for one band: tile by tile into `sums`, then row by row to the result."""
    b, layout = entry.builder, plan.layout
    correlation, grid = layout.correlation, layout.correlation.grids[number]
    image, first_row, rows = band
    if layout.bands == 1:
        rows = grid.rows[2]
        vectors = I64(-(-layout.flat(grid, rows) // layout.lanes))
    else:
        # Grids of a strided result differ by a row: the last band of a shorter one has fewer.
        rows = emit.minimum(b, rows, b.sub(I64(grid.rows[2]), first_row))
        places = b.add(b.mul(b.sub(rows, I64(1)), I64(layout.pitch)), I64(grid.columns[2] + layout.lanes - 1))
        vectors = b.sdiv(places, I64(layout.lanes))
    whole = b.mul(b.sdiv(vectors, I64(layout.vectors)), I64(layout.vectors))
    packed = at(b, entry.pointers["packed"], plan.layout.item, _grid_starts(plan)[number], (group, _group_size(plan, grid)))
    for height, row in _each_tile(b, plan):
        weights = at(b, packed, plan.layout.item, (row, correlation.inputs * len(grid.taps)))
        _row_of_tiles(b, plan, tiles, (number, height), weights, scratch, sums, (vectors, whole))
        output = b.add(b.mul(group, I64(correlation.outputs)), row)
        _store(entry, plan, grid, sums, height, image, output, first_row, rows)


def _row_of_tiles(b, plan, tiles, kind, weights, scratch, sums, numbers):
    """All pixels of a few output channels: tiles of full width, and a narrower last one."""
    layout, (vectors, whole) = plan.layout, numbers

    def call(width, vector):
        places = [at(b, pointer, layout.item, (vector, layout.lanes)) for pointer in (scratch, sums)]
        tiles.call(b, (*kind, width), [weights, *places])

    for width in _widths(plan, layout.correlation.grids[kind[0]]):
        if width == layout.vectors:
            with emit.loop(b, 0, whole, width) as place:
                call(width, place.index)
        else:
            with b.if_then(b.icmp_signed("==", b.sub(vectors, whole), I64(width))):
                call(width, whole)


def _store(entry, plan, grid, sums, height, image, output, first_row, rows):
    """Store the pixels of a tile's channels, with their bias."""
    b, item, correlation = entry.builder, plan.layout.item, plan.layout.correlation
    tall, wide = correlation.result
    with emit.loop(b, 0, height) as channel:
        number = b.add(output, channel.index)
        plane = b.add(b.mul(image, I64(correlation.groups * correlation.outputs)), number)
        change = None
        if plan.bias is not None:
            bias = emit.load(b, at(b, entry.pointers["bias"], item, (number, plan.bias)), item)
            change = adding(b, bias)
        with emit.loop(b, 0, rows) as row:
            here = at(b, sums, item, (channel.index, plan.sums), (row.index, plan.layout.pitch))
            line = b.add(b.mul(b.add(row.index, first_row), I64(grid.rows[1])), I64(grid.rows[0]))
            there = at(b, entry.pointers["result"], item, (plane, tall * wide), (line, wide), grid.columns[0])
            copy_row(b, item, plan.layout.lanes, here, there, grid.columns[2], (1, grid.columns[1]), change)


# Tiles


def _write_tile(plan, b, arguments, number, height, vectors):
    """One size of tile of a grid: (weights, first pixel, sums) to the sums over all channels and taps."""
    weights, source, sums = arguments
    layout, tile = plan.layout, Tile(plan.layout.vector, height, vectors, plan.layout.is_fused)
    taps = [layout.offset(tap) for tap in layout.correlation.grids[number].taps]
    columns = range(0, vectors * layout.lanes, layout.lanes)
    # Written out, taps are distances within the instructions; of large kernels that would be a lot of code, which reads a
    # table.
    over = _over_table if len(taps) > cost.TAPS else _over_channels
    totals = over(b, layout, tile, weights, source, taps, columns) if taps else tile.zeros()
    store(b, totals, [at(b, sums, layout.item, i * plan.sums + j) for i in range(height) for j in columns])


def _over_channels(b, layout, tile, weights, source, taps, columns):
    """The sums over all channels, whose taps are written out; kernels of one tap have a few channels written out."""
    count = layout.correlation.inputs
    # One tap alone would be a loop around a single step.
    group = min(cost.CHANNELS, count) if len(taps) == 1 else 1
    places = [i * layout.channel + tap for i in range(group) for tap in taps]
    size = len(taps) * tile.height
    panel = Blocks(weights, size, range(0, group * size, tile.height), layout, range(tile.height), broadcast(layout))
    image = Blocks(source, layout.channel, places, layout, columns, contiguous(layout))
    whole = count - count % group
    ranges = [(start, stop, step, step * len(taps)) for start, stop, step in ((0, whole, group), (whole, count, 1)) if start < stop]
    return tile.over_blocks(b, ranges, panel, image)


def _over_table(b, layout, tile, weights, source, taps, columns):
    """The sums over all channels, whose taps are read from a table, a few at a time."""
    table, count = table_of(b.module, f"{b.function.name}_taps", taps), len(taps)
    # A divisor, so that no taps are left over: their loop would be a second one inside of each channel's.
    together = max([n for n in range(1, 9) if count % n == 0])
    places = range(0, together * tile.height, tile.height)

    def channels(first, end, carried, sums):
        with emit.loop(b, first, end, 1, sums) as channel:
            panel = at(b, weights, layout.item, (channel.index, count * tile.height))
            image = at(b, source, layout.item, (channel.index, layout.channel))
            left = Blocks(panel, tile.height, places, layout, range(tile.height), broadcast(layout))
            right = Table(image, table, layout, columns, contiguous(layout))
            channel.values = tile.over(b, [(0, count, together, together)], left, right, channel.values)
        return carried, channel.results

    return tile.blockwise(b, (0, layout.correlation.inputs, 1, count), channels)

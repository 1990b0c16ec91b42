"""The gradient of a convolution's weight: for each tap the products of all pixels of an output channel and of an input channel.

Tiles hold a few output channels by a few columns, which are taps of input channels, and run along the pixels of a few images.
Images are laid out with their border, and pixels of the output with zeros between rows, so that both run on from row to row.
Sums are made for fixed parts of the batch and added in order: they have the same bits for any number of threads.
"""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

from ..... import cost
from .. import emit, ir
from ..emit import I64, at
from ..micro_kernel import Blocks, Functions, Lines, Tile, contiguous, lane_sums
from ..vectors import odd_lines
from .correlate import band_of, table_of
from .entry import Entry, clear, clear_vectors, copy_row
from .image import lay_out
from .layout import Layout, heights


class Weighing(NamedTuple):
    """A weight gradient: `source` and `other` are the steps of images, channels, rows and columns of input and output.

    layout    of the forward correlation; its `rows` are output channels of a tile
    columns   columns of a tile
    together  input channels whose columns are dealt to tiles together
    images    bands of images that a tile runs along
    """

    layout: Layout
    source: tuple
    other: tuple
    columns: int
    together: int
    images: int

    @property
    def grid(self):
        """The pixels of the output."""
        return self.layout.correlation.grids[0]

    @property
    def tiles(self):
        """(height, how many) of the tiles over output channels."""
        return heights(self.layout.correlation.outputs, self.layout.rows)

    @property
    def widths(self):
        """(width, how many) of the tiles over the columns of some input channels."""
        return heights(self.together * len(self.grid.taps), self.columns)

    @property
    def group(self):
        """How many sums are gathered in one vector."""
        return 16 // self.layout.item_bytes

    def block(self, height, width):
        """Numbers that the sums of one tile take."""
        return -(-height * width // self.group) * self.group

    def sums(self, height):
        """Numbers that the sums of a row of tiles take for some input channels."""
        return sum([count * self.block(height, width) for width, count in self.widths])

    @property
    def steps(self):
        """How many times some input channels make up all of a group."""
        return self.layout.correlation.inputs // self.together

    @property
    def group_sums(self):
        """Numbers that the sums of one group take."""
        return self.steps * sum([count * self.sums(height) for height, count in self.tiles])

    @property
    def partial(self):
        """Numbers of the sums of one part of the batch."""
        return odd_lines(self.layout.correlation.groups * self.group_sums, self.layout.dtype)

    @property
    def input_room(self):
        """Numbers of one laid out band of an image."""
        return self.layout.correlation.inputs * self.layout.channel

    @property
    def pixels(self):
        """Numbers of one output channel of one band: whole vectors."""
        layout = self.layout
        return -(-(layout.highest * layout.pitch) // layout.lanes) * layout.lanes

    @property
    def line(self):
        """Numbers from one output channel of a tile to the next."""
        return odd_lines(self.images * self.pixels, self.layout.dtype)

    @property
    def room(self):
        """Numbers of scratch memory of one chunk: images, then the outputs of a row of tiles."""
        return odd_lines(self.images * self.input_room + self.layout.rows * self.line, self.layout.dtype)


def write_weighing(module, name, plan):
    """The entry that makes the sums of one part of the batch.

    Its buffers are input, output, the sums and scratch memory; its words the number of tasks, which are bands of images, of
    blocks of these, and of parts.
    """
    entry = Entry(module, name, ("source", "other", "partial", "scratch"), ("tasks", "blocks", "parts"), {None: plan.layout.item})
    b, layout, correlation = entry.builder, plan.layout, plan.layout.correlation
    tiles = Functions(module, name, partial(_write_tile, plan))
    # A column is a channel and a tap, and where it begins is all that tells it from others: one tile serves taps of several
    # channels.
    places = [i * layout.channel + layout.offset(tap) for i in range(plan.together) for tap in plan.grid.taps]
    table = table_of(module, f"{name}_columns", places)
    scratch = at(b, entry.pointers["scratch"], plan.layout.item, (entry.chunk, plan.room))
    own_sums = at(b, entry.pointers["partial"], plan.layout.item, (entry.chunk, plan.partial))
    outputs = at(b, scratch, plan.layout.item, plan.images * plan.input_room)
    clear_vectors(b, layout, scratch, plan.room)
    # Tiles add to what is there, block by block.
    clear_vectors(b, layout, own_sums, plan.partial)
    first, end = entry.share(entry.words["blocks"], entry.words["parts"])
    with emit.loop(b, first, end) as block, emit.loop(b, 0, correlation.groups) as group:
        task = b.mul(block.index, I64(plan.images))
        # The last block may have fewer bands.
        count = emit.minimum(b, plan.images, b.sub(entry.words["tasks"], task))
        sums = at(b, own_sums, plan.layout.item, (group.index, plan.group_sums))
        _lay_out_inputs(entry, plan, scratch, task, count, group.index)
        base, row = 0, 0
        for height, tall in plan.tiles:
            with emit.loop(b, 0, tall) as tile:
                channel = b.add(b.mul(tile.index, I64(height)), I64(row))
                channel = b.add(b.mul(group.index, I64(correlation.outputs)), channel)
                vectors = _lay_out_outputs(entry, plan, outputs, task, count, channel, height)
                to = at(b, sums, plan.layout.item, base, (tile.index, plan.steps * plan.sums(height)))
                _sweep(b, plan, tiles, height, table, scratch, outputs, to, count, vectors)
            base, row = base + tall * plan.steps * plan.sums(height), row + tall * height
    b.ret_void()
    return entry.function


def _lay_out_inputs(entry, plan, scratch, task, count, group):
    b, inputs = entry.builder, plan.layout.correlation.inputs
    with emit.loop(b, 0, count) as number:
        image, first_row, _ = band_of(b, plan.layout, b.add(task, number.index))
        source = at(b, entry.pointers["source"], plan.layout.item, (image, plan.source[0]), (group, inputs * plan.source[1]))
        to = at(b, scratch, plan.layout.item, (number.index, plan.input_room))
        lay_out(b, plan.layout, plan.layout.item, source, plan.source[1:], to, first_row)


def _lay_out_outputs(entry, plan, outputs, task, count, channel, height):
    """Lay out the pixels of a few output channels; the answer is how many vectors each band has."""
    b, layout, item = entry.builder, plan.layout, plan.layout.item
    steps, wide = plan.other, plan.grid.columns[2]
    with emit.loop(b, 0, height) as line, emit.loop(b, 0, count) as number:
        image, first_row, rows = band_of(b, layout, b.add(task, number.index))
        place = (image, steps[0]), (b.add(channel, line.index), steps[1]), (first_row, steps[2])
        there = at(b, entry.pointers["other"], item, *place)
        here = at(b, outputs, item, (line.index, plan.line), (number.index, plan.pixels))
        with emit.loop(b, 0, rows) as row:
            source, target = at(b, there, item, (row.index, steps[2])), at(b, here, item, (row.index, layout.pitch))
            copy_row(b, item, layout.lanes, source, target, wide, (steps[3], 1))
        # Bands are of one height or one less: the row that a higher one has left must be zeros, or its pixels would count
        # again.
        if layout.bands > 1:
            with emit.loop(b, rows, layout.highest) as row:
                clear(b, item, layout.lanes, at(b, here, item, (row.index, layout.pitch)), wide)
    return -(-layout.flat(plan.grid, layout.highest) // layout.lanes)


def _sweep(b, plan, tiles, height, table, scratch, outputs, sums, count, vectors):
    """All columns of a row of tiles."""
    layout = plan.layout
    with emit.loop(b, 0, plan.steps) as step:
        source = at(b, scratch, plan.layout.item, (step.index, plan.together * layout.channel))
        here, base, column = at(b, sums, plan.layout.item, (step.index, plan.sums(height))), 0, 0
        for width, wide in plan.widths:
            with emit.loop(b, 0, wide) as tile:
                first = at(b, table, I64, column, (tile.index, width))
                places = [b.load(at(b, first, I64, j), typ=I64) for j in range(width)]
                pixels = [at(b, source, plan.layout.item, place) for place in places]
                to = at(b, here, plan.layout.item, base, (tile.index, plan.block(height, width)))
                tiles.call(b, (height, width), [outputs, to, count, I64(vectors), *pixels])
            base, column = base + wide * plan.block(height, width), column + wide * width


def _write_tile(plan, b, arguments, height, width):
    """One size of tile: (outputs, sums, bands, vectors of each, the first pixel of each column)."""
    outputs, sums, count, vectors, *columns = arguments
    layout, lines = plan.layout, range(0, height * plan.line, plan.line)
    end, pace = b.mul(vectors, I64(layout.lanes)), cost.PIXEL_STEPS * layout.lanes
    whole = b.mul(b.udiv(vectors, I64(cost.PIXEL_STEPS)), I64(pace))
    ranges = (I64(0), whole, pace, cost.PIXEL_STEPS), (whole, end, layout.lanes, 1)
    # A step holds all vectors of the right in registers: those of which there are fewer.
    is_swapped = height < width
    tile = Tile(layout.vector, *((width, height) if is_swapped else (height, width)), layout.is_fused)
    # Sums stay in registers for all bands of the block, and their lanes are added up once.
    with emit.loop(b, 0, count, 1, tile.zeros()) as band:
        rows = Blocks(at(b, outputs, layout.item, (band.index, plan.pixels)), 1, range(0, pace, layout.lanes), layout, lines,
                      contiguous(layout))
        pixels = Lines([at(b, column, layout.item, (band.index, plan.input_room)) for column in columns], 1, layout.item,
                       contiguous(layout), layout.lanes)
        band.values = tile.over(b, ranges, *((pixels, rows) if is_swapped else (rows, pixels)), band.values)
    totals = tile.grid(band.results)
    _gather(b, plan, [x for column in (totals if is_swapped else zip(*totals, strict=True)) for x in column], sums)


def _gather(b, plan, totals, sums):
    """Add the lanes of all totals to the sums in memory, as many side by side as 16 bytes hold."""
    group = plan.group
    kind = ir.VectorType(plan.layout.item, group)
    totals = totals + [emit.zeros(plan.layout.vector)] * (-len(totals) % group)
    for start in range(0, len(totals), group):
        place = at(b, sums, plan.layout.item, start)
        found = lane_sums(b, totals[start : start + group], group)
        emit.store(b, b.fadd(emit.load(b, place, kind), found), place)


def write_total(module, name, plan):
    """The entry that adds up the sums of all parts, in order, and puts them in the places of the weight.

    Its buffers are the sums and the result; its words the number of parts and of chunks.
    """
    entry = Entry(module, name, ("partial", "result"), ("parts", "chunks"), {None: plan.layout.item})
    b, correlation = entry.builder, plan.layout.correlation
    columns = correlation.inputs * len(plan.grid.taps)
    is_by_group = correlation.groups > 1
    first, end = entry.share(correlation.groups, entry.words["chunks"]) if is_by_group else (0, 1)
    with emit.loop(b, first, end) as group:
        base, row = 0, 0
        for height, tall in plan.tiles:
            since, until = (0, tall) if is_by_group else entry.share(tall, entry.words["chunks"])
            with emit.loop(b, since, until) as tile, emit.loop(b, 0, plan.steps) as step:
                number = b.add(b.mul(tile.index, I64(plan.steps)), step.index)
                place = base, (group.index, plan.group_sums), (number, plan.sums(height))
                sums = at(b, entry.pointers["partial"], plan.layout.item, *place)
                channel = b.add(b.mul(group.index, I64(correlation.outputs)), b.add(b.mul(tile.index, I64(height)), I64(row)))
                to = at(b, entry.pointers["result"], plan.layout.item, (channel, columns),
                        (step.index, plan.together * len(plan.grid.taps)))
                _put_columns(entry, plan, height, sums, to, columns)
            base, row = base + tall * plan.steps * plan.sums(height), row + tall * height
    b.ret_void()
    return entry.function


def _put_columns(entry, plan, height, sums, target, columns):
    b, base, column = entry.builder, 0, 0
    kind = ir.VectorType(plan.layout.item, plan.group)
    for width, wide in plan.widths:
        with emit.loop(b, 0, wide) as tile:
            here = at(b, sums, plan.layout.item, base, (tile.index, plan.block(height, width)))
            there = at(b, target, plan.layout.item, column, (tile.index, width))
            for start in range(0, height * width, plan.group):
                with emit.loop(b, 0, entry.words["parts"], 1, [emit.zeros(kind)]) as part:
                    value = emit.load(b, at(b, here, plan.layout.item, (part.index, plan.partial), start), kind)
                    # In the order of the parts, whoever made them: the same bits for any number of threads.
                    part.values = [b.fadd(part.values[0], value)]
                for lane in range(min(plan.group, height * width - start)):
                    j, i = divmod(start + lane, height)
                    number = b.extract_element(part.results[0], emit.I32(lane))
                    emit.store(b, number, at(b, there, plan.layout.item, i * columns + j))
        base, column = base + wide * plan.block(height, width), column + wide * width


def weighing_of(layout, source, other, target):
    """The plan of a weight gradient with the tiles that spend the fewest cycles."""
    correlation, taps = layout.correlation, len(layout.correlation.grids[0].taps)
    # So many columns, 36, are enough to fill tiles of any width well: more would only make the table and the search longer.
    groups = [q for q in range(1, correlation.inputs + 1) if correlation.inputs % q == 0 and (q == 1 or q * taps <= 36)]
    sizes = [(r, c, q) for q in groups for r in range(1, 13) for c in range(1, 13) if r * c + min(r, c) + 1 <= target.registers]
    rows, columns, together = min(sizes, key=lambda size: _cycles(layout, taps, *size))
    grid = correlation.grids[0]
    pixels = layout.flat(grid, layout.highest)
    images = 1
    if layout.bands == 1:
        room = target.second_cache // 2 // (correlation.inputs * layout.channel * layout.item_bytes)
        # Small images are met several at a time: about a thousand pixels between two sums over lanes, in half of the second
        # cache.
        images = max(1, min(1024 // pixels, room))
    return Weighing(replace(layout, rows=rows), source, other, columns, together, images)


def _cycles(layout, taps, rows, columns, together):
    """Cycles for one vector of pixels and one input channel; vectors of the image lie across cache lines."""
    total = 0.0
    for height, tall in heights(layout.correlation.outputs, rows):
        for width, wide in heights(together * taps, columns):
            loads = height + width * (1 + (layout.lanes - 1) / (2 * layout.lanes))
            total += tall * wide * cost.step_cycles(height, width, loads)
    return total / together

"""Images with channels in lanes: a frame of vectors, one for each pixel, with a channel in each lane.

Rows of an image, which have the pixels of one channel side by side, are turned in squares of as many channels as pixels. A frame
has the border of the image, in zeros, and as many pixels as whole tiles have.
"""

from typing import NamedTuple

from .. import emit
from ..convolution.entry import pieces
from ..emit import I64, at

#: Squares of a small image that are written out one by one.
_SQUARES = 8


class Frame(NamedTuple):
    """How the pixels of a band lie: `rows` of `pitch` pixels, of an image of `image` pixels, whose first one stands at `border`."""

    image: tuple
    border: tuple
    rows: int
    pitch: int

    @property
    def pixels(self):
        """How many pixels there are."""
        return self.rows * self.pitch

    @property
    def columns(self):
        """The first column of the image that has a place in the frame, and the one behind the last."""
        return max(0, -self.border[1]), min(self.image[1], self.pitch - self.border[1])

    def is_whole(self, lanes):
        """Whether rows are so short that squares had better go on from one to the next, and the frame has all of the image."""
        tall, wide = self.image
        is_all = self.columns == (0, wide) and 0 <= self.border[0] <= self.rows - tall
        return is_all and 2 * wide <= lanes and tall * wide <= _SQUARES * lanes


def read_pixels(b, plan, frame, source, steps, some, target, first_row):
    """Write the rows of a band into a frame at `target`, whose columns beside the image are zero already, and so are all of its
    rows where there is one band. It begins at `first_row` of the image with its border; rows above and below the image become
    zeros.

    `steps` lead from one channel, row and column of the source to the next, and it has `some` channels, as many as lanes or fewer.
    """
    channels = lines_of(b, plan.lanes, some, steps[0])
    rows, wide = frame.rows, frame.image[1]
    if plan.bands == 1 and frame.is_whole(plan.lanes) and steps[1:] == (wide, 1):
        place = lambda pixel: ((pixel // wide + frame.border[0]) * frame.pitch + pixel % wide + frame.border[1]) * plan.lanes
        for start in range(0, frame.image[0] * wide, plan.lanes):
            count = min(plan.lanes, frame.image[0] * wide - start)
            for i, vector in enumerate(_turned_in(b, plan, at(b, source, plan.item, start), channels, steps, count)):
                emit.store(b, vector, at(b, target, plan.item, place(start + i)))
        return
    first, end = frame.columns
    with emit.loop(b, 0, rows) as row:
        here = at(b, target, plan.item, (row.index, frame.pitch * plan.lanes))
        number = b.sub(b.add(first_row, row.index), I64(frame.border[0]))
        # As if without a sign, a row above the image is behind its last one.
        with b.if_else(b.icmp_unsigned("<", number, I64(frame.image[0]))) as (within, beyond):
            with within:
                line = at(b, source, plan.item, (number, steps[1]))
                for start in _runs(b, end - first, plan.lanes):
                    column = b.add(I64(first), emit.number(start))
                    vectors = _turned_in(b, plan, at(b, line, plan.item, (column, steps[2])), channels, steps, end - first)
                    there = at(b, here, plan.item, (column, plan.lanes), frame.border[1] * plan.lanes)
                    for i, vector in enumerate(vectors):
                        emit.store(b, vector, at(b, there, plan.item, i * plan.lanes))
            with beyond, emit.loop(b, 0, frame.pitch) as column:
                emit.store(b, emit.zeros(plan.vector), at(b, here, plan.item, (column.index, plan.lanes)))


def _runs(b, count, lanes):
    """Where runs of as many pixels as lanes start that cover so many; fewer are one run."""
    return pieces(b, count, lanes) if count >= lanes else range(min(1, count))


def lines_of(b, lanes, some, step):
    """How far each lane's channel is from the first one, in numbers; the last channel stands in the lanes that have none."""
    if isinstance(some, int):
        return [min(lane, some - 1) * step for lane in range(lanes)]
    return [b.mul(emit.minimum(b, lane, b.sub(emit.number(some), I64(1))), emit.number(step)) for lane in range(lanes)]


def _turned_in(b, plan, source, channels, steps, count):
    """Vectors of channels of so many pixels of a row, at most as many as there are lanes."""
    count = min(count, plan.lanes)
    if steps[2] != 1:
        return [gathered(b, plan, source, channels, i * steps[2]) for i in range(count)]
    mask = None if count == plan.lanes else emit.lane_mask(b, I64(count), plan.lanes)
    lines = [emit.load(b, at(b, source, plan.item, channel), plan.vector, mask) for channel in channels]
    return emit.transpose(b, lines, emit.item_bytes(plan.item))[:count]


def gathered(b, plan, source, channels, offset=0):
    """A vector of the numbers of channels, each as far behind `source` as `channels` say and the offset."""
    return emit.gathered(b, (at(b, source, plan.item, channel, offset) for channel in channels), plan.vector)


def write_pixels(b, plan, frame, source, target, plane, some, first_row, rows):
    """Write `rows` rows of pixels of a frame without a border, which are those from `first_row` of an image on, to the planes of
    `some` channels, a Python number, each `plane` numbers behind the one before.
    """
    tall, wide = frame.image
    if plan.bands == 1 and frame.is_whole(plan.lanes) and frame.pitch == wide:
        for start in range(0, tall * wide, plan.lanes):
            count = min(plan.lanes, tall * wide - start)
            _turned_out(b, plan, at(b, source, plan.item, start * plan.lanes), at(b, target, plan.item, start), plane, some, count)
        return
    with emit.loop(b, 0, emit.minimum(b, rows, b.sub(I64(tall), first_row))) as row:
        here = at(b, source, plan.item, (row.index, frame.pitch * plan.lanes))
        line = at(b, target, plan.item, (b.add(first_row, row.index), wide))
        for start in _runs(b, wide, plan.lanes):
            _turned_out(b, plan, at(b, here, plan.item, (start, plan.lanes)), at(b, line, plan.item, start), plane, some, wide)


def _turned_out(b, plan, source, target, plane, some, count):
    """Write so many pixels, at most as many as there are lanes, to the planes of their channels."""
    pixels = range(min(count, plan.lanes))
    mask = None if count >= plan.lanes else emit.lane_mask(b, I64(count), plan.lanes)
    vectors = [emit.load(b, at(b, source, plan.item, i * plan.lanes), plan.vector) for i in pixels]
    vectors += vectors[-1:] * (plan.lanes - len(vectors))
    for channel, line in enumerate(emit.transpose(b, vectors, emit.item_bytes(plan.item))[:some]):
        emit.store(b, line, at(b, target, plan.item, channel * plane), mask)

"""Laying out images in scratch memory: each channel as its planes, with a border of zeros."""

from .. import emit
from ..emit import I64, at
from .entry import clear, copy_row
from .layout import inside


def lay_out(builder, layout, item, source, steps, scratch, first_row):
    """Write the planes of the channels of one group, for the band of the result that starts at `first_row`.

    source    the first number of the group's first channel; `steps` are those of channels, rows and columns
    scratch   memory that was cleared before the first band of all
    """
    correlation = layout.correlation
    with emit.loop(builder, 0, correlation.inputs) as channel:
        for number, plane in enumerate(correlation.planes):
            to = at(builder, scratch, item, (channel.index, layout.channel), number * layout.plane)
            _lay_out_plane(builder, layout, item, at(builder, source, item, (channel.index, steps[0])), steps, plane, to, first_row)


def _lay_out_plane(builder, layout, item, source, steps, plane, target, first_row):
    correlation = layout.correlation
    width = correlation.count[1] + correlation.reach[1]
    start, end = inside(plane.columns, correlation.image[1], width)
    # Nothing of the image is in this plane, which stays the zeros that it was cleared with.
    if start == end:
        return
    rows = layout.highest + correlation.reach[0]
    first, last = _valid_rows(builder, layout, plane, rows, first_row)
    column = plane.columns[0] + plane.columns[1] * start
    # The band before has left its rows where this one has its border. To the left and to the right nothing was ever written.
    if layout.bands > 1:
        for since, until in ((I64(0), first), (last, I64(rows))):
            with emit.loop(builder, since, until) as row:
                clear(builder, item, layout.lanes, at(builder, target, item, (row.index, layout.pitch), start), end - start)
    with emit.loop(builder, first, last) as row:
        line = builder.add(builder.mul(builder.add(row.index, first_row), I64(plane.rows[1])), I64(plane.rows[0]))
        there = at(builder, source, item, (line, steps[1]), column * steps[2])
        here = at(builder, target, item, (row.index, layout.pitch), start)
        copy_row(builder, item, layout.lanes, there, here, end - start, (plane.columns[1] * steps[2], 1))


def _valid_rows(builder, layout, plane, rows, first_row):
    """First and end of the rows of a plane that show rows of the source."""
    # Of the whole plane, without an end: the band is cut from it.
    start, end = inside(plane.rows, layout.correlation.image[0], 1 << 30)
    if layout.bands == 1:
        return I64(min(start, rows)), I64(min(end, rows))
    first, last = [_clamped(builder, builder.sub(I64(place), first_row), rows) for place in (start, end)]
    return first, last


def _clamped(builder, value, most):
    value = emit.minimum(builder, value, most)
    return builder.select(builder.icmp_signed("<", value, I64(0)), I64(0), value)

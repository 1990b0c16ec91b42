"""Blocks of matrices on their way into the memory of a kernel and out of it, in vectors or in squares of vectors where that can be.

Sizes and steps are values, the latter in numbers; the memory of the kernel has a column step of 1 and rows of whole strips.
"""

from typing import NamedTuple

from .. import emit, ir
from ..emit import I64, address
from .spec import VECTORS


class Place(NamedTuple):
    """Where a matrix begins, and its steps along a column (from row to row) and along a row."""

    base: ir.Value
    row: ir.Value
    column: ir.Value

    def at(self, b, item, row, column):
        """The address of a number."""
        return address(b, self.base, b.add(b.mul(row, self.row), b.mul(column, self.column)), item)


def take_in(b, spec, source, target, rows, columns):
    """Copy `rows` by `columns` numbers into a strip; the columns that it has more are zeros."""
    is_whole = b.icmp_signed("==", columns, I64(spec.width))
    in_rows = b.and_(is_whole, b.icmp_signed("==", source.column, I64(1)))
    # A transposed matrix has its columns in memory as rows: squares of vectors are transposed in registers.
    in_columns = b.and_(is_whole, b.icmp_signed("==", source.row, I64(1)))
    with b.if_else(in_rows) as (plain, other):
        with plain:
            _copy_rows(b, spec, source, target, rows)
        with other:
            # As many rows as squares of vectors have, the others number by number.
            squares = b.select(in_columns, b.sub(rows, b.srem(rows, I64(spec.lanes))), I64(0))
            _copy_squares(b, spec, source, target, squares)
            # Zeros first: a strip has whole vectors, of which fewer columns may be there.
            with emit.loop(b, squares, rows) as row:
                for j in range(VECTORS):
                    emit.store(b, emit.zeros(spec.vector), target.at(b, spec.item, row.index, I64(j * spec.lanes)))
                _copy_numbers(b, spec, source, target, row.index, columns)


def give_out(b, spec, source, target, rows, columns):
    """Copy `rows` by `columns` numbers out of a strip, to memory with a column step of 1."""
    with b.if_else(b.icmp_signed("==", columns, I64(spec.width))) as (plain, other):
        with plain:
            _copy_rows(b, spec, source, target, rows)
        with other, emit.loop(b, 0, rows) as row:
            _copy_numbers(b, spec, source, target, row.index, columns)


def square_at(b, spec, place, row, column):
    """The vectors of a square whose rows follow each other in memory."""
    return [emit.load(b, place.at(b, spec.item, b.add(row, I64(k)), column), spec.vector) for k in range(spec.lanes)]


def _copy_rows(b, spec, source, target, rows):
    with emit.loop(b, 0, rows) as row:
        for j in range(VECTORS):
            found = emit.load(b, source.at(b, spec.item, row.index, I64(j * spec.lanes)), spec.vector)
            emit.store(b, found, target.at(b, spec.item, row.index, I64(j * spec.lanes)))


def _copy_squares(b, spec, source, target, rows):
    """Rows whose columns follow each other in memory."""
    across = Place(source.base, source.column, source.row)
    with emit.loop(b, 0, rows, spec.lanes) as row, emit.loop(b, 0, spec.width, spec.lanes) as column:
        transposed = emit.transpose(b, square_at(b, spec, across, column.index, row.index), spec.item_bytes)
        for k, vector in enumerate(transposed):
            emit.store(b, vector, target.at(b, spec.item, b.add(row.index, I64(k)), column.index))


def _copy_numbers(b, spec, source, target, row, columns):
    with emit.loop(b, 0, columns) as column:
        number = emit.load(b, source.at(b, spec.item, row, column.index), spec.item)
        emit.store(b, number, target.at(b, spec.item, row, column.index))


def copy_lines(b, spec, source, target, rows, order, *, is_scattered):
    """Copy the rows of a strip: row `order[i]` to row i, or row i to row `order[i]` where they are scattered."""
    with emit.loop(b, 0, rows) as row:
        number = emit.load(b, order.at(b, spec.item, row.index, I64(0)), spec.item)
        other = b.fptosi(number, I64)
        # Whatever is there, no other memory is touched.
        other = b.select(b.icmp_unsigned("<", other, rows), other, I64(0))
        at, to = (row.index, other) if is_scattered else (other, row.index)
        for j in range(VECTORS):
            found = emit.load(b, source.at(b, spec.item, at, I64(j * spec.lanes)), spec.vector)
            emit.store(b, found, target.at(b, spec.item, to, I64(j * spec.lanes)))

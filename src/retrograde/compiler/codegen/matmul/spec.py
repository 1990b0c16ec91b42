"""What a kernel is generated from: shapes of tiles, layouts, hooks, and the numbers handed in at run time."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import NamedTuple

from .. import ir
from ..target import InVectors
from . import emit

FIELDS = (
    "m", "n", "k",
    "a_row", "a_column", "b_row", "b_column", "c_row", "c_column",
    "row_tiles", "short_height", "tall_tiles", "column_tiles", "short_width", "wide_tiles",
    "k_block", "row_tiles_block", "column_tiles_block",
    "grid_batch", "grid_rows", "grid_columns", "batch",
)  # fmt: skip
BATCH_FIELDS = ("size", "a", "b", "c")


class Hooks(NamedTuple):
    """What is fused into a product: functions of (builder, value, site) that give the value back, changed.

    `left` and `right` see elements of A and B as they are read, `epilogue` elements of C before they are stored.
    `value` is a number or a vector; `site` says where it stands (see `Site`).
    `accumulate` adds to what C holds. `column_sums` is the slot of the argument that receives, for each row tile, the
    sums of its columns: an array (batch, row tiles, n), to be summed over its middle axis.
    """

    left: Callable | None = None
    right: Callable | None = None
    epilogue: Callable | None = None
    accumulate: bool = False
    column_sums: int | None = None


NO_HOOKS = Hooks()


@dataclass(frozen=True)
class Spec(InVectors):
    """All that generated code depends on. Everything else is a number in the descriptor."""

    kind: str  # "tiles", "dots" or "stream", or "panels", which packs B and no more
    dtype: str
    rows: int
    vectors: int
    lanes: int
    heights: tuple
    widths: tuple  # columns of the tiles of a "dots" kernel
    tail: int  # vectors of the narrower last column tile, 0 for none
    is_tail_masked: bool
    has_full: bool
    a_layout: str  # "direct", or how packing reads it: "rows", "columns", "gather"
    b_layout: str  # "direct", "copy", "transpose", "gather", or "panels" that are there before
    a_unit: str | None  # which stride of A is one: "row", "column"
    is_c_contiguous: bool
    is_single_block: bool  # one block of k: partial sums never go through C
    is_swapped: bool  # computes the transposed product, so hooks see rows and columns exchanged
    is_fused: bool
    batch_rank: int
    hooks: Hooks = NO_HOOKS
    constants: tuple = ()

    @property
    def width(self):
        """Columns of a full tile."""
        return self.vectors * self.lanes

    @property
    def left(self):
        """The hook of the operand whose rows are the rows computed here."""
        return self.hooks.right if self.is_swapped else self.hooks.left

    @property
    def right(self):
        """The hook of the operand whose columns are the columns computed here."""
        return self.hooks.left if self.is_swapped else self.hooks.right


class Descriptor:
    """Reads the run-time numbers of a product from memory, or from the constants of the spec."""

    def __init__(self, builder, pointer, spec):
        self._builder, self._pointer = builder, pointer
        self._constants = dict(spec.constants)
        self._values = {name: self._read(name, place) for place, name in enumerate(FIELDS)}

    def _read(self, name, place):
        if name in self._constants:
            return emit.I64(self._constants[name])
        return self.word(place)

    def word(self, place):
        """The number at `place`."""
        where = emit.address(self._builder, self._pointer, place, emit.I64)
        return self._builder.load(where, typ=emit.I64)

    def __getattr__(self, name):
        try:
            return self._values[name]
        except KeyError:
            raise AttributeError(name) from None

    def batch_dimension(self, dimension):
        """Size and strides of one batch dimension, the first being the outermost."""
        start = len(FIELDS) + dimension * len(BATCH_FIELDS)
        return [self.word(start + i) for i in range(len(BATCH_FIELDS))]


class Site(NamedTuple):
    """Where a hook's value stands: `row` and `column` of its first lane, and the `axis` its lanes run along.

    `axis` is 0 where lanes are consecutive rows, 1 where they are consecutive columns, None for a single number.
    A hook that only goes through `pointer`, `load` and `store` is right for every kernel.
    """

    builder: ir.IRBuilder
    row: ir.Value
    column: ir.Value
    batch: ir.Value
    axis: int | None
    lanes: int
    mask: ir.Value | None
    extra: ir.Value

    def swapped(self):
        """The same place of the transposed matrix."""
        axis = None if self.axis is None else 1 - self.axis
        return self._replace(row=self.column, column=self.row, axis=axis)

    def pointer(self, slot):
        """Argument `slot` of the extra pointers."""
        where = emit.address(self.builder, self.extra, slot, emit.POINTER)
        return self.builder.load(where, typ=emit.POINTER)

    def load(self, pointer, row_stride, column_stride, item):
        """The numbers of another matrix at this place; a stride of 0 broadcasts. Strides count elements."""
        where = self._address(pointer, row_stride, column_stride, item)
        stride = self._stride(row_stride, column_stride)
        if self.axis is None:
            return emit.load(self.builder, where, item)
        if isinstance(stride, int) and stride == 0:
            return emit.splat(self.builder, emit.load(self.builder, where, item), self.lanes)
        if isinstance(stride, int) and stride == 1:
            return emit.load(self.builder, where, ir.VectorType(item, self.lanes), self.mask)
        return self._gather(where, stride, item)

    def store(self, value, pointer, row_stride, column_stride):
        """Store `value` in another matrix at this place."""
        item = value.type.element if self.axis is not None else value.type
        where = self._address(pointer, row_stride, column_stride, item)
        stride = self._stride(row_stride, column_stride)
        if self.axis is None or (isinstance(stride, int) and stride == 1):
            emit.store(self.builder, value, where, self.mask)
            return
        for lane in range(self.lanes):
            with self._when(lane):
                spot = emit.address(self.builder, where, self.builder.mul(emit.I64(lane), emit.number(stride)), item)
                emit.store(self.builder, self.builder.extract_element(value, emit.I32(lane)), spot)

    def _address(self, pointer, row_stride, column_stride, item):
        place = emit.offset(self.builder, self.row, row_stride, self.column, column_stride)
        return emit.address(self.builder, pointer, place, item)

    def _stride(self, row_stride, column_stride):
        return row_stride if self.axis == 0 else column_stride

    def _gather(self, where, stride, item):
        kind = ir.VectorType(item, self.lanes)
        slot = emit.scratch(self.builder, kind)
        self.builder.store(ir.Constant(kind, [0] * self.lanes), slot)
        for lane in range(self.lanes):
            with self._when(lane):
                spot = emit.address(self.builder, where, self.builder.mul(emit.I64(lane), emit.number(stride)), item)
                value = emit.load(self.builder, spot, item)
                emit.store(self.builder, value, emit.address(self.builder, slot, lane, item))
        return emit.load(self.builder, slot, ir.VectorType(item, self.lanes))

    def _when(self, lane):
        if self.mask is None:
            return nullcontext()
        return self.builder.if_then(
            self.builder.icmp_signed("<", self.builder.extract_element(self.mask, emit.I32(lane)), emit.I32(0))
        )

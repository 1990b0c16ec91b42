"""Small words for writing LLVM IR: loops, branches, vectors, masks."""

from contextlib import contextmanager

from . import ir
from .counting import following
from .vecmath.elements import picked, suffix_of, undefined, vector_type, zeros

I1, BYTE, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER = ir.PointerType()


def number(value):
    """A 64-bit index: Python integers become constants, IR values stay as they are."""
    return I64(value) if isinstance(value, int) else value


class Loop:
    """The state of a loop under construction: `index`, `values` carried round, `results` after it."""

    def __init__(self, index, values):
        self.index, self.values, self.results = index, list(values), []


@contextmanager
def loop(builder, start, stop, step: int | ir.Value = 1, carry=()):
    """Emit `for index in range(start, stop, step)`; assign `state.values` to carry values to the next iteration."""
    start, stop, step = number(start), number(stop), number(step)
    before = builder.block
    body, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
    # Asked before the first iteration and after each one: one jump an iteration, where a test at the top takes two.
    builder.cbranch(builder.icmp_signed("<", start, stop), body, after)
    builder.position_at_end(body)
    index = builder.phi(I64)
    phis = [builder.phi(value.type) for value in carry]
    state = Loop(index, phis)
    yield state
    reached, last = following(builder, index, step), builder.block
    index.add_incoming(start, before)
    index.add_incoming(reached, last)
    builder.cbranch(builder.icmp_signed("<", reached, stop), body, after)
    builder.position_at_end(after)
    for phi, first, value in zip(phis, carry, state.values, strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(value, last)
        # What is carried may come from no iteration at all.
        result = builder.phi(value.type)
        result.add_incoming(first, before)
        result.add_incoming(value, last)
        state.results.append(result)


def minimum(builder, x, y):
    """The smaller of two indices."""
    x, y = number(x), number(y)
    return builder.select(builder.icmp_signed("<", x, y), x, y)


def maximum(builder, x, y):
    """The larger of two indices."""
    x, y = number(x), number(y)
    return builder.select(builder.icmp_signed(">", x, y), x, y)


def prefetch(builder, pointer, *, is_written=False, level=1):
    """Ask for the cache line of an address, which need not be one that may be read, to be in a cache, of the first `level` or the
    second.
    """
    # 3: to be kept in all caches, 2: in all but the first; 1: data, not instructions.
    builder.call_external("llvm.prefetch.p0", ir.VoidType(), [pointer, I32(int(is_written)), I32(4 - level), I32(1)])


def address(builder, pointer, offset, item):
    """The address of element `offset` of an array of `item`."""
    return builder.gep(pointer, [number(offset)], source_etype=item) if offset.__class__ is not int or offset else pointer


def at(builder, pointer, item, *terms):
    """The address of the element whose number is the sum of `terms`: numbers, or pairs of an index and a step."""
    total, known = None, 0
    for term in terms:
        index, step = term if isinstance(term, tuple) else (term, 1)
        if isinstance(index, int) and isinstance(step, int):
            known += index * step
            continue
        part = index if step == 1 else builder.mul(number(index), number(step))
        total = part if total is None else builder.add(total, part)
    if total is not None:
        pointer = address(builder, pointer, total, item)
    return address(builder, pointer, known, item) if known else pointer


def offset(builder, row, row_stride, column, column_stride):
    """`row * row_stride + column * column_stride`; strides 0 and 1 cost nothing."""
    row, column = scaled(builder, row, row_stride), scaled(builder, column, column_stride)
    if isinstance(row, int) or isinstance(column, int):
        return I64(row + column) if isinstance(row, int) and isinstance(column, int) else _plus(builder, row, column)
    return builder.add(row, column)


def _plus(builder, x, y):
    """The sum of a value and a number, in either order."""
    known, value = (x, y) if isinstance(x, int) else (y, x)
    return builder.add(value, I64(known)) if known else value


def scaled(builder, index, stride):
    """`index * stride`, a Python number where both are; strides 0 and 1 cost nothing."""
    for known, other in ((index, stride), (stride, index)):
        if isinstance(known, int):
            if isinstance(other, int):
                return known * other
            if known in (0, 1):
                return other if known else 0
    return builder.mul(number(index), number(stride))


def splat(builder, scalar, lanes):
    """A vector with `scalar` in each lane."""
    empty = undefined(vector_type(scalar.type, lanes))
    single = builder.insert_element(empty, scalar, I32(0))
    return builder.shuffle_vector(single, empty, picked(*[0] * lanes))


def shuffle(builder, x, y, picks):
    """The lanes of `x` followed by `y` that `picks` numbers."""
    return builder.shuffle_vector(x, y, picked(*picks))


def scratch(builder, kind, align=None):
    """Memory on the stack, made in the entry block so that a loop does not grow the stack."""
    with builder.goto_entry_block():
        slot = builder.alloca(kind)
    slot.align = align
    return slot


def vectors(builder, count, kind):
    """Memory on the stack for `count` vectors, each of which begins at a multiple of its size."""
    # By hand: a stack that LLVM aligns takes a register for where it was before, of which tiles have none to spare.
    nbytes = kind.count * item_bytes(kind.element)
    memory = builder.ptrtoint(scratch(builder, ir.ArrayType(BYTE, (count + 1) * nbytes), 16), I64)
    return builder.inttoptr(builder.and_(builder.add(memory, I64(nbytes - 1)), I64(-nbytes)), POINTER)


def like(kind, item):
    """`item`, or a vector of it with as many lanes as `kind`."""
    return ir.VectorType(item, kind.count) if isinstance(kind, ir.VectorType) else item


def multiply_add(builder, x, y, z, is_fused):
    """x·y + z, in one rounding where the machine can."""
    if is_fused:
        return builder.call_external(f"llvm.fma.{suffix_of(x.type)}", x.type, [x, y, z])
    return builder.fadd(builder.fmul(x, y), z)


def gathered(builder, places, kind):
    """A vector of the numbers at so many places as it has lanes."""
    vector = undefined(kind)
    for lane, place in enumerate(places):
        vector = builder.insert_element(vector, load(builder, place, kind.element), I32(lane))
    return vector


def lane_mask(builder, remaining, lanes):
    """A mask of the first `remaining` lanes, kept as integers of 32 bits: see `test`."""
    count = builder.trunc(minimum(builder, remaining, lanes), I32)
    steps = ir.Constant(ir.VectorType(I32, lanes), list(range(lanes)))
    # The difference is negative just where the lane is wanted, and a sign is what a masked load tests.
    return builder.sub(steps, splat(builder, count, lanes))


def test(builder, mask):
    """The lanes of an integer mask as bits."""
    return builder.icmp_signed("<", mask, zeros(mask.type))


def load(builder, pointer, kind, mask=None):
    """Load a number or a vector; lanes outside `mask` are zero and are not read."""
    align = item_bytes(kind)
    if mask is None:
        return builder.load(pointer, typ=kind, align=align)
    arguments = [pointer, I32(align), test(builder, mask), zeros(kind)]
    return builder.call_external(f"llvm.masked.load.{suffix_of(kind)}.p0", kind, arguments)


def store(builder, value, pointer, mask=None):
    """Store a number or a vector; lanes outside `mask` are not written."""
    align = item_bytes(value.type)
    if mask is None:
        return builder.store(value, pointer, align=align)
    arguments = [value, pointer, I32(align), test(builder, mask)]
    return builder.call_external(f"llvm.masked.store.{suffix_of(value.type)}.p0", ir.VoidType(), arguments)


def item_bytes(kind):
    """Bytes of one number of this type."""
    if isinstance(kind, ir.VectorType):
        return item_bytes(kind.element)
    return {ir.FloatType: 4, ir.DoubleType: 8, ir.HalfType: 2}.get(type(kind)) or max(kind.width // 8, 1)


def transpose(builder, rows, item_size):
    """Transpose a square of vectors, first inside 128-bit lanes, then lanes as blocks (AVX crosses them slowly)."""
    lanes = rows[0].type.count
    group = max(16 // item_size, 1)
    if group >= lanes:
        return _interleave(builder, rows, lanes, lanes)
    blocks = [rows[i : i + group] for i in range(0, lanes, group)]
    inside = [_interleave(builder, block, lanes, group) for block in blocks]
    flat = [vector for block in inside for vector in block]
    width = group
    while width < lanes:
        flat = _exchange(builder, flat, lanes, width)
        width *= 2
    return flat


def _interleave(builder, rows, lanes, group):
    """Transpose `group` rows within every run of `group` lanes, by doubling unpacks."""
    width = 1
    while width < group:
        half, following = len(rows) // 2, []
        for i in range(half):
            following += [_unpack(builder, rows[i], rows[i + half], lanes, group, part) for part in (0, 1)]
        rows, width = following, width * 2
    return rows


def _unpack(builder, x, y, lanes, group, part):
    picks = []
    for start in range(0, lanes, group):
        for i in range(group // 2):
            lane = start + part * (group // 2) + i
            picks += [lane, lanes + lane]
    return shuffle(builder, x, y, picks)


def _exchange(builder, rows, lanes, width):
    """Swap off-diagonal blocks of `width` lanes between rows `width` apart."""
    rows = list(rows)
    for i in range(lanes):
        if i & width:
            continue
        x, y = rows[i], rows[i + width]
        low = [lane if not lane & width else lanes + lane - width for lane in range(lanes)]
        high = [lane + width if not lane & width else lanes + lane for lane in range(lanes)]
        rows[i], rows[i + width] = shuffle(builder, x, y, low), shuffle(builder, x, y, high)
    return rows

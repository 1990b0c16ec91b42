"""Small kernels, `i64(pointers, sizes)`: what moves numbers, or goes through them one after the other, in eager arrays of any size.

NumPy takes such work apart into many calls, each of which costs more than what it does to a thousand numbers. One kernel serves all
sizes. It returns 0 where it finds a position that is out of range, and 1 otherwise.
"""

from .. import emit, ir
from ..builder import Builder
from ..emit import I64, POINTER
from ..vecmath.elements import ELEMENTS


class Kernel:
    """A kernel under construction: its pointers and its sizes by name, and words for memory."""

    def __init__(self, module, name, dtype, pointers, sizes):
        function = ir.Function(module, ir.FunctionType(I64, [POINTER, POINTER]), name)
        self.ir = ir.IRBuilder(function.append_basic_block("entry"))
        self.dtype, self.item, self.k = dtype, ELEMENTS[dtype], Builder(self.ir, dtype)
        table, numbers = function.args
        for i, pointer in enumerate(pointers):
            setattr(self, pointer, self.ir.load(emit.address(self.ir, table, i, POINTER), typ=POINTER))
        for i, size in enumerate(sizes):
            setattr(self, size, self.ir.load(emit.address(self.ir, numbers, i, I64), typ=I64))

    def __getattr__(self, name):
        raise AttributeError(name)

    def at(self, *terms):
        """The sum of products of indices: each term an index or a tuple of factors."""
        total = None
        for term in terms:
            factors = term if isinstance(term, tuple) else (term,)
            product = None
            for factor in factors:
                product = emit.number(factor) if product is None else self.ir.mul(product, emit.number(factor))
            total = product if total is None else self.ir.add(total, product)
        return total

    def read(self, pointer, place, dtype=None):
        """The number at a place."""
        return self.k.load(self.k.offset(pointer, place, dtype or self.dtype), dtype or self.dtype, 1)

    def write(self, value, pointer, place, dtype=None):
        """Put a number at a place."""
        self.k.store(value, self.k.offset(pointer, place, dtype or self.dtype))

    def done(self):
        """End the kernel: it could do what it is for."""
        self.ir.ret(I64(1))


_WINDOW_SIZES = ("planes", "height", "width", "rows", "columns", "tall", "wide", "down", "right", "above", "left", "lines", "steps")


class _Windows(Kernel):
    """A kernel that goes through all windows of all planes."""

    def __init__(self, module, name, dtype, pointers):
        super().__init__(module, name, dtype, pointers, _WINDOW_SIZES)

    def each(self, body, before=None, after=None):
        """Call `before(place)`, then `body(inside place, tap, carried...)` for each tap inside the image, then `after(place)`."""
        b = self.ir
        with emit.loop(b, 0, self.planes) as plane, emit.loop(b, 0, self.rows) as row, emit.loop(b, 0, self.columns) as column:
            place = self.at((self.at((plane.index, self.rows), row.index), self.columns), column.index)
            if before:
                before(place)
            top = b.sub(b.mul(row.index, self.down), self.above)
            left = b.sub(b.mul(column.index, self.right), self.left)
            with emit.loop(b, 0, self.tall) as y:
                line = self.at(top, (y.index, self.lines))
                with b.if_then(b.icmp_unsigned("<", line, self.height)), emit.loop(b, 0, self.wide) as x:
                    spot = self.at(left, (x.index, self.steps))
                    with b.if_then(b.icmp_unsigned("<", spot, self.width)):
                        inside = self.at((self.at((plane.index, self.height), line), self.width), spot)
                        body(place, inside, self.at((y.index, self.wide), x.index))
            if after:
                after(place)


def max_windows(module, name, dtype):
    """The greatest element of each window, and its place in it, in one byte: the first of equal ones, the last of NaNs."""
    s = _Windows(module, name, dtype, ("x", "best", "taps"))
    b, k = s.ir, s.k
    with b.goto_entry_block():
        found, where, is_any = b.alloca(s.item), b.alloca(I64), b.alloca(I64)

    def before(_):
        b.store(k.constant(-float("inf"), dtype, 1), found)
        b.store(I64(0), where)
        b.store(I64(0), is_any)

    def body(_, inside, tap):
        seen, so_far = s.read(s.x, inside), b.load(found, typ=s.item)
        is_first = b.icmp_signed("==", b.load(is_any, typ=I64), I64(0))
        wins = b.or_(b.or_(b.fcmp_ordered(">", seen, so_far), b.fcmp_unordered("uno", seen, seen)), is_first)
        b.store(I64(1), is_any)
        b.store(b.select(wins, seen, so_far), found)
        b.store(b.select(wins, tap, b.load(where, typ=I64)), where)

    def after(place):
        s.write(b.load(found, typ=s.item), s.best, place)
        byte = b.trunc(b.load(where, typ=I64), emit.BYTE)
        b.store(byte, emit.address(b, s.taps, place, emit.BYTE), align=1)

    s.each(body, before, after)
    s.done()


def placed_windows(module, name, dtype):
    """Each number added to one place of its window in an image."""
    s = _Windows(module, name, dtype, ("x", "taps", "image"))
    b = s.ir
    with emit.loop(b, 0, s.planes) as plane, emit.loop(b, 0, s.rows) as row, emit.loop(b, 0, s.columns) as column:
        place = s.at((s.at((plane.index, s.rows), row.index), s.columns), column.index)
        tap = b.zext(b.load(emit.address(b, s.taps, place, emit.BYTE), typ=emit.BYTE, align=1), I64)
        y, x = b.sdiv(tap, s.wide), b.srem(tap, s.wide)
        line = b.add(b.sub(b.mul(row.index, s.down), s.above), b.mul(y, s.lines))
        spot = b.add(b.sub(b.mul(column.index, s.right), s.left), b.mul(x, s.steps))
        with b.if_then(b.icmp_unsigned("<", line, s.height)), b.if_then(b.icmp_unsigned("<", spot, s.width)):
            inside = s.at((s.at((plane.index, s.height), line), s.width), spot)
            s.write(b.fadd(s.read(s.image, inside), s.read(s.x, place)), s.image, inside)
    s.done()


def sum_windows(module, name, dtype):
    """The sum of each window."""
    s = _Windows(module, name, dtype, ("x", "total"))
    b, k = s.ir, s.k
    with b.goto_entry_block():
        found = b.alloca(s.item)
    s.each(lambda _, inside, tap: b.store(b.fadd(b.load(found, typ=s.item), s.read(s.x, inside)), found),
           lambda _: b.store(k.constant(0.0, dtype, 1), found), lambda place: s.write(b.load(found, typ=s.item), s.total, place))
    s.done()


def spread_windows(module, name, dtype):
    """An image to which each window adds its number everywhere."""
    s = _Windows(module, name, dtype, ("x", "image"))
    s.each(lambda place, inside, _: s.write(s.ir.fadd(s.read(s.image, inside), s.read(s.x, place)), s.image, inside))
    s.done()


def along(module, name, dtype):
    """Each result along an axis as a sum of `taps` elements, whose `places` and `weights` depend on the place alone; a weight of 0
    reads nothing.
    """
    s = Kernel(module, name, dtype, ("x", "places", "weights", "out"), ("outer", "size", "inner", "count", "taps"))
    b, k = s.ir, s.k
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i, emit.loop(b, 0, s.inner) as n:
        zero = k.constant(0.0, dtype, 1)
        with b.goto_entry_block():
            total = b.alloca(s.item)
        b.store(zero, total)
        with emit.loop(b, 0, s.taps) as t:
            at = s.at((t.index, s.count), i.index)
            weight = s.read(s.weights, at)
            with b.if_then(b.fcmp_unordered("!=", weight, zero)):
                place = s.read(s.places, at, "int64")
                x = s.read(s.x, s.at((s.at((o.index, s.size), place), s.inner), n.index))
                b.store(b.fadd(b.load(total, typ=s.item), b.fmul(x, weight)), total)
        s.write(b.load(total, typ=s.item), s.out, s.at((s.at((o.index, s.count), i.index), s.inner), n.index))
    s.done()


def _sort_row(s, row, kept, is_descending):
    """Put into a row of `order` the first `kept` of the positions that sort a row of `x`: by insertion, equal elements in their
    order, a NaN as the greatest.
    """
    b = s.ir
    base, out = b.mul(row, s.length), b.mul(row, kept)
    last = b.sub(kept, I64(1))
    with b.goto_entry_block():
        place = b.alloca(I64)

    def is_before(value, at):
        """Whether a value comes before that at the position in place `at` of the order."""
        other = s.read(s.x, b.add(base, s.read(s.order, b.add(out, at), "int64")))
        great, little = (value, other) if is_descending else (other, value)
        is_number, is_nan = b.fcmp_ordered("==", little, little), b.fcmp_unordered("uno", great, great)
        return b.or_(b.fcmp_ordered(">", great, little), b.and_(is_nan, is_number))

    with emit.loop(b, 0, s.length) as i:
        value = s.read(s.x, b.add(base, i.index))
        full, head, look, move, found, end = (
            b.append_basic_block(label) for label in ("full", "head", "look", "move", "found", "end"))
        is_full = b.icmp_signed(">", i.index, last)
        b.store(b.select(is_full, last, i.index), place)
        b.cbranch(is_full, full, head)
        b.position_at_end(full)
        b.cbranch(is_before(value, last), head, end)
        b.position_at_end(head)
        at = b.load(place, typ=I64)
        b.cbranch(b.icmp_signed(">", at, I64(0)), look, found)
        b.position_at_end(look)
        before = b.sub(at, I64(1))
        b.cbranch(is_before(value, before), move, found)
        b.position_at_end(move)
        s.write(s.read(s.order, b.add(out, before), "int64"), s.order, b.add(out, at), "int64")
        b.store(before, place)
        b.branch(head)
        b.position_at_end(found)
        s.write(i.index, s.order, b.add(out, b.load(place, typ=I64)), "int64")
        b.branch(end)
        b.position_at_end(end)


def _order(is_descending):
    def write(module, name, dtype):
        """The first `kept` of the positions that put each row in order."""
        s = Kernel(module, name, dtype, ("x", "order"), ("rows", "length", "kept"))
        with emit.loop(s.ir, 0, s.rows) as row:
            _sort_row(s, row.index, s.kept, is_descending)
        s.done()

    return write


def _middles(s):
    """Where the two middle positions of a row of `order` are from its start, which are one if there is an odd number."""
    b = s.ir
    return b.sdiv(b.sub(s.length, I64(1)), I64(2)), b.sdiv(s.length, I64(2))


def middle(module, name, dtype):
    """The middle element of each row, or the mean of the middle two; NaN if one is NaN. `order` gets positions."""
    s = Kernel(module, name, dtype, ("x", "order", "out"), ("rows", "length"))
    b, k = s.ir, s.k
    infinity, half = k.constant(float("inf"), dtype, 1), k.constant(0.5, dtype, 1)
    with emit.loop(b, 0, s.rows) as row:
        base = b.mul(row.index, s.length)
        _sort_row(s, row.index, s.length, False)
        at = lambda place, base=base: s.read(s.x, b.add(base, s.read(s.order, b.add(base, place), "int64")))
        low, high = map(at, _middles(s))
        # Between two infinities is no number, and equal ones are themselves; between numbers no sum of them overflows.
        has_end = b.or_(b.fcmp_ordered("==", k.abs(low), infinity), b.fcmp_ordered("==", k.abs(high), infinity))
        between = b.select(has_end, b.fadd(b.fmul(low, half), b.fmul(high, half)), b.fadd(low, b.fmul(b.fsub(high, low), half)))
        last, found = at(b.sub(s.length, I64(1))), b.select(b.fcmp_ordered("==", low, high), low, between)
        s.write(b.select(b.fcmp_unordered("uno", last, last), k.constant(float("nan"), dtype, 1), found), s.out, row.index)
    s.done()


def middle_slopes(module, name, dtype):
    """What `middle` hands back from `g`, where its result was `z`: to the middle element, or half to each of two; nothing to a row
    with NaN. `order` gets positions.
    """
    s = Kernel(module, name, dtype, ("g", "x", "z", "order", "out"), ("rows", "length"))
    b, k = s.ir, s.k
    zero, half = k.constant(0.0, dtype, 1), k.constant(0.5, dtype, 1)
    with emit.loop(b, 0, s.rows) as row:
        base, z = b.mul(row.index, s.length), s.read(s.z, row.index)
        with emit.loop(b, 0, s.length) as i:
            s.write(zero, s.out, b.add(base, i.index))
        with b.if_then(b.fcmp_ordered("==", z, z)):
            _sort_row(s, row.index, s.length, False)
            g, (first, second) = s.read(s.g, row.index), _middles(s)
            is_one = b.icmp_signed("==", first, second)
            for middle, share in ((first, b.select(is_one, g, b.fmul(g, half))), (second, b.select(is_one, zero, b.fmul(g, half)))):
                place = b.add(base, s.read(s.order, b.add(base, middle), "int64"))
                s.write(b.fadd(s.read(s.out, place), share), s.out, place)
    s.done()


def _running(is_product, is_reversed):
    def write(module, name, dtype):
        s = Kernel(module, name, dtype, ("x", "out"), ("outer", "count", "inner"))
        b = s.ir
        join = b.fmul if is_product else b.fadd
        with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.inner) as n:
            start = s.k.constant(float(is_product), dtype, 1)
            with emit.loop(b, 0, s.count, 1, [start]) as i:
                line = b.sub(b.sub(s.count, I64(1)), i.index) if is_reversed else i.index
                at = s.at((s.at((o.index, s.count), line), s.inner), n.index)
                x = s.read(s.x, at)
                found = b.select(b.icmp_signed("==", i.index, I64(0)), x, join(i.values[0], x))
                s.write(found, s.out, at)
                i.values = [found]
        s.done()

    return write


def cumprod_slope(module, name, dtype):
    """What `cumprod` hands back: at each place the product of those before it, times a sum over what comes behind."""
    s = Kernel(module, name, dtype, ("g", "x", "out"), ("outer", "count", "inner"))
    b, k = s.ir, s.k
    place = lambda o, line, n: s.at((s.at((o.index, s.count), line), s.inner), n.index)
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.inner) as n:
        with emit.loop(b, 0, s.count, 1, [k.constant(1.0, dtype, 1)]) as i:
            at = place(o, i.index, n)
            s.write(i.values[0], s.out, at)
            i.values = [b.fmul(i.values[0], s.read(s.x, at))]
        with emit.loop(b, 0, s.count, 1, [k.constant(0.0, dtype, 1)]) as i:
            at = place(o, b.sub(b.sub(s.count, I64(1)), i.index), n)
            total = b.fadd(s.read(s.g, at), i.values[0])
            s.write(b.fmul(s.read(s.out, at), total), s.out, at)
            i.values = [b.fmul(total, s.read(s.x, at))]
    s.done()


def _positioned(s, position, size):
    """A position counted from the front; the kernel ends, with 0, where it is out of range."""
    b = s.ir
    position = b.select(b.icmp_signed("<", position, I64(0)), b.add(position, size), position)
    with b.if_then(b.icmp_unsigned(">=", position, size), likely=False):
        b.ret(I64(0))
        b.position_at_end(b.append_basic_block("dead"))
    return position


def take_along(module, name, dtype):
    """Elements of lines of `size` at `count` positions of their own each."""
    s = Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i, emit.loop(b, 0, s.inner) as n:
        at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
        place = _positioned(s, s.read(s.places, at, "int64"), s.size)
        s.write(s.read(s.x, s.at((s.at((o.index, s.size), place), s.inner), n.index)), s.out, at)
    s.done()


def take_rows(module, name, dtype):
    """Rows of `inner` elements at positions, which count from the front only."""
    s = Kernel(module, name, dtype, ("x", "places", "out"), ("size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.count) as i:
        place = s.read(s.places, i.index, "int64")
        with b.if_then(b.icmp_unsigned(">=", place, s.size), likely=False):
            b.ret(I64(0))
            b.position_at_end(b.append_basic_block("dead"))
        with emit.loop(b, 0, s.inner) as n:
            s.write(s.read(s.x, s.at((place, s.inner), n.index)), s.out, s.at((i.index, s.inner), n.index))
    s.done()


def add_along(module, name, dtype):
    """Elements added to lines of `size` at `count` positions of their own each."""
    s = Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i, emit.loop(b, 0, s.inner) as n:
        at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
        place = _positioned(s, s.read(s.places, at, "int64"), s.size)
        to = s.at((s.at((o.index, s.size), place), s.inner), n.index)
        s.write(b.fadd(s.read(s.out, to), s.read(s.x, at)), s.out, to)
    s.done()


def add_rows(module, name, dtype):
    """`count` rows of `inner` elements added to `size` rows at positions, in each of `outer` blocks."""
    s = Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i:
        place = _positioned(s, s.read(s.places, i.index, "int64"), s.size)
        with emit.loop(b, 0, s.inner) as n:
            to = s.at((s.at((o.index, s.size), place), s.inner), n.index)
            at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
            s.write(b.fadd(s.read(s.out, to), s.read(s.x, at)), s.out, to)
    s.done()


WRITERS = {
    "max_windows": max_windows, "placed_windows": placed_windows, "sum_windows": sum_windows, "spread_windows": spread_windows,
    "along": along, "order": _order(False), "order_descending": _order(True), "middle": middle, "middle_slopes": middle_slopes,
    "cumsum": _running(False, False), "cumsum_from_end": _running(False, True), "cumprod": _running(True, False),
    "cumprod_slope": cumprod_slope,
    "take_along": take_along, "take_rows": take_rows, "add_along": add_along, "add_rows": add_rows,
}

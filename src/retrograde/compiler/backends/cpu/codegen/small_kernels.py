"""Small kernels, `i64(pointers, sizes)`: what moves numbers, or goes through them one after the other, in eager arrays of any size.

NumPy takes such work apart into many calls, each of which costs more than what it does to a thousand numbers. One kernel serves all
sizes. It returns 0 where it finds a position that is out of range, and 1 otherwise.
"""

from . import emit, ir
from .builder import Builder
from .emit import I64, POINTER
from .vecmath.elements import ELEMENTS


class _Kernel:
    """A kernel under construction: its pointers by name, its sizes, and words for loops and memory."""

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
        return self.k.load(self.k.offset(pointer, place, dtype or self.dtype), dtype or self.dtype, 1)

    def write(self, value, pointer, place, dtype=None):
        self.k.store(value, self.k.offset(pointer, place, dtype or self.dtype))

    def done(self):
        self.ir.ret(I64(1))


_WINDOW_SIZES = ("planes", "height", "width", "rows", "columns", "tall", "wide", "down", "right", "above", "left", "lines", "steps")


class _Windows(_Kernel):
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
    s = _Kernel(module, name, dtype, ("x", "places", "weights", "out"), ("outer", "size", "inner", "count", "taps"))
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


def order(module, name, dtype):
    """The positions that put each row in ascending order, NaNs last, equal elements in theirs: by insertion, for short rows."""
    s = _Kernel(module, name, dtype, ("x", "out"), ("rows", "length"))
    b = s.ir
    with emit.loop(b, 0, s.rows) as row:
        base = b.mul(row.index, s.length)
        with emit.loop(b, 0, s.length) as i:
            value = s.read(s.x, b.add(base, i.index))
            with b.goto_entry_block():
                place = b.alloca(I64)
            b.store(i.index, place)
            head, move, out = (b.append_basic_block(label) for label in ("head", "move", "out"))
            look = b.append_basic_block("look")
            b.branch(head)
            b.position_at_end(head)
            at = b.load(place, typ=I64)
            b.cbranch(b.icmp_signed(">", at, I64(0)), look, out)
            b.position_at_end(look)
            before = s.read(s.out, b.add(base, b.sub(at, I64(1))), "int64")
            other = s.read(s.x, b.add(base, before))
            is_number, is_nan = b.fcmp_ordered("==", value, value), b.fcmp_unordered("uno", other, other)
            is_after = b.or_(b.fcmp_ordered(">", other, value), b.and_(is_nan, is_number))
            b.cbranch(is_after, move, out)
            b.position_at_end(move)
            s.write(before, s.out, b.add(base, at), "int64")
            b.store(b.sub(at, I64(1)), place)
            b.branch(head)
            b.position_at_end(out)
            s.write(i.index, s.out, b.add(base, b.load(place, typ=I64)), "int64")
    s.done()


def _running(is_product, is_reversed):
    def write(module, name, dtype):
        s = _Kernel(module, name, dtype, ("x", "out"), ("outer", "count", "inner"))
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
    """What `cumprod` hands back: at each place the product of those before it, times the sum of what comes behind, by a recurrence."""
    s = _Kernel(module, name, dtype, ("g", "x", "out"), ("outer", "count", "inner"))
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
    s = _Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i, emit.loop(b, 0, s.inner) as n:
        at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
        place = _positioned(s, s.read(s.places, at, "int64"), s.size)
        s.write(s.read(s.x, s.at((s.at((o.index, s.size), place), s.inner), n.index)), s.out, at)
    s.done()


def add_along(module, name, dtype):
    """Elements added to lines of `size` at `count` positions of their own each."""
    s = _Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i, emit.loop(b, 0, s.inner) as n:
        at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
        place = _positioned(s, s.read(s.places, at, "int64"), s.size)
        to = s.at((s.at((o.index, s.size), place), s.inner), n.index)
        s.write(b.fadd(s.read(s.out, to), s.read(s.x, at)), s.out, to)
    s.done()


def add_rows(module, name, dtype):
    """`count` rows of `inner` elements added to `size` rows at positions, in each of `outer` blocks."""
    s = _Kernel(module, name, dtype, ("x", "places", "out"), ("outer", "size", "inner", "count"))
    b = s.ir
    with emit.loop(b, 0, s.outer) as o, emit.loop(b, 0, s.count) as i:
        place = _positioned(s, s.read(s.places, i.index, "int64"), s.size)
        with emit.loop(b, 0, s.inner) as n:
            to = s.at((s.at((o.index, s.size), place), s.inner), n.index)
            at = s.at((s.at((o.index, s.count), i.index), s.inner), n.index)
            s.write(b.fadd(s.read(s.out, to), s.read(s.x, at)), s.out, to)
    s.done()


def _of_class(has_slopes):
    """The cross entropy of each row and its class, or the slopes of it in the row, divided by the number of rows if asked for."""
    def write(module, name, dtype):
        s = _Kernel(module, name, dtype, ("x", "targets", "out"), ("rows", "classes", "divides")[: 2 + has_slopes])
        b, lanes = s.ir, module.target.lanes(dtype)
        one, vector = Builder(b, dtype, inline="noinline"), Builder(b, dtype, lanes, inline="noinline")
        kind, low = vector.constant(0.0).type, -float("inf")
        with b.goto_entry_block():
            slot = b.alloca(kind)
        whole = b.sub(s.classes, b.srem(s.classes, I64(lanes)))

        def each(base, body):
            """Call `body(place, mask)` for each vector of a row."""
            with emit.loop(b, 0, whole, lanes) as column:
                body(b.add(base, column.index), None)
            with b.if_then(b.icmp_signed("<", whole, s.classes)):
                body(b.add(base, whole), vector.first_lanes(b.sub(s.classes, whole)))

        def read(place, mask):
            where = vector.offset(s.x, place)
            return vector.load(where) if mask is None else vector.where(mask, vector.load_masked(where, mask), low)

        def folded(base, combine, start, value):
            b.store(vector.constant(start), slot)
            each(base, lambda place, mask: b.store(combine(b.load(slot, typ=kind), value(place, mask)), slot))
            return vector.reduce(combine, b.load(slot, typ=kind))

        with emit.loop(b, 0, s.rows) as row:
            base, target = b.mul(row.index, s.classes), s.read(s.targets, row.index, "int64")
            with b.if_then(b.icmp_unsigned(">=", target, s.classes), likely=False):
                b.ret(I64(0))
                b.position_at_end(b.append_basic_block("dead"))
            top = folded(base, vector.maximum, low, read)
            power = lambda place, mask, top=top: vector.exp(vector.subtract(read(place, mask), top))
            total, at = folded(base, vector.add, 0.0, power), b.add(base, target)
            if has_slopes:
                count = one.convert(b.select(b.icmp_signed("!=", s.divides, I64(0)), s.rows, I64(1)), dtype)
                factor = b.fdiv(one.constant(1.0, dtype, 1), count)
                scale = b.fdiv(factor, total)
                each(base, lambda place, mask, scale=scale, power=power: _put(
                    vector, vector.multiply(power(place, mask), scale), vector.offset(s.out, place), mask))
                s.write(b.fsub(s.read(s.out, at), factor), s.out, at)
            else:
                s.write(b.fsub(one.log(total), b.fsub(s.read(s.x, at), top)), s.out, row.index)
        s.done()

    return write


def _put(k, value, where, mask):
    if mask is None:
        k.store(value, where)
    else:
        k.store_masked(value, where, mask)


class _Gates(_Kernel):
    """A kernel that goes through the units of a layer in vectors; gates lie beside each other, four times the units in a row."""

    def __init__(self, module, name, dtype, pointers):
        super().__init__(module, name, dtype, pointers, ("batch", "units"))
        self.lanes = module.target.lanes(dtype)

    def each(self, body):
        """Call `body(builder, read, write)` for each vector: these take a pointer and the number of a gate, or None for states."""
        b = self.ir
        with emit.loop(b, 0, self.batch) as row:
            whole = b.sub(self.units, b.srem(self.units, I64(self.lanes)))
            with emit.loop(b, 0, whole, self.lanes) as unit:
                self._vector(row.index, unit.index, None, body)
            with b.if_then(b.icmp_signed("<", whole, self.units)):
                mask = Builder(b, self.dtype, self.lanes).first_lanes(b.sub(self.units, whole))
                self._vector(row.index, whole, mask, body)

    def _vector(self, row, unit, mask, body):
        k = Builder(self.ir, self.dtype, self.lanes, inline="noinline")

        def where(pointer, gate):
            line = row if gate is None else self.at((row, 4), gate)
            return k.offset(pointer, self.at((line, self.units), unit))

        def read(pointer, gate=None):
            return k.load(where(pointer, gate)) if mask is None else k.load_masked(where(pointer, gate), mask)

        def write(value, pointer, gate=None):
            _put(k, value, where(pointer, gate), mask)

        body(k, read, write)


def lstm_gates(module, name, dtype):
    """The gates of a step of long short-term memory from what input and state add to them, and the next states."""
    s = _Gates(module, name, dtype, ("x", "y", "c", "gates", "next_c", "h"))

    def body(k, read, write):
        i, f, g, o = (k.add(read(s.x, gate), read(s.y, gate)) for gate in range(4))
        i, f, g, o = k.sigmoid(i), k.sigmoid(f), k.tanh(g), k.sigmoid(o)
        for gate, value in enumerate((i, f, g, o)):
            write(value, s.gates, gate)
        c = k.add(k.multiply(f, read(s.c)), k.multiply(i, g))
        write(c, s.next_c)
        write(k.multiply(o, k.tanh(c)), s.h)

    s.each(body)
    s.done()


def lstm_slopes(module, name, dtype):
    """What a step of long short-term memory hands back, to the sums that its gates are made of and to the state before."""
    s = _Gates(module, name, dtype, ("of_h", "of_h_later", "of_c", "of_c_later", "gates", "before", "c", "slopes", "of_before"))

    def body(k, read, write):
        i, f, g, o = (read(s.gates, gate) for gate in range(4))
        of_h, bent = k.add(read(s.of_h), read(s.of_h_later)), k.tanh(read(s.c))
        of_c = k.add(read(s.of_c), read(s.of_c_later))
        of_c = k.add(of_c, k.multiply(k.multiply(of_h, o), k.subtract(1.0, k.multiply(bent, bent))))
        write(k.multiply(of_c, f), s.of_before)
        of_gates = k.multiply(of_c, g), k.multiply(of_c, read(s.before)), k.multiply(of_c, i), k.multiply(of_h, bent)
        rates = (*[k.multiply(x, k.subtract(1.0, x)) for x in (i, f)], k.subtract(1.0, k.multiply(g, g)),
                 k.multiply(o, k.subtract(1.0, o)))
        for gate, (x, y) in enumerate(zip(of_gates, rates, strict=True)):
            write(k.multiply(x, y), s.slopes, gate)

    s.each(body)
    s.done()


WRITERS = {
    "max_windows": max_windows, "placed_windows": placed_windows, "sum_windows": sum_windows, "spread_windows": spread_windows,
    "along": along, "order": order, "cumsum": _running(False, False), "cumsum_from_end": _running(False, True),
    "cumprod": _running(True, False), "cumprod_slope": cumprod_slope, "take_along": take_along, "add_along": add_along,
    "add_rows": add_rows, "cross_entropy": _of_class(False),
    "cross_entropy_slopes": _of_class(True), "lstm_gates": lstm_gates, "lstm_slopes": lstm_slopes,
}

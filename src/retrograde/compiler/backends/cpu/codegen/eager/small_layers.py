"""Small kernels of layers: cross entropy of classes, and steps of long short-term memory; called as those of `small_kernels`."""

from .. import emit
from ..builder import Builder
from ..emit import I64
from .small_kernels import Kernel


def _of_class(has_slopes):
    """The cross entropy of each row and its class, or the slopes of it in the row, divided by the number of rows if asked for."""
    def write(module, name, dtype):
        s = Kernel(module, name, dtype, ("x", "targets", "out"), ("rows", "classes", "divides")[: 2 + has_slopes])
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


class _Gates(Kernel):
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
    "cross_entropy": _of_class(False), "cross_entropy_slopes": _of_class(True), "lstm_gates": lstm_gates,
    "lstm_slopes": lstm_slopes,
}

"""Random numbers: the words of Philox4x32-10 from a state on, made into truth values, integers, uniform or normal numbers.

Each lane of a vector computes a block of four words; the vectors of numbers that these make are laid together in the order of the
stream. See ops/_philox.py for the generator and ops/_box_muller.py for normal numbers.
"""

from ...ops._box_muller import normal_pair, uniform_of_two
from . import emit, ir
from .builder import Builder
from .emit import I32, I64
from .entry import Entry
from .target import host
from .vecmath.elements import stored_type_of

_MULTIPLIERS, _WEYL, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10


def write_random(module, name, plan):
    """Add the function of random numbers to `module`; its slots are the state, the result, and the words of the plan."""
    _Writer(module, name, plan).write()


class _Writer:
    """Writes the loop over groups of numbers, one block of four words in each lane."""

    def __init__(self, module, name, plan):
        self._make, self._width = _KINDS[plan.name, plan.dtype]
        self.lanes = host().lanes("float32" if self._width == 1 else "float64")
        self._item = I32 if plan.dtype == "uint32" else stored_type_of(plan.dtype)
        entry = Entry(module, name)
        self.ir = b = entry.builder
        self.k = Builder(b, lanes=self.lanes)
        self._out = entry.pointer(1)
        count, step, skip = (entry.word(2 + i) for i in range(3))
        self.parameter = lambda number: entry.word(5 + number)
        self._first = b.mul(entry.chunk, step)
        self._last = emit.minimum(b, b.add(self._first, step), count)
        state = entry.pointer(0)
        key, block = (b.load(emit.address(b, state, i, I64), typ=I64) for i in range(2))
        self._block = b.add(block, skip)
        halves = b.trunc(key, I32), b.trunc(b.lshr(key, I64(32)), I32)
        self._keys = [[self.splat(b.add(half, I32(n * weyl % 2**32))) for half, weyl in zip(halves, _WEYL, strict=True)]
                      for n in range(_ROUNDS)]

    def write(self):
        """The whole function."""
        b, group = self.ir, 4 // self._width * self.lanes
        make = self._make(self)
        rest = b.alloca(ir.VectorType(self._item, group))
        whole = b.sub(self._last, b.srem(b.sub(self._last, self._first), I64(group)))
        with emit.loop(b, self._first, whole, group) as place:
            emit.store(b, self._numbers(make, place.index), emit.address(b, self._out, place.index, self._item))
        with b.if_then(b.icmp_signed("<", whole, self._last)):
            emit.store(b, self._numbers(make, whole), rest)
            with emit.loop(b, 0, b.sub(self._last, whole)) as place:
                number = emit.load(b, emit.address(b, rest, place.index, self._item), self._item)
                emit.store(b, number, emit.address(b, self._out, b.add(whole, place.index), self._item))
        b.ret_void()

    def _numbers(self, make, place):
        """The numbers of a group, from number `place` on."""
        parts, lanes = make(*self._words(place)), self.lanes
        count = len(parts)
        while len(parts) > 1:
            wide = range(2 * parts[0].type.count)
            parts = [emit.shuffle(self.ir, x, y, wide) for x, y in zip(parts[::2], parts[1::2], strict=True)]
        return emit.shuffle(self.ir, parts[0], parts[0], [part * lanes + lane for lane in range(lanes) for part in range(count)])

    def _words(self, place):
        """Four vectors of words: each lane is a block."""
        b, lanes = self.ir, self.lanes
        wide = ir.VectorType(I64, lanes)
        start = emit.splat(b, b.add(self._block, b.lshr(place, I64(2 if self._width == 1 else 1))), lanes)
        blocks = b.add(start, ir.Constant(wide, list(range(lanes))))
        narrow, zero = ir.VectorType(I32, lanes), self.k.constant(0, "int32")
        even, odd = [b.trunc(blocks, narrow), zero], [b.trunc(self._upper(blocks), narrow), zero]
        for keys in self._keys:
            products = [self._product(x, m) for x, m in zip(even, _MULTIPLIERS, strict=True)]
            even = [b.xor(b.xor(upper, x), key) for (upper, _), x, key in zip(products[::-1], odd, keys, strict=True)]
            odd = [lower for _, lower in products[::-1]]
        return even[0], odd[0], even[1], odd[1]

    def _product(self, x, multiplier):
        """The upper and the lower word of products of 64 bits."""
        b = self.ir
        product = b.mul(self.wide(x), self.k.constant(multiplier, "int64"))
        return b.trunc(self._upper(product), x.type), b.trunc(product, x.type)

    def _upper(self, x):
        return self.k.shift_right_unsigned(x, 32)

    def wide(self, x):
        """Words as integers of 64 bits."""
        return self.ir.zext(x, ir.VectorType(I64, self.lanes))

    def splat(self, number):
        """A number in each lane."""
        return emit.splat(self.ir, number, self.lanes)


def _bits(_):
    return lambda *words: words


def _mask(writer):
    b, threshold = writer.ir, writer.splat(writer.ir.trunc(writer.parameter(0), I32))
    kind = ir.VectorType(stored_type_of("bool"), writer.lanes)
    return lambda *words: [b.zext(b.icmp_unsigned(">=", word, threshold), kind) for word in words]


def _uniform(writer):
    k = writer.k
    return lambda *words: [k.multiply(k.convert(k.shift_right_unsigned(word, 8), "float32"), 2.0**-24) for word in words]


def _uniform_of_pairs(writer):
    return lambda a, b, c, d: [uniform_of_two(writer.k, a, b), uniform_of_two(writer.k, c, d)]


def _normal(writer):
    return lambda a, b, c, d: [*normal_pair(writer.k, a, b), *normal_pair(writer.k, c, d)]


def _normal_of_pairs(writer):
    return lambda *words: [*normal_pair(writer.k, *words)]


def _integers(writer):
    b, k = writer.ir, writer.k
    low, choices = (writer.splat(writer.parameter(i)) for i in range(2))

    def chosen(upper, lower):
        carried = k.shift_right_unsigned(b.mul(writer.wide(lower), choices), 32)
        return b.add(k.shift_right_unsigned(b.add(b.mul(writer.wide(upper), choices), carried), 32), low)

    return lambda first, second, third, fourth: [chosen(first, second), chosen(third, fourth)]


#: For each kind that there is code for: what makes numbers from the words of a block, and how many words one takes.
_KINDS = {
    ("random_mask", "bool"): (_mask, 1), ("random_bits", "uint32"): (_bits, 1),
    ("random_uniform", "float32"): (_uniform, 1), ("random_uniform", "float64"): (_uniform_of_pairs, 2),
    ("random_normal", "float32"): (_normal, 1), ("random_normal", "float64"): (_normal_of_pairs, 2),
    ("random_integers", "int64"): (_integers, 2),
}

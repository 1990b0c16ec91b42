"""Random numbers: the words of Philox4x32-10 from a state on, made into truth values, integers, uniform or normal numbers.

A lane of 64 bits computes a block of four words, one after the other in its lower half: what is above does not matter, since
products are of lower halves. The first and the third words of all blocks are then one vector, the second and the fourth another.
See ops/random/_philox.py for the generator and ops/random/_box_muller.py for normal numbers.
"""

from .....ops.random._box_muller import normal_pair, uniform_of_two
from . import emit, ir
from .builder import Builder
from .emit import I32, I64
from .entry import Entry
from .vecmath.elements import stored_type_of

_MULTIPLIERS, _WEYL, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
_LOWER = 0xFFFFFFFF


def write_random(module, name, plan):
    """Add the function of random numbers to `module`; its slots are the state, the result, and the words of the plan."""
    _Writer(module, name, plan).write()


class _Writer:
    """Writes the loop over groups of numbers, one block of four words in each lane."""

    def __init__(self, module, name, plan):
        self._make, self._width = _KINDS[plan.name, plan.dtype]
        self._item = I32 if plan.dtype == "uint32" else stored_type_of(plan.dtype)
        # Two vectors at a time: a round waits for its products.
        self._lanes = 2 * module.target.lanes("float64")
        entry = Entry(module, name)
        self.ir = b = entry.builder
        self.k = Builder(b, "int64", self._lanes)
        count, step, skip, frame, block, place = (entry.word(2 + i) for i in range(6))
        self.parameter = lambda number: entry.word(8 + number)
        self._first = b.mul(entry.chunk, step)
        # The block of this chunk begins at its place in its frame; all three numbers are 0 where there are no frames.
        moved = b.add(b.mul(entry.frame, frame), b.sub(place, b.mul(entry.chunk, block)))
        self._out = emit.address(b, entry.pointer(1), moved, emit.BYTE)
        self._last = emit.minimum(b, b.add(self._first, step), count)
        state = entry.pointer(0)
        key, block = (b.load(emit.address(b, state, i, I64), typ=I64) for i in range(2))
        self._block = b.add(block, skip)
        halves = b.and_(key, I64(_LOWER)), b.lshr(key, I64(32))
        self._keys = [[self.k.broadcast(b.add(half, I64(n * weyl))) for half, weyl in zip(halves, _WEYL, strict=True)]
                      for n in range(_ROUNDS)]

    def write(self):
        """The whole function."""
        b, group = self.ir, 4 // self._width * self._lanes
        make = self._make(self)
        rest = b.alloca(ir.VectorType(self._item, group))
        whole = b.sub(self._last, b.srem(b.sub(self._last, self._first), I64(group)))
        # The last group may have more numbers than are left: it is written beside, and what counts is copied. One body serves
        # both.
        with emit.loop(b, self._first, self._last, group) as place:
            numbers, is_whole = make(*self._words(place.index)), b.icmp_signed("<", place.index, whole)
            emit.store(b, numbers, b.select(is_whole, emit.address(b, self._out, place.index, self._item), rest))
        with emit.loop(b, 0, b.sub(self._last, whole)) as place:
            number = emit.load(b, emit.address(b, rest, place.index, self._item), self._item)
            emit.store(b, number, emit.address(b, self._out, b.add(whole, place.index), self._item))
        b.ret_void()

    def _words(self, place):
        """The words for a group, from number `place` on: four vectors, each lane of which is a block, words in lower halves."""
        b, k = self.ir, self.k
        # A block has four words: four numbers, or two of those that take two words.
        start = b.add(self._block, b.lshr(place, I64(2 if self._width == 1 else 1)))
        blocks = b.add(k.broadcast(start), ir.Constant(ir.VectorType(I64, self._lanes), list(range(self._lanes))))
        zero = k.constant(0)
        even, odd = [blocks, zero], [k.shift_right_unsigned(blocks, 32), zero]
        for keys in self._keys:
            # A product of two lower halves is 64 bits: its upper half is one word of the next round, its lower half another.
            products = [b.mul(k.bitwise_and(x, _LOWER), k.constant(m)) for x, m in zip(even, _MULTIPLIERS, strict=True)]
            upper = [k.shift_right_unsigned(product, 32) for product in products[::-1]]
            even = [b.xor(x, b.xor(y, key)) for x, y, key in zip(upper, odd, keys, strict=True)]
            odd = products[::-1]
        return even[0], odd[0], even[1], odd[1]

    def beside(self, x, y):
        """Words of two vectors, alternating, as integers of 32 bits."""
        joined = self.k.bitwise_or(self.k.bitwise_and(x, _LOWER), self.k.shift_left(y, 32))
        return self.ir.bitcast(joined, ir.VectorType(I32, 2 * self._lanes))

    def alternating(self, x, y):
        """Numbers of two vectors, alternating."""
        lanes = x.type.count
        return emit.shuffle(self.ir, x, y, [part * lanes + lane for lane in range(lanes) for part in range(2)])

    def wide(self, x):
        """Words as integers of 64 bits."""
        return self.ir.zext(x, ir.VectorType(I64, x.type.count))


def _of_words(convert):
    """What makes a number of each word by `convert(writer)`."""

    def make(writer):
        number = convert(writer)

        def made(first, second, third, fourth):
            return number(writer.alternating(writer.beside(first, third), writer.beside(second, fourth)))

        return made

    return make


def _bits(_):
    return lambda words: words


def _mask(writer):
    b = writer.ir
    threshold = b.trunc(writer.parameter(0), I32)

    def mask(words):
        kind = ir.VectorType(stored_type_of("bool"), words.type.count)
        return b.zext(b.icmp_unsigned(">=", words, writer.k.broadcast(threshold, words.type.count)), kind)

    return mask


def _uniform(writer):
    k = writer.k
    return lambda words: k.multiply(k.convert(k.shift_right_unsigned(words, 8), "float32"), 2.0**-24)


def _of_pairs(convert):
    """What makes a number of each two words by `convert(writer)`."""

    def make(writer):
        number = convert(writer)
        return lambda first, second, third, fourth: number(writer.beside(first, third), writer.beside(second, fourth))

    return make


def _uniform_of_two(writer):
    return lambda first, second: uniform_of_two(writer.k, first, second)


def _normal(writer):
    return lambda first, second: writer.alternating(*normal_pair(writer.k, first, second))


def _integers(writer):
    b, k = writer.ir, writer.k
    low, choices = (writer.parameter(i) for i in range(2))

    def chosen(first, second):
        carried = k.shift_right_unsigned(k.multiply(writer.wide(second), choices), 32)
        return k.add(k.shift_right_unsigned(b.add(k.multiply(writer.wide(first), choices), carried), 32), low)

    return chosen


def _normal_of_two(writer):
    def made(*words):
        narrow = [writer.ir.trunc(word, ir.VectorType(I32, word.type.count)) for word in words]
        return writer.alternating(*normal_pair(writer.k, *narrow))

    return made


#: For each kind that there is code for: what makes numbers from the words of blocks, and how many words one takes.
_KINDS = {
    ("random_mask", "bool"): (_of_words(_mask), 1),
    ("random_bits", "uint32"): (_of_words(_bits), 1),
    ("random_uniform", "float32"): (_of_words(_uniform), 1),
    ("random_uniform", "float64"): (_of_pairs(_uniform_of_two), 2),
    ("random_normal", "float32"): (_of_pairs(_normal), 1),
    ("random_normal", "float64"): (_normal_of_two, 2),
    ("random_integers", "int64"): (_of_pairs(_integers), 2),
}

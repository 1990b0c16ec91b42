"""Random numbers: the words of Philox4x32-10 from a state on, made into truth values or uniform numbers.

Each lane of a vector computes a block of four words, and four vectors of words are laid together in the order of the stream.
See ops/_philox.py for the generator.
"""

from typing import NamedTuple

from . import emit, ir
from .emit import I64
from .entry import Entry
from .vecmath.elements import stored_type_of

_MULTIPLIERS, _WEYL, _ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10
#: A chunk makes at least this many numbers.
_CHUNK_WORK, _MOST_CHUNKS = 16384, 32
_I32 = ir.IntType(32)


class RandomPlan(NamedTuple):
    """`count` truth values, whether a word reaches `threshold`, or uniform numbers of type float32; `skip` blocks are left out."""

    dtype: str
    lanes: int
    count: int
    threshold: int = 0
    skip: int = 0

    @property
    def key(self):
        """What the code depends on."""
        return "random", self.dtype, self.lanes

    @property
    def group(self):
        """Numbers that are made at once."""
        return 4 * self.lanes

    @property
    def _step(self):
        wanted = max(1, min(_MOST_CHUNKS, self.count // _CHUNK_WORK))
        return -(-self.count // (wanted * self.group)) * self.group

    @property
    def chunks(self):
        """How many chunks there are."""
        return -(-self.count // self._step)

    @property
    def words(self):
        """The numbers that the code is handed."""
        return self.count, self._step, self.threshold, self.skip


def write_random(module, name, plan):
    """Add the function of random numbers to `module`; its slots are the state, the result, and the words."""
    _Writer(module, name, plan).write()


class _Writer:
    def __init__(self, module, name, plan):
        self.plan, self.item = plan, stored_type_of(plan.dtype)
        entry = Entry(module, name)
        self.ir = b = entry.builder
        self.out = entry.pointer(1)
        self.count, step, threshold, skip = (entry.word(2 + i) for i in range(4))
        self.first = b.mul(entry.chunk, step)
        self.last = emit.minimum(b, b.add(self.first, step), self.count)
        state = entry.pointer(0)
        key, self.block = (b.load(emit.address(b, state, i, I64), typ=I64) for i in range(2))
        self.block = b.add(self.block, skip)
        halves = b.trunc(key, _I32), b.trunc(b.lshr(key, I64(32)), _I32)
        self.keys = [[self._splat(b.add(half, _I32(n * weyl % 2**32))) for half, weyl in zip(halves, _WEYL, strict=True)]
                     for n in range(_ROUNDS)]
        self.threshold = self._splat(b.trunc(threshold, _I32))

    def write(self):
        """The whole function."""
        b, group = self.ir, self.plan.group
        rest = b.alloca(ir.VectorType(self.item, group))
        whole = b.sub(self.last, b.srem(b.sub(self.last, self.first), I64(group)))
        with emit.loop(b, self.first, whole, group) as place:
            emit.store(b, self._numbers(place.index), emit.address(b, self.out, place.index, self.item))
        with b.if_then(b.icmp_signed("<", whole, self.last)):
            emit.store(b, self._numbers(whole), rest)
            with emit.loop(b, 0, b.sub(self.last, whole)) as place:
                number = emit.load(b, emit.address(b, rest, place.index, self.item), self.item)
                emit.store(b, number, emit.address(b, self.out, b.add(whole, place.index), self.item))
        b.ret_void()

    def _numbers(self, place):
        """The numbers of a group, from number `place` on."""
        a, b, c, d = (self._number(word) for word in self._words(place))
        lanes = self.plan.lanes
        low, high = (emit.shuffle(self.ir, x, y, range(2 * lanes)) for x, y in ((a, b), (c, d)))
        return emit.shuffle(self.ir, low, high, [part * lanes + lane for lane in range(lanes) for part in range(4)])

    def _number(self, word):
        b, lanes = self.ir, self.plan.lanes
        if self.plan.dtype == "bool":
            return b.zext(b.icmp_unsigned(">=", word, self.threshold), ir.VectorType(self.item, lanes))
        kind = ir.VectorType(self.item, lanes)
        upper = b.lshr(word, self._constant(8))
        return b.fmul(b.uitofp(upper, kind), ir.Constant(kind, [2.0**-24] * lanes))

    def _words(self, place):
        """Four vectors of words: each lane is a block."""
        b, lanes = self.ir, self.plan.lanes
        wide = ir.VectorType(I64, lanes)
        start = emit.splat(b, b.add(self.block, b.lshr(place, I64(2))), lanes)
        blocks = b.add(start, ir.Constant(wide, list(range(lanes))))
        narrow = ir.VectorType(_I32, lanes)
        even, odd = [b.trunc(blocks, narrow), self._constant(0)], [b.trunc(self._upper(blocks), narrow), self._constant(0)]
        for keys in self.keys:
            products = [self._product(x, m) for x, m in zip(even, _MULTIPLIERS, strict=True)]
            even = [b.xor(b.xor(upper, x), key) for (upper, _), x, key in zip(products[::-1], odd, keys, strict=True)]
            odd = [lower for _, lower in products[::-1]]
        return even[0], odd[0], even[1], odd[1]

    def _product(self, x, multiplier):
        """The upper and the lower word of products of 64 bits."""
        b, wide = self.ir, ir.VectorType(I64, self.plan.lanes)
        product = b.mul(b.zext(x, wide), ir.Constant(wide, [multiplier] * self.plan.lanes))
        return b.trunc(self._upper(product), x.type), b.trunc(product, x.type)

    def _upper(self, x):
        return self.ir.lshr(x, ir.Constant(x.type, [32] * self.plan.lanes))

    def _constant(self, number):
        return ir.Constant(ir.VectorType(_I32, self.plan.lanes), [number] * self.plan.lanes)

    def _splat(self, number):
        return emit.splat(self.ir, number, self.plan.lanes)

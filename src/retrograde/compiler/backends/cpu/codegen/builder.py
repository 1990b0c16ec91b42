"""The kernel builder: what an op's `emit=lambda k, x: k.sin(x)` receives as `k`.

Values are those of `ir`, which carry their own type, so one builder serves mixed dtypes, scalars and vectors:
`k.add(x, y)` becomes the instruction that fits the type of `x`. Python numbers may stand for an operand and take the
other operand's type; scalars are broadcast to vectors. Integers are signed unless the method's name says otherwise.
"""

from functools import partial

from . import ir
from .memory import Memory
from .vecmath import NAMES, load
from .vecmath.elements import (
    BYTES,
    NARROW,
    constant,
    conversion_between,
    dtype_of,
    is_float,
    lanes_of,
    picked,
    repeated,
    suffix_of,
    type_of,
    undefined,
    vector_type,
)
from .vecmath.half_precision import rounded
from .vecmath.table import call_function
from .vecmath.whole import whole

__all__ = ["BYTES", "Builder", "dtype_of", "is_float", "lanes_of", "type_of"]

#: Polynomials of more terms than this are computed as several, which are added up last.
_CHAIN = 6


class Builder(Memory):
    """Emits operations on elements at the end of a block; one value holds `lanes` elements.

    Nothing is relaxed: a multiplication is fused with an addition only where `fma` or `multiply_add` says so. Hence error-free
    steps stay what they are, and a formula gives the same bits with any number of lanes and wherever it stands.
    `inline` is what calls of the math library ask for: "alwaysinline" gains a fifth in a hot loop and takes 5 to 10 ms to
    compile, "noinline" takes 0.1 ms; None inlines the first few calls only.
    """

    def __init__(self, ir_builder, dtype="float32", lanes=1, *, inline=None):
        self.ir = ir_builder
        self.dtype = dtype
        self.lanes = lanes
        self.inline = inline
        self.calls = 0
        self.on_check = None

    def __getattr__(self, name):
        if name not in NAMES:
            raise AttributeError(f"the kernel builder has no operation {name!r}")
        load(name)
        return partial(call_function, self, name)

    dtype_of = staticmethod(dtype_of)

    def with_dtype(self, dtype):
        """A builder at the same place for elements of another dtype."""
        return type(self)(self.ir, dtype, self.lanes, inline=self.inline)

    def constant(self, value, dtype=None, lanes=None):
        """A number as a value of `dtype` in every lane."""
        return constant(value, type_of(dtype or self.dtype, lanes or self.lanes))

    def constant_like(self, value, like):
        """A number as a value of the type of `like`."""
        return constant(value, like.type)

    def broadcast(self, x, lanes=None):
        """A scalar repeated in every lane."""
        lanes = lanes or self.lanes
        if lanes_of(x) == lanes:
            return x
        # Written as a vector at once: units that are final get none of LLVM's passes, which would make it one.
        if isinstance(x, ir.Constant):
            return repeated(x, lanes)
        first = self.ir.insert_element(undefined(vector_type(x.type, lanes)), x, ir.Constant(ir.IntType(32), 0))
        return self.ir.shuffle_vector(first, first, picked(*[0] * lanes))

    def lift(self, *operands):
        """The operands with one type: Python numbers become constants, scalars are broadcast."""
        values = [x for x in operands if isinstance(x, ir.Value)]
        like = max(values, key=lanes_of) if values else self.constant(0)
        return [self._fit(x, like) for x in operands]

    def _fit(self, x, like):
        if not isinstance(x, ir.Value):
            return constant(x, like.type)
        return x if lanes_of(x) == lanes_of(like) else self.broadcast(x, lanes_of(like))

    def add(self, x, y):
        """Sum; `or` of masks."""
        return self._binary(("fadd", "add", "or_"), x, y)

    def subtract(self, x, y):
        """Difference."""
        return self._binary(("fsub", "sub", "xor"), x, y)

    def multiply(self, x, y):
        """Product; `and` of masks."""
        return self._binary(("fmul", "mul", "and_"), x, y)

    def divide(self, x, y):
        """Quotient of floats; of integers the quotient towards zero, undefined for a zero divisor."""
        return self._binary(("fdiv", "sdiv", "sdiv"), x, y)

    def _binary(self, instructions, x, y):
        x, y = self.lift(x, y)
        if is_float(dtype_of(x)):
            return getattr(self.ir, instructions[0])(x, y)
        return getattr(self.ir, instructions[2 if dtype_of(x) == "bool" else 1])(x, y)

    def negative(self, x):
        """The number with its sign flipped, also of zero and NaN."""
        if is_float(dtype_of(x)):
            return self.ir.fneg(x)
        return self.ir.sub(constant(0, x.type), x)

    def square(self, x):
        """The product of a number with itself."""
        return self.multiply(x, x)

    def fma(self, x, y, z):
        """`x * y + z`, rounded once."""
        return self.intrinsic("llvm.fma", *self.lift(x, y, z))

    def multiply_add(self, x, y, z):
        """`x * y + z`, rounded once if the processor has an instruction for that."""
        return self.intrinsic("llvm.fmuladd", *self.lift(x, y, z))

    def abs(self, x):
        """Absolute value; clears the sign of zero and NaN."""
        if is_float(dtype_of(x)):
            return self.intrinsic("llvm.fabs", x)
        return self.maximum(x, self.negative(x))

    def sqrt(self, x):
        """Square root, correctly rounded."""
        return self.intrinsic("llvm.sqrt", x)

    def copysign(self, x, y):
        """The magnitude of `x` with the sign of `y`."""
        return self.intrinsic("llvm.copysign", *self.lift(x, y))

    def with_sign(self, x, y):
        """`x`, whose sign is clear, with the sign of `y`: one instruction less than `copysign`."""
        sign = self.bitwise_and(self.bits(y), self.bits(self.constant_like(-0.0, y)))
        return self.from_bits(self.bitwise_or(self.bits(x), sign))

    def sign(self, x):
        """-1, 0 or 1; NaN for NaN."""
        zero = constant(0, x.type)
        nonzero = self.where(self.less(x, zero), constant(-1, x.type), zero)
        found = self.where(self.greater(x, zero), constant(1, x.type), nonzero)
        return self.where(self.isnan(x), x, found)

    def floor(self, x):
        """The largest whole number that is not above."""
        return whole(self, "floor", x)

    def ceil(self, x):
        """The smallest whole number that is not below."""
        return whole(self, "ceil", x)

    def trunc(self, x):
        """The whole part."""
        return whole(self, "trunc", x)

    def round(self, x):
        """The nearest whole number, halves to even."""
        return whole(self, "rint", x)

    def minimum(self, x, y):
        """The smaller number; NaN where either is NaN."""
        return self._extremum(self.less, x, y)

    def maximum(self, x, y):
        """The larger number; NaN where either is NaN."""
        return self._extremum(self.greater, x, y)

    def _extremum(self, wins, x, y):
        x, y = self.lift(x, y)
        if dtype_of(x) == "bool":
            return self.bitwise_or(x, y) if wins == self.greater else self.bitwise_and(x, y)
        # One machine instruction: a NaN in either operand yields y, which leaves only a NaN in x to be mended.
        found = self.where(wins(x, y), x, y)
        return self.where(self.isnan(x), x, found)

    def clip(self, x, low, high):
        """`x` kept between two constants; NaN passes."""
        low, high = constant(low, x.type), constant(high, x.type)
        x = self.where(self.greater(low, x), low, x)
        return self.where(self.less(high, x), high, x)

    def polynomial(self, x, coefficients):
        """The polynomial with these coefficients, lowest order first; exact products by fma.

        Short ones by Horner's rule; long ones as two or four of these, of which several steps run at a time (Dorn, Generalizations
        of Horner's rule for polynomial evaluation, 1962).
        """
        terms = [self.coefficient(c, x) for c in coefficients]
        powers = [x]
        while len(terms) > _CHAIN << len(powers) - 1:
            powers.append(self.ir.fmul(powers[-1], powers[-1]))
        chains = [self._horner(powers[-1], terms[i :: 1 << len(powers) - 1]) for i in range(1 << len(powers) - 1)]
        for power in reversed(powers[:-1]):
            half = len(chains) // 2
            chains = [self.fma(odd, power, even) for even, odd in zip(chains[:half], chains[half:], strict=True)]
        return chains[0]

    def _horner(self, x, terms):
        result = terms[-1]
        for term in reversed(terms[:-1]):
            result = self.fma(result, x, term)
        return result

    def equal(self, x, y):
        """Mask of lanes with equal numbers."""
        return self._compare("==", x, y)

    def not_equal(self, x, y):
        """Mask of lanes with different numbers; NaN differs from all."""
        x, y = self.lift(x, y)
        return self.ir.fcmp_unordered("!=", x, y) if is_float(dtype_of(x)) else self.ir.icmp_signed("!=", x, y)

    def less(self, x, y):
        """Mask of `x < y`."""
        return self._compare("<", x, y)

    def less_equal(self, x, y):
        """Mask of `x <= y`."""
        return self._compare("<=", x, y)

    def greater(self, x, y):
        """Mask of `x > y`."""
        return self._compare(">", x, y)

    def greater_equal(self, x, y):
        """Mask of `x >= y`."""
        return self._compare(">=", x, y)

    def less_unsigned(self, x, y):
        """Mask of `x < y` for integers without sign."""
        return self.ir.icmp_unsigned("<", *self.lift(x, y))

    def in_range(self, x, size):
        """`x`; whoever set `on_check` is handed the mask of lanes that lie between 0 and `size` - 1."""
        if self.on_check is not None:
            self.on_check(self.less_unsigned(x, size))
        return x

    def _compare(self, symbol, x, y):
        x, y = self.lift(x, y)
        if is_float(dtype_of(x)):
            return self.ir.fcmp_ordered(symbol, x, y)
        # As a number with sign the one bit of True would be -1.
        return (self.ir.icmp_unsigned if dtype_of(x) == "bool" else self.ir.icmp_signed)(symbol, x, y)

    def isnan(self, x):
        """Mask of lanes that are not a number."""
        if not is_float(dtype_of(x)):
            return constant(0, type_of("bool", lanes_of(x)))
        return self.ir.fcmp_unordered("uno", x, constant(0, x.type))

    def isinf(self, x):
        """Mask of infinite lanes."""
        if not is_float(dtype_of(x)):
            return constant(0, type_of("bool", lanes_of(x)))
        return self.equal(self.abs(x), float("inf"))

    def isfinite(self, x):
        """Mask of lanes that are neither infinite nor NaN."""
        if not is_float(dtype_of(x)):
            return constant(1, type_of("bool", lanes_of(x)))
        return self.less(self.abs(x), float("inf"))

    def where(self, mask, x, y):
        """`x` in the lanes of the mask, `y` in the others."""
        x, y = self.lift(x, y)
        lanes = max(lanes_of(mask), lanes_of(x))
        return self.ir.select(*[self.broadcast(v, lanes) for v in (mask, x, y)])

    def any(self, mask):
        """Whether a mask holds in at least one lane, as a scalar."""
        return mask if lanes_of(mask) == 1 else self._reduction("llvm.vector.reduce.or", mask)

    def all(self, mask):
        """Whether a mask holds in every lane, as a scalar."""
        return mask if lanes_of(mask) == 1 else self._reduction("llvm.vector.reduce.and", mask)

    def _reduction(self, name, x):
        return self.call_external(f"{name}.{suffix_of(x.type)}", x.type.element, x)

    def bitwise_and(self, x, y):
        """Bits that both have."""
        return self.ir.and_(*self.lift(x, y))

    def bitwise_or(self, x, y):
        """Bits that either has."""
        return self.ir.or_(*self.lift(x, y))

    def bitwise_xor(self, x, y):
        """Bits that one has."""
        return self.ir.xor(*self.lift(x, y))

    def bitwise_not(self, x):
        """All bits flipped; of a mask, the other lanes."""
        return self.ir.xor(x, constant(1 if dtype_of(x) == "bool" else -1, x.type))

    logical_and, logical_or, logical_xor, logical_not = bitwise_and, bitwise_or, bitwise_xor, bitwise_not

    def shift_left(self, x, count):
        """Bits moved to higher places; `count` is below the number of bits."""
        return self.ir.shl(*self.lift(x, count))

    def shift_right(self, x, count):
        """Bits moved to lower places, the sign kept; `count` is below the number of bits."""
        return self.ir.ashr(*self.lift(x, count))

    def shift_right_unsigned(self, x, count):
        """Bits moved to lower places, zeros coming in."""
        return self.ir.lshr(*self.lift(x, count))

    def bitcast(self, x, dtype):
        """The same bits read as a dtype of the same width."""
        return self.ir.bitcast(x, type_of(dtype, lanes_of(x)))

    def bits(self, x):
        """The bits of a float as an integer of the same width."""
        return self.bitcast(x, "int" + dtype_of(x)[5:])

    def from_bits(self, x):
        """The float with these bits."""
        return self.bitcast(x, "float" + dtype_of(x)[3:])

    def convert(self, x, dtype):
        """`x` in another dtype; a float outside an integer's range gives an undefined number. Half precision is rounded float32."""
        source, target = dtype_of(x), type_of(dtype, lanes_of(x))
        if source == dtype:
            return x
        if dtype == "bool":
            return self.not_equal(x, 0)
        if dtype in NARROW:
            return rounded(self, x, dtype)
        return getattr(self.ir, conversion_between(source, dtype))(x, target)

    def convert_unsigned(self, x, dtype):
        """An integer without sign in a float dtype."""
        return self.ir.uitofp(x, type_of(dtype, lanes_of(x)))

    def reduce(self, combine, x):
        """One scalar from all lanes, by halving: `k.reduce(k.add, x)`; the tree is fixed."""
        while (lanes := lanes_of(x)) > 1:
            # The same tree on every processor: the order of additions decides the last bits.
            halves = (range(lanes // 2), range(lanes // 2, lanes))
            x = combine(*(self._shuffle(x, half) for half in halves))
        return x

    def lane(self, x, index):
        """One lane as a scalar; of a scalar, the scalar."""
        return x if lanes_of(x) == 1 else self.ir.extract_element(x, ir.Constant(ir.IntType(32), index))

    def _shuffle(self, x, lanes):
        if len(lanes) == 1:
            return self.lane(x, lanes[0])
        return self.ir.shuffle_vector(x, x, picked(*lanes))

    def intrinsic(self, name, *operands):
        """Call an LLVM intrinsic that is overloaded on the one type of its operands and result."""
        return self.call_external(f"{name}.{suffix_of(operands[0].type)}", operands[0].type, *operands)

    def call_external(self, name, result, *operands):
        """Call a function by its linker name, declared on first use."""
        return self.ir.call_external(name, result, operands)

    def rarely(self, mask, values, emit):
        """`values`, or what `emit()` gives in their place where any lane of `mask` holds: one predictable branch."""
        usual = self.ir.block
        rare, after = self.ir.append_basic_block("rare"), self.ir.append_basic_block("after")
        self.ir.cbranch(self.any(mask), rare, after, (1, 4095))
        self.ir.position_at_end(rare)
        mended = emit()
        rare = self.ir.block
        self.ir.branch(after)
        self.ir.position_at_end(after)
        return [self._merge((usual, x), (rare, y)) for x, y in zip(values, mended, strict=True)]

    def _merge(self, *incoming):
        phi = self.ir.phi(incoming[0][1].type)
        for block, value in incoming:
            phi.add_incoming(value, block)
        return phi

"""Half precision: float16 and bfloat16 as they are in memory, and as float32, in which registers have them.

Rounding is to the nearest, halves to even; infinities and subnormal numbers are as IEEE 754 has them, and NaN stays NaN, a quiet
one. No instruction narrows to bfloat16: that of AVX-512 flushes subnormal numbers to zero, and is no faster than whole numbers.
"""

from .. import ir
from .elements import dtype_of, lanes_of, picked, type_of

#: The bits of float32: all but the sign, infinity, and what makes a NaN quiet.
_MAGNITUDE, _INFINITE, _QUIET = 0x7FFFFFFF, 0x7F800000, 0x400000
#: The upper half of a number, which bfloat16 keeps.
_UPPER = -0x10000
#: Numbers of float32 in a register of AVX2, the bytes of it, and those of four numbers with lower halves before upper ones.
_REGISTER, _BYTES = 8, ir.VectorType(ir.IntType(8), 32)
_APART = [0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15]
#: The bits of float16: the sign, all but it, infinity, and what a quiet NaN has.
_HALF_SIGN, _HALF_MAGNITUDE, _HALF_INFINITE, _HALF_QUIET = 0x8000, 0x7FFF, 0x7C00, 0x7E00
#: float32's exponent is counted from so much more, and its mantissa has so many more bits.
_BIAS, _BITS = 112, 13
#: As float32, the least number that is normal as float16, and the first that is beyond its range whatever it is rounded to.
_LEAST_NORMAL, _BEYOND = 0x38800000, 0x47800000


def widened(k, bits, dtype):
    """float32 from the bits of numbers of `dtype`, float16 or bfloat16."""
    if dtype == "bfloat16":
        return _widened_upper(k, bits)
    if k.ir.module.target.converts_half:
        return k.ir.fpext(k.ir.bitcast(bits, _half(bits)), type_of("float32", lanes_of(bits)))
    return _widened_half(k, _unsigned(k, bits))


def narrowed(k, x, dtype):
    """The bits, in `dtype`, of numbers of float32."""
    if dtype == "bfloat16":
        return _narrowed_upper(k, x)
    if k.ir.module.target.converts_half:
        return k.bitcast(k.ir.fptrunc(x, _half(x)), "int16")
    return k.convert(_narrowed_half(k, k.bits(x)), "int16")


def rounded(k, x, dtype):
    """Numbers of any type as float32, rounded to `dtype`."""
    if dtype == "float16" and dtype_of(x) == "float64":
        x = _odd(k, x)
    x = k.convert(x, "float32")
    if dtype == "bfloat16":
        return k.from_bits(k.bitwise_and(_rounded_to_upper(k, x), _UPPER))
    return widened(k, narrowed(k, x, dtype), dtype)


def _narrowed_upper(k, x):
    """The bits by whole numbers. Of vectors the halves of each number are taken apart, so that rounding is done on twice as many
    at a time; where there is a NaN, which a carry might make another number, in the way that knows of it.
    """
    lanes = lanes_of(x)
    if lanes == 1:
        return _narrowed_each(k, x)
    order = _packed(k, lanes)
    low, high = _halves(k, x, order)
    # What is above one half goes up, and one half itself where the upper part is odd. Less 1 where that is even, but not below
    # zero, the lower part says so by its first bit.
    is_even = k.bitwise_and(k.bitwise_not(high), 1)
    found = k.add(high, k.shift_right_unsigned(k.intrinsic("llvm.usub.sat", low, is_even), 15))
    if not k.is_packed:
        found = _picked(k, found, _inverse(order))
    if not k.has_payloads:
        return found
    # One comparison of two halves; those of two lanes would be vectors of one, which no branch asks.
    first, second = (x, x) if lanes == 2 else [_picked(k, x, range(start, start + lanes // 2)) for start in (0, lanes // 2)]
    is_any = k.ir.fcmp_unordered("uno", first, second)
    return k.rarely(is_any, [found], lambda: [_picked(k, _narrowed_each(k, x), order if k.is_packed else range(lanes))])[0]


def _halves(k, x, order):
    """The lower and the upper halves of numbers in the order of packing."""
    if not k.ir.module.target.has_avx2 or lanes_of(x) % (2 * _REGISTER):
        halves = k.ir.bitcast(x, type_of("int16", 2 * lanes_of(x)))
        return [_picked(k, halves, [2 * n + part for n in order]) for part in (0, 1)]
    # Within each block of a register lower halves are brought before upper ones, once for both: LLVM would do it twice.
    apart = [k.call_external("llvm.x86.avx2.pshuf.b", _BYTES, k.ir.bitcast(part, _BYTES), ir.Constant(_BYTES, _APART * 2))
             for part in _registers(k, x)]
    pairs = [k.ir.bitcast(part, type_of("int64", _REGISTER // 2)) for part in apart]
    return [_joined(k, [k.ir.bitcast(k.ir.shuffle_vector(a, b, picked(part, 4 + part, 2 + part, 6 + part)), type_of("int16", 16))
                        for a, b in zip(pairs[::2], pairs[1::2], strict=True)]) for part in (0, 1)]


def _registers(k, x):
    """The registers that hold a vector of float32."""
    lanes = range(0, lanes_of(x), _REGISTER)
    return [_picked(k, x, range(start, start + _REGISTER)) for start in lanes]


def _packed(k, lanes):
    """The lanes of vectors in the order in which instructions pack two registers into one: by blocks of 16 bytes of either."""
    register, block = k.ir.module.target.vector_bytes // 4, 4
    if lanes % (2 * register):
        return list(range(lanes))
    return [start + half + at + i for start in range(0, lanes, 2 * register) for at in range(0, register, block)
            for half in (0, register) for i in range(block)]


def _inverse(order):
    """Where each lane stands in an order."""
    return sorted(range(len(order)), key=order.__getitem__)


def _picked(k, x, lanes):
    return k.ir.shuffle_vector(x, x, picked(*lanes))


def _widened_upper(k, bits):
    """bfloat16 with zeros beside each number; where it is said so, such that packing brings lanes back into order."""
    lanes = lanes_of(bits)
    if not (k.is_packed and lanes > 1):
        return k.from_bits(k.shift_left(_unsigned(k, bits), 16))
    beside = [lane for place in _inverse(_packed(k, lanes)) for lane in (lanes, place)]
    return k.ir.bitcast(k.ir.shuffle_vector(bits, k.constant_like(0, bits), picked(*beside)), type_of("float32", lanes))


def _narrowed_each(k, x):
    return k.convert(k.shift_right_unsigned(_rounded_to_upper(k, x), 16), "int16")


def _joined(k, parts):
    """Vectors one behind the other as one; as many as a power of two."""
    while len(parts) > 1:
        lanes = range(2 * lanes_of(parts[0]))
        parts = [k.ir.shuffle_vector(x, y, picked(*lanes)) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _unsigned(k, bits):
    return k.ir.zext(bits, type_of("int32", lanes_of(bits)))


def _half(x):
    return ir.HalfType() if lanes_of(x) == 1 else ir.VectorType(ir.HalfType(), lanes_of(x))


def _rounded_to_upper(k, x):
    """The bits of float32, of which the upper half is what is kept."""
    bits = k.bits(x)
    is_odd = k.bitwise_and(k.shift_right_unsigned(bits, 16), 1)
    # A carry goes on into the exponent, and from the largest one to infinity, as it should.
    nearest = k.add(bits, k.add(is_odd, 0x7FFF))
    # The payload of a NaN may be in what is dropped, which would leave infinity.
    return k.where(k.isnan(x), k.bitwise_or(bits, _QUIET), nearest)


def _widened_half(k, bits):
    magnitude = k.bitwise_and(bits, _HALF_MAGNITUDE)
    # An exact product brings the exponent to where float32 has it, and subnormal numbers to normal ones.
    scaled = k.bits(k.multiply(k.from_bits(k.shift_left(magnitude, _BITS)), 2.0**_BIAS))
    is_finite = k.less(magnitude, _HALF_INFINITE)
    found = k.where(is_finite, scaled, k.bitwise_or(scaled, _INFINITE))
    return k.from_bits(k.bitwise_or(found, k.shift_left(k.bitwise_and(bits, _HALF_SIGN), 16)))


def _narrowed_half(k, bits):
    magnitude = k.bitwise_and(bits, _MAGNITUDE)
    is_odd = k.bitwise_and(k.shift_right_unsigned(magnitude, _BITS), 1)
    nearest = k.shift_right_unsigned(k.add(magnitude, k.add(is_odd, 0xFFF - (_BIAS << 23))), _BITS)
    # Beside one half float32 has the steps of subnormal float16: the sum is rounded as it must be.
    subnormal = k.subtract(k.bits(k.add(k.from_bits(magnitude), 0.5)), 126 << 23)
    payload = k.bitwise_and(k.shift_right_unsigned(magnitude, _BITS), 0x3FF)
    beyond = k.where(k.greater(magnitude, _INFINITE), k.bitwise_or(payload, _HALF_QUIET), _HALF_INFINITE)
    found = k.where(k.less(magnitude, _LEAST_NORMAL), subnormal, k.where(k.less(magnitude, _BEYOND), nearest, beyond))
    return k.bitwise_or(found, k.bitwise_and(k.shift_right_unsigned(bits, 16), _HALF_SIGN))


def _odd(k, x):
    """float64 as float32, rounded to the neighbour whose last bit is set where it is between two: rounded once more, it is what one
    rounding would have made (Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008).
    """
    near = k.ir.fptrunc(x, type_of("float32", lanes_of(x)))
    found, wanted, bits = k.abs(k.convert(near, "float64")), k.abs(x), k.bits(near)
    is_even = k.equal(k.bitwise_and(bits, 1), 0)
    step = k.where(k.less(found, wanted), k.constant_like(1, bits), k.where(k.greater(found, wanted), k.constant_like(-1, bits), 0))
    return k.from_bits(k.where(is_even, k.add(bits, step), bits))

"""Keys: integers in the order of floating point numbers, for which NaN is the greatest number and zeros of both signs are equal."""

from . import emit, ir

BITS = {"float32": ir.IntType(32), "float64": ir.IntType(64)}


def key_of(b, number):
    """The key of a number, or of each number of a vector."""
    kind = number.type
    item = kind.element if isinstance(kind, ir.VectorType) else kind
    bits = BITS["float32" if isinstance(item, ir.FloatType) else "float64"]
    of_bits = emit.like(kind, bits)
    # Plus 0, of which -0 becomes 0 and all else stays.
    key = _flipped(b, b.bitcast(b.fadd(number, _each(kind, 0.0)), of_bits))
    return b.select(b.fcmp_unordered("uno", number, number), _each(of_bits, greatest(bits)), key)


def number_of(b, key, item):
    """The number that a key is of."""
    return b.bitcast(_flipped(b, key), item)


def greatest(bits):
    """The key of NaN."""
    return (1 << (bits.width - 1)) - 2


def _flipped(b, bits):
    """Bits of numbers as integers of the same order, or back: of negative ones all but the sign are flipped."""
    width = (bits.type.element if isinstance(bits.type, ir.VectorType) else bits.type).width
    # Of positive numbers the bits are in order as they are, of negative ones in reverse.
    sign = b.ashr(bits, _each(bits.type, width - 1))
    return b.xor(bits, b.and_(sign, _each(bits.type, (1 << (width - 1)) - 1)))


def _each(kind, value):
    return ir.Constant(kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value)

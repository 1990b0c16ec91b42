"""Normal numbers by Box and Muller (1958), in arithmetic that every machine rounds alike.

Each step is an addition, product, quotient or root, which IEEE 754 rounds in one way only, or works on bits. So NumPy and compiled
code, whatever the processor, give the same bits: the formulas stand here once, for a `k` that is a builder of the compiler or
`OnArrays`. Series are those of compiler/backends/cpu/codegen/vecmath, in products and sums that are rounded apart.
"""

import math

import numpy as np

from ...dtypes import name_of

# The bits of sqrt(1/2): what is subtracted from the bits of a number to have its exponent where the rest lies around 1.
_LOWEST = {"float32": 0x3F3504F3, "float64": 0x3FE6A09E667F3BCD}
_MANTISSA = {"float32": 23, "float64": 52}
# (log((1 + s) / (1 - s)) / 2s - 1) / s^2 for s^2 up to 0.02945; log(x) = n ln 2 + log(1 + f) with s = f / (2 + f).
_LOGARITHM = {
    "float32": (0.333333425, 0.199943853, 0.147901991),
    "float64": (
        0.3333333333333335,
        0.1999999999994962,
        0.14285714313047946,
        0.11111105557572081,
        0.09091445278347802,
        0.07665837015083931,
        0.07308518774395825,
    ),
}
#: (sin(r) / r - 1) / r² and (cos(r) - 1) / r² for |r| a little over pi/4, as polynomials in r².
SINE = {
    "float32": (-1.6666654e-01, 8.332095e-03, -1.9505541e-04),
    "float64": (
        -0.1666666666666663,
        0.008333333333321842,
        -0.0001984126982936063,
        2.755731353940452e-06,
        -2.5050734546855934e-08,
        1.589544323946726e-10,
    ),
}
COSINE = {
    "float32": (-0.5, 4.166664e-02, -1.388713e-03, 2.441208e-05),
    "float64": (
        -0.5,
        0.04166666666666659,
        -0.0013888888888872186,
        2.4801587288295667e-05,
        -2.7557314015303046e-07,
        2.087567812293712e-09,
        -1.1357339345266999e-11,
    ),
}


def normal_pair(k, *words):
    r"""Two normal numbers of as many bits each as one word, or as two, has; the words are integers of 32 bits.

    From uniform $u$ and $v$: $\sqrt{-2 \ln u}\,\cos 2\pi v$ and $\sqrt{-2 \ln u}\,\sin 2\pi v$.
    """
    chance, angle, turned = (_of_one if len(words) == 2 else _of_two)(k, *words)
    radius = k.sqrt(_square_of_radius(k, chance))
    sine, cosine = _on_eighth(k, angle)
    # An odd number of quarter turns swaps sine and cosine; the sign of each is that of the radius.
    doubled = k.shift_left(turned, 1)
    is_odd = k.less(doubled, 0)
    across, along = k.where(is_odd, sine, cosine), k.where(is_odd, cosine, sine)
    return (k.multiply(_signed(k, radius, k.bitwise_xor(turned, doubled)), across),
            k.multiply(_signed(k, radius, turned), along))


def _of_one(k, first, second):
    """u, which is never 0; the angle from the nearest quarter turn, and a word that begins with their number."""
    chance = k.add(k.multiply(k.convert_unsigned(first, "float32"), 2.0**-32), 2.0**-33)
    angle = k.multiply(k.convert(k.shift_left(second, 2), "float32"), math.pi / 2 * 2.0**-32)
    return chance, angle, k.add(second, 1 << 29)


def _of_two(k, first, second, third, fourth):
    angle = _joined(k, k.shift_right(k.shift_left(third, 2), 7), fourth)
    chance = k.subtract(1.0, k.multiply(_joined(k, k.shift_right_unsigned(first, 5), second), 2.0**-53))
    return chance, k.multiply(angle, 2 * math.pi * 2.0**-53), k.add(third, 1 << 29)


def uniform_of_two(k, first, second):
    """27 bits of one word and 26 of the next, after Matsumoto and Nishimura's genrand_res53."""
    return k.multiply(_joined(k, k.shift_right_unsigned(first, 5), second), 2.0**-53)


def _joined(k, upper, word):
    """`upper` with 26 bits of a word below it, as a double."""
    return k.add(k.multiply(k.convert(upper, "float64"), 2.0**26), k.convert(k.shift_right_unsigned(word, 6), "float64"))


def _square_of_radius(k, chance):
    """-2 ln of what is above 0 and at most 1."""
    dtype = k.dtype_of(chance)
    lowest, mantissa = _LOWEST[dtype], _MANTISSA[dtype]
    bits = k.subtract(k.bits(chance), lowest)
    upper = bits if dtype == "float32" else k.convert(k.shift_right(bits, 32), "int32")
    exponent = k.convert(k.shift_right(upper, mantissa % 32), dtype)
    rest = k.subtract(k.from_bits(k.add(k.bitwise_and(bits, (1 << mantissa) - 1), lowest)), 1.0)
    s = k.divide(rest, k.add(rest, 2.0))
    square, whole = k.multiply(s, s), k.multiply(s, -4.0)
    more = k.multiply(whole, k.multiply(square, _polynomial(k, square, _LOGARITHM[dtype])))
    return k.add(k.add(whole, more), k.multiply(exponent, -2 * math.log(2)))


def _on_eighth(k, angle):
    """Sine and cosine of an angle of at most an eighth of a turn."""
    square, dtype = k.multiply(angle, angle), k.dtype_of(angle)
    sine = k.add(angle, k.multiply(k.multiply(angle, square), _polynomial(k, square, SINE[dtype])))
    return sine, k.add(1.0, k.multiply(square, _polynomial(k, square, COSINE[dtype])))


def _polynomial(k, x, coefficients):
    result = k.constant_like(coefficients[-1], x)
    for coefficient in coefficients[-2::-1]:
        result = k.add(k.multiply(result, x), coefficient)
    return result


def _signed(k, x, word):
    """`x`, which is positive, with the highest bit of a word of 32 bits as its sign."""
    if k.dtype_of(x) == "float64":
        return k.from_bits(k.bitwise_xor(k.bits(x), k.bitwise_and(k.shift_left(k.convert(word, "int64"), 32), -1 << 63)))
    return k.from_bits(k.bitwise_xor(k.bits(x), k.bitwise_and(word, -1 << 31)))


class OnArrays:
    """The steps above on NumPy arrays."""

    add, subtract, multiply, divide, sqrt = np.add, np.subtract, np.multiply, np.divide, np.sqrt
    less, where = np.less, np.where
    bitwise_and, bitwise_xor, shift_left, shift_right = np.bitwise_and, np.bitwise_xor, np.left_shift, np.right_shift

    @staticmethod
    def shift_right_unsigned(x, count):
        return (x.view(np.uint32) >> count).view(np.int32)

    @staticmethod
    def convert(x, dtype):
        return x.astype(dtype)

    @staticmethod
    def convert_unsigned(x, dtype):
        return x.view(np.uint32).astype(dtype)

    @staticmethod
    def bits(x):
        return x.view(f"int{8 * x.itemsize}")

    @staticmethod
    def from_bits(x):
        return x.view(f"float{8 * x.itemsize}")

    @staticmethod
    def dtype_of(x):
        return name_of(x.dtype)

    @staticmethod
    def constant_like(value, x):
        return x.dtype.type(value)

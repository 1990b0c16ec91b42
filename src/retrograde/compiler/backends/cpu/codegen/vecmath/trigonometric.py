"""sin, cos, tan and sincos.

After the reduction to a quarter turn (`angle.py`): minimax polynomials (Remez exchange in 50 digits) in z = r^2, in the
forms r + r z P(z) for sine and tangent and 1 - z/2 + z^2 Q(z) for cosine, as in Cephes (Moshier, 1989) and FDLIBM.
"""

from ......ops.random._box_muller import COSINE, SINE
from .angle import quarter_turns, quarter_turns_exactly
from .table import function, function_for

# (tan(r) / r - 1) / z for |r| a little over pi/4; what belongs to sine and cosine stands where normal numbers are made of them.
_TANGENT = {
    "float32": (3.3333105e-01, 1.334016e-01, 5.329796e-02, 2.4835858e-02, 2.4681694e-03, 9.771243e-03),
    "float64": (
        0.33333333333332743,
        0.1333333333341942,
        0.05396825392436963,
        0.021869489664172747,
        0.008863218386340457,
        0.0035922961017886674,
        0.0014547152740509637,
        0.0005952445218987369,
        0.00022184911113042993,
        0.00013762036648731928,
        -2.793197612070199e-05,
        9.087555898109112e-05,
        -4.564627303003235e-05,
        2.104871172423124e-05,
    ),
}


@function
def sin(k, x):
    """Sine of an angle in radians, of any size."""
    return _sine_of(k, x, *_parts(k, x))


@function
def cos(k, x):
    """Cosine of an angle in radians, of any size."""
    return _cosine_of(k, *_parts(k, x))


@function_for("float32", "float64", results=2)
def sincos(k, x):
    """Sine and cosine with one reduction."""
    parts = _parts(k, x)
    return _sine_of(k, x, *parts), _cosine_of(k, *parts)


@function
def tan(k, x):
    """Tangent of an angle in radians, of any size."""
    n, r, excess = quarter_turns_exactly(k, x)
    square = k.multiply(r, r)
    rest = k.fma(k.multiply(r, square), k.polynomial(square, _TANGENT[k.dtype]), k.negative(excess))
    tangent = k.add(r, rest)
    low = k.add(k.subtract(r, tangent), rest)
    # -1 / (tangent + low), with the remainder of the division given back.
    quotient = k.divide(-1, tangent)
    inverse = k.fma(quotient, k.fma(quotient, low, k.fma(quotient, tangent, 1)), quotient)
    return k.where(k.not_equal(k.bitwise_and(n, 1), 0), inverse, tangent)


def _parts(k, x):
    """For |x| = n pi/2 + r: n moved to the two highest bits, and sine and cosine of r."""
    n, r = quarter_turns(k, k.abs(x))
    bits = 32 if k.dtype == "float32" else 64
    square = k.multiply(r, r)
    sine = k.fma(k.multiply(r, square), k.polynomial(square, SINE[k.dtype]), r)
    cosine = k.fma(square, k.polynomial(square, COSINE[k.dtype]), 1)
    return k.shift_left(n, bits - 1), k.shift_left(n, bits - 2), sine, cosine


def _sine_of(k, x, odd, double, sine, cosine):
    """The sine after n quarter turns: odd ones swap it for the cosine, the second bit of n is the sign."""
    sign = k.bitwise_xor(k.bits(x), double)
    return _signed(k, k.where(k.less(odd, 0), cosine, sine), sign)


def _cosine_of(k, odd, double, sine, cosine):
    return _signed(k, k.where(k.less(odd, 0), sine, cosine), k.bitwise_xor(odd, double))


def _signed(k, x, sign):
    """`x`, negative where the highest bit of `sign` is set."""
    highest = -1 << (31 if k.dtype == "float32" else 63)
    return k.from_bits(k.bitwise_xor(k.bits(x), k.bitwise_and(sign, highest)))

"""The table of functions of each element: PyTorch's names, and the ops that compute them."""

from ..ops import complexes
from ..ops.elementary import arithmetic, bits, comparisons, exponential, hyperbolic, rounding, trigonometric
from ..ops.networks import activation
from ..ops.special import entropies, error_function, log_gamma, normal
from . import differing
from .binding import Row


def _of_one(settles, **ops):
    return [Row(f"{name}(input)", op, "input", settles, has_inplace=True) for name, op in ops.items()]


def _of_two(settles, **ops):
    return [Row(f"{name}(input, other)", op, "input, other", settles, has_inplace=True) for name, op in ops.items()]


ROWS = [
    *_of_one(
        "float", acos=trigonometric.acos, arccos=trigonometric.acos, acosh=hyperbolic.acosh, arccosh=hyperbolic.acosh,
        asin=trigonometric.asin, arcsin=trigonometric.asin, asinh=hyperbolic.asinh, arcsinh=hyperbolic.asinh,
        atan=trigonometric.atan,
        arctan=trigonometric.atan, atanh=hyperbolic.atanh, arctanh=hyperbolic.atanh, cos=trigonometric.cos, cosh=hyperbolic.cosh,
        sin=trigonometric.sin, sinh=hyperbolic.sinh, tan=trigonometric.tan, tanh=trigonometric.tanh, exp=exponential.exp,
        exp2=exponential.exp2, expm1=exponential.expm1, log=exponential.log, log2=exponential.log2, log10=exponential.log10,
        log1p=exponential.log1p, sqrt=arithmetic.sqrt, rsqrt=arithmetic.rsqrt, sigmoid=activation.sigmoid, erf=error_function.erf,
        erfc=error_function.erfc, erfinv=normal.erfinv, lgamma=log_gamma.lgamma, digamma=log_gamma.digamma, sinc=trigonometric.sinc,
        reciprocal=arithmetic.reciprocal),
    *_of_one(
        None, abs=arithmetic.abs, absolute=arithmetic.abs, neg=arithmetic.negative, negative=arithmetic.negative,
        sign=differing.sign, sgn=differing.sgn, floor=rounding.floor, ceil=rounding.ceil, trunc=rounding.trunc, fix=rounding.trunc,
        square=differing.square, positive=arithmetic.positive, relu=activation.relu, logical_not=comparisons.logical_not,
        bitwise_not=comparisons.bitwise_invert, conj=complexes.conj, frac=differing.frac),
    *[row._replace(has_inplace=False) for row in _of_one(
        None, isnan=comparisons.isnan, isinf=comparisons.isinf, isfinite=comparisons.isfinite, signbit=bits.signbit,
        conj_physical=complexes.conj, resolve_conj=differing.itself, resolve_neg=differing.itself)],
    *[row._replace(has_method=False, has_inplace=False) for row in _of_one(
        None, real=complexes.real, imag=complexes.imag, view_as_real=complexes.view_as_real,
        view_as_complex=complexes.view_as_complex)],
    Row("angle(input)", complexes.angle, "input", "float"),
    Row("logit(input, eps=None)", differing.logit, "input, eps", "float", has_inplace=True),
    Row("round(input, *, decimals=0)", differing.rounded, "input, decimals", None, has_inplace=True),
    Row("add(input, other, *, alpha=1)", differing.added, "input, other, alpha", "pair", has_inplace=True),
    Row("sub(input, other, *, alpha=1)", differing.subtracted, "input, other, alpha", "pair", has_inplace=True),
    Row("subtract(input, other, *, alpha=1)", differing.subtracted, "input, other, alpha", "pair", has_inplace=True),
    Row("div(input, other, *, rounding_mode=None)", differing.divided, "input, other, rounding_mode", "pair", has_inplace=True),
    Row("divide(input, other, *, rounding_mode=None)", differing.divided, "input, other, rounding_mode", "pair", has_inplace=True),
    *_of_two(
        "pair", mul=arithmetic.multiply, multiply=arithmetic.multiply, floor_divide=arithmetic.floor_divide,
        remainder=arithmetic.remainder, fmod=differing.fmod, maximum=comparisons.maximum, minimum=comparisons.minimum,
        fmax=differing.fmax,
        fmin=differing.fmin, eq=comparisons.equal, ne=comparisons.not_equal, not_equal=comparisons.not_equal,
        lt=comparisons.less, less=comparisons.less, le=comparisons.less_equal, less_equal=comparisons.less_equal,
        gt=comparisons.greater, greater=comparisons.greater, ge=comparisons.greater_equal, greater_equal=comparisons.greater_equal,
        bitwise_and=comparisons.bitwise_and, bitwise_or=comparisons.bitwise_or, bitwise_xor=comparisons.bitwise_xor,
        bitwise_left_shift=bits.bitwise_left_shift, bitwise_right_shift=bits.bitwise_right_shift,
        nextafter=bits.nextafter, hypot=trigonometric.hypot, logaddexp=exponential.logaddexp),
    *_of_two(
        "floats", true_divide=arithmetic.divide, atan2=trigonometric.atan2, arctan2=trigonometric.atan2, copysign=bits.copysign,
        xlogy=entropies.xlogy),
    *_of_two(
        None, logical_and=comparisons.logical_and, logical_or=comparisons.logical_or, logical_xor=comparisons.logical_xor),
    Row("pow(input, exponent)", arithmetic.power, "input, exponent", "power", has_inplace=True),
    Row("float_power(input, exponent)", arithmetic.power, "*promoted(doubled(input), exponent)", None),
    Row("clamp(input, min=None, max=None)", comparisons.clip, "*limited(input, min, max)", None, has_inplace=True),
    Row("clip(input, min=None, max=None)", comparisons.clip, "*limited(input, min, max)", None, has_inplace=True),
    Row("softmax(input, dim, dtype=None)", activation.softmax, "cast(input, dtype), dim", None),
    Row("log_softmax(input, dim, dtype=None)", activation.log_softmax, "cast(input, dtype), dim", None),
]

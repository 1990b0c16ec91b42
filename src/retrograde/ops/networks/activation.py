"""Activations: the nonlinear functions between layers."""

import math

import numpy as np

from ...dtypes import is_float
from ...errors import ArgumentError
from .._families import composite, elementwise
from .._native import by_element, by_rows
from .._samples import call, distinct, uniform
from ..axes.reductions import logsumexp, max, sum
from ..elementary.comparisons import clip, where
from ..elementary.conversions import as_floats, narrowed, widened
from ..elementary.exponential import exp
from ..elementary.trigonometric import tanh
from ..special._blocks import in_blocks
from ..special._normal import normal_distribution
from ..special.error_function import ERFC

_ROOT_HALF, _ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2 * math.pi)
# The fixed point of SELU (Klambauer et al., Self-normalizing neural networks, 2017).
_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


@elementwise(samples=uniform(-3, 3, avoid=(0,)), emit=lambda k, x: k.maximum(x, 0))
def relu(x, /):
    r"""`x` where it is positive, else 0; the derivative at 0 is 0, that at NaN is 1.

    $z = \max(x, 0) \;\Rightarrow\; \bar x = \bar z\,[z > 0]$
    """
    return np.maximum(x, 0)


relu.defvjp(lambda g, z: where(z <= 0, 0, g))


@elementwise(faster=by_element, samples=uniform(-3, 3, avoid=(0,)),
             emit=lambda k, x, slope: k.where(k.greater(x, 0), x, k.multiply(x, slope)))
def leaky_relu(x, /, negative_slope=0.01):
    r"""`x` where it is positive, else `negative_slope` times `x`; the derivative at 0 is the slope.

    $\bar x = \bar z$ where $x > 0$, else $s \bar z$
    """
    return np.where(x > 0, x, x * negative_slope)


leaky_relu.defvjp(lambda g, x, negative_slope: where(x > 0, g, g * negative_slope))


@elementwise(faster=by_element)
def sigmoid(x, /):
    r"""Logistic function $1 / (1 + e^{-x})$, without overflow.

    $z = \sigma(x) \;\Rightarrow\; \bar x = \bar z\, z\, (1 - z)$
    """
    x = _floating(x)
    is_right = np.real(x) >= 0
    small = np.exp(np.where(is_right, -x, x)) if np.iscomplexobj(x) else np.exp(-np.abs(x))
    return np.where(is_right, 1, small) / (1 + small)


sigmoid.defvjp(lambda g, z: g * z * (1 - z))


@elementwise(is_real=True, faster=by_element, aliases=("logsigmoid",))
def log_sigmoid(x, /):
    r"""Logarithm of the logistic function, $-\ln(1 + e^{-x})$, without overflow.

    $z = \ln \sigma(x) \;\Rightarrow\; \bar x = \bar z\, \sigma(-x)$
    """
    x = _floating(x)
    return np.minimum(x, -0.0) - np.log1p(np.exp(-np.abs(x)))


log_sigmoid.defvjp(lambda g, x: g * sigmoid(-x))


@elementwise(is_real=True, faster=by_element, emit=lambda k, x, beta: k.divide(k.softplus(k.multiply(x, beta)), beta))
def softplus(x, /, beta=1.0):
    r"""A smooth `relu`: $\ln(1 + e^{\beta x}) / \beta$, without overflow.

    $\bar x = \bar z\, \sigma(\beta x)$
    """
    (x,) = as_floats(x)
    scaled = x * beta
    return (np.maximum(scaled, 0) + np.log1p(np.exp(-np.abs(scaled)))) / beta


softplus.defvjp(lambda g, x, beta: g * sigmoid(x * beta))


@elementwise(faster=by_element, aliases=("swish",))
def silu(x, /):
    r"""`x` times its logistic function.

    $z = x\,\sigma(x) \;\Rightarrow\; \bar x = \bar z\, \sigma\,(1 + x\,(1 - \sigma))$
    """
    x = _floating(x)
    return _above(x) * sigmoid(x)


def _floating(x):
    """`x` in the floats that NumPy's functions make of integers, of which unsigned ones have no negative."""
    is_integer = getattr(getattr(x, "dtype", None), "kind", "") in tuple("biu")
    return x.astype(np.result_type(x.dtype, np.float16)) if is_integer else x


def _above(x):
    """`x` without minus infinity, where what it is multiplied by is 0 far below."""
    return x if _is_complex(x) else np.maximum(x, -1e3)


def _is_complex(x):
    return getattr(getattr(x, "dtype", None), "kind", "") == "c"


@elementwise(is_public=False, faster=by_element)
def silu_slope(x, /):
    r"""The derivative of `silu`.

    $z = \sigma\,(1 + x\,(1 - \sigma)) \;\Rightarrow\; \bar x = \bar z\,\sigma\,(1 - \sigma)\,(2 + x\,(1 - 2 \sigma))$
    """
    chance = sigmoid(x)
    return chance * (1 + _bounded(x) * (1 - chance))


def _bounded(x):
    """`x` without infinities, where what it is multiplied by is 0 beyond a bound."""
    return x if _is_complex(x) else clip(x, -1e3, 1e3)


def _silu_bend(x):
    chance = sigmoid(x)
    return chance * (1 - chance) * (2 + _bounded(x) * (1 - 2 * chance))


silu.defvjp(lambda g, x: g * silu_slope(x))
silu_slope.defvjp(lambda g, x: g * _silu_bend(x))


def _mish_in_ops(x):
    return clip(x, -1e3, None) * tanh(softplus(x)) if is_float(x.dtype) else NotImplemented


@elementwise(is_real=True, faster=by_element, expansion=_mish_in_ops)
def mish(x, /):
    r"""$x \tanh(\ln(1 + e^x))$.

    With $t = \tanh(\ln(1 + e^x))$: $\bar x = \bar z\,(t + x\,(1 - t^2)\,\sigma(x))$
    """
    x = _floating(x)
    return _above(x) * np.tanh(softplus(x))


def _mish_slope(x):
    t = tanh(softplus(x))
    return t + _bounded(x) * (1 - t * t) * sigmoid(x)


mish.defvjp(lambda g, x: g * _mish_slope(x))


def _elu(x, alpha):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _elu_slope(x, alpha):
    return where(x > 0, 1, alpha * exp(clip(x, None, 0)))


@elementwise(faster=by_element, samples=uniform(-3, 3, avoid=(0,)), emit=lambda k, x, alpha: k.where(
    k.greater(x, 0), x, k.multiply(alpha, k.expm1(k.minimum(x, 0)))))
def elu(x, /, alpha=1.0):
    r"""`x` where it is positive, else $\alpha\,(e^x - 1)$.

    $\bar x = \bar z$ where $x > 0$, else $\bar z\, \alpha\, e^x$
    """
    return _elu(x, alpha)


elu.defvjp(lambda g, x, alpha: g * _elu_slope(x, alpha))


@composite(keeps_sizes=True, faster=by_element, samples=(call((2, 3)),))
def selu(x, /):
    r"""$\lambda\,x$ where `x` is positive, else $\lambda \alpha\,(e^x - 1)$, with $\lambda = 1.0507\dots$ and
    $\alpha = 1.6732\dots$ from Klambauer et al., "Self-normalizing neural networks" (2017).

    $\bar x = \lambda \bar z$ where $x > 0$, else $\bar z\, \lambda \alpha\, e^x$
    """
    return _SELU_SCALE * elu(x, _SELU_ALPHA)


selu.defvjp(lambda g, x: g * (_SELU_SCALE * _elu_slope(x, _SELU_ALPHA)))


@composite(keeps_sizes=True, faster=by_element, samples=(call((2, 3)),))
def hardswish(x, /):
    r"""$x \min(\max(x + 3, 0), 6) / 6$, a `silu` made of straight pieces.

    $\bar x = \bar z\,(2 x + 3) / 6$ between -3 and 3, 0 up to -3 and $\bar z$ from 3 on.
    """
    (x,) = as_floats(x)
    return x * (clip(x + 3, 0, 6) * (1 / 6))


hardswish.defvjp(lambda g, x: g * where(x <= -3, 0, where(x >= 3, 1, x * (1 / 3) + 0.5)))


@elementwise(is_real=True, samples=distinct(-3, 3), emit=lambda k, x, low, high: k.minimum(k.maximum(x, low), high))
def hardtanh(x, /, min_val=-1.0, max_val=1.0):
    r"""`x`, but at least `min_val` and at most `max_val`, which is `clip` with another derivative at the bounds: 0.

    $\bar x = \bar z\,[\min < x < \max]$

    >>> rg.hardtanh(rg.tensor([-2.0, 0.5, 2.0]))
    tensor([-1. ,  0.5,  1. ])
    """
    if min_val > max_val:
        raise ArgumentError(f"hardtanh needs min_val <= max_val, got {min_val} and {max_val}")
    return np.clip(x, min_val, max_val)


hardtanh.defvjp(lambda g, x, min_val, max_val: where((x > min_val) & (x < max_val), g, 0))


def gelu(x, /, approximate="none"):
    """`x` times the chance that a normal number is below it: exact, or with `approximate="tanh"` nearly so.

    >>> rg.gelu(rg.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.15865526,  0.        ,  0.8413447 ])
    """
    if approximate not in _GELUS:
        raise ArgumentError(f"approximate must be one of {', '.join(_GELUS)}, got {approximate!r}")
    return _GELUS[approximate](x)


@elementwise(is_public=False, is_real=True, faster=by_element, emit=lambda k, x: k.gelu(x))
def gelu_erf(x, /):
    r"""`gelu` by its definition.

    $z = x\,\Phi(x)$ with $\Phi(x) = \tfrac12 (1 + \operatorname{erf} \tfrac{x}{\sqrt2}) \;\Rightarrow\;
    \bar x = \bar z\,(\Phi(x) + x\, e^{-x^2/2} / \sqrt{2\pi})$
    """
    return in_blocks(_GELU_ERF, x)


def _times_chance(complement):
    """`gelu` of a block, from the complement of the error function of its dtype: that is precise where chances are small."""

    def gelu_of(x):
        chance = complement(x * x.dtype.type(-_ROOT_HALF))
        chance *= 0.5
        is_far = (x < -_NEAR) & (x > -_FLAT)
        if x.dtype == np.float64 and is_far.any():
            # The rounding of the argument, to its square, is in the exponent.
            chance[is_far] = normal_distribution(x[is_far])
        chance *= np.maximum(x, -_FLAT)
        return chance

    return gelu_of


#: Up to here the rounding of an argument changes the normal distribution by some units in the last place.
_NEAR = 5.0
#: Beyond this the normal density is 0.
_FLAT = 40.0
_GELU_ERF = {name: _times_chance(function) for name, function in ERFC.items()}


@elementwise(is_public=False, is_real=True, faster=by_element, emit=lambda k, x: k.gelu_slope(x))
def gelu_erf_slope(x, /):
    r"""The derivative of `gelu_erf`.

    $z = \Phi(x) + x\,\varphi(x)$ with $\varphi(x) = e^{-x^2/2} / \sqrt{2\pi}
    \;\Rightarrow\; \bar x = \bar z\,(2 - x^2)\,\varphi(x)$
    """
    return in_blocks(_GELU_ERF_SLOPE, x)


def _slope(complement):
    """`gelu_erf_slope` of a block, from the complement of the error function of its dtype."""

    def slope_of(x):
        chance = complement(x * x.dtype.type(-_ROOT_HALF))
        chance *= 0.5
        x = np.clip(x, -_FLAT, _FLAT)
        return chance + x * np.exp(x * x * -0.5) * x.dtype.type(1 / _ROOT_TWO_PI)

    return slope_of


_GELU_ERF_SLOPE = {name: _slope(function) for name, function in ERFC.items()}
gelu_erf.defvjp(lambda g, x: g * gelu_erf_slope(x))
gelu_erf_slope.defvjp(lambda g, x: g * _gelu_erf_bend(clip(x, -_FLAT, _FLAT)))


def _gelu_erf_bend(x):
    return (2 - x * x) * exp(x * x * -0.5) * (1 / _ROOT_TWO_PI)


@elementwise(is_public=False, faster=by_element)
def gelu_tanh(x, /):
    r"""`gelu` in the approximation of Hendrycks and Gimpel, "Gaussian error linear units" (2016).

    $z = x\,\sigma(v)$ with $v = 2 \sqrt{2/\pi}\,(x + 0.044715\,x^3) \;\Rightarrow\;
    \bar x = \bar z\,\sigma(v)\,(1 + x v' (1 - \sigma(v)))$
    """
    x = _floating(x)
    return _above(x) * sigmoid(_inner(x))


def _inner(x):
    return x * (_RATE + _RATE * 0.044715 * (x * x))


@elementwise(is_public=False, faster=by_element)
def gelu_tanh_slope(x, /):
    r"""The derivative of `gelu_tanh`.

    $z = \sigma(v)\,(1 + x v' (1 - \sigma(v))) \;\Rightarrow\;
    \bar x = \bar z\,\sigma(v)\,(1 - \sigma(v))\,(2 v' + x v'' + x v'^2 (1 - 2 \sigma(v)))$
    """
    x = _bounded(x)
    chance = sigmoid(_inner(x))
    return chance * (1 + x * _steep(x) * (1 - chance))


def _steep(x):
    return _RATE + 3 * _RATE * 0.044715 * (x * x)


def _gelu_tanh_bend(x):
    x = _bounded(x)
    chance, steep = sigmoid(_inner(x)), _steep(x)
    return chance * (1 - chance) * (2 * steep + x * (6 * _RATE * 0.044715 * x + steep * steep * (1 - 2 * chance)))


_RATE = 2 * math.sqrt(2 / math.pi)
gelu_tanh.defvjp(lambda g, x: g * gelu_tanh_slope(x))
gelu_tanh_slope.defvjp(lambda g, x: g * _gelu_tanh_bend(x))
_GELUS = {"none": gelu_erf, "tanh": gelu_tanh}


@composite(keeps_sizes=True, faster=by_rows, samples=(
    call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=(0, 1)), call((2, 3), axis=None), call((2, 0))))
def softmax(x, /, axis=-1):
    r"""Exponentials of `x` divided by their sum over `axis`; safe for large numbers.

    $z_i = e^{x_i} / \sum_j e^{x_j} \;\Rightarrow\; \bar x_i = z_i\,(\bar z_i - \sum_j \bar z_j z_j)$
    """
    if not x.size:
        return exp(*as_floats(x))
    wide = widened(*as_floats(x))
    powers = exp(wide - max(wide, axis, keepdims=True))
    return narrowed(powers * (1 / sum(powers, axis, keepdims=True)), x)  # the sum is at least 1


softmax.defvjp(lambda g, z, axis: z * (g - sum(g * z, axis, keepdims=True)))


@composite(keeps_sizes=True, faster=by_rows, samples=(call((2, 3)), call((2, 3), axis=0), call((2, 0))))
def log_softmax(x, /, axis=-1):
    r"""Logarithm of `softmax`, without the loss of precision of taking it afterwards.

    $z_i = x_i - \log\sum_j e^{x_j} \;\Rightarrow\; \bar x_i = \bar z_i - e^{z_i} \sum_j \bar z_j$
    """
    wide = widened(*as_floats(x))
    return narrowed(wide - logsumexp(wide, axis, keepdims=True), x)


log_softmax.defvjp(lambda g, z, axis: g - exp(z) * sum(g, axis, keepdims=True))

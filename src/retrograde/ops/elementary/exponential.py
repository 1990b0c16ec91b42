"""Exponentials and logarithms."""

import math

import numpy as np

from .._families import elementwise
from .._native import by_many_elements
from .._samples import uniform
from .comparisons import isinf, where

_LN2, _LN10 = math.log(2), math.log(10)


@elementwise(faster=by_many_elements)
def exp(x, /):
    r"""e to the power `x`.

    $z = e^x \;\Rightarrow\; \bar x = \bar z\, z$
    """
    return np.exp(x)


exp.defvjp(lambda g, z: g * z)


@elementwise(faster=by_many_elements)
def exp2(x, /):
    r"""2 to the power `x`.

    $z = 2^x \;\Rightarrow\; \bar x = \bar z\, z \ln 2$
    """
    return np.exp2(x)


exp2.defvjp(lambda g, z: g * z * _LN2)


@elementwise(faster=by_many_elements)
def expm1(x, /):
    r"""$e^x - 1$, precise near 0.

    $z = e^x - 1 \;\Rightarrow\; \bar x = \bar z\, e^x$, which $z + 1$ is not where it is tiny.
    """
    return _expm1_complex(np.asarray(x)) if np.iscomplexobj(x) else np.expm1(x)


def _expm1_complex(x):
    """The real part without cancellation, and the limits of the Array API standard at infinity, which NumPy lacks."""
    a, b = x.real, x.imag
    result = np.empty_like(x)
    with np.errstate(all="ignore"):
        half = np.sin(b / 2)
        result.real = np.expm1(a) * np.cos(b) - 2 * half * half + 0.0
        result.imag = np.where(b == 0, b, np.exp(a) * np.sin(b))
    result[np.isneginf(a) & ~np.isfinite(b)] = -1
    result.real[np.isposinf(a) & ~np.isfinite(b)] = np.inf
    return result


expm1.defvjp(lambda g, x: g * exp(x))


@elementwise(faster=by_many_elements, aliases=("ln",), samples=uniform(0.2, 4))
def log(x, /):
    r"""Natural logarithm.

    $z = \ln x \;\Rightarrow\; \bar x = \bar z / x$
    """
    return np.log(x)


log.defvjp(lambda g, x: g / x)


@elementwise(faster=by_many_elements, samples=uniform(0.2, 4))
def log2(x, /):
    r"""Logarithm to base 2.

    $z = \log_2 x \;\Rightarrow\; \bar x = \bar z / (x \ln 2)$
    """
    return np.log2(x)


log2.defvjp(lambda g, x: g / (x * _LN2))


@elementwise(faster=by_many_elements, samples=uniform(0.2, 4))
def log10(x, /):
    r"""Logarithm to base 10.

    $z = \log_{10} x \;\Rightarrow\; \bar x = \bar z / (x \ln 10)$
    """
    return np.log10(x)


log10.defvjp(lambda g, x: g / (x * _LN10))


@elementwise(faster=by_many_elements, samples=uniform(-0.8, 4))
def log1p(x, /):
    r"""$\ln(1 + x)$, precise near 0.

    $z = \ln(1 + x) \;\Rightarrow\; \bar x = \bar z / (1 + x)$
    """
    return np.log1p(x)


log1p.defvjp(lambda g, x: g / (1 + x))


@elementwise(faster=by_many_elements, samples=(uniform(-3, 3), uniform(-3, 3)))
def logaddexp(x, y, /):
    r"""$\ln(e^x + e^y)$, safe for large numbers.

    $\bar x = \bar z\, e^{x - z} = \bar z / (1 + e^{y - x}),\; \bar y = \bar z / (1 + e^{x - y})$
    """
    return np.logaddexp(x, y)


def _weight(x, y):
    r"""$1 / (1 + e^{y - x})$, also where infinities meet: of large numbers $x - \ln(e^x + e^y)$ would have lost its digits."""
    return exp(-logaddexp(0, where(isinf(x) & (x == y), 0, y - x)))


logaddexp.defvjp(lambda g, x, y: g * _weight(x, y), lambda g, x, y: g * _weight(y, x))

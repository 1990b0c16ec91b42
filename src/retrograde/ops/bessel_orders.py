"""Bessel functions of any order, from SciPy. The order is a constant."""

import numpy as np

from ..dtypes import is_float
from ..extras import optional
from ._families import elementwise
from ._samples import call, of, uniform
from .arithmetic import sign

_PLACE = uniform(0.5, 4)
_SAMPLES = (call(of((2, 3), _PLACE), 1), call(of((), _PLACE), n=0), call(of((2,), _PLACE), n=np.array([0, 2])))


def _computed(name, n, x):
    x = np.asarray(x) if not hasattr(x, "dtype") else x
    found = getattr(optional("scipy.special", "scipy"), name)(n, x.astype(np.float64))
    return found.astype(x.dtype if is_float(x.dtype) else np.float64)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_j(x, /, n):
    r"""$J_n(x)$, the Bessel function of the first kind, of order `n`.

    $z = J_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(J_{n - 1}(x) - J_{n + 1}(x))$
    """
    return _computed("jv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_y(x, /, n):
    r"""$Y_n(x)$, the Bessel function of the second kind, of order `n`, for positive `x`.

    $z = Y_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(Y_{n - 1}(x) - Y_{n + 1}(x))$
    """
    return _computed("yv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_i(x, /, n):
    r"""$I_n(x)$, the modified Bessel function of the first kind, of order `n`.

    $z = I_n(x) \;\Rightarrow\; \bar x = \tfrac12 \bar z\,(I_{n - 1}(x) + I_{n + 1}(x))$
    """
    return _computed("iv", n, x)


@elementwise(is_real=True, samples=_SAMPLES)
def bessel_ie(x, /, n):
    r"""$e^{-|x|} I_n(x)$, which does not overflow.

    $\bar x = \bar z\,(e^{-|x|} (I_{n - 1}(x) + I_{n + 1}(x)) / 2 - \operatorname{sign}(x)\, z)$
    """
    return _computed("ive", n, x)


bessel_j.defvjp(lambda g, x, n: g * 0.5 * (bessel_j(x, n - 1) - bessel_j(x, n + 1)))
bessel_y.defvjp(lambda g, x, n: g * 0.5 * (bessel_y(x, n - 1) - bessel_y(x, n + 1)))
bessel_i.defvjp(lambda g, x, n: g * 0.5 * (bessel_i(x, n - 1) + bessel_i(x, n + 1)))
bessel_ie.defvjp(lambda g, x, n, z: g * (0.5 * (bessel_ie(x, n - 1) + bessel_ie(x, n + 1)) - sign(x) * z))

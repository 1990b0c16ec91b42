r"""Complex numbers: their parts, conjugate and angle.

A cotangent $\bar x$ of a complex $x$ pairs with a change of it without conjugation, $dL = \operatorname{Re}(\bar x\, dx)$, so
the rule of a holomorphic op is the one of real numbers, $\bar x = \bar z f'(x)$. What users see, `.grad`, is its conjugate:
$\partial L / \partial a + i\, \partial L / \partial b$ for $x = a + i b$, the direction of steepest ascent, as in PyTorch.
"""

import numpy as np

from ..dtypes import is_float
from ..errors import ShapeError
from ._families import composite, elementwise
from ._samples import call, complex_uniform, of, uniform
from .elementary.arithmetic import mirrored
from .elementary.conversions import as_floats
from .elementary.trigonometric import atan2, cos, sin
from .manipulation.joins import stack
from .manipulation.movements import transpose

_IS_COMPLEX = {"dtypes": "of complex numbers it is real, of real ones complex"}


@elementwise()
def real(x, /):
    r"""The real part of `x`; of real numbers, `x` itself.

    $z = \operatorname{Re} x \;\Rightarrow\; \bar x = \bar z$
    """
    return np.array(np.real(x), copy=True)


@elementwise()
def imag(x, /):
    r"""The imaginary part of `x`; of real numbers, zeros.

    $z = \operatorname{Im} x = \operatorname{Re}(-i x) \;\Rightarrow\; \bar x = -i \bar z$
    """
    return np.array(np.imag(x), copy=True)


@elementwise(aliases=("conjugate",))
def conj(x, /):
    r"""The complex conjugate of `x`.

    $\operatorname{Re}(\bar z\, d\overline x) = \operatorname{Re}(\overline{\bar z}\, dx)$, so $\bar x$ is the conjugate of
    $\bar z$.
    """
    return np.conjugate(x) if np.iscomplexobj(x) else np.array(x, copy=True)


real.defvjp(lambda g, x: g.astype(x.dtype))
imag.defvjp(lambda g, x: g.astype(x.dtype) * -1j if x.dtype.kind == "c" else g * 0)
conj.defvjp(lambda g: conj(g))


@elementwise(is_real=True, skips=_IS_COMPLEX, samples=uniform(-3, 3))
def complex(x, y, /):
    r"""The complex numbers $x + i y$ of real `x` and `y`.

    $z = x + i y \;\Rightarrow\; \bar x = \operatorname{Re} \bar z,\; \bar y = \operatorname{Re}(i \bar z)$

    >>> rg.complex(rg.tensor([1.0]), rg.tensor([2.0]))
    tensor([1.+2.j], dtype=complex64)
    """
    x, y = np.broadcast_arrays(x, y)
    is_narrow = all(v.dtype.itemsize <= 4 and is_float(v.dtype) for v in (x, y))
    result = np.empty(x.shape, np.complex64 if is_narrow else np.complex128)
    result.real, result.imag = x, y
    return result


complex.defvjp(lambda g: real(g), lambda g: -imag(g))


@composite(samples=(call(of((2, 3), complex_uniform())),), skips=_IS_COMPLEX)
def angle(x, /):
    r"""The angle of `x` in the complex plane, from -π to π; π for negative real numbers, 0 for others.

    $z = \operatorname{atan2}(\operatorname{Im} x, \operatorname{Re} x) \;\Rightarrow\; \bar x = -i\, \bar z / x$
    """
    return atan2(imag(x), real(x))


@composite(is_real=True, samples=(call(of((2, 3), uniform(0.5, 2)), (3,)),), skips=_IS_COMPLEX)
def polar(x, y, /):
    r"""The complex number of length `x` and angle `y` in radians.

    $z = x\,(\cos y + i \sin y) \;\Rightarrow\; \bar x = \operatorname{Re}(\bar z\, e^{i y}),\;
    \bar y = \operatorname{Re}(i \bar z\, z)$
    """
    x, y = as_floats(x, y)
    return complex(x * cos(y), x * sin(y))


@composite(samples=(call(of((2, 3), complex_uniform())),), skips=_IS_COMPLEX)
def view_as_real(x, /):
    r"""Complex numbers as pairs of real ones along a new last axis.

    $z = (\operatorname{Re} x, \operatorname{Im} x) \;\Rightarrow\; \bar x = \bar z_0 - i \bar z_1$
    """
    return stack([real(x), imag(x)], -1)


@composite(is_real=True, samples=(call((2, 3, 2)),), skips=_IS_COMPLEX)
def view_as_complex(x, /):
    r"""Pairs of real numbers along the last axis as complex ones: the inverse of `view_as_real`.

    $z = x_0 + i x_1 \;\Rightarrow\; \bar x = (\operatorname{Re} \bar z, -\operatorname{Im} \bar z)$
    """
    if x.ndim == 0 or x.shape[-1] != 2:
        raise ShapeError(f"view_as_complex needs a last axis of size 2, got shape {x.shape}")
    return complex(x[..., 0], x[..., 1])


def adjoint(x):
    """`x` with its last two axes exchanged and its elements conjugated."""
    return transpose(mirrored(x))

"""Arithmetic: one op for tensors, numbers and broadcasting alike."""

import numpy as np

from .._families import elementwise
from .._native import by_element, by_many_elements
from .._samples import uniform
from .comparisons import where


@elementwise()
def add(x, y, /):
    r"""Sum of `x` and `y`, element by element.

    $z = x + y \;\Rightarrow\; \bar x = \bar z,\; \bar y = \bar z$
    """
    return np.add(x, y)


add.defvjp(lambda g: g, lambda g: g)


@elementwise(aliases=("sub",))
def subtract(x, y, /):
    r"""Difference of `x` and `y`, element by element.

    $z = x - y \;\Rightarrow\; \bar x = \bar z,\; \bar y = -\bar z$
    """
    return np.subtract(x, y)


subtract.defvjp(lambda g: g, lambda g: -g)


@elementwise(aliases=("mul",))
def multiply(x, y, /):
    r"""Product of `x` and `y`, element by element.

    $z = x y \;\Rightarrow\; \bar x = \bar z\, y,\; \bar y = \bar z\, x$
    """
    return np.multiply(x, y)


multiply.defvjp(lambda g, y: g * y, lambda g, x: g * x)


@elementwise(aliases=("div", "true_divide"), samples=(uniform(-3, 3), uniform(-3, 3, avoid=(0,), gap=0.5)))
def divide(x, y, /):
    r"""Quotient of `x` and `y`, element by element; of two integers it is a float.

    $z = x / y \;\Rightarrow\; \bar x = \bar z / y,\; \bar y = -\bar z\, x / y^2$
    """
    return np.true_divide(x, y)


divide.defvjp(lambda g, y: g / y, lambda g, y, z: -g * z / y)


@elementwise(aliases=("neg", "negate"))
def negative(x, /):
    r"""Minus `x`.

    $z = -x \;\Rightarrow\; \bar x = -\bar z$
    """
    return np.negative(x)


negative.defvjp(lambda g: -g)


@elementwise()
def positive(x, /):
    r"""`x` itself, as a new array.

    $z = x \;\Rightarrow\; \bar x = \bar z$
    """
    return np.positive(x)


positive.defvjp(lambda g: g)


@elementwise(aliases=("absolute",), samples=uniform(-3, 3, avoid=(0,)))
def abs(x, /):
    r"""Absolute value; its derivative at 0 is 0. Of a complex number it is its distance from 0.

    $z = |x| = \sqrt{x \overline x} \;\Rightarrow\; \bar x = \bar z\, \overline{\operatorname{sign} x}$
    """
    return np.abs(x)


abs.defvjp(lambda g, x: g * mirrored(sign(x)))


def mirrored(x):
    """The conjugate of `x`; real arrays as they are."""
    return x.conj() if x.dtype.kind == "c" else x


@elementwise(samples=uniform(-3, 3, avoid=(0,)))
def sign(x, /):
    r"""-1, 0 or 1 according to the sign of `x`; of a complex number its direction, $x / |x|$.

    Constant between jumps: $\bar x = 0$ for real `x`. For complex ones $|z| = 1$, so that $\bar z$ counts only across `z`:
    $\bar x = (\bar z - \overline z \operatorname{Re}(\bar z z)) / |x|$, and 0 at 0.
    """
    return np.sign(x)


def _sign_rule(g, x):
    if x.dtype.kind != "c":
        return g * 0
    z, is_zero = sign(x), x == 0
    return where(is_zero, 0, (g - z.conj() * (g * z).real) / where(is_zero, 1, abs(x)))


sign.defvjp(_sign_rule)


@elementwise(faster=by_element, aliases=("pow",), samples=(uniform(0.3, 3), uniform(-2, 2)))
def power(x, y, /):
    r"""`x` to the power `y`, element by element.

    $z = x^y \;\Rightarrow\; \bar x = \bar z\, y\, x^{y-1},\; \bar y = \bar z\, z \ln x$

    Right at the edges: $\bar x = 0$ where $y = 0$, also at $x = 0$; $\bar y = 0$ where $x = 0$ and $y \ge 0$;
    a negative base with an integer exponent has a derivative in `x`.
    """
    if y.__class__ in (int, float) and y == 3 and getattr(getattr(x, "dtype", None), "char", "") in ("f", "d"):
        return x * x * x  # a tenth of the time, and as near
    return np.power(x, y)


def _power_in_base(g, x, y):
    if isinstance(y, (int, float)):
        return g * y * x ** (y - 1) if y not in (0, 1) else g * y
    return g * where(y == 0, 0, y * power(x, where(y == 0, 1, y - 1)))


def _power_in_exponent(g, x, y, z):
    x = np.asarray(x, z.dtype) if isinstance(x, (int, float)) else x  # whose logarithm would promote
    is_flat = (x == 0) & (y >= 0)
    return g * where(is_flat, 0, z * np.log(where(is_flat, 1, x)))


power.defvjp(_power_in_base, _power_in_exponent)


@elementwise()
def square(x, /):
    r"""`x` times itself.

    $z = x^2 \;\Rightarrow\; \bar x = 2 \bar z\, x$
    """
    return np.square(x)


square.defvjp(lambda g, x: g * 2 * x)


@elementwise(samples=uniform(0.2, 4))
def sqrt(x, /):
    r"""Square root; the derivative at 0 is infinite.

    $z = \sqrt x \;\Rightarrow\; \bar x = \bar z / (2 z)$
    """
    return np.sqrt(x)


sqrt.defvjp(lambda g, z: g / (2 * z))


@elementwise(samples=uniform(-3, 3, avoid=(0,), gap=0.5))
def reciprocal(x, /):
    r"""One over `x`, in floating point.

    $z = 1 / x \;\Rightarrow\; \bar x = -\bar z\, z^2$
    """
    return np.true_divide(1, x)


reciprocal.defvjp(lambda g, z: -g * z * z)


@elementwise(faster=by_many_elements, samples=(uniform(-3, 3), uniform(0.7, 0.9)))
def floor_divide(x, y, /):
    r"""The largest integer not above the quotient: `floor(x / y)`, for infinite operands too, as the Array API standard has it.

    Constant between jumps: no gradient flows.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.floor_divide(x, y)
        # A number of Python's may be infinite in the type of the other operand.
        x, y = [np.asarray(v, found.dtype) if v.__class__ in (int, float) else v for v in (x, y)]
        is_endless = np.isinf(x) != np.isinf(y)  # here NumPy follows Python, where infinity // 2 is NaN and 1 // -infinity is -1
        return np.where(is_endless, np.true_divide(x, y), found) if is_endless.any() else found


floor_divide.defvjp(lambda g: g * 0, lambda g: g * 0)


@elementwise(faster=by_many_elements, aliases=("mod",), samples=(uniform(0.1, 0.9), uniform(1.1, 1.9)))
def remainder(x, y, /):
    r"""What is left of `x` after division by `y`; it has the sign of `y`, as Python's `%`.

    $z = x - y \lfloor x / y \rfloor \;\Rightarrow\; \bar x = \bar z,\; \bar y = -\bar z \lfloor x / y \rfloor$
    """
    return np.remainder(x, y)


remainder.defvjp(lambda g: g, lambda g, x, y: -g * floor_divide(x, y))


@elementwise(samples=uniform(0.2, 4))
def rsqrt(x, /):
    r"""One over the square root of `x`.

    $z = x^{-1/2} \;\Rightarrow\; \bar x = -\tfrac12 \bar z\, z^3$
    """
    return np.true_divide(1, np.sqrt(x))


rsqrt.defvjp(lambda g, z: g * (-0.5 * z * z * z))


@elementwise(faster=by_many_elements, samples=uniform(-3, 3, avoid=(0,), gap=0.5))
def cbrt(x, /):
    r"""Cube root, negative for negative `x`; the derivative at 0 is infinite.

    $z = x^{1/3} \;\Rightarrow\; \bar x = \bar z / (3 z^2)$
    """
    return np.cbrt(x)


cbrt.defvjp(lambda g, z: g / (3 * z * z))

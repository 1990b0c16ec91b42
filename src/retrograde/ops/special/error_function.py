"""The error function and its complement."""

import math

from .._families import elementwise
from .._native import by_element, by_many_elements
from ..elementary.exponential import exp
from ._blocks import in_blocks
from ._error_function import complement, complement_float32, error_function, error_function_float32

_SLOPE = 2 / math.sqrt(math.pi)


@elementwise(is_real=True, faster=by_element)
def erf(x, /):
    r"""The error function $\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt$.

    $z = \operatorname{erf} x \;\Rightarrow\; \bar x = \bar z\, \tfrac{2}{\sqrt\pi}\, e^{-x^2}$
    """
    return in_blocks(ERF, x)


erf.defvjp(lambda g, x: g * (_SLOPE * exp(-x * x)))


@elementwise(is_real=True, faster=by_many_elements)
def erfc(x, /):
    r"""$1 - \operatorname{erf} x$, precise where that is tiny.

    $z = \operatorname{erfc} x \;\Rightarrow\; \bar x = -\bar z\, \tfrac{2}{\sqrt\pi}\, e^{-x^2}$
    """
    return in_blocks(ERFC, x)


erfc.defvjp(lambda g, x: g * (-_SLOPE * exp(-x * x)))

# One function per dtype; a missing one is computed in float64.
ERF = {"float64": error_function, "float32": error_function_float32, "float16": error_function_float32,
       "bfloat16": error_function_float32}
ERFC = {"float64": complement, "float32": complement_float32, "float16": complement_float32, "bfloat16": complement_float32}

"""Logarithms of probabilities and odds, with their limits at the edges."""

import numpy as np

from .._families import elementwise
from .._native import by_element
from .._samples import uniform
from ..elementary.arithmetic import reciprocal
from ..elementary.comparisons import where
from ..elementary.exponential import log, log1p
from ._blocks import in_blocks
from ._series import log1p_less


@elementwise(is_real=True, samples=uniform(0.05, 0.95))
def logit(x, /):
    r"""$\ln \frac{x}{1 - x}$, the inverse of `sigmoid`; infinite at 0 and 1, NaN outside.

    $z = \ln x - \ln (1 - x) \;\Rightarrow\; \bar x = \bar z \,/\, (x\,(1 - x))$
    """
    return in_blocks({"float64": _log_odds}, x)


def _log_odds(x):
    # In the middle the quotient is near 1, and its distance from 1 is known exactly.
    return np.where(np.abs(x - 0.5) < 0.25, np.log1p((2 * x - 1) / (1 - x)), np.log(x / (1 - x)))


@elementwise(is_real=True, samples=uniform(0.1, 3))
def entr(x, /):
    r"""$-x \ln x$, 0 at 0 and minus infinity below.

    $z = -x \ln x \;\Rightarrow\; \bar x = -\bar z\,(\ln x + 1)$
    """
    return in_blocks({"float64": _entropy}, x)


def _entropy(x):
    return np.where(x < 0, -np.inf, -x * np.log(np.where(x == 0, 1, x)))


@elementwise(samples=(uniform(-3, 3), uniform(-0.5, 3)))
def xlog1py(x, y, /):
    r"""$x \ln (1 + y)$, and 0 where $x = 0$ and $y$ is not NaN; there both derivatives at $y = -1$ are 0 too.

    $z = x \ln (1 + y) \;\Rightarrow\; \bar x = \bar z \ln (1 + y),\; \bar y = \bar z\, x / (1 + y)$
    """
    x, y = np.asarray(x), np.asarray(y)
    is_zero = (x == 0) & ~np.isnan(y)
    return np.where(is_zero, 0, x * np.log1p(np.where(is_zero, 0, y)))


def _inside(x, y):
    """`y` where the function is smooth, and 0 at its edge."""
    return where((x == 0) & (y == -1), 0, y)


@elementwise(is_public=False, is_real=True, samples=uniform(-0.8, 3))
def log1pmx(x, /):
    r"""$\ln (1 + x) - x$, which is about $-x^2 / 2$ near 0, where the two would cancel.

    $\bar x = -\bar z\, x / (1 + x)$
    """
    return in_blocks({"float64": log1p_less}, x)


log1pmx.defvjp(lambda g, x: -g * (x / (1 + x)))
logit.defvjp(lambda g, x: g * reciprocal(x * (1 - x)))
entr.defvjp(lambda g, x: -g * (log(x) + 1))
xlog1py.defvjp(lambda g, x, y: g * log1p(_inside(x, y)), lambda g, x, y: g * (x / (1 + _inside(x, y))))


def _xlogy_in_ops(x, y):
    is_zero = (x == 0) & (y == y)
    return where(is_zero, 0, x * log(where(is_zero, 1, y)))


@elementwise(faster=by_element, expansion=_xlogy_in_ops, samples=(uniform(-3, 3), uniform(0.2, 4)))
def xlogy(x, y, /):
    r"""$x \ln y$, and 0 where $x = 0$ and $y$ is not NaN; there both derivatives are 0 too.

    $z = x \ln y \;\Rightarrow\; \bar x = \bar z \ln y,\; \bar y = \bar z\, x / y$
    """
    x, y = np.asarray(x), np.asarray(y)
    is_zero = (x == 0) & ~np.isnan(y)
    return np.where(is_zero, 0, x * np.log(np.where(is_zero, 1, y)))


xlogy.defvjp(
    lambda g, x, y: g * log(where((x == 0) & (y == 0), 1, y)),
    lambda g, x, y: g * x / where((x == 0) & (y == 0), 1, y),
)

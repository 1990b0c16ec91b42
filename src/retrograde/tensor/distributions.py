"""Random numbers of named distributions, with gradients in their parameters.

A parameter may be a number or a tensor. `size` is the shape of the draw, by default that of the parameters together. Each
number is a differentiable function of the parameters and of noise that does not depend on them, so that the mean of the
gradients of many draws is the gradient of the mean (Kingma and Welling, 2014); for gamma distributions and what is made of
them the function is implicit, see `random_gamma`.
"""

import math
from math import prod
from typing import Any

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError, ShapeError
from ..ops.axes import reductions
from ..ops.axes.searches import argmax
from ..ops.axes.sorting import argsort
from ..ops.elementary import arithmetic
from ..ops.elementary.arithmetic import sign, sqrt
from ..ops.elementary.comparisons import equal, maximum, where
from ..ops.elementary.conversions import astype
from ..ops.elementary.exponential import exp, log, log1p
from ..ops.elementary.trigonometric import tan
from ..ops.manipulation.gathering import take
from ..ops.manipulation.movements import broadcast_to, reshape
from ..ops.networks.activation import softmax
from ..ops.random.draws import default_generator, random_normal, random_uniform
from ..ops.random.gammas import random_gamma, words_of_gamma
from ..shapes import sizes
from .creation import asarray
from .random import _floats, _placed, check_parameter, float_type, permutation, randint, shape_of_draw


def exponential(scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Waiting times of mean `scale`: $-s \ln(1 - u)$.

    >>> rg.random.exponential(rg.ones(3)).shape
    (3,)
    """
    check_parameter("exponential", "scale", scale)
    return -log1p(-_even((scale,), size, generator, dtype)) * scale


def laplace(loc: Any = 0.0, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Numbers with density $e^{-|x - m| / s} / 2s$: $m - s \operatorname{sign}(v) \ln(1 - 2 |v|)$ with $v = u - 1/2$."""
    check_parameter("laplace", "scale", scale)
    middle = _inner((loc, scale), size, generator, dtype) - 0.5
    return loc - scale * (sign(middle) * log1p(-2 * arithmetic.abs(middle)))


def logistic(loc: Any = 0.0, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Numbers whose chance to be below x is $\sigma((x - m) / s)$: $m + s \ln(u / (1 - u))$."""
    check_parameter("logistic", "scale", scale)
    even = _inner((loc, scale), size, generator, dtype)
    return loc + scale * (log(even) - log1p(-even))


def gumbel(loc: Any = 0.0, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Greatest of many: the chance to be below x is $e^{-e^{-(x - m) / s}}$; $m - s \ln(-\ln u)$."""
    check_parameter("gumbel", "scale", scale)
    return loc - scale * log(-log(_inner((loc, scale), size, generator, dtype)))


def cauchy(loc: Any = 0.0, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Quotients of two normal numbers, moved and stretched: $m + s \tan(\pi (u - 1/2))$."""
    check_parameter("cauchy", "scale", scale)
    return loc + scale * tan(math.pi * (_inner((loc, scale), size, generator, dtype) - 0.5))


def weibull(shape: Any, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Lifetimes: the chance to be above x is $e^{-(x / s)^k}$ with $k$ = `shape`; $s\, (-\ln u)^{1 / k}$."""
    check_parameter("weibull", "shape", shape)
    check_parameter("weibull", "scale", scale)
    return scale * exp(log(-log(_inner((shape, scale), size, generator, dtype))) / shape)


def pareto(shape: Any, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Numbers from `scale` on, whose chance to be above x is $(s / x)^a$ with $a$ = `shape`: $s\, (1 - u)^{-1 / a}$."""
    check_parameter("pareto", "shape", shape)
    check_parameter("pareto", "scale", scale)
    return scale * exp(-log1p(-_even((shape, scale), size, generator, dtype)) / shape)


def rayleigh(scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Lengths of vectors of two normal numbers: $s \sqrt{-2 \ln u}$."""
    check_parameter("rayleigh", "scale", scale)
    return scale * sqrt(-2 * log(_inner((scale,), size, generator, dtype)))


def lognormal(mean: Any = 0.0, sigma: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Exponentials of normal numbers, $e^{\mu + \sigma n}$."""
    check_parameter("lognormal", "sigma", sigma, is_zero_fine=True)
    return exp(mean + sigma * _drawn(random_normal, (mean, sigma), size, generator, dtype))


def halfnormal(scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Sizes of normal numbers of mean 0, $s |n|$."""
    check_parameter("halfnormal", "scale", scale, is_zero_fine=True)
    return scale * arithmetic.abs(_drawn(random_normal, (scale,), size, generator, dtype))


def gamma(shape: Any, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Numbers with density proportional to $x^{a - 1} e^{-x / s}$, with $a$ = `shape`.

    >>> a = rg.tensor([0.5, 2.0, 9.0], requires_grad=True)
    >>> rg.random.gamma(a).sum().backward()
    >>> bool((a.grad > 0).all())
    True
    """
    check_parameter("gamma", "shape", shape)
    check_parameter("gamma", "scale", scale)
    return _standard_gamma(shape, shape_of_draw(size, shape, scale), generator, dtype or float_type(shape, scale)) * scale


def chisquare(df: Any, size=None, generator=None, dtype=None):
    """Sums of `df` squares of normal numbers; `df` need not be an integer."""
    check_parameter("chisquare", "df", df)
    return 2 * gamma(df * 0.5, 1.0, size, generator, dtype)


def beta(a: Any, b: Any, size=None, generator=None, dtype=None):
    r"""Numbers in (0, 1) with density proportional to $x^{a - 1} (1 - x)^{b - 1}$: $g_a / (g_a + g_b)$ of two gamma numbers."""
    check_parameter("beta", "a", a)
    check_parameter("beta", "b", b)
    shape, dtype = shape_of_draw(size, a, b), dtype or float_type(a, b)
    first, second = (_standard_gamma(p, shape, generator, dtype) for p in (a, b))
    return first / (first + second)


def dirichlet(alpha: Any, size=None, generator=None, dtype=None):
    r"""Rows of positive numbers that sum to 1, with density proportional to $\prod_i x_i^{\alpha_i - 1}$.

    The last axis of `alpha` is that of a row; `size` is the shape of the draw without it.
    """
    check_parameter("dirichlet", "alpha", alpha)
    alpha = asarray(alpha)
    lead = alpha.shape[:-1] if size is None else size if isinstance(size, (tuple, list)) else (size,)
    parts = _standard_gamma(alpha, shape_of_draw((*lead, alpha.shape[-1]), alpha), generator, dtype or float_type(alpha))
    return parts / reductions.sum(parts, -1, keepdims=True)


def student_t(df: Any, loc: Any = 0.0, scale: Any = 1.0, size=None, generator=None, dtype=None):
    r"""Student's t with `df` degrees of freedom, moved and stretched: $m + s\, n \sqrt{\nu / \chi^2_\nu}$."""
    check_parameter("student_t", "df", df)
    check_parameter("student_t", "scale", scale)
    shape, dtype = shape_of_draw(size, df, loc, scale), dtype or float_type(df, loc, scale)
    numbers = _drawn(random_normal, (), shape, generator, dtype)
    return loc + scale * numbers * sqrt(0.5 * df / _standard_gamma(df * 0.5, shape, generator, dtype))


def gumbel_softmax(logits, tau=1.0, hard=False, axis=-1, generator=None):
    r"""Nearly one-hot rows, chosen with the chances that `logits` give: $\operatorname{softmax}((l + n) / \tau)$ with Gumbel noise.

    The smaller `tau`, the nearer (Jang, Gu and Poole, "Categorical reparameterization with Gumbel-softmax", 2017). With `hard`
    the rows are one-hot and the gradient is that of the soft ones.
    """
    check_parameter("gumbel_softmax", "tau", tau)
    soft = softmax((logits + gumbel(0.0, 1.0, logits.shape, generator, logits.dtype)) / tau, axis)
    if not hard:
        return soft
    fixed = soft.detach()
    return soft + (astype(equal(fixed, reductions.max(fixed, axis, keepdims=True)), soft.dtype) - fixed)


def categorical(logits, axis=-1, size=None, generator=None):
    """Places along `axis`, chosen with the chances that `logits` give, in the shape of the others; no gradient.

    `size` draws several, in front. By the place of the greatest logit with Gumbel noise added.
    """
    logits = asarray(logits).detach()
    lead = () if size is None else size if isinstance(size, (tuple, list)) else (size,)
    axis = axis if axis < 0 else axis - logits.ndim
    return argmax(logits + gumbel(0.0, 1.0, (*lead, *logits.shape), generator, float_type(logits)), axis)


def choice(a: Any, size=None, replace=True, p=None, axis=0, generator=None):
    """Entries of `a` along `axis`, or numbers below the integer `a`, chosen with the chances `p`, by default all alike; no gradient
    in `p`. Each is chosen once at most unless `replace`.

    >>> rg.random.choice(5, (2, 3)).shape
    (2, 3)
    >>> sorted(rg.random.choice(rg.tensor([1.0, 2.0, 4.0]), 3, replace=False).tolist())
    [1.0, 2.0, 4.0]
    """
    is_count = not isinstance(a, Value) and not hasattr(a, "shape")
    entries: Any = None if is_count else asarray(a)
    count: Any = a if is_count else entries.shape[axis]
    shape = () if size is None else sizes(size)
    if p is not None:
        p = asarray(p).detach()
        if p.shape != (count,):
            raise ShapeError(f"choice needs one chance for each of {count} entries, got p of shape {p.shape}")
        logits = where(p == 0, -np.inf, log(where(p == 0, 1, p)))
    if replace:
        places = randint(0, count, shape, generator) if p is None else categorical(logits, size=shape, generator=generator)
    elif prod(shape) > count:
        raise ArgumentError(f"choice without replacement needs at least as many entries as are drawn, {prod(shape)}, got {count}")
    elif p is None:
        places = reshape(permutation(count, generator)[: prod(shape)], shape)
    else:  # the places of the greatest logits with noise added
        noisy = logits + gumbel(0.0, 1.0, count, generator, float_type(p))
        places = reshape(argsort(-noisy)[: prod(shape)], shape)
    return places if is_count else take(entries, places, axis)


def _drawn(op, parameters, size, generator, dtype) -> Any:
    """Noise for a distribution of `parameters`, by `op`."""
    numbers = _floats(op, shape_of_draw(size, *parameters), generator, dtype or float_type(*parameters))
    return _placed(numbers, None, False)


def _even(parameters, size, generator, dtype) -> Any:
    """Numbers spread evenly over [0, 1)."""
    return _drawn(random_uniform, parameters, size, generator, dtype)


def _inner(parameters, size, generator, dtype):
    """Numbers spread evenly over (0, 1): 0 is half a step up."""
    even = _even(parameters, size, generator, dtype)
    return maximum(even, 2.0 ** -(_DIGITS.get(even.dtype.name, 8) + 1))


#: Random bits of a number of each type.
_DIGITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def _standard_gamma(shape, size, generator, dtype):
    if not isinstance(shape, Value):
        shape = asarray(np.asarray(shape, dtype))
    if shape.dtype != dtype:
        shape = astype(shape, dtype)
    shape = broadcast_to(shape, size)
    return random_gamma((generator or default_generator).take(words_of_gamma(shape.size)), shape)

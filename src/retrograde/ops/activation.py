"""Activations: the nonlinear functions between layers."""

import numpy as np

from ._families import composite, elementwise
from ._samples import call, uniform
from .comparisons import where
from .exponential import exp, log1p
from .reductions import logsumexp, max, sum


@elementwise(samples=uniform(-3, 3, avoid=(0,)))
def relu(x, /):
    r"""`x` where it is positive, else 0; the derivative at 0 is 0.

    $z = \max(x, 0) \;\Rightarrow\; \bar x = \bar z\,[z > 0]$
    """
    return np.maximum(x, 0)


relu.defvjp(lambda g, z: g * (z > 0))


@elementwise()
def sigmoid(x, /):
    r"""Logistic function $1 / (1 + e^{-x})$, without overflow.

    $z = \sigma(x) \;\Rightarrow\; \bar x = \bar z\, z\, (1 - z)$
    """
    small = np.exp(-np.abs(x))
    return np.where(np.asarray(x) >= 0, 1, small) / (1 + small)


sigmoid.defvjp(lambda g, z: g * z * (1 - z))


@composite(samples=(call((2, 3)), call((2, 3), axis=0), call((2, 3), axis=(0, 1)), call((2, 3), axis=None)))
def softmax(x, /, axis=-1):
    r"""Exponentials of `x` divided by their sum over `axis`; safe for large numbers.

    $z_i = e^{x_i} / \sum_j e^{x_j} \;\Rightarrow\; \bar x_i = z_i\,(\bar z_i - \sum_j \bar z_j z_j)$
    """
    powers = exp(x - max(x, axis, keepdims=True))
    return powers / sum(powers, axis, keepdims=True)


softmax.defvjp(lambda g, z, axis: z * (g - sum(g * z, axis, keepdims=True)))


@composite(samples=(call((2, 3)), call((2, 3), axis=0)))
def log_softmax(x, /, axis=-1):
    r"""Logarithm of `softmax`, without the loss of precision of taking it afterwards.

    $z_i = x_i - \log\sum_j e^{x_j} \;\Rightarrow\; \bar x_i = \bar z_i - e^{z_i} \sum_j \bar z_j$
    """
    return x - logsumexp(x, axis, keepdims=True)


log_softmax.defvjp(lambda g, z, axis: g - exp(z) * sum(g, axis, keepdims=True))

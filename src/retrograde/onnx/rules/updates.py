"""Updates of optimizers, which models that train themselves hold; and two operators for tables of features."""

import numpy as np

from ...ops.elementary.arithmetic import sqrt
from ...ops.elementary.comparisons import greater
from ...ops.elementary.conversions import astype
from ..rule import rule

_DOMAIN = "ai.onnx.preview.training"


def _each(update, rate, time, tensors, count):
    """The results of an update of each of several tensors, which lie kind by kind."""
    size = len(tensors) // (count + 1)
    rows = [[tensors[kind * size + i] for kind in range(count + 1)] for i in range(size)]
    found = [update(rate, time, *row) for row in rows]
    return tuple([astype(results[kind], row[0].dtype) for kind in range(count) for results, row in zip(found, rows, strict=True)])


@rule("Adagrad", domain=_DOMAIN, numbers=(1,))
def _adagrad(rate, time, *tensors, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0):
    def update(rate, time, x, g, h):
        g = g + norm_coefficient * x
        h = h + g * g
        return x - rate / (1 + time * decay_factor) * g / (sqrt(h) + epsilon), h

    return _each(update, rate, float(time), tensors, 2)


@rule("Momentum", domain=_DOMAIN, numbers=(1,))
def _momentum(rate, time, *tensors, alpha, beta, mode, norm_coefficient):
    def update(rate, time, x, g, v):
        g = g + norm_coefficient * x
        v = alpha * v + (beta if time > 0 else 1) * g
        return x - rate * (v if mode == "standard" else g + alpha * v), v

    return _each(update, rate, float(time), tensors, 2)


@rule("Adam", domain=_DOMAIN, numbers=(1,))
def _adam(rate, time, *tensors, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0):
    def update(rate, time, x, g, v, h):
        g = g + norm_coefficient * x
        v, h = alpha * v + (1 - alpha) * g, beta * h + (1 - beta) * g * g
        rate = rate * np.sqrt(1 - beta**time) / (1 - alpha**time) if time > 0 else rate
        return (1 - norm_coefficient_post) * (x - rate * v / (sqrt(h) + epsilon)), v, h

    return _each(update, rate, float(time), tensors, 3)


@rule("Binarizer", domain="ai.onnx.ml")
def _binarized(x, /, *, threshold=0.0):
    return astype(greater(x, threshold), x.dtype)

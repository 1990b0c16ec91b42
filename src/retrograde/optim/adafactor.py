"""Adafactor, whose memory is that of the rows and the columns of a matrix."""

import numpy as np

from ..errors import ArgumentError
from ..ops.axes.reductions import sum as summed
from ..ops.elementary.arithmetic import sqrt
from ..ops.elementary.comparisons import maximum, minimum
from ..ops.linalg.contractions import matmul
from .optimizer import Optimizer, is_number, prepared


class Adafactor(Optimizer):
    r"""Steps divided by the root of a mean of squares that is kept for rows and columns alone (Shazeer and Stern, 2018).

    With $\beta_t = 1 - t^{b}$, where $b$ is `beta2_decay`, running means $r$ of the squares along rows and $c$ along columns give
    $v = r c / \bar r$; arrays of less than two axes keep $v$ itself. The step is
    $\max(\epsilon_2, \mathrm{rms}(p)) \min(\eta, 1 / \sqrt t)\; u / \max(1, \mathrm{rms}(u) / d)$ with
    $u = g / \sqrt{\max(v, \epsilon_1^2)}$; `eps` is $(\epsilon_1, \epsilon_2)$, the first by default the resolution of the dtype.
    Weight decay is decoupled.
    """

    counts_steps = True
    is_elementwise = False

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, maximize=False,
                 **implementation):
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
                                  "maximize": maximize}, **implementation)

    def _check(self, options):
        eps = options["eps"]
        if not isinstance(eps, (tuple, list)) or len(eps) != 2 or not all(e is None or is_number(e) and e >= 0 for e in eps):
            raise ArgumentError(f"eps must be two numbers of at least 0, the first may be None, got {eps!r}")
        super()._check({**options, "eps": eps[1]})
        if not options["beta2_decay"] <= 0 or not options["d"] >= 1:
            raise ArgumentError("beta2_decay must be at most 0 and d at least 1, got "
                                f"{options['beta2_decay']!r} and {options['d']!r}")

    def kept_of(self, parameter, group):
        return ("row_var", "col_var") if parameter.ndim > 1 else ("variance",)

    def shape_of(self, name, parameter):
        shape = parameter.shape
        return {"row_var": (*shape[:-1], 1), "col_var": (*shape[:-2], 1, *shape[-1:]), "variance": shape}[name]

    def rates(self, group, age):
        return age ** group["beta2_decay"], minimum(group["lr"], 1 / sqrt(age)), 1 - group["lr"] * group["weight_decay"]

    def update(self, group, rates, p, g, *means):
        (share, rate, shrunk), (least, smallest) = rates, group["eps"]
        least = float(np.finfo(p.dtype).eps) if least is None else least
        length = maximum(_root_mean_square(p), smallest) * rate
        p, g = prepared(group, p, g, shrunk)
        axes = (-1, -2) if p.ndim > 1 else (None,)
        found = [mean + (_mean(g * g, axis) - mean) * share for mean, axis in zip(means, axes, strict=True)]
        spread = found[0]
        if len(found) > 1:
            row, column = found
            spread = matmul(row, column) / maximum(_mean(row, -2), least)
        step = g / sqrt(maximum(spread, least * least))
        return p - step * (length / maximum(_root_mean_square(step) / group["d"], 1)), *found


def _mean(x, axis):
    """The mean along `axis`, which stays; `x` itself for None."""
    return x if axis is None else summed(x, axis=axis, keepdims=True) / max(x.shape[axis], 1)


def _root_mean_square(x):
    return sqrt(summed(x * x) / max(x.size, 1))

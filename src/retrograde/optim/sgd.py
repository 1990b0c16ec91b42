"""Stochastic gradient descent."""

import numpy as np

from ..errors import ArgumentError
from .optimizer import Optimizer


class SGD(Optimizer):
    r"""Steps against the gradient, with momentum.

    $d = g + \lambda p,\; b \leftarrow \mu b + (1 - \tau) d,\; p \leftarrow p - \eta b$, the first $b$ being $d$; with `nesterov`
    $p \leftarrow p - \eta (d + \mu b)$. $\lambda$ is `weight_decay`, $\mu$ `momentum`, $\tau$ `dampening`; `maximize` steps along
    the gradient.

    >>> p = rg.nn.Parameter(rg.ones(1))
    >>> optimizer = rg.optim.SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [0.0]
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False):
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize})

    def _check(self, options):
        super()._check(options)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise ArgumentError("nesterov needs momentum above 0 and dampening 0, got "
                                f"{options['momentum']} and {options['dampening']}")

    def _kept_in(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def _advance(self, state):
        return state.get("momentum_buffer") is None

    def _rule(self, group, age):
        is_first = age
        rate, momentum, decay = group["lr"], group["momentum"], group["weight_decay"]
        share, sign = 1 - group["dampening"], -1 if group["maximize"] else 1

        def momentous(p, g, buffer, t, u):
            g = _decayed(p, g, sign, decay, t, u)
            if is_first:
                buffer[...] = g
            else:
                np.multiply(buffer, momentum, buffer)
                np.add(buffer, g if share == 1 else np.multiply(g, share, t), buffer)
            step = buffer
            if group["nesterov"]:
                np.multiply(buffer, momentum, t)
                step = np.add(g, t, t)
            np.subtract(p, np.multiply(step, rate, t), p)

        def plain(p, g, t, u):
            np.subtract(p, np.multiply(_decayed(p, g, sign, decay, t, u), rate, t), p)

        return momentous if momentum else plain


def _decayed(p, g, sign, decay, t, u):
    """The gradient with its sign and with weight decay, in the scratch `u` where it differs from `g`."""
    if sign < 0:
        g = np.negative(g, u)
    return np.add(g, np.multiply(p, decay, t), u) if decay else g

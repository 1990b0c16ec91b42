"""Averaged stochastic gradient descent."""

import numpy as np

from ..core.value import Value
from ..ops.elementary.comparisons import maximum, where
from ..tensor.tensor import Tensor
from .optimizer import Optimizer, prepared


class ASGD(Optimizer):
    r"""Steps that grow shorter, and the mean of where they lead (Polyak and Juditsky, 1992).

    $p \leftarrow (1 - \lambda \eta_t) p - \eta_t g,\; a \leftarrow a + \mu_t (p - a)$ with $\eta_1 = \eta$,
    $\eta_{t+1} = \eta / (1 + \lambda \eta t)^\alpha$, $\mu_1 = 1$ and $\mu_{t+1} = 1 / \max(1, t - t_0)$. $\lambda$ is `lambd`,
    $t_0$ the step after which the mean is taken; $a$ is "ax" in the state of a parameter.

    >>> p = rg.nn.Parameter(rg.ones(1))
    >>> optimizer = rg.optim.ASGD([p], lr=0.5, lambd=0.0)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist(), optimizer.state[p]["ax"].tolist()
    ([0.0], [0.0])
    """

    counts_steps = True
    numbers = ("step", "eta", "mu")
    kept = ("ax",)

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, *, maximize=False, **implementation):
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
                                  "maximize": maximize}, **implementation)

    def state_of(self, parameter, group):
        state = super().state_of(parameter, group)
        for name in ("eta", "mu"):
            if state.get(name) is None:
                state[name] = Tensor(np.ones((), np.float64))
        return state

    def aged(self, group, step, state):
        rate, share = where(step == 1, group["lr"], state["eta"]), state["mu"].clone()
        state["eta"][...] = group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"]
        state["mu"][...] = 1 / maximum(step - group["t0"], 1)
        return (rate, share) if isinstance(step, Value) else (float(rate), float(share))

    def rates(self, group, age):
        rate, share = age
        return rate, 1 - group["lambd"] * rate, share

    def update(self, group, rates, p, g, mean):
        rate, shrunk, share = rates
        p, g = prepared(group, p, g)
        p = p * shrunk - g * rate
        return p, p * share + mean * (1 - share)

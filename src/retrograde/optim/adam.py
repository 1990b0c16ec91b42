"""Adam, and Adam with decoupled weight decay."""

from math import sqrt

import numpy as np

from ..errors import ArgumentError
from ..tensor.tensor import Tensor
from .optimizer import Optimizer


class Adam(Optimizer):
    r"""Steps scaled by running means of the gradient and of its square (Kingma and Ba, 2015).

    $m \leftarrow \beta_1 m + (1 - \beta_1) g,\; v \leftarrow \beta_2 v + (1 - \beta_2) g^2,\;
    p \leftarrow p - \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$ with $\hat m = m / (1 - \beta_1^t)$ and
    $\hat v = v / (1 - \beta_2^t)$ after $t$ steps. `weight_decay` adds $\lambda p$ to $g$; `amsgrad` takes the greatest $v$ so far.

    >>> p = rg.nn.Parameter(rg.ones(2))
    >>> optimizer = rg.optim.Adam([p], lr=0.1)
    >>> p.sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9, 0.9])
    """

    _decouples_decay = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, maximize=False):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize})

    def _check(self, options):
        super()._check(options)
        if not all(0 <= beta < 1 for beta in options["betas"]):
            raise ArgumentError(f"betas must lie in [0, 1), got {options['betas']}")

    def _kept_in(self, group):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _advance(self, state):
        step = state.get("step")
        if step is None:
            step = state["step"] = Tensor(np.zeros((), np.float32))
        step.data += 1
        return int(step.data)

    def _rule(self, group, age):
        beta1, beta2 = group["betas"]
        decay, is_coupled = group["weight_decay"], not self._decouples_decay
        shrunk = 1 - group["lr"] * decay
        # The correction of v is moved out of the root, to the rate and epsilon: two passes less.
        root = sqrt(1 - beta2**age)
        rate, epsilon = group["lr"] * root / (1 - beta1**age), group["eps"] * root
        maximizes = group["maximize"]

        def rule(p, g, mean, square, *rest):
            *greatest, t, u = rest
            if maximizes:
                g = np.negative(g, u)
            if decay and is_coupled:
                g = np.add(g, np.multiply(p, decay, t), u)
            elif decay:
                np.multiply(p, shrunk, p)
            np.subtract(g, mean, t)
            np.multiply(t, 1 - beta1, t)
            np.add(mean, t, mean)
            np.multiply(square, beta2, square)
            np.multiply(g, g, t)
            np.multiply(t, 1 - beta2, t)
            np.add(square, t, square)
            if greatest:
                square = np.maximum(greatest[0], square, out=greatest[0])
            np.sqrt(square, t)
            np.add(t, epsilon, t)
            np.divide(mean, t, t)
            np.multiply(t, rate, t)
            np.subtract(p, t, p)

        return rule


class AdamW(Adam):
    r"""`Adam` with decoupled weight decay: $p \leftarrow p - \eta \lambda p$ beside the step (Loshchilov and Hutter, 2019)."""

    _decouples_decay = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

"""Adam, Adam with decoupled weight decay, and Adam of rows."""

from ..errors import ArgumentError
from ..ops.elementary.arithmetic import sqrt
from ..ops.elementary.comparisons import maximum
from ..tensor.rows import RowGradient
from .optimizer import Optimizer, is_number, prepared


class Adam(Optimizer):
    r"""Steps scaled by running means of the gradient and of its square (Kingma and Ba, 2015).

    $m \leftarrow \beta_1 m + (1 - \beta_1) g,\; v \leftarrow \beta_2 v + (1 - \beta_2) g^2,\;
    p \leftarrow p - \eta\, \hat m / (\sqrt{\hat v} + \epsilon)$ with $\hat m = m / (1 - \beta_1^t)$ and
    $\hat v = v / (1 - \beta_2^t)$ after $t$ steps. `weight_decay` adds $\lambda p$ to $g$, unless it is decoupled, as in
    `AdamW`; `amsgrad` takes the greatest $v$ so far.

    >>> p = rg.nn.Parameter(rg.ones(2))
    >>> optimizer = rg.optim.Adam([p], lr=0.1)
    >>> p.sum().backward()
    >>> optimizer.step()
    >>> p.detach()
    tensor([0.9, 0.9])
    """

    counts_steps = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, maximize=False,
                 decoupled_weight_decay=False, **implementation):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay}, **implementation)

    def _check(self, options):
        super()._check(options)
        betas = options["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2 or not all(is_number(b) and 0 <= b < 1 for b in betas):
            raise ArgumentError(f"betas must be two numbers in [0, 1), got {betas!r}")

    def kept_in(self, group):
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def rates(self, group, age):
        # The correction of v is moved out of the root, to the rate and epsilon: two passes less.
        beta1, beta2 = group["betas"]
        root = sqrt(1 - beta2**age)
        return group["lr"] * root / (1 - beta1**age), group["eps"] * root, 1 - group["lr"] * group["weight_decay"]

    def update(self, group, rates, p, g, mean, square, greatest=None):
        (beta1, beta2), (rate, epsilon, shrunk) = group["betas"], rates
        p, g = prepared(group, p, g, shrunk if group["decoupled_weight_decay"] else None)
        mean = mean + (g - mean) * (1 - beta1)
        square = square * beta2 + g * g * (1 - beta2)
        if greatest is None:
            return p - mean * rate / (sqrt(square) + epsilon), mean, square
        greatest = maximum(greatest, square)
        return p - mean * rate / (sqrt(greatest) + epsilon), mean, square, greatest


class AdamW(Adam):
    r"""`Adam` with decoupled weight decay: $p \leftarrow p - \eta \lambda p$ beside the step (Loshchilov and Hutter, 2019)."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *,
                 maximize=False, **implementation):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, decoupled_weight_decay=True,
                         **implementation)


class SparseAdam(Adam):
    r"""`Adam` for tables of which a step reads few rows, as `nn.Embedding(sparse=True)`: only these, and their means, are updated.

    $m \leftarrow \beta_1 m + (1 - \beta_1) g,\; v \leftarrow \beta_2 v + (1 - \beta_2) g^2,\;
    p \leftarrow p - \eta \sqrt{1 - \beta_2^t} / (1 - \beta_1^t)\; m / (\sqrt{v} + \epsilon)$ in the rows that were read, after $t$
    steps of the optimizer; all else stays. So it is not what `Adam` does, whose means go on in rows that are not read.

    >>> table = rg.nn.Embedding(1000, 4, sparse=True)
    >>> optimizer = rg.optim.SparseAdam(table.parameters())
    >>> table(rg.tensor([3, 7])).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[table.weight]["exp_avg"].any(axis=1).nonzero()
    (tensor([3, 7]),)
    """

    takes_rows = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False, **implementation):
        Optimizer.__init__(self, params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize}, **implementation)

    def check_gradient(self, parameter, gradient, group):
        super().check_gradient(parameter, gradient, group)
        if not isinstance(gradient, RowGradient):
            raise ArgumentError(f"SparseAdam needs gradients of rows, and that of a parameter of shape {tuple(parameter.shape)} is "
                                "whole; use Adam for it, or Embedding(sparse=True)")

    def kept_in(self, group):
        return "exp_avg", "exp_avg_sq"

    def rates(self, group, age):
        beta1, beta2 = group["betas"]
        return (group["lr"] * sqrt(1 - beta2**age) / (1 - beta1**age),)

    def update(self, group, rates, p, g, mean, square):
        beta1, beta2 = group["betas"]
        g = -g if group["maximize"] else g
        mean = mean + (g - mean) * (1 - beta1)
        square = square + (g * g - square) * (1 - beta2)
        return p - mean * rates[0] / (sqrt(square) + group["eps"]), mean, square

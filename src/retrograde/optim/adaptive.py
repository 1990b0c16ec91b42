"""Optimizers that divide by what the squares of gradients come to: Adagrad, RMSprop, Adadelta, Adamax, NAdam and RAdam."""

import numpy as np

from ..core.value import Value
from ..errors import ArgumentError
from ..ops.elementary.arithmetic import abs as magnitude
from ..ops.elementary.arithmetic import sqrt
from ..ops.elementary.comparisons import maximum, where
from ..tensor.tensor import Tensor
from .adam import Adam
from .optimizer import Optimizer, is_number, prepared


class Adagrad(Optimizer):
    r"""Steps divided by the root of the sum of all squares so far (Duchi et al., 2011).

    $s \leftarrow s + g^2,\; p \leftarrow p - \eta_t\, g / (\sqrt{s} + \epsilon)$ with $\eta_t = \eta / (1 + (t - 1) \lambda)$,
    where $\lambda$ is `lr_decay`; $s$ starts at `initial_accumulator_value`.
    """

    counts_steps = takes_rows = True
    kept = ("sum",)

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, *,
                 maximize=False, **implementation):
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "maximize": maximize}, **implementation)

    def state_of(self, parameter, group):
        is_new = self.state.get(parameter, {}).get("sum") is None
        state = super().state_of(parameter, group)
        if is_new and group["initial_accumulator_value"]:
            state["sum"].raw += group["initial_accumulator_value"] * (1 + 1j if parameter.dtype.kind == "c" else 1)
        return state

    def rates(self, group, age):
        return (group["lr"] / (1 + (age - 1) * group["lr_decay"]),)

    def update(self, group, rates, p, g, total):
        p, g = prepared(group, p, g)
        total = total + g * g
        return p - g * rates[0] / (sqrt(total) + group["eps"]), total


class RMSprop(Optimizer):
    r"""Steps divided by the root of a running mean of squares (Hinton, 2012).

    $v \leftarrow \alpha v + (1 - \alpha) g^2,\; p \leftarrow p - \eta\, g / (\sqrt{v} + \epsilon)$. `centered` takes the square of
    the running mean of $g$ from $v$; with `momentum` $b \leftarrow \mu b + g / (\sqrt{v} + \epsilon)$ is what is followed.
    """

    counts_steps = True

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, *,
                 maximize=False, **implementation):
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum,
                                  "centered": centered, "maximize": maximize}, **implementation)

    def kept_in(self, group):
        return "square_avg", *["momentum_buffer"] * (group["momentum"] > 0), *["grad_avg"] * group["centered"]

    def update(self, group, rates, p, g, square, *rest):
        (p, g), rest = prepared(group, p, g), list(rest)
        square = square * group["alpha"] + g * g * (1 - group["alpha"])
        spread, mean = square, None
        if group["centered"]:
            mean = rest.pop()
            mean = mean + (g - mean) * (1 - group["alpha"])
            spread = square - mean * mean
        step = g / (sqrt(spread) + group["eps"])
        buffer = rest.pop() * group["momentum"] + step if rest else None
        return p - (step if buffer is None else buffer) * rates[0], square, *[x for x in (buffer, mean) if x is not None]


class Adadelta(Optimizer):
    r"""Steps as long as the steps before, so that no learning rate need be found (Zeiler, 2012).

    $v \leftarrow \rho v + (1 - \rho) g^2,\; d = g \sqrt{u + \epsilon} / \sqrt{v + \epsilon},\;
    u \leftarrow \rho u + (1 - \rho) d^2,\; p \leftarrow p - \eta d$
    """

    counts_steps = True
    kept = ("square_avg", "acc_delta")

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, *, maximize=False, **implementation):
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize},
                         **implementation)

    def _check(self, options):
        super()._check(options)
        if not is_number(options["rho"]) or not 0 <= options["rho"] <= 1:
            raise ArgumentError(f"rho must lie in [0, 1], got {options['rho']!r}")

    def update(self, group, rates, p, g, square, steps):
        (p, g), rho = prepared(group, p, g), group["rho"]
        square = square * rho + g * g * (1 - rho)
        step = g * (sqrt(steps + group["eps"]) / sqrt(square + group["eps"]))
        return p - step * rates[0], square, steps * rho + step * step * (1 - rho)


class Adamax(Adam):
    r"""`Adam` with the greatest gradient of late in place of a mean of squares (Kingma and Ba, 2015).

    $u \leftarrow \max(\beta_2 u, |g| + \epsilon),\; p \leftarrow p - \eta / (1 - \beta_1^t)\; m / u$
    """

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, *, maximize=False, **implementation):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize, **implementation)

    def kept_in(self, group):
        return "exp_avg", "exp_inf"

    def rates(self, group, age):
        return (group["lr"] / (1 - group["betas"][0] ** age),)

    def update(self, group, rates, p, g, mean, greatest):
        (p, g), (beta1, beta2) = prepared(group, p, g), group["betas"]
        mean = mean + (g - mean) * (1 - beta1)
        greatest = maximum(greatest * beta2, magnitude(g) + group["eps"])
        return p - mean * rates[0] / greatest, mean, greatest


class NAdam(Adam):
    r"""`Adam` with Nesterov's momentum (Dozat, 2016).

    With $\mu_t = \beta_1 (1 - 0.96^{t \psi} / 2)$, where $\psi$ is `momentum_decay`, and their product $\pi_t$ so far,
    $p \leftarrow p - \eta \left(\frac{1 - \mu_t}{1 - \pi_t} g + \frac{\mu_{t+1}}{1 - \pi_t \mu_{t+1}} m\right) /
    (\sqrt{\hat v} + \epsilon)$.
    """

    numbers = ("step", "mu_product")

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, maximize=False, **implementation):
        Optimizer.__init__(self, params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize}, **implementation)

    def kept_in(self, group):
        return "exp_avg", "exp_avg_sq"

    def state_of(self, parameter, group):
        state = super().state_of(parameter, group)
        if state.get("mu_product") is None:
            state["mu_product"] = Tensor(np.ones((), np.float64))
        return state

    def aged(self, group, step, state):
        product = state["mu_product"]
        product *= _momentum(group, step)
        return step, product if isinstance(step, Value) else float(product)

    def rates(self, group, age):
        (step, product), rate = age, group["lr"]
        now, later = _momentum(group, step), _momentum(group, step + 1)
        gone = 1 - group["betas"][1] ** step
        return (rate * (1 - now) / (1 - product), rate * later / (1 - product * later), 1 / sqrt(gone),
                1 - rate * group["weight_decay"])

    def update(self, group, rates, p, g, mean, square):
        (beta1, beta2), (of_gradient, of_mean, scale, shrunk) = group["betas"], rates
        p, g = prepared(group, p, g, shrunk if group["decoupled_weight_decay"] else None)
        mean = mean + (g - mean) * (1 - beta1)
        square = square * beta2 + g * g * (1 - beta2)
        return p - (g * of_gradient + mean * of_mean) / (sqrt(square) * scale + group["eps"]), mean, square


def _momentum(group, step):
    return group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))


class RAdam(Adam):
    r"""`Adam` without the division as long as the mean of squares is of too few to be trusted (Liu et al., 2020).

    With $\rho_\infty = 2 / (1 - \beta_2) - 1$ and $\rho_t = \rho_\infty - 2 t \beta_2^t / (1 - \beta_2^t)$ the step is
    $\eta\, r_t\, \hat m / \sqrt{\hat v}$ where $\rho_t > 5$, with
    $r_t^2 = \frac{(\rho_t - 4) (\rho_t - 2) \rho_\infty}{(\rho_\infty - 4) (\rho_\infty - 2) \rho_t}$, and $\eta\, \hat m$ before.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 maximize=False, **implementation):
        super().__init__(params, lr, betas, eps, weight_decay, maximize=maximize, decoupled_weight_decay=decoupled_weight_decay,
                         **implementation)

    def kept_in(self, group):
        return "exp_avg", "exp_avg_sq"

    def rates(self, group, age):
        beta1, beta2 = group["betas"]
        gone, limit = 1 - beta2**age, 2 / (1 - beta2) - 1
        length = limit - 2 * age * beta2**age / gone
        is_trusted, safe = length > 5, maximum(length, 5)
        rectified = sqrt((safe - 4) * (safe - 2) * limit / ((limit - 4) * (limit - 2) * safe) * gone)
        rate = group["lr"] / (1 - beta1**age)
        return where(is_trusted, 0, rate), where(is_trusted, rate * rectified, 0), 1 - group["lr"] * group["weight_decay"]

    def update(self, group, rates, p, g, mean, square):
        (beta1, beta2), (plain, scaled, shrunk) = group["betas"], rates
        p, g = prepared(group, p, g, shrunk if group["decoupled_weight_decay"] else None)
        mean = mean + (g - mean) * (1 - beta1)
        square = square * beta2 + g * g * (1 - beta2)
        return p - mean * (plain + scaled / (sqrt(square) + group["eps"])), mean, square

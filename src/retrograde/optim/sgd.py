"""Stochastic gradient descent."""

from ..errors import ArgumentError
from .optimizer import Optimizer, prepared


class SGD(Optimizer):
    r"""Steps against the gradient, with momentum.

    $d = g + \lambda p,\; b \leftarrow \mu b + (1 - \tau) d,\; p \leftarrow p - \eta b$, the first $b$ being $d$; with `nesterov`
    $p \leftarrow p - \eta (d + \mu b)$. $\lambda$ is `weight_decay`, $\mu$ `momentum`, $\tau$ `dampening`; `maximize` steps along
    the gradient.

    Where a gradient is a `RowGradient`, as that of `nn.Embedding(sparse=True)`, a step without momentum updates these alone. With
    momentum all rows go on moving, which takes time with the size of the table; with `lazy` the momentum of a row waits until
    the row is read again.

    >>> p = rg.nn.Parameter(rg.ones(1))
    >>> optimizer = rg.optim.SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [0.0]
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *,
                 maximize=False, lazy=False, **implementation):
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize, "lazy": lazy}, **implementation)

    takes_rows = True

    def _check(self, options):
        super()._check(options)
        if options["nesterov"] and (options["momentum"] == 0 or options["dampening"] != 0):
            raise ArgumentError("nesterov needs momentum above 0 and dampening 0, got "
                                f"{options['momentum']} and {options['dampening']}")

    def updates_rows(self, group):
        return not group["momentum"] or group["lazy"]

    def kept_in(self, group):
        return ("momentum_buffer",) if group["momentum"] else ()

    def age_of(self, group, state):
        # The first gradient starts the buffer whole, without dampening.
        return state.get("momentum_buffer") is not None or group["dampening"] == 0

    def rates(self, group, age):
        return group["lr"], 1 - group["dampening"] if age else 1

    def update(self, group, rates, p, g, buffer=None):
        rate, share = rates
        p, g = prepared(group, p, g)
        if buffer is None:
            return (p - g * rate,)
        buffer = buffer * group["momentum"] + (g if share == 1 else g * share)
        step = g + buffer * group["momentum"] if group["nesterov"] else buffer
        return p - step * rate, buffer

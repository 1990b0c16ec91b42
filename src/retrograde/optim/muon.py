"""Muon, whose steps are orthogonal matrices."""

from math import sqrt

from ..errors import ArgumentError, ShapeError
from ..ops.axes.reductions import sum as summed
from ..ops.elementary.arithmetic import sqrt as root
from ..ops.elementary.comparisons import maximum
from ..ops.linalg.contractions import matmul
from ..ops.manipulation.movements import transpose
from .optimizer import Optimizer

#: How the learning rate is fitted to a matrix of so many rows and columns.
_FITS = {
    "original": lambda rows, columns: sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * sqrt(max(rows, columns)),
}


class Muon(Optimizer):
    r"""Momentum whose matrix is brought near an orthogonal one (Jordan et al., 2024); for the matrices of hidden layers.

    $b \leftarrow \mu b + (1 - \mu) g$, and with `nesterov` $u = (1 - \mu) g + \mu b$, else $u = b$. With $u$ divided by its norm,
    `ns_steps` times $u \leftarrow a u + (b\, u u^\top + c\, (u u^\top)^2) u$, where $a, b, c$ are `ns_coefficients`; then
    $p \leftarrow (1 - \eta \lambda) p - \eta s u$. The factor $s$ is $\sqrt{\max(1, m / n)}$ for $m$ rows and $n$ columns, or
    $0.2 \sqrt{\max(m, n)}$ with `adjust_lr_fn="match_rms_adamw"`.

    The steps are computed in the dtype of the parameter; PyTorch rounds them to bfloat16.
    """

    kept = ("momentum_buffer",)
    is_elementwise = False

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315),
                 eps=1e-7, ns_steps=5, adjust_lr_fn=None, **implementation):
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients": ns_coefficients,
            "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}, **implementation)

    def _check(self, options):
        super()._check(options)
        if options["adjust_lr_fn"] not in (None, *_FITS):
            raise ArgumentError(f"adjust_lr_fn must be None or one of {', '.join(_FITS)}, got {options['adjust_lr_fn']!r}")
        if len(options["ns_coefficients"]) != 3 or not 0 <= options["ns_steps"] < 100:
            raise ArgumentError("ns_coefficients must be three numbers and ns_steps lie in [0, 100), got "
                                f"{options['ns_coefficients']!r} and {options['ns_steps']!r}")

    def _check_parameter(self, parameter):
        super()._check_parameter(parameter)
        if parameter.ndim != 2:
            raise ShapeError(f"Muon updates matrices, got a parameter of shape {parameter.shape}; give others to AdamW")

    def rates(self, group, age):
        return group["lr"], 1 - group["lr"] * group["weight_decay"]

    def update(self, group, rates, p, g, buffer):
        (rate, shrunk), momentum = rates, group["momentum"]
        buffer = buffer + (g - buffer) * (1 - momentum)
        step = g + (buffer - g) * momentum if group["nesterov"] else buffer
        factor = _FITS[group["adjust_lr_fn"] or "original"](*p.shape)
        return p * shrunk - _orthogonal(step, group) * (rate * factor), buffer


def _orthogonal(u, group):
    """A matrix near `u` with singular values near 1, by Newton and Schulz's iteration."""
    (a, b, c), is_tall = group["ns_coefficients"], u.shape[0] > u.shape[1]
    u = transpose(u) if is_tall else u
    u = u / maximum(root(summed(u * u)), group["eps"])
    for _ in range(group["ns_steps"]):
        products = matmul(u, transpose(u))
        u = u * a + matmul(products * b + matmul(products, products) * c, u)
    return transpose(u) if is_tall else u

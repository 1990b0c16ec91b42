"""Resilient propagation: steps whose length depends on the signs of gradients alone."""

from ..errors import ArgumentError
from ..ops.elementary.arithmetic import sign
from ..ops.elementary.comparisons import clip, where
from .optimizer import Optimizer, is_number


class Rprop(Optimizer):
    r"""Steps of a length of their own for each element, for gradients of all of the data (Riedmiller and Braun, 1993).

    Where the sign of the gradient stays what it was the length grows by the second of `etas`, where it changes it shrinks by the
    first, and no step is made. Lengths start at `lr` and stay between `step_sizes`.

    >>> p = rg.nn.Parameter(rg.tensor([3.0, -2.0]))
    >>> optimizer = rg.optim.Rprop([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p.tolist()
    [2.5, -1.5]
    """

    counts_steps = True
    kept = ("prev", "step_size")

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, maximize=False, **implementation):
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}, **implementation)

    def _check(self, options):
        super()._check(options)
        for name, is_right in (("etas", lambda a, b: 0 < a < 1 < b), ("step_sizes", lambda a, b: 0 < a <= b)):
            pair = options[name]
            if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not all(map(is_number, pair)) or not is_right(*pair):
                wanted = "below and above 1" if name == "etas" else "the least and the greatest length, above 0"
                raise ArgumentError(f"{name} must be two numbers, {wanted}, got {pair!r}")

    def update(self, group, rates, p, g, before, length):
        (slower, faster), (least, most) = group["etas"], group["step_sizes"]
        g = -g if group["maximize"] else g
        agreement = g * before
        length = where(length == 0, rates[0], length)  # a state that is new is zero
        grown = where(agreement > 0, length * faster, where(agreement < 0, length * slower, length))
        length = clip(grown, least, most)
        g = where(agreement < 0, g * 0, g)
        return p - sign(g) * length, g, length

"""New tensors of a layout, and draws in place from distributions."""

import math

import numpy as np

from ...core.mode import no_grad
from ...tensor import random as draws
from .. import creation, kinds
from ..tensor import Tensor

__all__ = ["empty_permuted", "empty_strided"]


def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor whose elements are not set yet and lie these strides apart, counted in elements."""
    count = 1 + sum([(n - 1) * step for n, step in zip(size, stride, strict=True)]) if math.prod(size) else 0
    line = creation.empty(count, dtype=dtype, device=device).numpy()
    found = np.lib.stride_tricks.as_strided(line, tuple(size), [step * line.itemsize for step in stride])
    return kinds.made(found).requires_grad_(requires_grad)


def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor whose elements are not set yet, and whose axes lie in memory in this order."""
    found = creation.empty(tuple([size[i] for i in physical_layout]), dtype=dtype, device=device).numpy()
    return kinds.made(found.transpose(np.argsort(physical_layout))).requires_grad_(requires_grad)


def _new_empty_strided(self, size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """`empty_strided` of the dtype of this tensor."""
    return empty_strided(size, stride, dtype=dtype or self.dtype, device=device, requires_grad=requires_grad)


def _filled(name, doc, make):
    def fill(self, *args, generator=None, **kwargs):
        kind = self.dtype if self.is_floating_point() else creation.DEFAULT[0]
        chance = 1 - creation.of(draws.rand(tuple(self.shape), dtype=kind, generator=generator))  # never 0
        with no_grad():
            return self.copy_(make(chance, *args, **kwargs))

    fill.__name__, fill.__doc__ = name, doc
    return fill


def _normal(chance, mean, std):
    noise = creation.of(draws.randn(tuple(chance.shape), dtype=chance.dtype))
    return mean + std * noise


for _name, _method in {
    "cauchy_": _filled("cauchy_", "Set all elements to draws of Cauchy's distribution.",
                       lambda p, median=0, sigma=1: median + sigma * ((p - 0.5) * math.pi).tan()),
    "geometric_": _filled("geometric_", "Set all elements to the number of the first success, of a chance `p` each.",
                          lambda u, p: (u.log() / math.log1p(-p)).ceil().clamp(min=1)),
    "log_normal_": _filled("log_normal_", "Set all elements to exponentials of normally distributed numbers.",
                           lambda u, mean=1, std=2: _normal(u, mean, std).exp()),
    "new_empty_strided": _new_empty_strided,
}.items():
    setattr(Tensor, _name, _method)

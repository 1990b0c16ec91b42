"""Methods with `_`: what a function gives, written to the tensor itself."""

from typing import Any

import numpy as np

from ..core.mode import is_recording, no_grad
from ..errors import MissingRuleError, ShapeError
from ..ops.elementary.conversions import astype
from ..tensor import random as draws
from ..tensor.inplace import assigning, set_item


def in_place(function, name):
    """The method that writes what `function` gives to its first argument."""
    write = assigning(function, name)

    def method(self, *args, **kwargs):
        return write(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"`{function.__name__}`, written to the tensor itself."
    return method


def zero_(self):
    """Write 0 everywhere."""
    set_item(self, ..., 0)
    return self


def fill_(self, value):
    """Write one value everywhere."""
    set_item(self, ..., value)
    return self


def fill_diagonal_(self, fill_value, wrap=False):
    """Write one value to the diagonal of a matrix, or of a cube; with `wrap`, of each square below the first."""
    if self.ndim < 2 or self.ndim > 2 and len(set(self.shape)) > 1:
        raise ShapeError(f"fill_diagonal_ needs a matrix, or axes of one length, got shape {tuple(self.shape)}")
    rows = np.arange(self.shape[0] if wrap and self.ndim == 2 else min(self.shape))
    places = [rows % (self.shape[1] + 1)] if wrap and self.ndim == 2 else [rows]
    is_there = places[0] < self.shape[-1]
    set_item(self, (rows[is_there], *[places[0][is_there]] * (self.ndim - 1)), fill_value)
    return self


def apply_(self, callable):
    """Write what a function of Python's gives for each element, one by one: slow, and no derivative of it is known."""
    if self.requires_grad and is_recording():
        raise MissingRuleError("apply_ has no derivative; compute with functions of tensors, or on x.detach()")
    set_item(self, ..., np.array([callable(x) for x in self.flatten().tolist()], self.dtype).reshape(self.shape))
    return self


def copy_(self, src, non_blocking=False):
    """Write the elements of another tensor, converted."""
    set_item(self, ..., src)
    return self


def set_data(self, data):
    """Let the tensor hold the memory of another one."""
    self.raw = data.raw if hasattr(data, "raw") else data


def _drawn(name, draw, doc):
    def method(self, *args, **kwargs):
        with no_grad():
            set_item(self, ..., astype(draw(self, *args, **kwargs), self.dtype))
        return self

    method.__name__, method.__doc__ = name, doc
    return method


def _shape(x):
    return tuple(x.shape)


_rand: Any = draws.rand
normal_ = _drawn("normal_", lambda x, mean=0.0, std=1.0, *, generator=None: draws.normal(mean, std, _shape(x), generator),
                 "Write normally distributed numbers.")
uniform_ = _drawn("uniform_", lambda x, a=0.0, b=1.0, *, generator=None, **named: draws.uniform(
    named.get("from", a), named.get("to", b), _shape(x), generator), "Write numbers spread evenly from `a` to `b`.")
bernoulli_ = _drawn("bernoulli_", lambda x, p=0.5, *, generator=None: _rand(_shape(x), generator=generator) < p,
                    "Write 1 with the chance `p`, else 0.")
exponential_ = _drawn("exponential_", lambda x, lambd=1.0, *, generator=None: -(1 - _rand(
    _shape(x), generator=generator, dtype="float64")).log() / lambd, "Write times between events of a rate.")


def random_(self, low=0, high=None, *, generator=None):
    """Write integers from `low` to `high`, which is left out; below 2**24 for floats, if none is given."""
    if high is None:
        low, high = (0, low) if low else (0, 2 ** (24 if self.dtype.kind == "f" else 31))
    with no_grad():
        set_item(self, ..., astype(draws.randint(low, high, _shape(self), generator=generator), self.dtype))
    return self

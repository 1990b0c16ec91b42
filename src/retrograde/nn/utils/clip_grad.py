"""Clipping gradients, in place, between `backward` and `step`. `foreach` chooses an implementation in PyTorch, and nothing here."""

from collections.abc import Iterable
from math import isfinite

import numpy as np

from ...core.mode import is_tracing, no_grad
from ...core.value import Value
from ...errors import AnomalyError, DTypeError
from ...ops.axes.reductions import norm
from ...ops.collectives import all_stack
from ...ops.elementary.comparisons import clip, minimum
from ...ops.manipulation.joins import stack
from ...tensor.rows import RowGradient
from ...tensor.tensor import Tensor
from ..state import share_of


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):  # noqa: ARG001 - PyTorch's
    """Scale all gradients together so that their norm, taken as one vector, is at most `max_norm`; returns the old norm.

    >>> p = rg.nn.Parameter(rg.ones(2))
    >>> (3 * p[0] + 4 * p[1]).backward()
    >>> rg.nn.utils.clip_grad_norm_([p], 1.0), p.grad.norm() < 1
    (tensor(5.), tensor(True))
    """
    parameters = _listed(parameters)
    total = get_total_norm(_whole_gradients(parameters, norm_type), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(parameters, max_norm, total)
    return total


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):  # noqa: ARG001 - PyTorch's
    """The norm of all `tensors`, taken as one vector.

    >>> rg.nn.utils.get_total_norm([rg.tensor([3.0]), rg.tensor([4.0])])
    tensor(5.)
    """
    with no_grad():
        # Rows that are added up count as their sum, and each of them once.
        numbers = [t.summed_once() if isinstance(t, RowGradient) else t for t in _listed(tensors)]
        norms = [norm(x.reshape(-1), norm_type) for x in numbers]
        total = norm(stack(norms), norm_type) if norms else Tensor(np.zeros((), np.float32))
    if error_if_nonfinite and not isfinite(float(total)):
        raise AnomalyError(f"the norm of the gradients is {float(total)}, so they cannot be clipped")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):  # noqa: ARG001 - PyTorch's
    """Scale all gradients together, whose norm is `total_norm`, so that it becomes `max_norm` at most."""
    with no_grad():
        scale = minimum(max_norm / (total_norm + 1e-6), 1.0)
        for g in _gradients(parameters):
            if isinstance(g, RowGradient):
                g.become(g.rows * scale.astype(g.dtype))
            else:
                _write(g, g * scale.astype(g.dtype))


def clip_grad_value_(parameters, clip_value, foreach=None):  # noqa: ARG001 - PyTorch's
    """Bring every element of every gradient between -`clip_value` and `clip_value`."""
    with no_grad():
        for g in _gradients(parameters):
            if isinstance(g, RowGradient):
                g.become(clip(g.summed_once(), -clip_value, clip_value))
            else:
                _write(g, clip(g, -clip_value, clip_value))


def _whole_gradients(parameters, norm_type):
    """Gradients, and in place of those of which several processes have a part each the norms of all parts."""
    found, parts = [], {}
    for p in parameters:
        if p.grad is not None:
            share = share_of(p)
            (found if share is None else parts.setdefault(share.group, [])).append(p.grad)
    with no_grad():
        for group, gradients in parts.items():
            found.append(all_stack(get_total_norm(gradients, norm_type), group, "ranks", "the norms of gradients"))
    return found


def _gradients(parameters):
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _listed(parameters):
    parameters = [parameters] if isinstance(parameters, Value) else parameters
    parameters = list(parameters) if isinstance(parameters, Iterable) else [parameters]
    for p in parameters:
        if not isinstance(p, Value):
            raise DTypeError("gradients are clipped of a list of parameters, as module.parameters() gives, got "
                             f"{type(p).__name__} among them")
    return parameters


def _write(g, new):
    if is_tracing() or g.raw.flags.writeable:
        g[...] = new
    else:
        g.raw = new.realize().raw

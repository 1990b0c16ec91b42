"""What stands for the functions of scipy.special that are no ufuncs, with SciPy's signatures."""

from inspect import unwrap

import numpy as np

from ..errors import ArgumentError
from ..numpy._differentiable import chosen_ufunc, either, refusing
from ..ops.axes import reductions
from ..ops.elementary.comparisons import isfinite, maximum, where
from ..ops.elementary.exponential import exp, log, log1p
from ..ops.elementary.rounding import round
from ..ops.elementary.trigonometric import sinc
from ..ops.manipulation.movements import squeeze
from ..ops.networks import activation
from ..ops.special import gamma, log_gamma
from ..tensor.counterparts.operands import constant, stacked
from ..transforms.grad import stop_gradient
from ._gammas import OPS

#: Below this a number of ways is known so well that the nearest whole number is the right one.
_WHOLE = 1e13


def _polygamma(n, x):
    order = stacked(constant(n, "the order of polygamma"))
    if order.ndim:
        raise ArgumentError(f"polygamma of tensors does not take several orders at once, got {order.tolist()}")
    return OPS["polygamma"](stacked(x), int(order))


def _multigammaln(a, d):
    dimension = constant(d, "the dimension of multigammaln")
    if np.ndim(dimension) or dimension != np.floor(dimension):
        raise ArgumentError(f"multigammaln needs a whole number as its dimension, got {dimension}")
    return log_gamma.multigammaln(a, int(dimension))


def _logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    if return_sign:
        raise ArgumentError("logsumexp of tensors has no return_sign=True; take the sign of the sum yourself")
    if b is None:
        return reductions.logsumexp(a, axis, keepdims)
    a, b = stacked(a), stacked(b)
    top = stop_gradient(reductions.max(a, axis, True))
    top = where(isfinite(top), top, 0.0)
    found = log(reductions.sum(b * exp(a - top), axis, True)) + top
    return found if keepdims else squeeze(found, axis)


def _comb(N, k, *, exact=False, repetition=False):
    if exact or repetition:
        raise ArgumentError("comb of tensors takes neither exact=True nor repetition=True")
    N, k = stacked(N), stacked(k)
    is_inside = (N >= 0) & (k >= 0) & (k <= N)
    count, chosen = where(is_inside, N, 1.0), where(is_inside, k, 0.0)
    # Three logarithms of factorials would cancel where N is great.
    found = exp(-log1p(count) - log_gamma.betaln(count - chosen + 1, chosen + 1))
    is_whole = (round(count) == count) & (round(chosen) == chosen) & (found < _WHOLE)
    return where(is_inside, where(is_whole, round(found) + (found - stop_gradient(found)), found), 0.0)


def _factorial(n, exact=False, extend="zero"):
    if exact:
        raise ArgumentError("factorial of tensors does not take exact=True")
    if extend != "zero":
        raise ArgumentError(f"factorial of tensors does not take extend={extend!r}; use gamma(n + 1)")
    return where(n < 0, 0.0, gamma.gamma(maximum(n, 0.0) + 1.0))


def _over(function):
    """`function` over an axis, by default over all elements together."""
    return lambda x, axis=None: function(x, axis) if axis is not None else function(x.reshape(-1), 0).reshape(x.shape)


_OURS = {
    "polygamma": _polygamma, "multigammaln": _multigammaln, "logsumexp": _logsumexp, "comb": _comb, "factorial": _factorial,
    "softmax": _over(activation.softmax), "log_softmax": _over(activation.log_softmax),
    "sinc": sinc,
}




def chosen(theirs):
    """The function of scipy.special that takes tensors, for `theirs`."""
    if isinstance(unwrap(theirs), np.ufunc):
        return chosen_ufunc(theirs, OPS.get(theirs.__name__))
    name = getattr(theirs, "__name__", "")
    if name in _OURS:
        return either(theirs, _OURS[name])
    return refusing(theirs, f"scipy.special.{name} has no derivative here; add an op with @rg.ops, or a @rg.primitive")

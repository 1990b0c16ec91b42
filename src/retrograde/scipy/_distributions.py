"""Distributions: the methods of one of SciPy's, some of them with a differentiable counterpart."""

from ..extend import defvjp, primitive
from ..extras import optional
from ..numpy._differentiable import chosen_ufunc, either, namespace, refusing
from ..ops.elementary.conversions import as_floats
from ..ops.elementary.exponential import exp
from ..ops.manipulation.movements import unbroadcast
from ._gammas import OPS

_special = optional("scipy.special", "scipy")
#: With SciPy's own speed where the arguments are plain, such as the parameters of a distribution.
gammaln, betaln = chosen_ufunc(_special.gammaln, OPS["gammaln"]), chosen_ufunc(_special.betaln)


def methods(name, **ours):
    """The methods of the distribution `name`: `ours` where a tensor is among the arguments, SciPy's otherwise."""
    theirs = _scipy(name)
    reason = f"scipy.stats.{name}.{{}} has no derivative here; there is one of {', '.join(ours)}"
    found = namespace(theirs, lambda method: refusing(method, reason.format(getattr(method, "__name__", ""))))
    return found | {method: either(getattr(theirs, method), _of_floats(function)) for method, function in ours.items()}


def _of_floats(function):
    """`function`, for which each argument of integers is float64, as it is for SciPy."""
    return lambda *args, **kwargs: function(*[_float(x) for x in args], **{name: _float(x) for name, x in kwargs.items()})


def _float(x):
    return as_floats(x)[0]


def integral(name, logpdf):
    r"""The distribution function of `name` without location and scale, whose derivative is the density.

    $z = F(x) \;\Rightarrow\; \bar x = \bar z\, e^{\ln p(x)}$; there is none in the other arguments.
    """
    cdf = primitive(_scipy(name).cdf)
    defvjp(cdf, lambda answer, x, *shapes: lambda g: unbroadcast(g * exp(logpdf(x, *shapes)), getattr(x, "shape", ())))
    return cdf


def _scipy(name):
    return getattr(optional("scipy.stats", "scipy"), name)

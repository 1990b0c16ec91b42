"""The Kullback-Leibler divergence of two distributions, by pairs of their classes."""

import math

from ...errors import ArgumentError, MissingRuleError
from .. import linalg
from ..creation import full_like
from .categorical import Categorical, OneHotCategorical
from .continuous import Exponential, Laplace, Uniform
from .discrete import Bernoulli, Binomial, Geometric, Poisson
from .distribution import Distribution
from .gammas import Beta, Dirichlet, Gamma
from .normal import MultivariateNormal, Normal, distance, half_log_det
from .transformed import Independent, TransformedDistribution
from .utils import is_true, softplus, sum_rightmost

_RULES = {}
_EULER = 0.57721566490153286060


def register_kl(type_p, type_q):
    """A decorator that registers a function of p and q for two classes of distributions, and for subclasses without their own."""
    if not (isinstance(type_p, type) and issubclass(type_p, Distribution) and isinstance(type_q, type) and issubclass(
            type_q, Distribution)):
        raise ArgumentError(f"register_kl takes two classes of distributions, got {type_p!r} and {type_q!r}")

    def decorator(function):
        _RULES[type_p, type_q] = function
        return function

    return decorator


def kl_divergence(p, q):
    """The mean over `p` of how much more probable its values are for `p` than for `q`: KL(p, q), of the batch shape.

    >>> import retrograde.torch as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 2.0))
    tensor(0.4431)
    """
    pairs = ((a, b) for a in type(p).__mro__ for b in type(q).__mro__)
    rule = next((_RULES[pair] for pair in pairs if pair in _RULES), None)
    if rule is None:
        raise MissingRuleError(f"there is no KL divergence of {type(p).__name__} and {type(q).__name__}; add one with "
                               "torch.distributions.register_kl")
    return rule(p, q)


@register_kl(Bernoulli, Bernoulli)
def _(p, q):
    yes = (p.probs * (softplus(-q.logits) - softplus(-p.logits))).masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    no = ((1 - p.probs) * (softplus(q.logits) - softplus(p.logits))).masked_fill(q.probs == 1, math.inf)
    return yes + no.masked_fill(p.probs == 1, 0)


@register_kl(Beta, Beta)
def _(p, q):
    sum_p, sum_q = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    scales = q.concentration1.lgamma() + q.concentration0.lgamma() + sum_p.lgamma() - (
        p.concentration1.lgamma() + p.concentration0.lgamma() + sum_q.lgamma())
    first = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    second = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return scales + first + second + (sum_q - sum_p) * sum_p.digamma()


@register_kl(Binomial, Binomial)
def _(p, q):
    if not is_true(q.total_count <= p.total_count):
        raise MissingRuleError("there is no KL divergence of Binomial where the second total_count is greater")
    found = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return found.masked_fill(p.total_count > q.total_count, math.inf)


@register_kl(Categorical, Categorical)
def _(p, q):
    parts = (p.probs * (p.logits - q.logits)).masked_fill(q.probs == 0, math.inf).masked_fill(p.probs == 0, 0)
    return parts.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _(p, q):
    return kl_divergence(p._categorical, q._categorical)  # noqa: SLF001 - of our own kind


@register_kl(Dirichlet, Dirichlet)
def _(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    scales = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return scales + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _(p, q):
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Gamma, Gamma)
def _(p, q):
    a, b = p.concentration, q.concentration
    return b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma() + (q.rate - p.rate) * (a / p.rate)


@register_kl(Geometric, Geometric)
def _(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Laplace, Laplace)
def _(p, q):
    ratio, apart = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + apart / q.scale + ratio * (-apart / p.scale).exp() - 1


@register_kl(MultivariateNormal, MultivariateNormal)
def _(p, q):
    n = p.event_shape[0]
    if n != q.event_shape[0]:
        raise ArgumentError(f"KL divergence needs vectors of one length, got {n} and {q.event_shape[0]}")
    ours, theirs = p._factor, q._factor  # noqa: SLF001 - of our own kind
    ratio = linalg.solve_triangular(theirs, ours, upper=False)
    return half_log_det(theirs) - half_log_det(ours) + 0.5 * ((ratio * ratio).sum((-2, -1)) + distance(theirs, q.loc - p.loc) - n)


@register_kl(Normal, Normal)
def _(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


@register_kl(Poisson, Poisson)
def _(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _(p, q):
    return ((q.high - q.low) / (p.high - p.low)).log().masked_fill((q.low > p.low) | (q.high < p.high), math.inf)


@register_kl(Independent, Independent)
def _(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise MissingRuleError("there is no KL divergence of Independent with different reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def _(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise MissingRuleError("there is no KL divergence of distributions with different transforms")
    return kl_divergence(p.base_dist, q.base_dist)


# Different kinds, as far as they have one in closed form.
@register_kl(Bernoulli, Poisson)
def _(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _of_gamma(p, q, mean_of_log, mean):
    """KL of a distribution `p` and a gamma distribution `q`."""
    scale = q.concentration.lgamma() - q.concentration * q.rate.log()
    return -p.entropy() + scale - (q.concentration - 1) * mean_of_log + q.rate * mean


@register_kl(Beta, Gamma)
def _(p, q):
    return _of_gamma(p, q, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(), p.mean)


@register_kl(Beta, Exponential)
@register_kl(Gamma, Exponential)
def _(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Normal)
@register_kl(Exponential, Normal)
@register_kl(Gamma, Normal)
@register_kl(Laplace, Normal)
@register_kl(Uniform, Normal)
def _(p, q):
    return -p.entropy() + 0.5 * (2 * math.pi * q.scale**2).log() + (p.variance + (p.mean - q.loc) ** 2) / (2 * q.scale**2)


@register_kl(Beta, Uniform)
def _(p, q):
    return (-p.entropy() + (q.high - q.low).log()).masked_fill((q.low > 0) | (q.high < 1), math.inf)


@register_kl(Exponential, Gamma)
def _(p, q):
    return _of_gamma(p, q, -_EULER - p.rate.log(), 1 / p.rate)


@register_kl(Normal, Laplace)
def _(p, q):
    apart = (p.loc - q.loc) / p.scale
    mean = math.sqrt(2 / math.pi) * p.scale * (-0.5 * apart**2).exp() + (p.loc - q.loc) * (apart * math.sqrt(0.5)).erf()
    return -p.entropy() + (2 * q.scale).log() + mean / q.scale


@register_kl(Uniform, Beta)
def _(p, q):
    width = p.high - p.low
    first = (_times_log(p.high) - _times_log(p.low) - width) / width
    second = (_times_log(1 - p.low) - _times_log(1 - p.high) - width) / width
    scale = q.concentration1.lgamma() + q.concentration0.lgamma() - (q.concentration1 + q.concentration0).lgamma()
    found = scale - width.log() - (q.concentration1 - 1) * first - (q.concentration0 - 1) * second
    return found.masked_fill((p.high > 1) | (p.low < 0), math.inf)


@register_kl(Uniform, Exponential)
def _(p, q):
    return (q.rate * p.mean - ((p.high - p.low) * q.rate).log()).masked_fill(p.low < 0, math.inf)


@register_kl(Uniform, Gamma)
def _(p, q):
    width = p.high - p.low
    return _of_gamma(p, q, (_times_log(p.high) - _times_log(p.low) - width) / width, p.mean).masked_fill(p.low < 0, math.inf)


def _times_log(x):
    return x.clamp(min=0).xlogy(x.clamp(min=0))


def _infinite(p, _):
    """For a `q` that gives no chance to values of `p`."""
    return full_like(p.mean.detach(), math.inf)


for _p, _others in {Exponential: (Beta, Uniform), Gamma: (Beta, Uniform), Laplace: (Beta, Exponential, Gamma, Uniform),
                    Normal: (Beta, Exponential, Gamma, Uniform), Poisson: (Bernoulli, Binomial)}.items():
    for _q in _others:
        register_kl(_p, _q)(_infinite)

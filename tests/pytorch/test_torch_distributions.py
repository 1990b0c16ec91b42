"""Distributions beside SciPy's, their samples, and all of it compiled; beside PyTorch's: test_distributions_like_torch.py."""

import math

import numpy as np
import pytest
from distribution_cases import CASES, PAIRS, parameters
from scipy import stats

from retrograde import torch
from retrograde.errors import ArgumentError, MissingRuleError, ShapeError

D = torch.distributions
N = torch.tensor
A, B = 1.7, 0.6
#: Of numbers: ours, and SciPy's.
CONTINUOUS = {
    "Normal": (D.Normal(A, B), stats.norm(A, B)), "LogNormal": (D.LogNormal(A, B), stats.lognorm(B, scale=math.exp(A))),
    "Uniform": (D.Uniform(-1.0, A), stats.uniform(-1.0, 1.0 + A)), "Exponential": (D.Exponential(A), stats.expon(scale=1 / A)),
    "Laplace": (D.Laplace(A, B), stats.laplace(A, B)), "Gamma": (D.Gamma(A, B), stats.gamma(A, scale=1 / B)),
    "Gamma below 1": (D.Gamma(0.2, 3.0), stats.gamma(0.2, scale=1 / 3)), "Chi2": (D.Chi2(3.0), stats.chi2(3)),
    "Beta": (D.Beta(A, B), stats.beta(A, B)), "Beta of few": (D.Beta(N(0.3, dtype=torch.float64), 0.2), stats.beta(0.3, 0.2)),
    "StudentT": (D.StudentT(5.0, A, B), stats.t(5, A, B)),
    "a logistic one": (D.TransformedDistribution(D.Uniform(0.0, 1.0), [D.SigmoidTransform().inv, D.AffineTransform(A, B)]), stats.logistic(A, B)),
    "a falling one": (D.TransformedDistribution(D.Exponential(1.0), [D.AffineTransform(A, -B)]), stats.norm(0, 1)),
}
DISCRETE = {
    "Bernoulli": (D.Bernoulli(0.3), stats.bernoulli(0.3)), "Binomial": (D.Binomial(9, 0.3), stats.binom(9, 0.3)),
    "Binomial of many": (D.Binomial(200, 0.7), stats.binom(200, 0.7)), "Binomial by logits": (D.Binomial(40, logits=N(0.4)), stats.binom(40, 1 / (1 + math.exp(-0.4)))),
    "Geometric": (D.Geometric(0.3), stats.geom(0.3, loc=-1)), "Poisson": (D.Poisson(3.5), stats.poisson(3.5)), "Poisson of many": (D.Poisson(80.0), stats.poisson(80)),
    "Poisson of ten": (D.Poisson(10.0), stats.poisson(10)), "Poisson of few": (D.Poisson(0.01), stats.poisson(0.01)),
    "Categorical": (D.Categorical(N([1.0, 5.0, 0.0, 2.0])), stats.rv_discrete(values=([0, 1, 3], [1 / 8, 5 / 8, 2 / 8]))),
}
SCIPY = {name: pair for name, pair in {**CONTINUOUS, **DISCRETE}.items() if name not in ("a falling one", "Categorical")}


@pytest.mark.parametrize("name", SCIPY)
def test_densities_and_facts_are_those_of_scipy(name):
    ours, theirs = SCIPY[name]
    points = theirs.ppf([0.1, 0.4, 0.5, 0.8, 0.95])
    log_density = theirs.logpmf if name in DISCRETE else theirs.logpdf
    np.testing.assert_allclose(ours.log_prob(N(points.astype(np.float64 if name == "Beta of few" else np.float32))).tolist(), log_density(points), 2e-4, 2e-5)
    if type(ours) is not D.TransformedDistribution:
        np.testing.assert_allclose([ours.mean.item(), ours.variance.item(), ours.stddev.item()], [theirs.mean(), theirs.var(), theirs.std()], 2e-5)
    try:
        np.testing.assert_allclose(ours.entropy().item(), theirs.entropy(), 2e-4, 2e-5)
    except MissingRuleError:
        assert isinstance(ours, (D.Poisson, D.TransformedDistribution))


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "a falling one"])
def test_chances_are_those_of_scipy(name):
    ours, theirs = CONTINUOUS[name]
    points = theirs.ppf([0.1, 0.4, 0.5, 0.8, 0.95])
    try:
        np.testing.assert_allclose(ours.cdf(N(points.astype(np.float32))).tolist(), theirs.cdf(points), 1e-5)
        np.testing.assert_allclose(ours.icdf(N([0.1, 0.4, 0.5, 0.8, 0.95])).tolist(), points, 2e-5, 1e-6)
    except MissingRuleError:
        assert isinstance(ours, (D.Gamma, D.Beta, D.StudentT))


@pytest.mark.parametrize("name", [name for name in CONTINUOUS if name != "a falling one"])
def test_samples_have_the_distribution(name):
    torch.manual_seed(7)
    ours, theirs = CONTINUOUS[name]
    for draw in (ours.sample, ours.rsample):
        assert stats.kstest(draw((20_000,)).tolist(), theirs.cdf).pvalue > 1e-3


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_the_distribution(name):
    torch.manual_seed(7)
    ours, theirs = DISCRETE[name]
    drawn = ours.sample((40_000,)).numpy()
    values = np.arange(int(theirs.ppf(1e-4)), int(theirs.ppf(1 - 1e-4)) + 1)
    expected = theirs.pmf(values) * len(drawn)
    values, expected = values[expected > 10], expected[expected > 10]
    found = np.array([(drawn == value).sum() for value in values])
    rest = len(drawn) - expected.sum()
    spread = ((found - expected) ** 2 / expected).sum() + ((len(drawn) - found.sum() - rest) ** 2 / rest if rest > 10 else 0)
    assert stats.chi2(len(values)).sf(spread) > 1e-3
    assert (drawn >= 0).all() and (drawn == np.floor(drawn)).all()


def test_counts_at_the_edges():
    assert D.Poisson(N([0.0, 0.0])).sample((100,)).sum().item() == 0
    assert D.Binomial(0, 0.5).sample((100,)).sum().item() == 0
    assert D.Binomial(7, N([0.0, 1.0])).sample((100,)).mean(0).tolist() == [0.0, 7.0]
    big = D.Poisson(N(1e6, dtype=torch.float64)).sample((2000,))
    assert abs(big.mean().item() - 1e6) < 150 and 0.9 < big.var().item() / 1e6 < 1.1
    assert D.Binomial(10**6, N(0.5, dtype=torch.float64)).sample((500,)).std().item() == pytest.approx(500, rel=0.15)


def test_vectors_have_the_distribution():
    torch.manual_seed(3)
    covariance = N([[2.0, 0.5], [0.5, 1.0]])
    x = D.MultivariateNormal(N([1.0, -1.0]), covariance).sample((40_000,)).numpy()
    np.testing.assert_allclose(np.cov(x.T), covariance.tolist(), atol=0.05)
    np.testing.assert_allclose(x.mean(0), [1.0, -1.0], atol=0.03)
    a = N([0.5, 1.0, 2.5])
    x = D.Dirichlet(a).sample((20_000,))
    assert ((x.sum(-1) - 1).abs() < 1e-6).all()
    for i in range(3):
        assert stats.kstest(x[:, i].tolist(), stats.beta(a[i].item(), 4 - a[i].item()).cdf).pvalue > 1e-3
    x = D.OneHotCategorical(N([1.0, 3.0])).sample((4000,))
    assert (x.sum(-1) == 1).all() and abs(x[:, 1].mean().item() - 0.75) < 0.03


def test_multivariate_densities_are_those_of_scipy():
    loc, covariance, x = np.array([1.0, -1.0]), np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[0.0, 0.0], [3.0, 1.0]])
    for d in (D.MultivariateNormal(N(loc), N(covariance)), D.MultivariateNormal(N(loc), precision_matrix=N(np.linalg.inv(covariance))),
              D.MultivariateNormal(N(loc), scale_tril=N(np.linalg.cholesky(covariance)))):
        theirs = stats.multivariate_normal(loc, covariance)
        np.testing.assert_allclose(d.log_prob(N(x)).tolist(), theirs.logpdf(x))
        np.testing.assert_allclose([d.entropy().item(), *d.variance.tolist()], [theirs.entropy(), 2.0, 1.0])
        np.testing.assert_allclose(d.covariance_matrix.tolist(), covariance)
        np.testing.assert_allclose(d.precision_matrix.tolist(), np.linalg.inv(covariance), atol=1e-12)
        np.testing.assert_allclose(d.scale_tril.tolist(), np.linalg.cholesky(covariance), atol=1e-12)
    a, y = np.array([0.5, 1.0, 2.5]), np.array([0.2, 0.3, 0.5])
    d, theirs = D.Dirichlet(N(a)), stats.dirichlet(a)
    np.testing.assert_allclose([d.log_prob(N(y)).item(), d.entropy().item()], [theirs.logpdf(y), theirs.entropy()])
    np.testing.assert_allclose([d.mean.tolist(), d.variance.tolist()], [theirs.mean(), theirs.var()])


#: Distributions of one parameter, with the mean of a function of their values as a function of that.
MEANS = {
    "Gamma": (lambda a: D.Gamma(a, 2.0), lambda x: x * x, lambda a: a * (a + 1) / 4), "Beta": (lambda a: D.Beta(a, 2.0), lambda x: x, lambda a: a / (a + 2)),
    "Beta below": (lambda a: D.Beta(2.0, a), lambda x: x, lambda a: 2 / (a + 2)), "Dirichlet": (
        lambda a: D.Dirichlet(a * N([1.0, 2.0, 0.5])), lambda x: (x * x).sum(-1), lambda a: sum(b * a * (b * a + 1) for b in (1, 2, 0.5)) / (3.5 * a * (3.5 * a + 1))),
    "StudentT": (lambda a: D.StudentT(a + 6), lambda x: x * x, lambda a: (a + 6) / (a + 4)), "Chi2": (lambda a: D.Chi2(a), lambda x: x, lambda a: a),
    "Normal": (lambda a: D.Normal(0.0, a), lambda x: x * x, lambda a: a * a), "Laplace": (lambda a: D.Laplace(a, a), lambda x: x * x, lambda a: 3 * a * a),
    "Exponential": (D.Exponential, lambda x: x * x, lambda a: 2 / a**2), "Uniform": (lambda a: D.Uniform(-a, 2 * a), lambda x: x * x, lambda a: a * a),
    "LogNormal": (lambda a: D.LogNormal(a, 0.3), lambda x: x, lambda a: np.exp(a + 0.045)),
}


@pytest.mark.parametrize("name", MEANS)
def test_the_mean_of_gradients_of_samples_is_the_gradient_of_the_mean(name):
    torch.manual_seed(5)
    make, function, mean = MEANS[name]
    a = N(1.3, dtype=torch.float64, requires_grad=True)
    slopes = []
    for _ in range(8):
        (slope,) = torch.autograd.grad(function(make(a).rsample((4000,))).mean(), a)
        slopes.append(slope.item())
    wanted = (mean(1.3 + 1e-5) - mean(1.3 - 1e-5)) / 2e-5
    assert abs(np.mean(slopes) - wanted) < 5 * np.std(slopes) / 7**0.5 + 1e-6


def test_the_gradient_of_a_beta_sample_keeps_its_rank():
    torch.manual_seed(2)
    a, b = N([0.4, 2.0, 30.0], dtype=torch.float64, requires_grad=True), N([1.5, 0.7, 9.0], dtype=torch.float64, requires_grad=True)
    x = D.Beta(a, b).rsample((50,))
    x.sum().backward()
    numbers, one, other = x.detach().numpy(), a.detach().numpy(), b.detach().numpy()
    ranks = stats.beta.cdf(numbers, one, other)
    for parameter, move in ((a, (1e-6, 0)), (b, (0, 1e-6))):
        up, down = (stats.beta.ppf(ranks, one + sign * move[0], other + sign * move[1]) for sign in (1, -1))
        np.testing.assert_allclose(parameter.grad.numpy(), ((up - down) / 2e-6).sum(0), 2e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_a_compiled_function_gives_the_same(case):
    _, make, arrays, value = case
    value = N(value.astype(np.float32) if value.dtype.kind == "f" else value)

    def objective(*given):
        d = make(D, *given)
        found = d.log_prob(value).sum() + (d.rsample((2,)) if d.has_rsample else d.sample((2,))).to(torch.float32).sum()
        return found if isinstance(d, (D.Poisson, D.Binomial)) or type(d) is D.TransformedDistribution else found + d.entropy().sum()

    results = []
    for run in (objective, torch.compile(objective, fullgraph=True)):
        torch.manual_seed(11)
        given = parameters(torch, arrays, "float32")
        found = run(*given)
        found.backward()
        results.append([found.item(), *[x.grad.tolist() for x in given]])
    for x, y in zip(*results, strict=True):
        np.testing.assert_allclose(x, y, 2e-4, 2e-4)


@pytest.mark.parametrize("name", PAIRS)
def test_a_compiled_divergence_is_the_same(name):
    def divergence(a, b):
        return D.kl_divergence(PAIRS[name](D, a, b), PAIRS[name](D, b, a))

    a, b = N([0.5, 1.5, 2.5]), N([1.0, 2.0, 0.7])
    np.testing.assert_allclose(torch.compile(divergence, fullgraph=True)(a, b).tolist(), divergence(a, b).tolist(), 1e-5, 1e-5)


@pytest.mark.parametrize("name", ["Normal", "Gamma", "Beta", "Laplace", "Exponential", "Dirichlet"])
def test_divergences_are_means_of_log_ratios(name):
    torch.manual_seed(1)
    p, q = PAIRS[name](D, N([0.5, 1.5, 2.5]), N([1.0, 2.0, 0.7])), PAIRS[name](D, N([0.7, 1.0, 2.0]), N([1.5, 0.5, 3.0]))
    x = p.sample((100_000,))
    if name in ("Beta", "Dirichlet"):
        x = x.clamp(min=1e-30, max=1 - 6e-8)
    ratios = p.log_prob(x) - D.Distribution.log_prob(q, x) if name == "none" else p.log_prob(x) - q.log_prob(x)
    wanted = D.kl_divergence(p, q)
    assert ((ratios.mean(0) - wanted).abs() < 6 * ratios.std(0) / 100_000**0.5 + 1e-4).all()


def test_a_distribution_made_outside_of_a_compiled_function():
    d = D.Bernoulli(logits=N([0.3, -0.2]))
    compiled = torch.compile(lambda x: d.log_prob(x) + d.entropy() + d.probs, fullgraph=True)
    x = N([0.0, 1.0])
    np.testing.assert_allclose(compiled(x).tolist(), (d.log_prob(x) + d.entropy() + d.probs).tolist(), 1e-6)


def test_parameters_and_values_are_checked():
    for make, word in ((lambda: D.Normal(0.0, -1.0), "scale"), (lambda: D.Gamma(N([1.0, 0.0]), 1.0), "concentration"), (lambda: D.Bernoulli(1.5), "probs"),
                       (lambda: D.Uniform(1.0, 1.0), "low < high"), (lambda: D.Categorical(N([-1.0, 2.0])), "probs"), (lambda: D.Chi2(-1.0), "df"),
                       (lambda: D.MultivariateNormal(torch.zeros(2), N([[1.0, 2.0], [2.0, 1.0]])), "covariance_matrix"),
                       (lambda: D.Normal("a", 1.0), "tensors or numbers"), (lambda: D.Bernoulli(), "probs and logits"),
                       (lambda: D.Bernoulli(0.5, N(0.1)), "probs and logits"), (lambda: D.Geometric(0.0), "probs"),
                       (lambda: D.MultivariateNormal(torch.zeros(2)), "one of"), (lambda: D.Normal(0.0, 1.0).log_prob(1.0), "tensor"),
                       (lambda: D.Exponential(1.0).log_prob(N(-1.0)), "support"), (lambda: D.Poisson(1.0).log_prob(N(0.5)), "support"),
                       (lambda: D.Categorical(N([0.5, 0.5])).log_prob(N(2)), "support"), (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "at most"),
                       (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform()), "axes"), (lambda: D.ExpTransform(2), "cache_size"),
                       (lambda: D.TransformedDistribution(D.Normal(0.0, 1.0), "exp"), "transform"), (lambda: D.register_kl(int, D.Normal), "classes"),
                       (lambda: D.Distribution.set_default_validate_args(None), "True or False"), (lambda: D.ReshapeTransform((2,), (3,)), "elements")):
        with pytest.raises(ArgumentError, match=word):
            make()
    for make in (lambda: D.Dirichlet(N(1.0)), lambda: D.Categorical(N(1.0)), lambda: D.MultivariateNormal(N(0.0), N([[1.0]])),
                 lambda: D.Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2)), lambda: D.Dirichlet(torch.ones(3)).log_prob(torch.ones(2) / 2)):
        with pytest.raises(ShapeError):
            make()
    assert D.Normal(0.0, -1.0, validate_args=False).icdf(N(0.5)).item() == 0.0
    assert D.Exponential(1.0, validate_args=False).log_prob(N(-1.0)).item() == 1.0
    D.Distribution.set_default_validate_args(False)
    try:
        assert D.Poisson(-1.0).rate.item() == -1.0
    finally:
        D.Distribution.set_default_validate_args(True)


def test_what_there_is_not_is_told():
    for ask in (lambda: D.Poisson(1.0).entropy(), lambda: D.Poisson(1.0).rsample(), lambda: D.Beta(1.0, 1.0).cdf(N(0.5)), lambda: D.Normal(0.0, 1.0).enumerate_support(),
                lambda: D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0)), lambda: D.Distribution().mean, lambda: D.SoftmaxTransform().sign):
        with pytest.raises(NotImplementedError, match=r"has no|there is no|neither"):
            ask()
    with pytest.raises(AttributeError, match="VonMises"):
        _ = D.VonMises


def test_a_divergence_of_own_classes_can_be_registered():
    class Mine(D.Normal):
        pass

    assert D.kl_divergence(Mine(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 0
    D.register_kl(Mine, Mine)(lambda p, q: p.loc + q.loc)
    try:
        assert D.kl_divergence(Mine(1.0, 1.0), Mine(2.0, 1.0)).item() == 3
        assert D.kl_divergence(Mine(1.0, 1.0), D.Normal(1.0, 1.0)).item() == 0
    finally:
        del D.kl._RULES[Mine, Mine]


def test_transforms_with_a_cache_give_back_the_very_value():
    x = N([0.3, 20.0])
    for transform in (D.TanhTransform(cache_size=1), D.TanhTransform().with_cache(1), D.SigmoidTransform().inv.with_cache(1).inv):
        assert transform.inv(transform(x)) is x
    assert D.ExpTransform().inv(D.ExpTransform()(x)) is not x
    assert D.AffineTransform(1.0, N(2.0)) == D.AffineTransform(1.0, N(2.0)) != D.AffineTransform(1.0, N(3.0))
    assert D.ExpTransform() == D.ExpTransform() != D.TanhTransform() and D.ExpTransform().inv == D.ExpTransform().inv


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_stay_halves(dtype):
    p = N([0.3, 0.6], dtype=dtype)
    for found in (D.Bernoulli(p).sample(), D.Bernoulli(p).entropy(), D.Laplace(p, p).rsample(), D.SigmoidTransform()(p), D.Gamma(p, p).rsample(),
                  D.Dirichlet(p).sample(), D.Poisson(p).sample(), D.Normal(p, p).log_prob(p), D.Categorical(p).entropy(), D.Beta(p, p).rsample(),
                  D.StickBreakingTransform().inv(D.StickBreakingTransform()(p))):
        assert found.dtype == dtype and found.isfinite().all()
    assert torch.finfo(dtype).tiny == torch.finfo(dtype).smallest_normal


def test_distributions_in_transforms_of_functions():
    x = N([0.5, 2.0])
    each = torch.func.vmap(lambda loc: D.Normal(loc, 2.0).log_prob(x))(N([[0.0, 1.0], [2.0, 3.0]]))
    np.testing.assert_allclose(each.tolist(), stats.norm([[0.0, 1.0], [2.0, 3.0]], 2.0).logpdf([0.5, 2.0]), 1e-5)
    slope = torch.func.grad(lambda rate: D.Exponential(rate).log_prob(x).sum())(N(0.5))
    assert slope.item() == pytest.approx(2 / 0.5 - 2.5)


def test_printing():
    assert repr(D.Normal(0.0, torch.ones(2))) == "Normal(loc: torch.Size([2]), scale: torch.Size([2]))"
    assert repr(D.Independent(D.Bernoulli(N([0.25])), 1)) == "Independent(Bernoulli(probs: tensor([0.2500])), 1)"
    assert repr(D.constraints.positive) == "GreaterThan(lower_bound=0.0)"

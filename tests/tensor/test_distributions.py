"""Random numbers of named distributions: they have the distribution, and the gradient of the mean is the mean gradient."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import ArgumentError, ShapeError

stats = pytest.importorskip("scipy.stats")
COUNT = 20_000
#: Name, parameters, and the distribution of SciPy with those parameters.
KNOWN = [
    ("uniform", (-1.0, 3.0), lambda a, b: stats.uniform(a, b - a)), ("normal", (0.5, 2.0), stats.norm),
    ("exponential", (1.5,), lambda s: stats.expon(0, s)), ("laplace", (1.0, 0.7), stats.laplace),
    ("logistic", (1.0, 0.7), stats.logistic), ("gumbel", (1.0, 0.7), stats.gumbel_r), ("cauchy", (1.0, 0.7), stats.cauchy),
    ("weibull", (1.5, 2.0), lambda k, s: stats.weibull_min(k, 0, s)), ("pareto", (5.0, 2.0), lambda a, s: stats.pareto(a, 0, s)),
    ("rayleigh", (1.3,), lambda s: stats.rayleigh(0, s)), ("lognormal", (0.2, 0.4), lambda m, s: stats.lognorm(s, 0, np.exp(m))),
    ("halfnormal", (1.3,), lambda s: stats.halfnorm(0, s)), ("gamma", (2.5, 1.5), lambda a, s: stats.gamma(a, 0, s)),
    ("gamma", (0.4, 1.5), lambda a, s: stats.gamma(a, 0, s)), ("chisquare", (3.0,), stats.chi2), ("beta", (2.0, 3.0), stats.beta),
    ("student_t", (6.0, 1.0, 0.5), stats.t),
]
IDS = [f"{name}-{parameters[0]}" for name, parameters, _ in KNOWN]


@pytest.fixture(autouse=True)
def _same_start():
    with rg.preserved_state():
        rg.manual_seed(1)
        yield


def draw(name, parameters):
    return getattr(rg.random, name)(*parameters, size=COUNT, dtype=rg.float64)


@pytest.mark.parametrize(("name", "parameters", "known"), KNOWN, ids=IDS)
def test_numbers_have_their_distribution(name, parameters, known):
    assert stats.kstest(draw(name, parameters).data, known(*parameters).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("name", "parameters", "known"), KNOWN, ids=IDS)
def test_the_mean_gradient_is_the_gradient_of_the_mean(name, parameters, known):
    # Of the chance to be below a place, smoothed: it has all the parameters in it, and every distribution has it.
    place = known(*parameters).ppf(0.6)
    tensors = [rg.tensor(np.float64(p), requires_grad=True) for p in parameters]
    rg.sigmoid(place - draw(name, tensors)).mean().backward()
    quantiles = (np.arange(200_000) + 0.5) / 200_000
    for i, t in enumerate(tensors):
        ends = []
        for step in (1e-4, -1e-4):
            moved = [p + step * (i == j) for j, p in enumerate(parameters)]
            ends.append(np.mean(rg.sigmoid(place - known(*moved).ppf(quantiles))))
        assert float(t.grad) == pytest.approx((ends[0] - ends[1]) / 2e-4, abs=0.015), f"parameter {i}"


def test_rows_of_a_dirichlet_distribution_sum_to_1_and_have_its_mean():
    alpha = rg.tensor([0.5, 2.0, 3.5], requires_grad=True)
    rows = rg.random.dirichlet(alpha, size=20_000)
    np.testing.assert_allclose(rows.sum(-1).detach().data, 1, rtol=1e-5)
    np.testing.assert_allclose(rows.mean(0).detach().data, alpha.data / 6, atol=0.01)
    rows[:, 0].mean().backward()
    # d/da_j of a_0 / sum(a)
    np.testing.assert_allclose(alpha.grad.data, [5.5 / 36, -0.5 / 36, -0.5 / 36], atol=0.01)


def test_categories_come_as_often_as_they_should():
    logits = np.log([0.1, 0.2, 0.7])
    places = rg.random.categorical(logits, size=20_000)
    np.testing.assert_allclose(np.bincount(places.data) / 20_000, np.exp(logits), atol=0.015)
    assert rg.random.categorical(np.zeros((4, 3)), axis=0).shape == (3,)


def test_hard_gumbel_softmax_is_one_hot_with_the_gradient_of_the_soft_one():
    logits = rg.tensor([[1.0, 0.0, -1.0]] * 5, requires_grad=True)
    rows = rg.random.gumbel_softmax(logits, tau=0.5, hard=True)
    np.testing.assert_allclose(np.sort(rows.detach().data), [[0, 0, 1]] * 5, atol=1e-6)
    (rows * rg.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert np.abs(logits.grad.data).max() > 1e-3
    np.testing.assert_allclose(logits.grad.data.sum(-1), 0, atol=1e-5)


def test_size_and_dtype_are_those_of_the_parameters_or_as_given():
    scale = rg.ones(2, 1, dtype=rg.float64)
    assert (rg.random.exponential(scale).shape, rg.random.exponential(scale).dtype) == ((2, 1), rg.float64)
    assert rg.random.gamma(scale, np.ones(3), size=(4, 2, 3)).shape == (4, 2, 3)
    assert rg.random.beta(2.0, 3.0).dtype == rg.float32
    with pytest.raises(ShapeError, match=r"must fit"):
        rg.random.normal(np.zeros(3), 1.0, size=(2,))


@pytest.mark.parametrize(("name", "parameters"), [
    ("normal", (0.0, -1.0)), ("exponential", (0.0,)), ("gamma", (-1.0,)), ("beta", (1.0, 0.0)), ("student_t", (0.0,)),
    ("weibull", (0.0,)), ("dirichlet", ([1.0, -1.0],)), ("gumbel", (0.0, -2.0)),
])
def test_parameters_out_of_range_are_refused(name, parameters):
    with pytest.raises(ArgumentError, match=f"{name} needs"):
        getattr(rg.random, name)(*parameters)


def test_compiled_draws_are_the_eager_ones_and_have_gradients():
    def function(a):
        return rg.random.gamma(a).sum() + rg.random.laplace(a, 2.0).sum()

    a = np.array([0.5, 2.0, 7.0])
    found = []
    for call in (rg.grad(function), rg.jit(rg.grad(function))):
        rg.manual_seed(5)
        found.append(np.asarray(call(a)))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-10)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("p", [None, [0.1, 0.2, 0.0, 0.7]])
@pytest.mark.parametrize("compiled", [False, True])
def test_choice_has_its_chances(p, replace, compiled):
    draw = lambda: rg.random.choice(4, 2, replace, p if p is None else rg.tensor(p, dtype="float64"))
    draw = rg.jit(draw) if compiled else draw
    numbers = np.stack([draw().numpy() for _ in range(400)])
    chances = np.array([0.25] * 4 if p is None else p)
    pairs = np.outer(chances, chances)
    if not replace:
        np.fill_diagonal(pairs, 0)
        pairs *= (1 / (1 - chances))[:, None]
    found = np.bincount(numbers[:, 0] * 4 + numbers[:, 1], minlength=16)
    assert found[pairs.ravel() == 0].sum() == 0
    assert stats.chisquare(found[pairs.ravel() > 0], 400 * pairs[pairs > 0]).pvalue > 1e-3


def test_choice_takes_entries_and_says_what_it_needs():
    entries = rg.arange(6.0).reshape(3, 2)
    assert rg.random.choice(entries, (4, 5)).shape == (4, 5, 2)
    assert rg.random.choice(entries, axis=1).shape == (3,)
    assert sorted(rg.random.choice(entries, 3, replace=False)[:, 0].tolist()) == [0, 2, 4]
    with pytest.raises(ArgumentError, match="at least as many entries"):
        rg.random.choice(3, 4, replace=False)
    with pytest.raises(ShapeError, match="one chance for each of 3"):
        rg.random.choice(3, p=[0.5, 0.5])


def test_state_of_the_default_generator_is_kept_and_set():
    state = rg.get_rng_state()
    first = rg.randn(3).tolist()
    rg.set_rng_state(state)
    assert rg.randn(3).tolist() == first

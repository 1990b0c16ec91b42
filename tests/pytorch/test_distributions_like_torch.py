"""Distributions give what PyTorch's give: densities, facts, divergences, and their gradients."""

import sys
from itertools import product

import numpy as np
import pytest
from distribution_cases import CASES, FACTS, PAIRS, parameters

import retrograde.torch as ours
from retrograde.ops.random.gammas import beta_slope

pytest.importorskip("torch.distributions", reason="compares with PyTorch: the extra oracle")
theirs = sys.modules["torch"]


def array(x):
    return np.asarray(x.detach().numpy())


def answer(torch, case, ask):
    """What `ask(distribution, value)` gives, with the gradients of its sum in all parameters and in the value; or "none"."""
    _, make, arrays, value = case
    given = parameters(torch, arrays)
    value = torch.tensor(value)
    if value.is_floating_point():
        value.requires_grad_()
    try:
        found = ask(make(torch.distributions, *given), value)
    except NotImplementedError:
        return "none"
    slopes = []
    if found.requires_grad:
        try:
            found.masked_fill(~found.isfinite(), 0).sum().backward()
        except NotImplementedError:  # PyTorch has no derivative of the incomplete gamma function in its order
            return tuple(found.shape), array(found), slopes
        slopes = [np.zeros(x.shape) if x.grad is None else array(x.grad) for x in (*given, value)]
    return tuple(found.shape), array(found), slopes


def compare(case, ask, tolerance=1e-10):
    wanted, found = (answer(torch, case, ask) for torch in (theirs, ours))
    if wanted == "none":
        return
    assert found[0] == wanted[0]
    np.testing.assert_allclose(found[1], wanted[1], tolerance, tolerance)
    for x, y in zip(found[2], wanted[2], strict=False):
        agree(x, y, 100 * tolerance)


def agree(slope, wanted, tolerance):
    """Compare gradients where PyTorch's are known: of values that it masks afterwards they are NaN at times, and 0 here."""
    is_known = np.isfinite(wanted)
    np.testing.assert_allclose(np.asarray(slope)[is_known], np.asarray(wanted)[is_known], tolerance, tolerance)


by_case = pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])


@by_case
def test_log_densities_and_shapes(case):
    compare(case, lambda d, value: d.log_prob(value))
    made = [case[1](torch.distributions, *parameters(torch, case[2])) for torch in (theirs, ours)]
    for name in ("batch_shape", "event_shape", "has_rsample", "has_enumerate_support"):
        assert getattr(made[0], name) == getattr(made[1], name)
    assert tuple(made[0].sample((2, 3)).shape) == tuple(made[1].sample((2, 3)).shape)
    assert str(made[0].sample().dtype) == f"torch.{made[1].sample().dtype}"
    assert (made[0].support.event_dim, made[0].support.is_discrete) == (made[1].support.event_dim, made[1].support.is_discrete)


@by_case
@pytest.mark.parametrize("fact", FACTS)
def test_facts(case, fact):
    def ask(d, _):
        found = getattr(d, fact)
        return found() if callable(found) else found

    compare(case, ask, 1e-9)


@by_case
def test_chances_up_to_a_value_and_back(case):
    compare(case, lambda d, value: d.cdf(value), 1e-7)
    compare(case, lambda d, value: d.icdf(value.sigmoid()), 1e-7)


@by_case
def test_an_expanded_distribution(case):
    grow = lambda d: d.expand((2, *d.batch_shape))
    compare(case, lambda d, value: d.expand((1, 1, *d.batch_shape)).log_prob(value))
    compare(case, lambda d, value: grow(d).mean)
    d = grow(case[1](ours.distributions, *parameters(ours, case[2])))
    assert d.sample((5,)).shape == (5, *d.batch_shape, *d.event_shape)


@by_case
def test_all_values(case):
    compare(case, lambda d, _: d.enumerate_support())
    compare(case, lambda d, _: d.enumerate_support(expand=False))


@pytest.mark.parametrize(("p", "q"), [*product(PAIRS, PAIRS)])
def test_divergences(p, q):
    def ask(torch):
        a, b, c, d = parameters(torch, [[0.5, 1.5, 2.5], [1.0, 2.0, 0.7], [0.7, 1.0, 2.0], [1.5, 0.5, 3.0]])
        try:
            found = torch.distributions.kl_divergence(PAIRS[p](torch.distributions, a, b), PAIRS[q](torch.distributions, c, d))
        except NotImplementedError:
            return "none"
        if found.requires_grad:
            found.masked_fill(~found.isfinite(), 0).sum().backward()
        return [array(found), *[np.zeros(x.shape) if x.grad is None else array(x.grad) for x in (a, b, c, d)]]

    wanted, found = ask(theirs), ask(ours)
    if wanted == "none":  # there may be one here all the same
        return
    np.testing.assert_allclose(found[0], wanted[0], 1e-8, 1e-8)
    for x, y in zip(found[1:], wanted[1:], strict=True):
        agree(x, y, 1e-8)


def test_gradients_of_dirichlet_samples_are_those_of_pytorch():
    draw = np.random.default_rng(0)
    a = draw.uniform(0.2, 6, (200, 3))
    x, g = draw.dirichlet([1.0, 2.0, 0.7], 200), draw.normal(size=(200, 3))
    tensors = [theirs.tensor(part) for part in (x, a, g)]
    wanted = theirs.distributions.dirichlet._Dirichlet_backward(*tensors)
    slope = beta_slope(x, a, a.sum(-1, keepdims=True) - a)
    # PyTorch approximates the slope, to about one part in a thousand.
    np.testing.assert_allclose(slope * (g - (x * g).sum(-1, keepdims=True)), array(wanted), 6e-3, 6e-3)


def test_gradients_of_gamma_samples_are_those_of_pytorch():
    draw = np.random.default_rng(0)
    a = ours.tensor(draw.uniform(0.2, 9, 200), requires_grad=True)
    x = ours.distributions.Gamma(a, 1.0).rsample()
    x.sum().backward()
    wanted = theirs._standard_gamma_grad(theirs.tensor(array(a)), theirs.tensor(array(x)))
    np.testing.assert_allclose(array(a.grad), array(wanted), 2e-3)


@pytest.mark.parametrize("name", ["AffineTransform(1.5, -2.0)", "ExpTransform()", "SigmoidTransform()", "TanhTransform()", "PowerTransform(2.0)", "SoftplusTransform()",
                                  "StickBreakingTransform()", "ComposeTransform([D.ExpTransform(), D.AffineTransform(0.5, 2.0)])",
                                  "IndependentTransform(D.ExpTransform(), 1)", "ReshapeTransform((3,), (3, 1))", "AffineTransform(0.5, 2.0, event_dim=1)"])
def test_transforms(name):
    answers = []
    for torch in (theirs, ours):
        D = torch.distributions
        transform = eval(f"D.{name}", {"D": D})
        x = torch.tensor([[0.3, 1.2, 0.7], [0.1, 2.0, 0.9]], dtype=torch.float64, requires_grad=True)
        y = transform(x)
        scale = transform.log_abs_det_jacobian(x, y)
        (y.sum() + 2 * scale.sum()).backward()
        back = transform.inv(y)
        inverse = transform.inv.log_abs_det_jacobian(y, x)
        ranks = (transform.domain.event_dim, transform.codomain.event_dim, transform.bijective, tuple(transform.forward_shape(x.shape)),
                 tuple(transform.inverse_shape(y.shape)), bool((transform.domain.check(x)).all()), bool((transform.codomain.check(y)).all()))
        answers.append(([array(part) for part in (y, scale, x.grad, back, inverse)], ranks))
    assert answers[0][1] == answers[1][1]
    for x, y in zip(answers[1][0], answers[0][0], strict=True):
        np.testing.assert_allclose(x, y, 1e-9, 1e-9)

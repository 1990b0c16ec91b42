"""Distributions with parameters and values, in the spelling that PyTorch and `retrograde.torch` share."""

import numpy as np

_COVARIANCE = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, -0.2], [0.1, -0.2, 0.7]])
_FACTOR = np.linalg.cholesky(_COVARIANCE)
_ROWS = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
_A, _B = np.array([[0.3], [1.0], [2.5]]), np.array([0.5, 1.0, 4.0])

#: (name, how it is made of parameters, parameters, values that lie in its support).
CASES = [
    ("Normal", lambda D, loc, scale: D.Normal(loc, scale), [np.array([-1.0, 0.5, 3.0]), _A], np.array([-2.0, 0.5, 1.7])),
    ("Normal of numbers", lambda D, loc: D.Normal(loc, 2.0), [np.array(0.3)], np.array([[0.1], [-4.0]])),
    ("LogNormal", lambda D, loc, scale: D.LogNormal(loc, scale), [np.array([-1.0, 0.0, 0.5]), _A], np.array([0.2, 1.0, 3.0])),
    ("MultivariateNormal", lambda D, loc, c: D.MultivariateNormal(loc, c), [np.array([[0.1, 0.2, -1.0], [1.0, 0.0, 0.0]]), _COVARIANCE],
     np.array([[[1.0, 0.0, -0.5]], [[0.3, 0.1, 0.1]]])),
    ("MultivariateNormal by precision", lambda D, loc, c: D.MultivariateNormal(loc, precision_matrix=c), [np.array([0.1, 0.2, -1.0]), _COVARIANCE],
     np.array([1.0, 0.0, -0.5])),
    ("MultivariateNormal by factor", lambda D, loc, c: D.MultivariateNormal(loc, scale_tril=c), [np.array([0.1, 0.2, -1.0]), np.stack([_FACTOR, 2 * _FACTOR])],
     np.array([1.0, 0.0, -0.5])),
    ("Uniform", lambda D, low, high: D.Uniform(low, high), [np.array([-1.0, 0.0, 0.2]), _A + 1], np.array([0.0, 0.3, 1.0])),
    ("Exponential", lambda D, rate: D.Exponential(rate), [_A], np.array([0.1, 1.0, 3.0])),
    ("Laplace", lambda D, loc, scale: D.Laplace(loc, scale), [np.array([-1.0, 0.5, 3.0]), _A], np.array([-2.0, 0.6, 1.7])),
    ("Bernoulli", lambda D, p: D.Bernoulli(p), [np.array([0.2, 0.7, 0.9])], np.array([[0.0], [1.0]])),
    ("Bernoulli by logits", lambda D, logits: D.Bernoulli(logits=logits), [np.array([-2.0, 0.1, 30.0])], np.array([[0.0], [1.0]])),
    ("Binomial", lambda D, p: D.Binomial(5, p), [np.array([0.2, 0.7, 0.9])], np.array([[0.0], [2.0], [5.0]])),
    ("Binomial by logits", lambda D, logits: D.Binomial(4, logits=logits), [np.array([-2.0, 0.1, 3.0])], np.array([[0.0], [4.0]])),
    ("Geometric", lambda D, p: D.Geometric(p), [np.array([0.2, 0.7, 0.9])], np.array([[0.0], [3.0]])),
    ("Geometric by logits", lambda D, logits: D.Geometric(logits=logits), [np.array([-2.0, 0.1])], np.array([[0.0], [3.0]])),
    ("Poisson", lambda D, rate: D.Poisson(rate), [np.array([0.2, 4.0, 60.0])], np.array([[0.0], [3.0], [70.0]])),
    ("Categorical", lambda D, p: D.Categorical(p), [_ROWS * 2], np.array([[0], [2]])),
    ("Categorical by logits", lambda D, logits: D.Categorical(logits=logits), [np.log(_ROWS) + 3], np.array([0, 1])),
    ("OneHotCategorical", lambda D, p: D.OneHotCategorical(p), [_ROWS], np.array([0.0, 1.0, 0.0])),
    ("Gamma", lambda D, a, b: D.Gamma(a, b), [_A, _B], np.array([0.05, 1.0, 4.0])),
    ("Chi2", lambda D, df: D.Chi2(df), [_B * 3], np.array([0.5, 2.0, 9.0])),
    ("Beta", lambda D, a, b: D.Beta(a, b), [_A, _B], np.array([0.05, 0.5, 0.9])),
    ("Dirichlet", lambda D, a: D.Dirichlet(a), [np.array([[0.5, 1.0, 2.0], [3.0, 1.5, 0.2]])], _ROWS[:1]),
    ("StudentT", lambda D, df, loc, scale: D.StudentT(df, loc, scale), [np.array([0.7, 1.5, 5.0]), np.array(0.3), _A], np.array([-2.0, 0.5, 9.0])),
    ("Independent", lambda D, loc, scale: D.Independent(D.Normal(loc, scale), 1), [np.array([-1.0, 0.5, 3.0]), _A], np.array([-2.0, 0.5, 1.7])),
    ("Independent of all", lambda D, p: D.Independent(D.Bernoulli(p), 2), [_ROWS], np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])),
    ("an affine one", lambda D, loc, scale: D.TransformedDistribution(D.Normal(0.0 * loc, 1.0), [D.AffineTransform(loc, scale)]),
     [np.array([-1.0, 0.5, 3.0]), np.array([2.0, -1.0, 0.5])], np.array([-2.0, 0.5, 1.7])),
    ("a logistic one", lambda D, loc: D.TransformedDistribution(D.Uniform(0.0 * loc, 1.0), [D.SigmoidTransform().inv, D.AffineTransform(loc, 2.0)]),
     [np.array([-1.0, 0.5])], np.array([[0.3], [2.0]])),
    ("a squashed one", lambda D, loc, scale: D.TransformedDistribution(D.Independent(D.Normal(loc, scale), 1), [D.TanhTransform()]),
     [np.array([[-1.0, 0.5], [0.0, 0.0]]), np.array(0.8)], np.array([0.3, -0.6])),
    ("on a simplex", lambda D, loc: D.TransformedDistribution(D.Normal(loc, 1.0), [D.StickBreakingTransform()]), [np.array([[0.1, -0.4], [1.0, 0.0]])], _ROWS),
    ("composed", lambda D, loc: D.TransformedDistribution(D.Normal(loc, 1.0), D.ComposeTransform([D.ExpTransform(), D.PowerTransform(2.0), D.SoftplusTransform()])),
     [np.array([0.1, -0.4])], np.array([[1.5], [3.0]])),
    ("reshaped", lambda D, loc: D.TransformedDistribution(D.Normal(loc, 1.0), [D.ReshapeTransform((4,), (2, 2)), D.ExpTransform()]), [np.arange(8.0).reshape(2, 4) / 4],
     np.array([[1.0, 2.0], [0.5, 0.1]])),
]
#: What is asked of each, beside the log-density.
FACTS = ("entropy", "mean", "variance", "stddev", "mode", "perplexity")


def parameters(torch, arrays, dtype="float64"):
    """Tensors that require gradients."""
    return [torch.tensor(np.asarray(x, dtype)).requires_grad_() for x in arrays]


#: (name, how p and q are made) of pairs that have a divergence.
PAIRS = {
    "Bernoulli": lambda D, a, b: D.Bernoulli(a / 3), "Beta": lambda D, a, b: D.Beta(a, b), "Binomial": lambda D, a, b: D.Binomial(4, a / 3),
    "Categorical": lambda D, a, b: D.Categorical(logits=a * b), "OneHotCategorical": lambda D, a, b: D.OneHotCategorical(logits=a - b),
    "Dirichlet": lambda D, a, b: D.Dirichlet(a * b), "Exponential": lambda D, a, b: D.Exponential(a), "Gamma": lambda D, a, b: D.Gamma(a, b),
    "Chi2": lambda D, a, b: D.Chi2(a), "Geometric": lambda D, a, b: D.Geometric(a / 3), "Laplace": lambda D, a, b: D.Laplace(a, b),
    "Normal": lambda D, a, b: D.Normal(a, b), "LogNormal": lambda D, a, b: D.LogNormal(a, b), "Poisson": lambda D, a, b: D.Poisson(a),
    "Uniform": lambda D, a, b: D.Uniform(a - 1, a + b), "Uniform inside": lambda D, a, b: D.Uniform(a / 4, a / 4 + b / 20),
    "Independent": lambda D, a, b: D.Independent(D.Normal(a, b), 1),
    "MultivariateNormal": lambda D, a, b: D.MultivariateNormal(a * b, (a * b).unsqueeze(-1) * _eye(a)),
}


def _eye(x):
    return (x.new_tensor([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])).reshape(3, 3)

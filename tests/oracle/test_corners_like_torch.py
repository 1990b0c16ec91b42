"""Where functions of nn have corners, poles, ties or nothing to reduce: values and gradients are PyTorch's, eager and jitted."""

import itertools

import numpy as np
import pytest

import retrograde as rg
from retrograde.nn import functional as ours

torch = pytest.importorskip("torch")
theirs = torch.nn.functional
inf, nan = np.inf, np.nan

POINTS = np.array([0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 3.0, -3.0, 6.0, 0.5, -0.5, 2.0, -2.0, 1e-300, 20.0, 20.5, -20.0, 1e3, -1e3, 0.3])
#: At infinities these have limits here, and are NaN in PyTorch.
HAVE_LIMITS = {"gelu", "silu", "mish", "softsign"}
ACTIVATIONS = {
    **{name: ((), {}) for name in "relu relu6 hardtanh hardsigmoid hardswish elu selu celu gelu silu mish softplus softsign tanhshrink "
                                  "softshrink hardshrink logsigmoid sigmoid tanh leaky_relu rrelu".split()},
    "hardtanh -2 2": ((-2.0, 2.0), {}), "hardtanh 0 0": ((0.0, 0.0), {}), "elu -1": ((-1.0,), {}), "celu 2": ((2.0,), {}),
    "celu -1": ((-1.0,), {}), "celu -0.5": ((-0.5,), {}), "gelu tanh": ((), {"approximate": "tanh"}), "softplus 1 2": ((1.0, 2.0), {}),
    "softplus 2 6": ((2.0, 6.0), {}), "softshrink 0": ((0.0,), {}), "hardshrink 0": ((0.0,), {}), "hardshrink -1": ((-1.0,), {}),
    "leaky_relu -1": ((-1.0,), {}), "threshold 0": ((0.0, 5.0), {}), "threshold 1": ((1.0, -2.0), {}), "threshold nan": ((nan, -2.0), {}),
}
PAIRS = np.array(list(itertools.product([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, inf], repeat=2))).T


def assert_agree(function, reference, *arrays, forms=(False, True)):
    """Values and gradients of a function of ours and of PyTorch's, of the sum of its results."""
    leaves = [torch.tensor(x, requires_grad=True) for x in arrays]
    z = reference(*leaves)
    slopes = torch.autograd.grad(z.sum(), leaves, allow_unused=True)
    wanted = [z.detach().numpy(), *[np.zeros_like(x) if g is None else g.numpy() for x, g in zip(arrays, slopes, strict=True)]]

    def both(*tensors):
        return function(*tensors), rg.grad(lambda *x: function(*x).sum(), argnums=tuple(range(len(arrays))))(*tensors)

    for is_jitted in forms:
        with np.errstate(all="ignore"):
            value, gradients = (rg.jit(both) if is_jitted else both)(*map(rg.tensor, arrays))
        for mine, other in zip((value, *gradients), wanted, strict=True):
            np.testing.assert_allclose(mine.detach().numpy(), other, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_at_their_corners(name):
    args, kwargs = ACTIVATIONS[name]
    function = name.split()[0]
    points = POINTS[~np.isinf(POINTS)] if function in HAVE_LIMITS else POINTS
    assert_agree(lambda x: getattr(ours, function)(x, *args, **kwargs), lambda x: getattr(theirs, function)(x, *args, **kwargs), points)


@pytest.mark.parametrize("weight", [[0.25], [0.0], [inf]])
def test_prelu_at_infinities_and_of_one_number(weight):
    assert_agree(ours.prelu, theirs.prelu, POINTS[~np.isnan(POINTS)] if weight == [inf] else POINTS, np.array(weight))
    assert_agree(ours.prelu, theirs.prelu, np.array(-2.0), np.array(weight))


@pytest.mark.parametrize(("name", "kwargs"), [
    ("mse_loss", {}), ("smooth_l1_loss", {}), ("smooth_l1_loss", {"beta": 0.5}), ("huber_loss", {"delta": 0.5}),
    ("poisson_nll_loss", {}), ("hinge_embedding_loss", {}), ("pairwise_distance", {"p": 0.5})])
def test_losses_of_pairs_at_their_corners(name, kwargs):
    x, y = PAIRS[:, np.isfinite(PAIRS).all(0)] if name == "pairwise_distance" else PAIRS
    reduction = {} if name == "pairwise_distance" else {"reduction": "none"}
    x, y = (x[:, None], y[:, None]) if name == "pairwise_distance" else (x, y)
    finite = ~(np.isinf(x) & np.isinf(y))
    x, y = (x, y) if name == "pairwise_distance" else (x[finite], y[finite])
    assert_agree(lambda x: getattr(ours, name)(x, rg.tensor(y), **kwargs, **reduction),
                 lambda x: getattr(theirs, name)(x, torch.tensor(y), **kwargs, **reduction), x)


@pytest.mark.parametrize("margin", [0.0, 1.0])
@pytest.mark.parametrize("target", [1.0, -1.0])
def test_margins_that_are_just_met_have_a_slope(margin, target):
    y = np.full(9, target)
    assert_agree(lambda a, b: ours.margin_ranking_loss(a, b, rg.tensor(y), margin, "none"),
                 lambda a, b: theirs.margin_ranking_loss(a, b, torch.tensor(y), margin, reduction="none"),
                 np.array([0.0, 1, 2] * 3), np.array([0.0] * 3 + [1.0] * 3 + [2.0] * 3))
    x = np.array([margin, 0.0, 2.0])
    assert_agree(lambda x: ours.hinge_embedding_loss(x, rg.tensor(y[:3]), margin, "none"),
                 lambda x: theirs.hinge_embedding_loss(x, torch.tensor(y[:3]), margin, reduction="none"), x)


@pytest.mark.filterwarnings("ignore:Mean of empty slice")
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5], [0.0, 0.0, 0.0]])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("target", [[-100] * 4, [0, -100, -100, 2], []], ids=str)
def test_cross_entropy_of_ignored_targets_and_of_none(target, weight, reduction):
    x, target = np.random.default_rng(0).standard_normal((len(target), 3)), np.array(target, np.int64)
    for name in ("cross_entropy", "nll_loss"):
        assert_agree(
            lambda x: getattr(ours, name)(x, rg.tensor(target), None if weight is None else rg.tensor(np.array(weight)), reduction=reduction),
            lambda x: getattr(theirs, name)(x, torch.tensor(target), None if weight is None else torch.tensor(weight).double(),
                                            reduction=reduction), x)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_probabilities_has_gradients_in_class_weights(reduction, smoothing):
    rng = np.random.default_rng(0)
    arrays = rng.standard_normal((2, 3, 4)), rng.dirichlet(np.ones(3), (2, 4)).transpose(0, 2, 1).copy(), np.array([1.0, 2.0, 0.5])
    assert_agree(lambda x, p, w: ours.cross_entropy(x, p, w, reduction=reduction, label_smoothing=smoothing),
                 lambda x, p, w: theirs.cross_entropy(x, p, w, reduction=reduction, label_smoothing=smoothing), *arrays)


@pytest.mark.parametrize("kind", ["-inf", "half -inf", "one NaN", "ties", "inf"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pooling_of_ties_infinities_and_nan(axes, kind):
    rng = np.random.default_rng(axes)
    x = rng.standard_normal((2, 7, 6, 5)[: axes + 1])
    where = {"-inf": True, "half -inf": rng.random(x.shape) < 0.6, "one NaN": np.arange(x.size).reshape(x.shape) == 7,
             "ties": rng.random(x.shape) < 0.5, "inf": rng.random(x.shape) < 0.4}[kind]
    x[where] = {"one NaN": nan, "ties": 2.0, "inf": inf}.get(kind, -inf)
    sizes = ((3, 2, 1, 1, False), (3, 1, 1, 1, True), (2, 1, 1, 2, False))
    for name, args in [(f"max_pool{axes}d", size) for size in sizes] + [(f"adaptive_max_pool{axes}d", (n,)) for n in (1, 3)]:
        for i in (0, 1):
            wanted = getattr(theirs, name)(torch.tensor(x), *args, return_indices=True)[i]
            np.testing.assert_array_equal(getattr(ours, name)(rg.tensor(x), *args, return_indices=True)[i].numpy(), wanted.numpy())
        assert_agree(lambda x: getattr(ours, name)(x, *args), lambda x: getattr(theirs, name)(x, *args), x)
    assert_agree(lambda x: getattr(ours, f"adaptive_avg_pool{axes}d")(x, 3), lambda x: getattr(theirs, f"adaptive_avg_pool{axes}d")(x, 3), x)


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [True, False])
def test_grid_sample_at_edges(mode, padding, align):
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (1, 2), *([] if mode == "bicubic" else [(3, 4, 2)])):
        line = [-1.0, 1.0, 0.0, 0.5, 1.25, -1.5, 3.0, 0.1]
        points = np.array(list(itertools.product(line, repeat=len(shape)))).reshape(1, *[1] * (len(shape) - 1), -1, len(shape))
        assert_agree(lambda x, g: ours.grid_sample(x, g, mode, padding, align), lambda x, g: theirs.grid_sample(x, g, mode, padding, align),
                     rng.standard_normal((1, 2, *shape)), points)


@pytest.mark.parametrize("eps", [1e-8, 0.5, 10.0])
def test_cosine_similarity_of_short_vectors(eps):
    rows = [[1e-10, 0.0, 0.0], [3.0, 4.0, 0.0], [1e-9, 1e-9, 0.0], [-1.0, 2.0, 1.0]]
    x, y = np.array([r for r in rows for _ in rows]), np.array(rows * 4)
    assert_agree(lambda x, y: ours.cosine_similarity(x, y, eps=eps), lambda x, y: theirs.cosine_similarity(x, y, eps=eps), x, y)
    assert_agree(lambda x, y: ours.cosine_similarity(x, y, 1), lambda x, y: theirs.cosine_similarity(x, y, 1),
                 np.array(rows)[None, :2], np.array(rows)[:3, None])


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0])
def test_norms_of_windows_of_zeros(p):
    for axes in (1, 2, 3):
        x = np.zeros((1, 2, *[4] * axes))
        x[0, 0] = np.random.default_rng(0).uniform(0.5, 1, [4] * axes)
        name = f"lp_pool{axes}d"
        assert_agree(lambda x: getattr(ours, name)(x, p, 2), lambda x: getattr(theirs, name)(x, p, 2), x)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_with_a_weight_for_each_element(name, reduction):
    rng = np.random.default_rng(0)
    assert_agree(lambda x, y, w: getattr(ours, name)(x, y, reduction=reduction, weight=w),
                 lambda x, y, w: getattr(theirs, name)(x, y, reduction=reduction, weight=w), *rng.uniform(0.5, 2, (3, 2, 3)))

from functools import partial
from itertools import product

import numpy as np
import pytest
from torch_oracle import assert_as_torch

import retrograde as rg
from retrograde.errors import ArgumentError, OutOfRangeError, ShapeError
from retrograde.ops.networks.classification import cross_entropy, nll_loss
from retrograde.testing.gradients import check_gradients

RNG = np.random.default_rng(0)
WEIGHT = np.array([0.3, 1.0, 0.6])
SHAPES = (((4, 3), (4,)), ((2, 3, 5), (2, 5)), ((2, 3, 2, 2), (2, 2, 2)), ((3,), ()))
REDUCTIONS = ("mean", "sum", "none")


def classes(shape, ignored=None):
    target = np.asarray(RNG.integers(0, 3, shape))
    if ignored is not None and target.size > 1:
        target.reshape(-1)[0] = ignored
    return target


def _with_target(loss, target, x):
    return loss(x, target)


@pytest.mark.parametrize(("shape", "target_shape"), SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_match_finite_differences(shape, target_shape, reduction):
    x, target, chances = 2 * RNG.standard_normal(shape), classes(target_shape, -100), RNG.uniform(0.1, 1, shape)
    for weight, smoothing in product((None, WEIGHT), (0.0, 0.2)):
        loss = partial(cross_entropy, weight=weight, reduction=reduction, label_smoothing=smoothing)
        check_gradients(partial(_with_target, loss, target), x)
        check_gradients(loss, (x, chances))
    check_gradients(lambda x: nll_loss(x, target, WEIGHT, reduction=reduction), x)


@pytest.mark.parametrize(("shape", "target_shape"), SHAPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_results_are_those_of_torch(shape, target_shape, reduction, weight, smoothing):
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    x, chances, w = RNG.standard_normal(shape), RNG.uniform(0, 1, shape), None if weight is None else torch.tensor(weight)
    for ignored in (-100, 1) if target_shape else (-100,):
        target = classes(target_shape, ignored)
        kwargs = {"ignore_index": ignored, "reduction": reduction}
        for ours, theirs, options in ((cross_entropy, F.cross_entropy, {"label_smoothing": smoothing}), (nll_loss, F.nll_loss, {})):
            assert_as_torch(partial(_with_target, partial(ours, weight=weight, **kwargs, **options), target),
                            partial(_with_target, partial(theirs, weight=w, **kwargs, **options), torch.tensor(target)), x)
    assert_as_torch(lambda x, y: cross_entropy(x, y, weight, reduction=reduction, label_smoothing=smoothing),
                    lambda x, y: F.cross_entropy(x, y, w, reduction=reduction, label_smoothing=smoothing), x, chances)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_masked_logit_gives_a_finite_loss_and_gradient(dtype):
    x = rg.tensor(np.array([[1, -np.inf, 800], [-800, 0, 3]], dtype), requires_grad=True)
    for target in (np.array([2, 1]), np.array([[0.5, 0, 0.5], [0, 1, 0]], dtype)):
        x.grad = None
        loss = cross_entropy(x, target)
        loss.backward()
        assert loss.dtype == x.grad.dtype == dtype
        assert np.isfinite(loss.data)
        assert np.isfinite(x.grad.data).all()
        assert x.grad.data[0, 1] == 0


def test_cross_entropy_is_one_record_that_keeps_the_logits_alone():
    x = rg.tensor(RNG.standard_normal((4, 3)), requires_grad=True)
    record = cross_entropy(x, classes((4,))).record
    assert record.parents[0] is x.record
    floats = [a for rule in record.saved for a in rule or () if isinstance(a, np.ndarray) and a.dtype == x.dtype]
    assert len(floats) == 1
    assert floats[0] is x.data


@pytest.mark.parametrize("ignored", [-100, 1])
def test_ignored_targets_count_for_nothing(ignored):
    x, target = RNG.standard_normal((5, 3)), np.array([0, ignored, 2, ignored, 0])
    kept = target != ignored
    t, u = rg.tensor(x, requires_grad=True), rg.tensor(x[kept], requires_grad=True)
    loss, other = cross_entropy(t, target, ignore_index=ignored), cross_entropy(u, target[kept])
    loss.backward()
    other.backward()
    assert float(loss) == pytest.approx(float(other))
    np.testing.assert_allclose(t.grad.data[kept], u.grad.data)
    assert not t.grad.data[~kept].any()


def test_an_infinite_log_probability_of_an_ignored_target_does_not_count():
    assert nll_loss(np.array([[-np.inf, 0.0], [-1.0, -2.0]]), np.array([-100, 0])) == 1


def test_wrong_arguments_are_refused():
    x = RNG.standard_normal((2, 3))
    for error, target, kwargs in ((OutOfRangeError, [0, 3], {}), (OutOfRangeError, [0, -1], {}), (ShapeError, [0], {}),
                                  (ShapeError, [[0.5, 0.5]], {}), (ArgumentError, [0, 1], {"label_smoothing": 2.0})):
        with pytest.raises(error):
            cross_entropy(rg.tensor(x), np.array(target), **kwargs)

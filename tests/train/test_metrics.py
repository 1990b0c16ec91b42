import math

import numpy as np
import pytest

import retrograde as rg
from retrograde import train

metrics = pytest.importorskip("sklearn.metrics", reason="the oracle of metrics")
RNG = np.random.default_rng(0)
SCORES, CLASSES = RNG.normal(size=(200, 5)).round(1), RNG.integers(0, 4, 200)  # with ties, and a class that never occurs
LOGITS, TRUTH = RNG.normal(size=300).round(1), RNG.integers(0, 2, 300)


def probabilities(scores):
    e = np.exp(scores - scores.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def calibration_error(confidence, is_right, bins):
    found = 0.0
    for i in range(bins):
        is_in = (confidence > i / bins) & (confidence <= (i + 1) / bins)
        if is_in.any():
            found += is_in.mean() * abs(confidence[is_in].mean() - is_right[is_in].mean())
    return found


def ovr(scores, classes):
    return np.mean([metrics.roc_auc_score(classes == c, probabilities(scores)[:, c]) for c in range(4)])


BOTH = np.where(LOGITS > 0, 1 / (1 + np.exp(-LOGITS)), 1 - 1 / (1 + np.exp(-LOGITS)))
Y, FIT = RNG.normal(1e6, 1, size=(50, 3)), RNG.normal(1e6, 1, size=(50, 3))
CASES = {
    "accuracy": (train.Accuracy(), SCORES, CLASSES, metrics.accuracy_score(CLASSES, SCORES.argmax(1))),
    "accuracy of two": (train.Accuracy(), LOGITS, TRUTH, metrics.accuracy_score(TRUTH, LOGITS > 0)),
    "accuracy above a threshold": (train.Accuracy(0.5), LOGITS, TRUTH, metrics.accuracy_score(TRUTH, LOGITS > 0.5)),
    "top 1": (train.TopK(1), SCORES, CLASSES, metrics.accuracy_score(CLASSES, SCORES.argmax(1))),
    "top 3": (train.TopK(3), RNG.permuted(np.arange(1000.0)).reshape(200, 5), CLASSES, None),
    "f1 macro": (train.F1(), SCORES, CLASSES, metrics.f1_score(CLASSES, SCORES.argmax(1), average="macro")),
    "f1 micro": (train.F1("micro"), SCORES, CLASSES, metrics.f1_score(CLASSES, SCORES.argmax(1), average="micro")),
    "f1 weighted": (train.F1("weighted"), SCORES, CLASSES, metrics.f1_score(CLASSES, SCORES.argmax(1), average="weighted")),
    "f1 of two": (train.F1(), LOGITS, TRUTH, metrics.f1_score(TRUTH, LOGITS > 0)),
    "auc": (train.AUC(), LOGITS, TRUTH, metrics.roc_auc_score(TRUTH, LOGITS)),
    "auc of two scores": (train.AUC(), np.stack([-LOGITS, LOGITS], 1), TRUTH, metrics.roc_auc_score(TRUTH, LOGITS)),
    "auc of many": (train.AUC(), SCORES[:, :4], CLASSES, ovr(SCORES[:, :4], CLASSES)),
    "perplexity": (train.Perplexity(), SCORES, CLASSES, math.exp(metrics.log_loss(CLASSES, probabilities(SCORES), labels=range(5)))),
    "r2": (train.R2(), FIT, Y, metrics.r2_score(Y, FIT)),
    "r2 of one": (train.R2(), FIT[:, 0], Y[:, 0], metrics.r2_score(Y[:, 0], FIT[:, 0])),
    "calibration": (train.Calibration(10), SCORES, CLASSES, calibration_error(
        probabilities(SCORES).max(1), SCORES.argmax(1) == CLASSES, 10)),
    "calibration of two": (train.Calibration(7), LOGITS, TRUTH, calibration_error(BOTH, (LOGITS > 0) == TRUTH, 7)),
    "mean of rows": (train.Mean(lambda z, y: abs(z - y)), FIT, Y, metrics.mean_absolute_error(Y, FIT)),
    "mean of batches": (train.Mean(lambda z, y: abs(z - y).mean()), FIT, Y, metrics.mean_absolute_error(Y, FIT)),
}
CASES["top 3"] = (*CASES["top 3"][:3], metrics.top_k_accuracy_score(CLASSES, CASES["top 3"][1], k=3, labels=range(5)))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_metric_of_batches_is_that_of_the_whole(case, is_compiled):
    metric, outputs, targets, expected = case
    batch = rg.jit(metric.batch) if is_compiled else metric.batch
    total = None
    for i in range(0, len(targets), 37):
        total = train.metrics.base.merged(metric, total, batch(rg.tensor(outputs[i : i + 37]), rg.tensor(targets[i : i + 37])))
    assert float(metric.result(total)) == pytest.approx(expected, rel=1e-9)
    metric.reset()
    metric.update(outputs, targets)
    assert metric.compute() == pytest.approx(expected, rel=1e-9)
    metric.reset()
    assert math.isnan(metric.compute())


def test_scores_along_axis_1_may_be_of_many_places():
    scores, targets = RNG.normal(size=(4, 3, 5, 2)), RNG.integers(0, 3, (4, 5, 2))
    flat, own = np.moveaxis(scores, 1, -1).reshape(-1, 3), targets.reshape(-1)
    for metric in (train.Accuracy(), train.TopK(2), train.F1(), train.Perplexity(), train.Calibration()):
        found = []
        for outputs, y in ((scores, targets), (flat, own)):
            metric.reset()
            metric.update(outputs, y)
            found.append(metric.compute())
        assert found[0] == pytest.approx(found[1], rel=1e-12), metric.name


def test_perplexity_leaves_out_what_is_to_be_ignored_and_is_infinite_at_most():
    metric = train.Perplexity()
    metric.update([[0.0, 0.0], [9.0, 0.0]], [1, -100])
    assert metric.compute() == pytest.approx(2)
    metric.update([[1e6, 0.0]], [1])
    assert metric.compute() == math.inf


def test_scores_that_are_no_numbers_are_never_right():
    scores = np.array([[np.nan, 1.0, 0.0], [1.0, np.nan, 0.0], [np.nan] * 3])
    top = train.TopK(1)
    top.update(scores, np.array([0, 0, 1]))
    assert top.compute() == 0
    area = train.AUC()
    area.update(scores[:, 0], np.array([0, 1, 1]))
    assert math.isnan(area.compute())


def test_equal_scores_count_in_the_order_of_classes():
    top = train.TopK(2)
    top.update(np.zeros((3, 5)), np.array([0, 1, 2]))
    assert top.compute() == pytest.approx(2 / 3)


def test_columns_that_are_constant_are_explained_or_not():
    fit = train.R2()
    fit.update([[1.0, 2.0], [1.0, 3.0]], [[1.0, 2.0], [1.0, 2.0]])
    assert fit.compute() == 0.5
    assert metrics.r2_score([[1.0, 2.0], [1.0, 2.0]], [[1.0, 2.0], [1.0, 3.0]]) == 0.5


OF_CLASSES = [train.Accuracy, lambda: train.TopK(2), train.F1, lambda: train.F1("micro"), lambda: train.F1("weighted"), lambda: train.Calibration(5), train.Perplexity]


@pytest.mark.parametrize("make", OF_CLASSES)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_targets_that_are_to_be_ignored_do_not_count(make, is_compiled):
    rng = np.random.default_rng(0)
    scores, targets = rng.normal(size=(40, 4, 3)).astype(np.float32), rng.integers(0, 4, (40, 3))
    is_padding = rng.random((40, 3)) < 0.4
    whole, part = make(), make()
    batch = rg.jit(whole.batch) if is_compiled else whole.batch
    whole.batch = batch
    whole.update(scores, np.where(is_padding, -100, targets))
    part.update(scores.transpose(0, 2, 1)[~is_padding], targets[~is_padding])
    assert whole.compute() == pytest.approx(part.compute(), rel=1e-5)


def test_a_class_that_there_is_not_is_never_among_the_largest():
    top = train.TopK(2)
    top.update(-np.ones((3, 4), np.float32), np.array([7, -1, 0]))
    assert top.compute() == pytest.approx(1 / 3)


@pytest.mark.parametrize("make", [*OF_CLASSES, train.AUC])
def test_one_score_is_no_score_of_a_class_each(make):
    with pytest.raises(rg.errors.ShapeError, match=r"one score is the largest of one.*targets of shape \(6,\)"):
        make().update(np.ones((6, 1), np.float32), np.array([0, 1] * 3))


def test_shapes_and_options_that_do_not_fit_are_errors():
    for metric in (train.Accuracy(), train.TopK(), train.F1(), train.Perplexity(), train.Calibration(), train.R2()):
        with pytest.raises(rg.errors.ShapeError):
            metric.update(np.zeros((4, 3)), np.zeros(5, int))
    for make in (lambda: train.TopK(0), lambda: train.F1("mean"), lambda: train.Calibration(0), lambda: train.metrics.named([train.F1()] * 2)):
        with pytest.raises(rg.errors.ArgumentError):
            make()
    with pytest.raises(rg.errors.DTypeError, match="a metric is"):
        train.metrics.named([3])


@pytest.mark.parametrize("metric", [train.Accuracy(), train.F1(), train.Calibration(), train.AUC()], ids=lambda metric: metric.name)
@pytest.mark.parametrize("is_compiled", [False, True])
def test_a_metric_of_classes_refuses_numbers_as_targets(metric, is_compiled):
    batch = rg.jit(metric.batch) if is_compiled else metric.batch
    scores = rg.tensor(np.linspace(-1, 1, 8).reshape(8, 1))
    for targets in ([0.0, 1.0] * 4, [False, True] * 4, [1, 0] * 4):
        assert np.isfinite(metric.result(tuple(np.asarray(part) for part in batch(scores, rg.tensor(targets).reshape(8, 1)))))
    total = tuple(np.asarray(part) for part in batch(scores, rg.tensor([0.1, 0.7, 0.3, 1.0] * 2).reshape(8, 1)))
    with pytest.raises(rg.errors.ArgumentError, match=f"{type(metric).__name__} is of classes"):
        metric.result(total)

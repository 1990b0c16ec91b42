"""ctc_loss: the chance of a target is the sum of the chances of all ways to spell it."""

from itertools import groupby, product

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import OutOfRangeError
from retrograde.testing import check_gradients

FRAMES, CLASSES = 5, 3
TARGETS = np.array([[1, 1, 2], [2, 1, 2], [1, 2, 0], [2, 0, 0]])
FRAME_COUNTS, LABEL_COUNTS = np.array([5, 4, 5, 3]), np.array([3, 3, 2, 0])


def _logits(count=4, seed=0):
    return np.random.default_rng(seed).standard_normal((FRAMES, count, CLASSES))


def _log_chances(logits):
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def _by_all_paths(log_chances, target, blank=0):
    """Minus the logarithm of the sum over all paths that spell `target`."""
    total = 0.0
    for path in product(range(log_chances.shape[1]), repeat=len(log_chances)):
        if [label for label, _ in groupby(path) if label != blank] == list(target):
            total += np.exp(sum(log_chances[t, label] for t, label in enumerate(path)))
    return -np.log(total)


def _wanted(log_chances, blank=0):
    rows = zip(TARGETS, FRAME_COUNTS, LABEL_COUNTS, strict=True)
    return [_by_all_paths(log_chances[:n, i], row[:m], blank) for i, (row, n, m) in enumerate(rows)]


def test_losses_are_sums_over_all_paths():
    x = _log_chances(_logits())
    wanted = np.array(_wanted(x))
    losses = nn.functional.ctc_loss(rg.tensor(x), TARGETS, FRAME_COUNTS, LABEL_COUNTS, reduction="none")
    np.testing.assert_allclose(losses, wanted, rtol=1e-12)
    mean = nn.CTCLoss()(rg.tensor(x), rg.tensor(TARGETS), rg.tensor(FRAME_COUNTS), rg.tensor(LABEL_COUNTS))
    np.testing.assert_allclose(mean, (wanted / np.maximum(LABEL_COUNTS, 1)).mean(), rtol=1e-12)
    in_one_row = np.concatenate([row[:m] for row, m in zip(TARGETS, LABEL_COUNTS, strict=True)])
    summed = nn.CTCLoss(reduction="sum")(rg.tensor(x), in_one_row, FRAME_COUNTS, LABEL_COUNTS)
    np.testing.assert_allclose(summed, wanted.sum(), rtol=1e-12)


def test_one_example_needs_no_axis_and_the_blank_can_be_any_class():
    x = _log_chances(_logits())[:, 0]
    loss = nn.functional.ctc_loss(rg.tensor(x), [0, 1, 0], FRAMES, 3, blank=2, reduction="sum")
    np.testing.assert_allclose(loss, _by_all_paths(x, [0, 1, 0], 2), rtol=1e-12)


def test_gradients_are_those_of_differences():
    loss = lambda x: nn.functional.ctc_loss(x, TARGETS, FRAME_COUNTS, LABEL_COUNTS)
    check_gradients(loss, [_log_chances(_logits())])
    check_gradients(rg.grad(lambda x: loss(nn.functional.log_softmax(x, -1))), [_logits()])


def test_a_target_that_is_too_long_has_an_infinite_loss_or_none_and_no_gradient():
    x = rg.tensor(_log_chances(_logits(1)), requires_grad=True)
    assert nn.CTCLoss()(x, [[1, 1, 1]], [4], [3]).item() == float("inf")
    loss = nn.CTCLoss(zero_infinity=True)(x, [[1, 1, 1]], [4], [3])
    loss.backward()
    assert loss.item() == 0.0
    assert not x.grad.data.any()


def test_compiled_losses_are_the_same():
    pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
    both = rg.value_and_grad(lambda x, targets, n, m: nn.functional.ctc_loss(nn.functional.log_softmax(x, -1), targets, n, m))
    arguments = (_logits(), TARGETS, FRAME_COUNTS, LABEL_COUNTS)
    for got, wanted in zip(rg.jit(both)(*arguments), both(*arguments), strict=True):
        np.testing.assert_allclose(np.asarray(got), wanted, rtol=1e-10)


def test_losses_and_gradients_of_logits_agree_with_torch():
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    theirs = torch.tensor(_logits(), requires_grad=True)
    wanted = torch.nn.CTCLoss()(torch.log_softmax(theirs, -1), *map(torch.tensor, (TARGETS, FRAME_COUNTS, LABEL_COUNTS)))
    wanted.backward()
    ours = rg.tensor(_logits(), requires_grad=True)
    loss = nn.CTCLoss()(nn.functional.log_softmax(ours, -1), TARGETS, FRAME_COUNTS, LABEL_COUNTS)
    loss.backward()
    np.testing.assert_allclose(loss.item(), wanted.item(), rtol=1e-10)
    np.testing.assert_allclose(ours.grad, theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_more_frames_than_there_are_is_an_error_eager_and_compiled():
    x = nn.functional.log_softmax(rg.tensor(_logits()), -1)
    loss = lambda lengths: nn.functional.ctc_loss(x, rg.tensor(TARGETS), lengths, rg.tensor(LABEL_COUNTS))
    with pytest.raises(OutOfRangeError, match=r"between 0 and the number of frames, 5, got \[5, 6, 5, 3\]"):
        loss(rg.tensor([5, 6, 5, 3]))
    with pytest.raises(OutOfRangeError):
        rg.jit(loss)(rg.tensor([5, 6, 5, 3]))

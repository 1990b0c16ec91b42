"""Losses of differences whose elements may be weighted, with the arguments of `torch.nn.functional`."""

from ..errors import ShapeError
from ..ops.axes.reductions import sum
from ..ops.networks.loss import huber_loss as huber
from ..ops.networks.loss import l1_loss as l1
from ..ops.networks.loss import mse_loss as mse
from ..ops.networks.loss import reduced


def mse_loss(input, target, /, reduction="mean", weight=None):
    """Mean of the squared differences between `input` and `target`; with one `weight` for each element, their weighted mean.

    >>> x, y = rg.tensor([1.0, 3.0]), rg.tensor([1.0, 1.0])
    >>> rg.nn.functional.mse_loss(x, y), rg.nn.functional.mse_loss(x, y, weight=rg.tensor([3.0, 1.0]))
    (tensor(2.), tensor(1.))
    """
    if weight is None:
        return mse(input, target, reduction)
    return _weighted_mean(mse(input, target, "none"), weight, reduction)


def l1_loss(input, target, /, reduction="mean", weight=None):
    """Mean of the absolute differences between `input` and `target`; with one `weight` for each element, their weighted mean."""
    if weight is None:
        return l1(input, target, reduction)
    return _weighted_mean(l1(input, target, "none"), weight, reduction)


def huber_loss(input, target, /, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference where that is at most `delta`, and a straight line beyond.

    One `weight` for each element multiplies it; as in PyTorch the mean is then divided by the number of elements, not by the
    sum of the weights.
    """
    if weight is None:
        return huber(input, target, reduction, delta)
    return reduced(_weighted(huber(input, target, "none", delta), weight), reduction)


def _weighted(losses, weight):
    if tuple(weight.shape) != tuple(losses.shape):
        raise ShapeError(f"weight must have one number for each element, shape {tuple(losses.shape)}, got {tuple(weight.shape)}")
    return losses * weight


def _weighted_mean(losses, weight, reduction):
    found = _weighted(losses, weight)
    return sum(found) / sum(weight) if reduction == "mean" else reduced(found, reduction)

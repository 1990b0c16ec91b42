"""Losses as modules. `reduction` is "mean", "sum" or "none"."""

from ..tensor.creation import asarray
from . import functional
from .module import Module


class _Loss(Module):
    """A loss that takes a prediction and a target."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def _register(self, **weights):
        for name, value in weights.items():
            self.register_buffer(name, None if value is None else asarray(value), persistent=False)


class MSELoss(_Loss):
    """Mean of squared differences.

    >>> rg.nn.MSELoss()(rg.tensor([1.0, 3.0]), rg.tensor([1.0, 1.0]))
    tensor(2.)
    """

    def forward(self, input, target):
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Mean of absolute differences."""

    def forward(self, input, target):
        return functional.l1_loss(input, target, reduction=self.reduction)


class HuberLoss(_Loss):
    """Half the squared difference up to `delta`, and a straight line beyond."""

    def __init__(self, reduction="mean", delta=1.0):
        super().__init__(reduction)
        self.delta = delta

    def forward(self, input, target):
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class SmoothL1Loss(_Loss):
    """`HuberLoss` with `delta` = `beta`, divided by `beta`."""

    def __init__(self, reduction="mean", beta=1.0):
        super().__init__(reduction)
        self.beta = beta

    def forward(self, input, target):
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class KLDivLoss(_Loss):
    """Divergence of probabilities (or with `log_target` their logarithms) from those whose logarithms the input holds."""

    def __init__(self, reduction="mean", log_target=False):
        super().__init__(reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class CrossEntropyLoss(_Loss):
    """Cross entropy between the softmax of logits and class numbers, or probabilities of classes."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
        super().__init__(reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self._register(weight=weight)

    def forward(self, input, target):
        return functional.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
                                        reduction=self.reduction, label_smoothing=self.label_smoothing)


class NLLLoss(_Loss):
    """Minus the logarithm of the probability of the right class, from logarithms of probabilities."""

    def __init__(self, weight=None, ignore_index=-100, reduction="mean"):
        super().__init__(reduction)
        self.ignore_index = ignore_index
        self._register(weight=weight)

    def forward(self, input, target):
        return functional.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class BCELoss(_Loss):
    """Cross entropy of yes-or-no targets from probabilities."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self._register(weight=weight)

    def forward(self, input, target):
        return functional.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """Cross entropy of yes-or-no targets from logits; safe for large ones."""

    def __init__(self, weight=None, reduction="mean", pos_weight=None):
        super().__init__(reduction)
        self._register(weight=weight, pos_weight=pos_weight)

    def forward(self, input, target):
        return functional.binary_cross_entropy_with_logits(
            input, target, weight=self.weight, reduction=self.reduction, pos_weight=self.pos_weight)

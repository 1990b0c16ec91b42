"""Losses as modules. `reduction` is "mean", "sum" or "none"."""

from math import prod

from ..tensor.creation import asarray
from . import functional
from .linear import Linear
from .module import Module


class _Loss(Module):
    """A loss that takes a prediction and a target."""

    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction

    def _register(self, **weights):
        for name, value in weights.items():
            self.register_buffer(name, None if value is None else asarray(value))


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


class LinearCrossEntropyLoss(_Loss):
    """`CrossEntropyLoss` of a linear layer's logits, which belongs to the loss.

    `out_features` (d1, ...) is for targets (batch, d1, ...).

    >>> rg.nn.LinearCrossEntropyLoss(3, 4)(rg.ones(2, 3), rg.tensor([0, 3])).shape
    ()
    """

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None, reduction="mean",
                 weight=None, ignore_index=None, label_smoothing=0.0):
        super().__init__(reduction)
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing
        self._register(weight=weight)
        self.linear = Linear(in_features, prod((num_classes, *self.out_features)), bias, device, dtype)

    def forward(self, input, target):
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return functional.linear_cross_entropy(
            input, self.linear.weight.reshape(*shape, -1), target, linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight, reduction=self.reduction, ignore_index=self.ignore_index, label_smoothing=self.label_smoothing)


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


class GaussianNLLLoss(_Loss):
    """Minus the logarithm of the likelihood of targets under normal distributions with predicted means and variances."""

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(reduction)
        self.full, self.eps = full, eps

    def forward(self, input, target, var):
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """Minus the logarithm of the likelihood of counts under Poisson distributions, from the logarithms of their rates."""

    def __init__(self, log_input=True, full=False, eps=1e-8, reduction="mean"):
        super().__init__(reduction)
        self.log_input, self.full, self.eps = log_input, full, eps

    def forward(self, log_input, target):
        return functional.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                           reduction=self.reduction)


class CTCLoss(_Loss):
    """Minus the logarithm of the chance that frames spell a sequence of labels; see `functional.ctc_loss`."""

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=self.blank, reduction=self.reduction,
                                   zero_infinity=self.zero_infinity)


class _Margin(_Loss):
    """A loss with a margin."""

    def __init__(self, margin=0.0, reduction="mean"):
        super().__init__(reduction)
        self.margin = margin


class MarginRankingLoss(_Margin):
    """How far the first of two scores is from ranking above the second (target 1) or below it (target -1)."""

    def forward(self, input1, input2, target):
        return functional.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_Margin):
    """How far vectors are from the same direction (target 1), or from directions that differ (target -1)."""

    def forward(self, input1, input2, target):
        return functional.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_Margin):
    """Distances of what belongs together (target 1), and how far others (target -1) are within the margin."""

    def __init__(self, margin=1.0, reduction="mean"):
        super().__init__(margin, reduction)

    def forward(self, input, target):
        return functional.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Margin):
    """How far an anchor is from being nearer to one vector than to another, by a margin."""

    def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean"):
        super().__init__(margin, reduction)
        self.p, self.eps, self.swap = p, eps, swap

    def forward(self, anchor, positive, negative):
        return functional.triplet_margin_loss(anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps,
                                              swap=self.swap, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Margin):
    """`TripletMarginLoss` with a distance of your own."""

    def __init__(self, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
        super().__init__(margin, reduction)
        self.distance_function, self.swap = distance_function, swap

    def forward(self, anchor, positive, negative):
        return functional.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """Logistic loss with targets 1 and -1."""

    def forward(self, input, target):
        return functional.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(_Margin):
    """How far the score of the right class is from being above all others by a margin."""

    def __init__(self, p=1, margin=1.0, weight=None, reduction="mean"):
        super().__init__(margin, reduction)
        self.p = p
        self._register(weight=weight)

    def forward(self, input, target):
        return functional.multi_margin_loss(input, target, p=self.p, margin=self.margin, weight=self.weight,
                                            reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """How far the scores of the right classes are from being above all others by 1."""

    def forward(self, input, target):
        return functional.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Loss):
    """Mean over classes of the cross entropy of yes-or-no targets from logits."""

    def __init__(self, weight=None, reduction="mean"):
        super().__init__(reduction)
        self._register(weight=weight)

    def forward(self, input, target):
        return functional.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)

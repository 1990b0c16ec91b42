"""A softmax over many classes of which few are common."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..ops.axes import reductions
from ..ops.axes.searches import argmax
from ..ops.elementary.comparisons import clip, where
from ..ops.manipulation.gathering import take, take_along_axis
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import expand_dims, squeeze
from ..ops.manipulation.selections import put
from ..ops.networks.activation import log_softmax
from ..tensor.creation import zeros
from ..tensor.tensor import Tensor
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module


class AdaptiveOutput(NamedTuple):
    """The logarithm of the chance of each target, and the mean of its negative."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithms of the chances of classes, the most common first, by a softmax of parts (Grave et al., 2017).

    in_features  features of the inputs, (batch, in_features) or (in_features,)
    n_classes    the number of classes
    cutoffs      where parts begin: classes below the first number have a score each, and so has each other part, whose classes are
                 told apart by layers of their own
    div_value    by what the features of one part are fewer than those of the part before
    head_bias    whether the first scores have a bias

    Called with targets it returns (output, loss). Outside of `jit` only the parts that the targets are in are computed.

    >>> softmax = rg.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10])
    >>> output, loss = softmax(rg.ones(3, 8), rg.tensor([0, 5, 19]))
    >>> output.shape, softmax.log_prob(rg.ones(3, 8)).shape
    ((3,), (3, 20))
    """

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs or any(a >= b or a != int(a) for a, b in pairwise([*cutoffs, n_classes])) or cutoffs[0] < 1:
            raise ArgumentError(f"cutoffs must be integers that grow, from 1 on and below n_classes={n_classes}, got {cutoffs}")
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            size = int(in_features // div_value ** (i + 1))
            inner, outer = Linear(in_features, size, False, device, dtype), Linear(size, high - low, False, device, dtype)
            self.tail.append(Sequential(inner, outer))

    def reset_parameters(self):
        """Draw new weights."""
        for module in (self.head, *[layer for part in self.tail for layer in part]):
            module.reset_parameters()

    def forward(self, input_, target_):
        if target_.ndim != input_.ndim - 1 or target_.ndim > 1 or target_.shape != input_.shape[:-1]:
            raise ShapeError("AdaptiveLogSoftmaxWithLoss needs input of shape (batch, features) or (features,) and a target for "
                             f"each, got shapes {input_.shape} and {target_.shape}")
        if target_.ndim == 0:
            output, loss = self.forward(expand_dims(input_, 0), expand_dims(target_, 0))
            return AdaptiveOutput(squeeze(output, 0), loss)
        self._check(target_)
        part = sum([(target_ >= cutoff).astype(target_.dtype) for cutoff in self.cutoffs[:-1]])
        place = where(part == 0, target_, self.shortlist_size - 1 + part)
        output = _at(log_softmax(self.head(input_), -1), place)
        for i, low in enumerate(self.cutoffs[:-1]):
            output = output + self._within(i, input_, target_ - low, part == i + 1)
        return AdaptiveOutput(output, -output.mean())

    def _check(self, target):
        if target.is_traced or not target.size:
            return
        least, most = reductions.min(target).item(), reductions.max(target).item()
        if least < 0 or most >= self.n_classes:
            raise ArgumentError(f"targets must lie between 0 and {self.n_classes - 1}, got some between {least} and {most}")

    def _within(self, number, input, target, is_inside):
        """For each target that is in a part the logarithm of its chance there, and 0 for the others."""
        last = self.cutoffs[number + 1] - self.cutoffs[number] - 1
        if target.is_traced:
            found = _at(log_softmax(self.tail[number](input), -1), clip(target, 0, last))
            return where(is_inside, found, np.zeros((), input.dtype))
        rows = np.flatnonzero(is_inside.numpy())
        if not rows.size:
            return 0
        found = _at(log_softmax(self.tail[number](take(input, rows, 0)), -1), take(target, rows, 0))
        return put(zeros(len(target), dtype=input.dtype), found, positions=rows)

    def log_prob(self, input):
        """The logarithms of the chances of all classes, (batch, n_classes)."""
        head = log_softmax(self.head(input), -1)
        parts = [head[:, : self.shortlist_size]]
        for i, part in enumerate(self.tail):
            place = self.shortlist_size + i
            parts.append(log_softmax(part(input), -1) + head[:, place : place + 1])
        return concatenate(parts, axis=1)

    def predict(self, input):
        """The likeliest class of each input."""
        return argmax(self.log_prob(input), axis=1)


def _at(scores, places):
    """Of each row of `scores` the one at its place."""
    return squeeze(take_along_axis(scores, expand_dims(places, -1), -1), -1)

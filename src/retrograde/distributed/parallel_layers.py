"""Parallel layers: layers of which each process of a group holds a part of the weights, and computes that part of the work.

Shoeybi et al., "Megatron-LM: Training multi-billion parameter language models using model parallelism" (2019).
"""

from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import ArgumentError, ShapeError
from ..nn import functional
from ..nn.attention import MultiheadAttention
from ..nn.embedding import Embedding
from ..nn.linear import Linear
from ..ops.axes.reductions import max as greatest
from ..ops.collectives import all_stack, stack_of_shares, sum_of_shares, taken_apart
from ..ops.elementary.comparisons import where
from ..ops.manipulation.gathering import take_along_axis
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from .collectives import order_of_sums
from .world import world


class Guarded:
    """A parameter of which this process holds a part, as a model's own code finds it: only its layer may compute with it."""

    def __init__(self, value, name):
        self._guarded = value, name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise ArgumentError(f"of {self._guarded[1]} each process holds a part, so that only its own layer may use it; call the "
                            "layer, or leave the parameter whole")

    __array_ufunc__ = None

    def _refused(self, *_):
        return self.shape

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __matmul__ = __rmatmul__ = _refused
    __getitem__ = __array__ = __pow__ = __neg__ = _refused


class _InParts:
    """What is common to layers in parts. `group` is that of the processes that hold one layer together."""

    group: Any = None
    #: What `forward` does, with the parameters as they are.
    computed: Any

    def forward(self, *args, **kwargs):
        with _revealed(self):
            return self.computed(*args, **kwargs)

    def _taken_apart(self, x):
        return taken_apart(x, self.group, order_of_sums(), f"the gradient of what enters {type(self).__name__}")

    def _sum(self, x):
        return sum_of_shares(x, self.group, order_of_sums(), f"the output of {type(self).__name__}")


class ColumnLinear(_InParts, Linear):
    """A `Linear` of whose outputs each process computes a part, and hands it on as it is."""

    def computed(self, x):
        return functional.linear(self._taken_apart(x), self.weight, self.bias)


class GatheredLinear(ColumnLinear):
    """A `Linear` of whose outputs each process computes a part, and gets those of the others."""

    def computed(self, x):
        parts = stack_of_shares(super().computed(x), self.group, "the output of GatheredLinear")
        return concatenate([parts[i] for i in range(self.group.size)], axis=-1)


class RowLinear(_InParts, Linear):
    """A `Linear` that is given a part of its inputs, as a `ColumnLinear` makes them; its output is whole."""

    def computed(self, x):
        if x.shape[-1] != self.weight.shape[1]:
            raise ShapeError(f"a row parallel Linear takes the part of its inputs that a column parallel one gives, "
                             f"{self.weight.shape[1]} of {self.in_features}, got shape {tuple(x.shape)}")
        found = self._sum(functional.linear(x, self.weight))
        return found if self.bias is None else found + self.bias


class VocabularyEmbedding(_InParts, Embedding):
    """An `Embedding` of whose rows each process holds a part."""

    def computed(self, x):
        first, count = _vocabulary(self)
        is_here = _is_between(x, first, count)
        # What is no row of the whole is none of this part either: the lookup raises.
        is_row = _is_between(x, 0, self.num_embeddings)
        number = where(is_here, x - first, where(is_row, 0, self.num_embeddings))
        padding = None if self.padding_idx is None or not first <= self.padding_idx < first + count else self.padding_idx - first
        rows = functional.embedding(number, self.weight, padding)
        return self._sum(where(reshape(is_here, (*is_here.shape, 1)), rows, np.zeros((), rows.dtype)))


class HeadsAttention(_InParts, MultiheadAttention):
    """A `MultiheadAttention` of whose heads each process computes a part."""

    def computed(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True,
                 is_causal=False):
        # One of them that is given three times stays one.
        entered = {id(x): x for x in (query, key, value)}
        entered = {number: self._taken_apart(x) for number, x in entered.items()}
        query, key, value = [entered[id(x)] for x in (query, key, value)]
        if attn_mask is not None and attn_mask.ndim == 3:
            attn_mask = self._own_heads(attn_mask)
        output, weights = MultiheadAttention.forward(self, query, key, value, key_padding_mask, need_weights, attn_mask,
                                                     average_attn_weights, is_causal)
        return output, None if weights is None else self._whole_weights(weights, average_attn_weights)

    def _own_heads(self, mask):
        """The rows of a mask, (batch * heads, L, S), that are for the heads of this process."""
        heads = self.num_heads * self.group.size
        rows = reshape(mask, (-1, self.group.size, self.num_heads, *mask.shape[1:])) if not mask.shape[0] % heads else mask
        if rows is mask:
            raise ShapeError(f"attn_mask must have the shape (batch * {heads}, L, S), got {tuple(mask.shape)}")
        return reshape(rows[:, self.group.rank], (-1, *mask.shape[1:]))

    def _whole_weights(self, weights, are_averaged):
        if are_averaged:
            return self._sum(weights) / self.group.size
        parts, axis = stack_of_shares(weights, self.group, "the weights of attention"), weights.ndim - 3
        return concatenate([parts[i] for i in range(self.group.size)], axis=axis)


def cross_entropy(logits, targets, group: Any = None, *, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """`nn.functional.cross_entropy` of logits of which each process of a group has a part, as a "column" `Linear` gives them.

    logits        (rows, classes of this process)
    targets       (rows,), class numbers of the whole
    group         `mesh.tensor`; all processes by default

    >>> rg.distributed.cross_entropy(rg.tensor([[0.0, 0.0]]), rg.tensor([1]))
    tensor(0.6931472)
    """
    group = group or world()
    if logits.ndim != 2 or tuple(targets.shape) != logits.shape[:1]:
        raise ShapeError(f"cross_entropy of parts needs logits (rows, classes) and one target for each row, got shapes "
                         f"{tuple(logits.shape)} and {tuple(targets.shape)}")
    if group.size == 1:
        return functional.cross_entropy(logits, targets, None, ignore_index, reduction, label_smoothing)
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f'reduction must be "mean", "sum" or "none", got {reduction!r}')
    name = "a cross entropy of parts"
    share = lambda x, what: sum_of_shares(x, group, order_of_sums(), f"{name}, {what}")
    count = logits.shape[1]
    first, classes = group.rank * count, group.size * count
    most = greatest(all_stack(greatest(logits.detach(), axis=1), group, "ranks", f"{name}, the greatest logit"), axis=0)
    shifted = logits - reshape(most, (-1, 1))
    total = share(shifted.exp().sum(axis=1), "the sum of exponentials").log()
    is_kept = targets != ignore_index
    is_here = is_kept & _is_between(targets, first, count)
    number = where(is_here, targets - first, where(~is_kept | _is_between(targets, 0, classes), 0, classes))
    chosen = reshape(take_along_axis(shifted, reshape(number, (-1, 1)), 1), -1)
    chosen = share(where(is_here, chosen, np.zeros((), logits.dtype)), "the logits of targets")
    losses = total - chosen
    if label_smoothing:
        evenly = total - share(shifted.sum(axis=1), "the sum of logits") / classes
        losses = losses * (1 - label_smoothing) + evenly * label_smoothing
    losses = where(is_kept, losses, np.zeros((), losses.dtype))
    if reduction == "mean":
        return losses.sum() / is_kept.sum().astype(losses.dtype)
    return losses.sum() if reduction == "sum" else losses


def _vocabulary(embedding):
    """The first row of this process, and how many it has."""
    count = embedding.weight.shape[0]
    return embedding.group.rank * count, count


def _is_between(number, first, count):
    return (number >= first) & (number < first + count)


@contextmanager
def _revealed(layer):
    """Within it, the parameters of a layer are what they are."""
    attributes, hidden = vars(layer), {}
    for owner in (attributes, *[vars(part) for part in attributes.values() if isinstance(part, _InParts)]):
        for name, value in owner.items():
            if isinstance(value, Guarded):
                hidden[id(owner), name] = owner, value
    try:
        for (_, name), (owner, value) in hidden.items():
            owner[name] = value._guarded[0]  # noqa: SLF001 - of our own kind
        yield
    finally:
        for (_, name), (owner, value) in hidden.items():
            owner[name] = value

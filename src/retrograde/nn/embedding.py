"""Embeddings: a learned row for each of a number of things."""

from ..core.mode import no_grad
from ..errors import OutOfRangeError, ShapeError
from ..tensor.creation import asarray, empty
from . import functional, init
from .module import Module
from .parameter import Parameter


class Embedding(Module):
    """A table of `num_embeddings` learned rows of `embedding_dim` numbers, looked up by integers of any shape.

    The row `padding_idx` starts at zero and is not learned. Rows start normally distributed, as in PyTorch. Those longer than
    `max_norm` are shortened when they are looked up; `scale_grad_by_freq` divides their gradient by how often they are. With
    `sparse` the gradient of the table is that of the rows that were looked up, a `RowGradient`, which `optim.SparseAdam`, `Adagrad`
    and `SGD` take: a step costs the same whatever the size of the table.

    >>> rg.nn.Embedding(10, 3)(rg.tensor([[1, 2], [4, 5]])).shape
    (2, 2, 3)
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise OutOfRangeError(f"padding_idx must be a row of {num_embeddings}, got {padding_idx}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse = max_norm, norm_type, scale_grad_by_freq, sparse
        if _weight is None:
            self.weight = Parameter(empty(num_embeddings, embedding_dim, dtype=dtype, device=device), not _freeze)
            self.reset_parameters()
        elif tuple(_weight.shape) != (num_embeddings, embedding_dim):
            raise ShapeError(f"the weight must have shape {(num_embeddings, embedding_dim)}, got {tuple(_weight.shape)}")
        else:
            self.weight = Parameter(_weight, not _freeze)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, **options):
        """A table that holds the rows of `embeddings`, which are not learned unless `freeze` is False."""
        weight = asarray(embeddings)
        if weight.ndim != 2:
            raise ShapeError(f"embeddings must have two axes, got shape {tuple(weight.shape)}")
        return cls(*weight.shape, padding_idx=padding_idx, _weight=weight, _freeze=freeze, **options)

    def reset_parameters(self):
        """Draw new rows; that of the padding is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0

    def forward(self, input):
        return functional.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                                    self.sparse)

    def extra_repr(self):
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{', sparse=True' * self.sparse}"


class EmbeddingBag(Embedding):
    """The mean, sum or greatest of rows of an `Embedding`, for each bag of positions: a line of (bags, length).

    Bags of unequal length are one line of positions and `offsets`, where each begins, and with `include_last_offset` where the
    last one ends.

    >>> rg.nn.EmbeddingBag(10, 3, mode="sum")(rg.tensor([[1, 2], [4, 5]])).shape
    (2, 3)
    """

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                 sparse=False, _weight=None, include_last_offset=False, padding_idx=None, _freeze=False, device=None, dtype=None):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
                         _freeze, device, dtype)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input, offsets=None, per_sample_weights=None):
        return functional.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                                        self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self):
        return f"{super().extra_repr()}, mode={self.mode!r}"

"""How alike vectors are, as modules."""

from . import functional
from .module import Module


class CosineSimilarity(Module):
    """The cosine of the angle between vectors along the axis `dim`.

    >>> rg.nn.CosineSimilarity(dim=0)(rg.tensor([1.0, 0.0]), rg.tensor([0.0, 2.0])).item()
    0.0
    """

    def __init__(self, dim=1, eps=1e-8):
        super().__init__()
        self.dim, self.eps = dim, eps

    def forward(self, x1, x2):
        return functional.cosine_similarity(x1, x2, dim=self.dim, eps=self.eps)


class PairwiseDistance(Module):
    """The `p`-norm of the differences along the last axis."""

    def __init__(self, p=2.0, eps=1e-6, keepdim=False):
        super().__init__()
        self.p, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1, x2):
        return functional.pairwise_distance(x1, x2, p=self.p, eps=self.eps, keepdim=self.keepdim)

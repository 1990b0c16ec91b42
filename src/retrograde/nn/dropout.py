"""Dropout: elements set to zero at random while training."""

from numbers import Real

from ..errors import ArgumentError
from . import functional
from .module import Module


class Dropout(Module):
    """Each element 0 with probability `p`, the others divided by 1 - `p`; nothing happens after `eval()`.

    >>> rg.nn.Dropout(0.5).eval()(rg.ones(2))
    tensor([1., 1.])
    """

    _function = staticmethod(functional.dropout)

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not (isinstance(p, Real) and 0 <= p <= 1):
            raise ArgumentError(f"p, the probability of dropping, must lie between 0 and 1, got {p!r}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return self._function(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}, inplace={self.inplace}"


class AlphaDropout(Dropout):
    """`Dropout` for networks of `SELU`, which keeps mean and variance."""

    _function = staticmethod(functional.alpha_dropout)


class FeatureAlphaDropout(Dropout):
    """`AlphaDropout` of whole channels."""

    _function = staticmethod(functional.feature_alpha_dropout)


class Dropout1d(Dropout):
    """`Dropout` of whole channels of lines (batch, channels, length)."""

    _function = staticmethod(functional.dropout1d)


class Dropout2d(Dropout):
    """`Dropout` of whole channels of images (batch, channels, height, width)."""

    _function = staticmethod(functional.dropout2d)


class Dropout3d(Dropout):
    """`Dropout` of whole channels of volumes (batch, channels, depth, height, width)."""

    _function = staticmethod(functional.dropout3d)

"""Transforms of values that can be inverted, with the logarithm of how much they stretch.

>>> import retrograde.torch as torch
>>> transform = torch.distributions.transforms.AffineTransform(1.0, 2.0)
>>> y = transform(torch.tensor(3.0))
>>> y, transform.inv(y), transform.log_abs_det_jacobian(torch.tensor(3.0), y)
(tensor(7.), tensor(3.), tensor(0.6931))
"""

from ..absent import absent_from
from .composition import ComposeTransform, IndependentTransform, ReshapeTransform, identity_transform
from .stretching import (
    AbsTransform,
    AffineTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StickBreakingTransform,
    TanhTransform,
)
from .transform import Transform

__all__ = [
    "AbsTransform", "AffineTransform", "ComposeTransform", "ExpTransform", "IndependentTransform", "PowerTransform",
    "ReshapeTransform", "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StickBreakingTransform", "TanhTransform",
    "Transform", "identity_transform",
]
__getattr__ = absent_from("torch.distributions.transforms", lambda: __all__)

"""`torch.nn.utils`: that of `rg.nn`, and the older names of parametrizations."""

from ....nn.utils import (
    clip_grad_norm_,
    clip_grad_value_,
    clip_grads_with_norm_,
    fuse_conv_bn_eval,
    fuse_linear_bn_eval,
    get_total_norm,
    parameters_to_vector,
    vector_to_parameters,
)
from ....nn.utils.parametrizations import spectral_norm, weight_norm
from ...absent import absent_from
from . import clip_grad, parametrizations, parametrize, prune, rnn

__all__ = [
    "clip_grad", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "fuse_conv_bn_eval", "fuse_linear_bn_eval",
    "get_total_norm", "parameters_to_vector", "parametrizations", "parametrize", "prune", "rnn", "spectral_norm",
    "vector_to_parameters", "weight_norm",
]
__getattr__ = absent_from("torch.nn.utils", lambda: __all__)

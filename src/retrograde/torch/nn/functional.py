"""The functions of `rg.nn.functional`, whose names and arguments are PyTorch's, of tensors of PyTorch's meaning."""

from functools import wraps

import numpy as np

from ... import tree
from ...core.value import Value
from ...nn import functional as rg
from ..absent import absent_from
from ..kinds import floating, handed_out, operand


def handed(function):
    """`function`, whose results are tensors of PyTorch's meaning, also where no operand was one."""

    @wraps(function)
    def called(*args, **kwargs):
        return handed_out(function(*args, **kwargs))

    return called


_NAMES = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
          "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices", "adaptive_max_pool3d",
          "adaptive_max_pool3d_with_indices", "affine_grid", "alpha_dropout", "avg_pool1d", "avg_pool2d", "avg_pool3d",
          "batch_norm", "bilinear", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu", "channel_shuffle",
          "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss",
          "cosine_similarity", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "embedding",
          "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool2d_with_indices",
          "fractional_max_pool3d", "fractional_max_pool3d_with_indices", "gaussian_nll_loss", "gelu", "glu", "grid_sample",
          "group_norm", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hinge_embedding_loss",
          "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm", "leaky_relu", "linear",
          "linear_cross_entropy", "local_response_norm", "log_softmax", "logsigmoid", "lp_pool1d", "lp_pool2d", "lp_pool3d",
          "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices", "max_pool3d",
          "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss", "multi_margin_loss",
          "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss", "normalize", "one_hot", "pad", "pairwise_distance",
          "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss", "prelu", "relu", "relu6", "rms_norm", "rrelu",
          "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin",
          "softplus", "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "triplet_margin_loss",
          "triplet_margin_with_distance_loss", "unfold", "upsample", "upsample_bilinear", "upsample_nearest"]
globals().update({name: handed(getattr(rg, name)) for name in _NAMES})


def _ignoring(function, *names):
    """`function`, which takes arguments that choose only how it is computed."""

    @wraps(function)
    def called(*args, **kwargs):
        return function(*args, **{name: value for name, value in kwargs.items() if name not in names})

    return called


def _of_floats(function):
    """`function`, for which tensors of integers are of the default dtype."""

    @wraps(function)
    def called(*args, **kwargs):
        args, kwargs = tree.map(lambda x: floating(operand(x)) if isinstance(x, Value) else x, (args, kwargs))
        return function(*args, **kwargs)

    return called


def _of_integers(function):
    """`function`, whose numbers for integers are integers: their fractions are cut off."""

    @wraps(function)
    def called(input, *args, **kwargs):
        found = function(input, *args, **kwargs)
        return found.to(input.dtype) if input.dtype.kind in "iu" else found

    return called


def _of_bytes(function):
    """`function` of images, which for bytes gives bytes: the nearest to its numbers."""

    @wraps(function)
    def called(input, *args, **kwargs):
        found = function(input, *args, **kwargs)
        if input.dtype != np.uint8 or found.dtype == input.dtype:
            return found
        return found.round().clamp(0, 255).to(input.dtype)

    return called


interpolate, upsample, upsample_bilinear = map(_of_bytes, map(handed, (rg.interpolate, rg.upsample, rg.upsample_bilinear)))
globals().update({name: _of_floats(handed(getattr(rg, name))) for name in (
    "cosine_embedding_loss", "gaussian_nll_loss", "hinge_embedding_loss", "local_response_norm", "margin_ranking_loss",
    "pairwise_distance", "poisson_nll_loss", "soft_margin_loss", "tanhshrink", "triplet_margin_loss",
    "triplet_margin_with_distance_loss")})
globals().update({name: _of_integers(handed(getattr(rg, name))) for name in ("avg_pool1d", "avg_pool2d", "avg_pool3d", "hardtanh")})
linear_cross_entropy = _ignoring(handed(rg.linear_cross_entropy), "options")
globals().update({name: _ignoring(globals()[name], "return_indices") for name in _NAMES if name.endswith("_with_indices")})

__all__ = sorted(_NAMES)
__getattr__ = absent_from("torch.nn.functional", lambda: __all__)

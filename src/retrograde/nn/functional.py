"""Functions of layers and losses under PyTorch's names and arguments. The axis of a softmax may be called `dim` or `axis`."""

from math import prod

from numpy import triu_indices

from ..core.explain import explaining
from ..errors import ArgumentError, ShapeError
from ..ops.axes.reductions import norm
from ..ops.elementary import trigonometric
from ..ops.elementary.comparisons import clip, where
from ..ops.elementary.conversions import as_floats, astype
from ..ops.images import convolution, convolutions
from ..ops.images import resampling as resamplings
from ..ops.images.pooling import adaptive_avg_pool2d, avg_pool2d
from ..ops.images.windows import adaptive_avg_pool1d, adaptive_avg_pool3d, avg_pool1d, avg_pool3d, root
from ..ops.linalg.contractions import einsum
from ..ops.manipulation import borders as borders_of
from ..ops.manipulation import patches
from ..ops.manipulation.gathering import take
from ..ops.manipulation.grids import broadcast_arrays
from ..ops.manipulation.movements import reshape
from ..ops.networks import activation, classification, embeddings, piecewise
from ..ops.networks import linear as linears
from ..ops.networks import normalization as norms
from ..ops.networks.attention import scaled_dot_product_attention
from ..ops.networks.loss import binary_cross_entropy as _cross_entropy_of_chances
from ..ops.networks.loss import binary_cross_entropy_with_logits as _cross_entropy_of_logits
from ..ops.networks.loss import kl_div
from ..ops.networks.loss import smooth_l1_loss as _smooth_l1_loss
from ..ops.random import dropout as dropouts
from ..shapes import mismatch
from ..tensor import distributions
from ..tensor.random import uniform
from ..transforms.grad import stop_gradient
from .batches import batched
from .chunked_entropy import chunked_cross_entropy
from .fractional_pooling import (
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from .indexed_pooling import (
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    max_pool1d,
    max_pool1d_with_indices,
    max_pool2d,
    max_pool2d_with_indices,
    max_pool3d,
    max_pool3d_with_indices,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from .likelihoods import ctc_loss, gaussian_nll_loss, poisson_nll_loss
from .lookups import embedding, embedding_bag
from .margins import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    pairwise_distance,
    soft_margin_loss,
    triplet_margin_loss,
    triplet_margin_with_distance_loss,
)
from .padding import pad
from .resizing import channel_shuffle, pixel_shuffle, pixel_unshuffle
from .running import batch_norm, instance_norm
from .sampling import affine_grid, grid_sample
from .spelling import belong_to, in_place, spelled
from .weighted import huber_loss as _huber_loss
from .weighted import l1_loss as _l1_loss
from .weighted import mse_loss as _mse_loss

relu, leaky_relu, elu, selu = map(in_place, (activation.relu, activation.leaky_relu, activation.elu, activation.selu))
silu, mish, hardswish = map(in_place, (activation.silu, activation.mish, activation.hardswish))
relu6, celu, hardtanh = map(in_place, (piecewise.relu6, piecewise.celu, activation.hardtanh))
hardsigmoid, threshold = map(in_place, (piecewise.hardsigmoid, piecewise.threshold))
gelu, sigmoid, log_sigmoid, tanh = map(spelled, (activation.gelu, activation.sigmoid, activation.log_sigmoid, trigonometric.tanh))
softsign, tanhshrink, glu = map(spelled, (piecewise.softsign, piecewise.tanhshrink, piecewise.glu))
hardshrink, softshrink, prelu = map(spelled, (piecewise.hardshrink, piecewise.softshrink, piecewise.prelu))
linear, one_hot = map(spelled, (linears.linear, embeddings.one_hot))
layer_norm, group_norm, rms_norm = map(spelled, (norms.layer_norm, norms.group_norm, norms.rms_norm))
unfold, fold = map(spelled, (patches.image_to_columns, patches.columns_to_image))
cross_entropy, nll_loss = map(spelled, (classification.cross_entropy, classification.nll_loss))
mse_loss, l1_loss, smooth_l1_loss, huber_loss = map(spelled, (_mse_loss, _l1_loss, _smooth_l1_loss, _huber_loss))
binary_cross_entropy, binary_cross_entropy_with_logits = map(spelled, (_cross_entropy_of_chances, _cross_entropy_of_logits))
conv1d, conv_transpose1d = (spelled(batched(f, 3)) for f in (convolution.conv1d, convolutions.conv_transpose1d))
conv2d, conv_transpose2d = (spelled(batched(f, 4)) for f in (convolution.conv2d, convolutions.conv_transpose2d))
conv3d, conv_transpose3d = (spelled(batched(f, 5)) for f in (convolutions.conv3d, convolutions.conv_transpose3d))
dropout, dropout2d = in_place(dropouts.dropout), in_place(dropouts.feature_dropout)
dropout1d, dropout3d = (in_place(batched(dropouts.feature_dropout, ndim)) for ndim in (3, 5))
belong_to(__name__, dict(globals()))
logsigmoid = log_sigmoid


def softmax(input, dim=None, *, axis=None, dtype=None):
    """Exponentials of `input`, converted to `dtype` before if that is given, divided by their sum over `dim`.

    `dim` may be left out for one or two axes, where it is the last.

    >>> rg.nn.functional.softmax(rg.zeros(2, 2), dim=1).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    return activation.softmax(_converted(input, dtype), _softmax_axis(input, dim, axis))


def log_softmax(input, dim=None, *, axis=None, dtype=None):
    """Logarithm of `softmax`, precise where that underflows."""
    return activation.log_softmax(_converted(input, dtype), _softmax_axis(input, dim, axis))


def softmin(input, dim=None, *, axis=None, dtype=None):
    """`softmax` of the negative of `input`."""
    return activation.softmax(-_converted(as_floats(input)[0], dtype), _softmax_axis(input, dim, axis))


def _converted(input, dtype):
    return input if dtype is None else astype(input, dtype)


def _softmax_axis(input, dim, axis):
    """The axis that was given. Without one PyTorch takes the first of three, the second of four: no axis that one would guess."""
    found = dim if axis is None else axis
    if found is None and input.ndim > 2:
        raise ArgumentError(f"a softmax of {input.ndim} axes needs dim=, the axis that sums to 1; the last is dim=-1")
    return -1 if found is None else found


def softplus(input, beta=1.0, threshold=20.0):
    """A smooth `relu`: the logarithm of 1 + exp(`beta` `input`), divided by `beta`.

    Where `beta` times `input` is above `threshold` it is `input` itself; from 20 on, where the two are equal to nine digits, it
    is computed as it is everywhere.
    """
    smooth = activation.softplus(input, beta)
    return smooth if threshold >= 20 else where(input * beta > threshold, input, smooth)


def gumbel_softmax(logits, tau=1.0, hard=False, eps=1e-10, dim=-1, *, axis=None, generator=None):  # noqa: ARG001 - PyTorch's
    """Nearly one-hot rows, chosen with the chances that `logits` give; `eps` is not used, as in PyTorch. See
    `rg.random.gumbel_softmax`.
    """
    return distributions.gumbel_softmax(logits, tau, hard, dim if axis is None else axis, generator)


@explaining
def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """`lp_pool2d` of lines, (batch, channels, length) or without the batch."""
    return _lp_pooled(avg_pool1d, 1, input, norm_type, kernel_size, stride, ceil_mode)


@explaining
def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The root of the sum of the powers `norm_type` of each window of images. A window that `ceil_mode` lets reach over the end
    counts as a whole one of the same mean, as in PyTorch. The derivative where the sum is 0 is 0.
    """
    return _lp_pooled(avg_pool2d, 2, input, norm_type, kernel_size, stride, ceil_mode)


@explaining
def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """`lp_pool2d` of volumes, (batch, channels, depth, height, width) or without the batch."""
    return _lp_pooled(avg_pool3d, 3, input, norm_type, kernel_size, stride, ceil_mode)


def _lp_pooled(averages, axes, input, norm_type, kernel_size, stride, ceil_mode):
    sizes = kernel_size if isinstance(kernel_size, (tuple, list)) else (kernel_size,) * axes
    return root(averages(input**norm_type, kernel_size, stride, 0, ceil_mode) * prod(sizes), norm_type)


def alpha_dropout(input, p=0.5, training=False, inplace=False, generator=None):  # noqa: ARG001 - PyTorch's
    """Dropout for networks of `selu`: elements become the value that it tends to, and mean and variance stay what they were.

    Klambauer et al., "Self-normalizing neural networks" (2017).
    """
    return dropouts.alpha_dropout(input, p, training, input.shape, generator)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False, generator=None):  # noqa: ARG001 - PyTorch's
    """`alpha_dropout` of whole channels."""
    return dropouts.alpha_dropout(input, p, training, (*input.shape[:2], *[1] * (input.ndim - 2)), generator)


def rrelu(input, lower=1 / 8, upper=1 / 3, training=False, inplace=False, generator=None):  # noqa: ARG001 - PyTorch's
    """`leaky_relu` with slopes that are drawn between `lower` and `upper` in training, and else are half-way."""
    if lower > upper:
        raise ArgumentError(f"rrelu needs lower <= upper, got {lower} and {upper}")
    if not training:
        return leaky_relu(input, (lower + upper) / 2)
    slopes = uniform(lower, upper, tuple(input.shape), generator, input.dtype)
    return where(input >= 0, input, input * slopes)


@explaining
def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    r"""Each channel divided by what the `size` channels around it come to: $x / (k + \alpha\, \overline{x^2})^\beta$.

    Krizhevsky et al., "ImageNet classification with deep convolutional neural networks" (2012).

    >>> rg.nn.functional.local_response_norm(rg.ones(1, 2, 1), 2, alpha=2.0, beta=1.0).tolist()
    [[[0.5], [0.3333333432674408]]]
    """
    if input.ndim < 2:
        raise ShapeError(f"local_response_norm needs an input (batch, channels, ...), got shape {tuple(input.shape)}")
    (input,) = as_floats(input)
    borders = ((0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (input.ndim - 2))
    squares, count = borders_of.pad(input * input, borders), input.shape[1]
    total = squares[:, :count]
    for i in range(1, size):
        total = total + squares[:, i : i + count]
    return input / (total * (alpha / size) + k) ** beta


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=False, recompute_scale_factor=None,
                antialias=False):
    """Images (batch, channels, ...) with their further axes in another `size`, or `scale_factor` times as long.

    `mode` is "nearest", "nearest-exact", "linear", "bilinear", "bicubic", "trilinear" or "area"; see `rg.interpolate`. With
    `recompute_scale_factor` places follow from the new size, which is a whole number, and not from the factor.

    >>> rg.nn.functional.interpolate(rg.tensor([[[1.0, 2.0]]]), scale_factor=2).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """
    if recompute_scale_factor and scale_factor is not None:
        factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * (input.ndim - 2)
        size, scale_factor = tuple([int(n * f) for n, f in zip(input.shape[2:], factors, strict=True)]), None
    return resamplings.interpolate(input, size, scale_factor, mode, bool(align_corners), bool(antialias))


upsample = interpolate


def upsample_nearest(input, size=None, scale_factor=None):
    """`interpolate` with mode "nearest"."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input, size=None, scale_factor=None):
    """`interpolate` with mode "bilinear", which keeps the corners in their places."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@explaining
def normalize(input, p=2.0, dim=1, eps=1e-12):
    """`input` divided by its length over the axis `dim`, which counts as at least `eps`.

    >>> rg.nn.functional.normalize(rg.tensor([[3.0, 4.0]])).tolist()
    [[0.6000000238418579, 0.800000011920929]]
    """
    return input / clip(norm(input, p, dim, keepdims=True), eps, None)


@explaining
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between the vectors along the axis `dim`; each length counts as at least `eps`.

    As in PyTorch, the derivative is that of a length which does not stop at `eps`.
    """
    if x1.shape != x2.shape and not mismatch([x1.shape, x2.shape]):
        x1, x2 = broadcast_arrays(x1, x2)
    x1, x2 = as_floats(x1, x2)
    return (x1 / _length(x1, dim, eps) * (x2 / _length(x2, dim, eps))).sum(axis=dim)


def _length(x, dim, eps):
    """The length of `x` along an axis, at least `eps`, with the derivative of the length itself."""
    found = norm(x, 2, dim, keepdims=True)
    return where(found < eps, found + stop_gradient(eps - found), found)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
                         label_smoothing=0.0, chunk=None, format=None):
    """`cross_entropy` of `linear(input, linear_weight, linear_bias)`.

    `linear_weight` is (classes, features), or (classes, d1, ..., features) for targets (batch, d1, ...). With `chunk` the scores of
    so many classes at a time are in memory, and never all, forward and backward. `input` is then (..., features), the target (...)
    of class numbers, the mean of no target that counts is 0, and `linear_weight` may be rows of quantised weights in a `format`.

    >>> rg.nn.functional.linear_cross_entropy(rg.ones(2, 3), rg.ones(4, 3), rg.tensor([0, 3]))
    tensor(1.3862944)
    """
    if chunk is not None:
        if linear_bias is not None or weight is not None or label_smoothing:
            raise ArgumentError("linear_cross_entropy by chunks takes no linear_bias, weight or label_smoothing; leave chunk out")
        ignored = -100 if ignore_index is None else ignore_index
        return chunked_cross_entropy(input, linear_weight, target, chunk, reduction, ignored, format)
    if format is not None:
        raise ArgumentError("linear_cross_entropy takes quantised weights by chunks of the classes: give chunk= as well")
    *outputs, features = linear_weight.shape
    if len(outputs) > 1 and input.ndim != 2:
        raise ShapeError(f"a linear_weight of shape {tuple(linear_weight.shape)} needs inputs (batch, features), got shape "
                         f"{tuple(input.shape)}")
    if ignore_index is not None and target.ndim and tuple(target.shape) == (*input.shape[:-1], *outputs):
        raise ArgumentError("ignore_index is for class numbers, and the target has probabilities; leave it out")
    bias = None if linear_bias is None else reshape(linear_bias, -1)
    logits = linear(input, reshape(linear_weight, (prod(outputs), features)), bias)
    ignored = -100 if ignore_index is None else ignore_index
    return cross_entropy(reshape(logits, (*input.shape[:-1], *outputs)), target, weight, ignored, reduction, label_smoothing)


def pdist(input, p=2.0):
    """The distances by the `p`-norm of all pairs of rows of a matrix: of the first to all others, of the second, and so on.

    >>> rg.nn.functional.pdist(rg.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])).tolist()
    [5.0, 1.0, 4.242640495300293]
    """
    (input,), (first, second) = as_floats(input), triu_indices(input.shape[0], 1)
    return norm(take(input, first, 0) - take(input, second, 0), p, -1)


@explaining
def bilinear(input1, input2, weight, bias=None):
    """`input1 @ weight[o] @ input2` for each output o: weight is (outputs, in of the first, in of the second)."""
    found = einsum("...i,oij,...j->...o", input1, weight, input2)
    return found if bias is None else found + bias

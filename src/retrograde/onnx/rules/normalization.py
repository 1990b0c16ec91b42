"""Normalization, and dropout."""

import numpy as np

from ...ops.axes.reductions import mean
from ...ops.elementary.arithmetic import divide, rsqrt, sqrt, square
from ...ops.elementary.comparisons import greater_equal
from ...ops.elementary.conversions import astype
from ...ops.elementary.exponential import exp, log
from ...ops.manipulation.borders import pad
from ...ops.networks.normalization import fixed_norm
from ...tensor.random import rand
from ..library import element_types
from ..rule import rule


@rule("BatchNormalization", since=14)
def _batch_norm(x, scale, shift, location, variance, /, *, epsilon=1e-5, momentum=0.9, training_mode=0):
    if not training_mode:
        return astype(fixed_norm(astype(x, scale.dtype), location, variance, scale, shift, epsilon), x.dtype)
    axes = tuple([i for i in range(len(x.shape)) if i != 1])
    now = mean(x, axes)
    shape = (1, -1, *[1] * (len(x.shape) - 2))
    spread = mean(square(x - now.reshape(shape)), axes)
    found = fixed_norm(x, now, spread, scale, shift, epsilon)
    return found, location * momentum + now * (1 - momentum), variance * momentum + spread * (1 - momentum)


@rule("BatchNormalization", since=9)
def _old_batch_norm(x, scale, shift, location, variance, /, *, epsilon=1e-5, momentum=0.9):
    return _batch_norm(x, scale, shift, location, variance, epsilon=epsilon)


@rule("BatchNormalization", since=7)
def _older_batch_norm(x, scale, shift, location, variance, /, *, epsilon=1e-5, momentum=0.9, spatial=1):
    return _batch_norm(x, scale, shift, location, variance, epsilon=epsilon)


def _standard(x, axes, epsilon):
    """(`x` with mean 0 and variance 1 over axes, the mean, one over the root of the variance)."""
    location = mean(x, axes, True)
    centred = x - location
    factor = rsqrt(mean(square(centred), axes, True) + epsilon)
    return centred * factor, location, factor


@rule("InstanceNormalization", since=6)
def _instance_norm(x, scale, shift, /, *, epsilon=1e-5):
    shape = (1, -1, *[1] * (len(x.shape) - 2))
    return _standard(x, tuple(range(2, len(x.shape))), epsilon)[0] * scale.reshape(shape) + shift.reshape(shape)


@rule("LayerNormalization", since=17)
def _layer_norm(x, scale, shift=None, /, *, axis=-1, epsilon=1e-5, stash_type=1):
    wide = astype(x, element_types()[stash_type])
    axes = tuple(range(axis % len(x.shape), len(x.shape)))
    found, location, factor = _standard(wide, axes, epsilon)
    found = astype(found, x.dtype) * scale
    return found if shift is None else found + shift, location, factor


@rule("RMSNormalization", since=23)
def _rms_norm(x, scale, /, *, axis=-1, epsilon=1e-5, stash_type=1):
    wide = astype(x, element_types()[stash_type])
    axes = tuple(range(axis % len(x.shape), len(x.shape)))
    found = wide * rsqrt(mean(square(wide), axes, True) + epsilon)
    return astype(found, x.dtype) * scale


@rule("GroupNormalization", since=21)
def _group_norm(x, scale, shift, /, *, num_groups, epsilon=1e-5, stash_type=1):
    wide = astype(x, element_types()[stash_type]).reshape((x.shape[0], num_groups, -1))
    found = astype(_standard(wide, (2,), epsilon)[0].reshape(x.shape), x.dtype)
    shape = (1, -1, *[1] * (len(x.shape) - 2))
    return found * scale.reshape(shape) + shift.reshape(shape)


@rule("MeanVarianceNormalization", since=9)
def _mean_variance(x, /, *, axes=(0, 2, 3)):
    location = mean(x, tuple(axes), True)
    return divide(x - location, sqrt(mean(square(x), tuple(axes), True) - square(location)) + 1e-9)


@rule("LRN")
def _local_response(x, /, *, size, alpha=1e-4, beta=0.75, bias=1.0):
    before = (size - 1) // 2
    widths = [(0, 0)] * len(x.shape)
    widths[1] = before, size - 1 - before
    squares = pad(square(x), tuple(widths))
    total = sum([squares[:, i:i + x.shape[1]] for i in range(size)])
    return divide(x, exp(log(total * (alpha / size) + bias) * beta))


@rule("Dropout", since=12, numbers=(1, 2))
def _dropout(x, ratio=None, training=None, /, *, seed=None):
    rate = 0.5 if ratio is None else float(np.asarray(ratio).reshape(()))
    if training is None or not bool(np.asarray(training).reshape(())) or rate == 0:
        return x, np.ones(x.shape, bool)
    # Drawn by our own generator: a seed in the model would drop the same elements at each call.
    kept = greater_equal(rand(*x.shape), rate)
    return x * astype(kept, x.dtype) * (1 / (1 - rate)), kept


@rule("Dropout", since=7)
def _idle_dropout(x, /, *, ratio=0.5):
    return x, np.ones(x.shape, bool)

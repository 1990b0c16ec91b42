"""Functions that PyTorch's own layers call, which some programs call as well."""

from typing import Any

import numpy as np

from ...errors import ArgumentError
from ...ops.manipulation import segments
from .. import kinds, linalg, shapes
from ..creation import zeros
from ..kinds import operand
from ..nn.functional import grid_sample

__all__ = ["frexp", "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "native_batch_norm", "native_group_norm",
           "native_layer_norm", "pca_lowrank", "segment_reduce", "svd_lowrank", "unsafe_chunk", "unsafe_split"]

unsafe_chunk, unsafe_split = shapes.chunk, shapes.split


def _standardised(x, dims, eps):
    """`x` of mean 0 and variance 1 over axes, the mean, and one over the deviation."""
    mean = x.mean(dims, True)
    scale = (x.var(dims, False, True) + eps).rsqrt()
    return (x - mean) * scale, mean, scale


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """The layer norm, the means, and one over the deviations."""
    x = operand(input)
    found, mean, scale = _standardised(x, tuple(range(x.ndim - len(normalized_shape), x.ndim)), eps)
    found = found if weight is None else found * weight
    return (found if bias is None else found + bias), mean, scale


def native_group_norm(input, weight, bias, N, C, HxW, group, eps):
    """The group norm, the means, and one over the deviations."""
    x = operand(input)
    found, mean, scale = _standardised(x.reshape(N, group, C // group * HxW), 2, eps)
    found, lined = found.reshape(tuple(x.shape)), (1, C, *(1,) * (x.ndim - 2))
    found = found if weight is None else found * weight.reshape(lined)
    return (found if bias is None else found + bias.reshape(lined)), mean.squeeze(2), scale.squeeze(2)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps):
    """The batch norm, the means, and one over the deviations; empty ones where the running statistics were used."""
    x = operand(input)
    dims, lined = (0, *range(2, x.ndim)), (1, -1, *(1,) * (x.ndim - 2))
    if training:
        found, mean, scale = _standardised(x, dims, eps)
        if running_mean is not None:
            count = x.numel() // x.shape[1]
            running_mean.mul_(1 - momentum).add_(mean.detach().flatten(), alpha=momentum)
            running_var.mul_(1 - momentum).add_(x.detach().var(dims, count > 1), alpha=momentum)
        mean, scale = mean.flatten(), scale.flatten()
    else:
        found = (x - running_mean.reshape(lined)) * (running_var + eps).rsqrt().reshape(lined)
        mean = scale = zeros(0, dtype=x.dtype)
    found = found if weight is None else found * weight.reshape(lined)
    return (found if bias is None else found + bias.reshape(lined)), mean, scale


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """`grid_sample`, whose modes are numbers."""
    mode, padding = ("bilinear", "nearest", "bicubic")[interpolation_mode], ("zeros", "border", "reflection")[padding_mode]
    return grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def segment_reduce(data, reduce, *, lengths: Any = None, indices=None, offsets: Any = None, axis=0, unsafe=False, initial=None):
    """The sum, mean, max, min or prod of pieces of an axis, of these lengths or between these offsets."""
    x = operand(data, "data")
    if lengths is None and offsets is None:
        raise ArgumentError("segment_reduce needs lengths or offsets")
    sizes = lengths.numpy() if lengths is not None else np.diff(offsets.numpy())
    if axis % x.ndim != sizes.ndim - 1:
        raise ArgumentError(f"segment_reduce needs lengths of axis + 1 axes, got {sizes.ndim} for axis {axis}")
    lead, count = sizes.shape[:-1], sizes.shape[-1]
    rows = x.reshape(-1, *x.shape[axis + 1 :])
    each = sizes.reshape(-1, count)
    starts = np.arange(len(each))[:, None] * x.shape[axis]
    ends = np.cumsum(each, 1)
    kept = [np.arange(s, s + e[-1]) for s, e in zip(starts[:, 0], ends, strict=True)] if each.size else [np.zeros(0, int)]
    places = np.repeat(np.arange(each.size), each.reshape(-1))
    start = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}[reduce] if initial is None else initial
    found = _SEGMENTS[reduce](rows[np.concatenate(kept)], places, each.size)
    is_empty = kinds.made((each.reshape(-1) == 0).reshape(-1, *(1,) * (rows.ndim - 1)))
    found = found.masked_fill(is_empty, start)
    if initial is not None:
        found = _with_start(found, reduce, initial, each.reshape((-1,) + (1,) * (rows.ndim - 1)), is_empty)
    return found.reshape(*lead, count, *x.shape[axis + 1 :])


_SEGMENTS = {"sum": segments.segment_sum, "mean": segments.segment_mean, "prod": segments.segment_prod, "max": segments.segment_max,
             "min": segments.segment_min}


def _with_start(found, reduce, initial, sizes, is_empty):
    """What a piece gives if it begins with a number."""
    if reduce == "mean":
        sizes = kinds.made(np.maximum(sizes, 1).astype(found.dtype))
        return found.where(is_empty, found + initial / sizes)
    whole = {"sum": lambda x: x + initial, "prod": lambda x: x * initial, "max": lambda x: x.clamp(min=initial),
             "min": lambda x: x.clamp(max=initial)}[reduce](found)
    return found.where(is_empty, whole)


def frexp(input):
    """Mantissas from 1/2 to 1, and exponents of 2, which have no derivative."""
    x = operand(input)
    exponent = kinds.made(np.frexp(x.detach().numpy())[1].astype(np.int32))
    return x * (-exponent.to(x.dtype)).exp2(), exponent


def svd_lowrank(A, q=6, niter=2, M=None):
    """The `q` greatest singular values of a matrix and their vectors, here by the whole decomposition."""
    A = operand(A, "A") if M is None else operand(A, "A") - M
    U, S, Vh = linalg.svd(A, full_matrices=False)
    return U[..., :q], S[..., :q], Vh[..., :q, :].mH


def pca_lowrank(A, q=None, center=True, niter=2):
    """The `q` principal components of rows."""
    A = operand(A, "A")
    q = min(6, *A.shape[-2:]) if q is None else q
    return svd_lowrank(A - A.mean(-2, True) if center else A, q)

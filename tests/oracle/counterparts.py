"""PyTorch's counterparts of ops of ours: functions of the same arguments."""

import numpy as np
import torch

F, LA, SP = torch.nn.functional, torch.linalg, torch.special


def places(indices):
    return torch.as_tensor(np.asarray(indices))


def reduced(function):
    def theirs(x, axis=None, keepdims=False, **more):
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = [a % x.ndim for a in axes]
        rest = [a for a in range(x.ndim) if a not in axes]
        rows = x.permute(*rest, *axes).reshape(*[x.shape[a] for a in rest], -1)
        found = function(rows, **more)
        shape = [1 if a in axes else n for a, n in enumerate(x.shape)] if keepdims else [x.shape[a] for a in rest]
        return found.reshape((*found.shape[: found.ndim - len(rest)], *shape))
    return theirs


def weighted_quantile(rows, q, method):
    """A method that PyTorch lacks, as the sum of the sorted elements with NumPy's weights: its quantiles of steps from 0 to 1."""
    n = rows.shape[-1]
    above = [float(np.quantile((np.arange(n) >= k).astype(float), q, method=method)) for k in range(n + 1)]
    return (torch.sort(rows)[0] * torch.as_tensor(-np.diff(above), dtype=rows.dtype)).sum(-1)


def quantile(x, q, axis=None, keepdims=False, method="linear"):
    if method not in ("linear", "lower", "higher", "nearest", "midpoint"):
        return reduced(lambda rows: weighted_quantile(rows, q, method))(x, axis, keepdims)
    return reduced(lambda rows: torch.quantile(rows, torch.as_tensor(q, dtype=x.dtype), -1, interpolation=method))(x, axis, keepdims)


def solved_triangular(x, y, upper=False, left=True, unitriangular=False):
    y, is_line = (y[:, None], True) if y.ndim == 1 else (y, False)
    found = LA.solve_triangular(x, y, upper=upper, left=left, unitriangular=unitriangular)
    return found[:, 0] if is_line else found


def segment(reduce, empty):
    def theirs(x, segments, count):
        start = torch.full((count, *x.shape[1:]), empty, dtype=x.dtype)
        index = places(segments).reshape(-1, *[1] * (x.ndim - 1)).expand(x.shape)
        return start.scatter_reduce(0, index, x, reduce, include_self=reduce == "prod")
    return theirs


def scattered(x, y, indices, axis=-1, reduce="sum", include_self=True):
    names = {"max": "amax", "min": "amin"}
    return x.scatter_reduce(axis, places(indices), y, names.get(reduce, reduce), include_self=include_self)


def written(x, y, indices, axis=-1):
    indices = places(indices)
    y = y[tuple(map(slice, indices.shape))] if y.ndim else y.expand(indices.shape)
    # PyTorch hands the gradient to elements that were overwritten too.
    numbers = torch.arange(indices.numel()).reshape(indices.shape)
    is_last = torch.zeros(x.shape, dtype=torch.long).scatter(axis, indices, numbers).gather(axis, indices) == numbers
    return x.scatter(axis, indices, torch.where(is_last, y, y.detach()))


def condition(x, p=None):
    return LA.cond(x, p) if p in (None, 2, -2) else LA.matrix_norm(x, p) * LA.matrix_norm(LA.inv(x), p)


def bordered(x, pad_width, mode="reflect", value=0):
    widths = np.broadcast_to(pad_width, (x.ndim, 2))
    for axis, (before, after) in enumerate(widths.tolist()):
        x = x.index_select(axis, places(np.pad(np.arange(x.shape[axis]), (before, after), mode={"edge": "edge"}.get(mode, mode)))) \
            if mode != "constant" else F.pad(x.movedim(axis, -1), (before, after), value=value).movedim(-1, axis)
    return x


def resized(x, size=None, scale_factor=None, mode="nearest", align_corners=False, antialias=False):
    align_corners = align_corners if mode not in ("nearest", "nearest-exact", "area") else None
    return F.interpolate(x, size, scale_factor, mode, align_corners, antialias=antialias)


def differences(x, axis=-1, n=1, prepend=None, append=None):
    line = [1 if a == axis % x.ndim else m for a, m in enumerate(x.shape)]
    ends = [None if e is None else torch.as_tensor(e, dtype=x.dtype).expand(line) for e in (prepend, append)]
    return torch.diff(x, n, axis, *ends)


def running(function, first):
    def theirs(x, axis=None, dtype=None, include_initial=False):
        axis = 0 if axis is None else axis
        found = function(x, axis)
        line = [1 if a == axis % x.ndim else m for a, m in enumerate(x.shape)]
        return torch.cat([torch.full(line, first, dtype=x.dtype), found], axis) if include_initial else found
    return theirs


def batched(function, axes):
    """`function` of PyTorch's, which wants a batch and channels, on arrays that lack them."""
    def theirs(x, *args, **kwargs):
        lead = x.shape[: x.ndim - axes]
        found = function(x.reshape(1, -1, *x.shape[x.ndim - axes :]), *args, **kwargs)
        return found.reshape(*lead, *found.shape[2:])
    return theirs


def symmetric(function):
    return lambda x, **more: function((x + x.mH) / 2, **more)


def tall(function):
    return lambda x, **more: tuple(function(x, **more))


def tolerant(x, rtol=None):
    return LA.matrix_rank(x, rtol=rtol)


def taken(x, k, axis=-1, largest=True):
    return torch.topk(x, k, axis, largest)[1]


def standardized(x, weight=None, bias=None, axis=-1, eps=1e-5):
    variance, mean = torch.var_mean(x, axis, correction=0, keepdim=True)
    found = (x - mean) / torch.sqrt(variance + eps)
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def attended(query, key, value, attn_mask=None, is_causal=False, scale=1.0, dropped=None, factor=1.0):
    if dropped is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask, 0.0, is_causal, scale=scale)
    return torch.softmax(query @ key.mT * scale, -1) * torch.as_tensor(dropped) * factor @ value


MORE = {
    "standardize": standardized, "attention": attended, "rms_norm": lambda x, shape, weight=None, eps=None:
        F.rms_norm(x, (shape,) if isinstance(shape, int) else shape, weight, eps),
    "embedding": lambda input, weight, padding_idx=None: F.embedding(places(input), weight, padding_idx),
    **{name: getattr(SP, name) for name in "digamma entr erfcx erfinv i0 i0e i1 i1e log_ndtr logit ndtr ndtri xlog1py".split()},
    **{name: getattr(torch, name) for name in "lgamma copysign angle complex polar view_as_real view_as_complex kron".split()},
    "multigammaln": SP.multigammaln, "polygamma": lambda x, n=1: SP.polygamma(n, x),
    "betaln": lambda x, y: torch.lgamma(x) + torch.lgamma(y) - torch.lgamma(x + y),
    "erfcinv": lambda x: SP.erfinv(1 - x),
    "signbit": torch.signbit, "nextafter": torch.nextafter,
    "bitwise_left_shift": torch.bitwise_left_shift, "bitwise_right_shift": torch.bitwise_right_shift,
    "conj": lambda x: torch.conj(x).resolve_conj(), "real": torch.real, "imag": lambda x: torch.imag(x) if x.is_complex() else x * 0,
    "adjugate": lambda x: LA.det(x)[..., None, None] * LA.inv(x),
    "matrix_exp": LA.matrix_exp,
    "solve_triangular": solved_triangular,
    "inv": LA.inv, "det": LA.det, "svdvals": LA.svdvals, "cond": condition,
    "solve": lambda x, y: LA.solve(x, y) if y.ndim == 1 else LA.inv(x) @ y,
    "slogdet_pair": tall(LA.slogdet), "matrix_power": lambda x, n: LA.matrix_power(x, n), "pinv": lambda x, rtol=None: LA.pinv(x),
    "lstsq": lambda x, y, rtol=None: LA.pinv(x) @ y, "cholesky": symmetric(LA.cholesky), "eigvalsh": symmetric(LA.eigvalsh),
    "qr_pair": lambda x, mode="reduced": tuple(LA.qr(x, mode)), "matrix_rank": tolerant,
    "vector_norm": lambda x, axis=None, keepdims=False, ord=2: LA.vector_norm(x, ord, axis, keepdims),
    "matrix_norm": lambda x, keepdims=False, ord="fro", axis=(-2, -1): LA.matrix_norm(x, ord, axis, keepdims),
    "tensordot": lambda x, y, axes=2: torch.tensordot(x, y, axes), "vecdot": lambda x, y, axis=-1: LA.vecdot(x, y, dim=axis),
    "cross": lambda x, y, axis=-1: LA.cross(x, y, dim=axis),
    "transform_axes": lambda x, axes=None, norm="backward": torch.fft.fftn(x, dim=axes, norm=norm),
    "inverse_transform_axes": lambda x, axes=None, norm="backward": torch.fft.ifftn(x, dim=axes, norm=norm),
    "real_transform": lambda x, axis=-1, norm="backward": torch.fft.rfft(x, dim=axis, norm=norm),
    "inverse_real_transform": lambda x, size, axis=-1, norm="backward": torch.fft.irfft(x, size, axis, norm),
    "quantile": quantile, "median": lambda x, axis=None, keepdims=False: quantile(x, 0.5, axis, keepdims), "top_indices": taken,
    "diff": differences, "cumulative_sum": running(torch.cumsum, 0), "cumulative_prod": running(torch.cumprod, 1),
    "masked_fill": lambda x, mask, value: x.masked_fill(torch.as_tensor(mask), value),
    "gather": lambda x, indices, axis=-1: torch.gather(x, axis, places(indices)), "scatter": written, "scatter_reduce": scattered,
    "segment_sum": segment("sum", 0), "segment_mean": segment("mean", 0), "segment_prod": segment("prod", 1),
    "segment_max": segment("amax", -np.inf), "segment_min": segment("amin", np.inf),
    "count_nonzero": lambda x, axis=None, keepdims=False: reduced(lambda rows: torch.count_nonzero(rows, -1))(x, axis, keepdims),
    "searchsorted": lambda x, y, side="left", sorter=None:
        torch.searchsorted(x.detach(), y.detach(), side=side, sorter=None if sorter is None else places(sorter)),
    "isin": lambda x, y, invert=False: torch.isin(x.detach(), torch.as_tensor(y), invert=invert),
    "pad_border": bordered, "interpolate": resized,
    "conv3d": F.conv3d, "conv_transpose2d": F.conv_transpose2d, "conv_transpose3d": F.conv_transpose3d,
    "max_pool1d": batched(F.max_pool1d, 1), "avg_pool1d": batched(F.avg_pool1d, 1), "max_pool3d": batched(F.max_pool3d, 3),
    "avg_pool3d": batched(F.avg_pool3d, 3), "adaptive_avg_pool1d": batched(F.adaptive_avg_pool1d, 1),
    "adaptive_avg_pool3d": batched(F.adaptive_avg_pool3d, 3), "adaptive_max_pool1d": batched(F.adaptive_max_pool1d, 1),
    "adaptive_max_pool2d": batched(F.adaptive_max_pool2d, 2), "adaptive_max_pool3d": batched(F.adaptive_max_pool3d, 3),
    "unfold": lambda x, axis=-1, size=1, step=1, dilation=1: x.unfold(axis, (size - 1) * dilation + 1, step)[..., ::dilation],
    "lp_pool2d": lambda x, kernel_size, norm_type=2.0, stride=None: batched(F.lp_pool2d, 2)(x, norm_type, kernel_size, stride),
}

#: How many times coarser PyTorch's trigamma is, 5e-10; ours agrees with mpmath to 4e-16.
COARSER = {"digamma": 10, "polygamma": 10}

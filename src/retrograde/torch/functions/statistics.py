"""Histograms, slopes and functions of several statistics."""


import numpy as np

from ...errors import ArgumentError
from .. import kinds, shapes
from ..kinds import operand
from ..reductions import RETURN_TYPES, _named

__all__ = ["gradient", "histogram", "histogramdd"]

_HISTOGRAM, _HISTOGRAMDD = _named("histogram", "hist", "bin_edges"), _named("histogramdd", "hist", "bin_edges")
RETURN_TYPES |= {"histogram": _HISTOGRAM, "histogramdd": _HISTOGRAMDD}


def _edges(lines, bins, span):
    """The edges of `bins` parts of equal width, of a span or of all elements."""
    low, high = span if span is not None else (lines.min(), lines.max()) if lines.size else (0, 1)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    return np.linspace(low, high, bins + 1).astype(lines.dtype)


def _checked(edges):
    """Edges; raises unless they grow."""
    if (np.diff(edges) < 0).any():
        raise ArgumentError(f"the edges of a histogram must not fall, got {edges.tolist()}")
    return edges


def histogram(input, bins, *, range=None, weight=None, density=False):
    """How many elements lie between edges, or the sum of their weights; the edges, or a number of parts of equal width."""
    x = operand(input).detach().numpy().reshape(-1)
    edges = _checked(bins.detach().numpy()) if isinstance(bins, kinds.TorchTensor) else _edges(x, bins, range)
    given = None if weight is None else weight.detach().numpy().reshape(-1)
    counts, _ = np.histogram(x, edges, weights=given, density=density)
    return _HISTOGRAM(kinds.made(counts.astype(x.dtype)), kinds.made(edges.astype(x.dtype)))


def histogramdd(input, bins, *, range=None, weight=None, density=False):
    """How many rows lie in each box of a grid, given by edges or by numbers of parts for each axis."""
    x = operand(input).detach().numpy()
    x = x.reshape(-1, x.shape[-1])
    bins = [bins] * x.shape[1] if isinstance(bins, int) else list(bins)
    spans = [None] * x.shape[1] if range is None else [range[2 * i : 2 * i + 2] for i in np.arange(x.shape[1])]
    edges = [_checked(b.detach().numpy()) if isinstance(b, kinds.TorchTensor) else _edges(x[:, i], b, spans[i])
             for i, b in enumerate(bins)]
    given = None if weight is None else weight.detach().numpy().reshape(-1)
    counts, _ = np.histogramdd(x, edges, weights=given, density=density)
    return _HISTOGRAMDD(kinds.made(counts.astype(x.dtype)), tuple([kinds.made(e.astype(x.dtype)) for e in edges]))


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """The slopes along axes by differences of neighbours, a tensor for each axis."""
    x = operand(input)
    dims = tuple(np.arange(x.ndim)) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    spacing = 1 if spacing is None else spacing
    steps = spacing if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(steps) != len(dims):
        raise ArgumentError(f"gradient needs a spacing for each of {len(dims)} axes, got {len(steps)}")
    return tuple([_slopes(x, step, int(axis), edge_order) for step, axis in zip(steps, dims, strict=True)])


def _slopes(x, step, dim, edge_order):
    """The slopes along one axis, whose elements are `step` apart, or stand at the places `step`."""
    count = x.shape[dim]
    if count < edge_order + 1:
        raise ArgumentError(f"gradient needs {edge_order + 1} elements along an axis, got {count}")
    places = step if isinstance(step, kinds.TorchTensor) and step.ndim else None
    width = None if places is not None else step
    if places is None:
        places = kinds.made(np.arange(count, dtype=x.real.dtype if x.is_complex() else x.dtype)) * width
    lined = (-1,) + (1,) * (x.ndim - 1 - dim % x.ndim)
    gaps = (places[1:] - places[:-1]).reshape(lined)
    rises = (x.narrow(dim, 1, count - 1) - x.narrow(dim, 0, count - 1)) / gaps
    before, after = gaps[:-1], gaps[1:]
    inner = None
    if count > 2:
        inner = (rises.narrow(dim, 0, count - 2) * after + rises.narrow(dim, 1, count - 2) * before) / (before + after)
    first, last = rises.narrow(dim, 0, 1), rises.narrow(dim, count - 2, 1)
    if edge_order == 2:
        first = first + (first - rises.narrow(dim, 1, 1)) * (gaps[:1] / (gaps[:1] + gaps[1:2]))
        last = last + (last - rises.narrow(dim, count - 3, 1)) * (gaps[-1:] / (gaps[-1:] + gaps[-2:-1]))
    return shapes.cat([part for part in (first, inner, last) if part is not None], dim)

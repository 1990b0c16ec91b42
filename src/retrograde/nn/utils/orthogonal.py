"""Weights that are orthogonal matrices."""

from typing import Any

import numpy as np

from ...core.mode import no_grad
from ...errors import ArgumentError, ShapeError
from ...ops.axes.reductions import sum as summed
from ...ops.linalg.contractions import matmul
from ...ops.linalg.eigen import matrix_exp
from ...ops.linalg.inverses import solve
from ...ops.linalg.matrices import linalg_diagonal, tril, triu
from ...ops.linalg.triangular import solve_triangular
from ...ops.manipulation.joins import concatenate
from ...ops.manipulation.movements import expand_dims, transpose
from ...tensor.creation import asarray, eye, zeros
from ...tensor.random import randn
from ..module import Module
from .parametrize import register_parametrization

_MAPS = ("matrix_exp", "cayley", "householder")


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    r"""Let a weight be orthogonal: $Q^\top Q = I$, or $Q Q^\top = I$ if it is wide; returns `module`.

    `orthogonal_map` makes it of a matrix of parameters: by $e^A$ or by Cayley's $(I - A / 2)^{-1} (I + A / 2)$, where $A$ is the
    difference of a lower triangle and its transpose, or as a product of Householder's reflections. By default it is "matrix_exp"
    for square weights and "householder" for others. With `use_trivialization` it is times a matrix that stays, so that the
    weight can be set to any orthogonal matrix (Lezcano-Casado, 2019).

    >>> layer = rg.nn.utils.parametrizations.orthogonal(rg.nn.Linear(3, 3))
    >>> bool(rg.abs(layer.weight @ layer.weight.T - rg.eye(3)).max() < 1e-5)
    True
    """
    weight = vars(module).get(name)
    if weight is not None and weight.ndim < 2:
        raise ShapeError(f"an orthogonal weight needs two axes at least, got shape {weight.shape}")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight is not None and weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in _MAPS:
        raise ArgumentError(f"orthogonal_map must be one of {', '.join(_MAPS)}, got {orthogonal_map!r}")
    return register_parametrization(module, name, _Orthogonal(orthogonal_map, use_trivialization), unsafe=True)


class _Orthogonal(Module):
    """An orthogonal matrix made of any matrix of its shape."""

    base: Any

    def __init__(self, orthogonal_map, uses_base):
        super().__init__()
        self._map, self._uses_base = orthogonal_map, uses_base
        self.register_buffer("base", None)

    def forward(self, x):
        is_wide = x.shape[-2] < x.shape[-1]
        x = transpose(x) if is_wide else x
        q = _reflections(x) if self._map == "householder" else self._rotation(x)
        if self.base is not None:
            q = matmul(self.base, q)
        return transpose(q) if is_wide else q

    def _rotation(self, x):
        n, k = x.shape[-2:]
        x = tril(x)
        if n != k:
            x = concatenate([x, zeros(*x.shape[:-1], n - k, dtype=x.dtype)], axis=-1)
        a = x - transpose(x)
        if self._map == "matrix_exp":
            return matrix_exp(a)[..., :k]
        unit = eye(n, dtype=a.dtype)
        return solve(unit - a * 0.5, unit + a * 0.5)[..., :k]

    @no_grad()
    def right_inverse(self, q):
        """What `forward` makes `q` of, made orthogonal if it is not."""
        is_wide = q.shape[-2] < q.shape[-1]
        tall = transpose(q) if is_wide else q
        if self._uses_base:
            self.base = _completed(tall)
            return asarray(-np.eye(*q.shape[-2:], dtype=q.dtype)) + zeros(*q.shape, dtype=q.dtype)
        if self._map != "householder":
            return q
        x = _factored(tall.detach().numpy())
        return asarray(np.swapaxes(x, -1, -2).copy() if is_wide else x)


def _reflections(x):
    """The first columns of the product of the reflections whose vectors lie below the diagonal of `x`, as one matrix product.

    It is $I - V T V^\top$, where the inverse of $T$ has the upper triangle of $V^\top V$, with half of its diagonal.
    """
    n, k = x.shape[-2:]
    below, unit = tril(x, -1), eye(n, k, dtype=x.dtype)
    vectors = below + unit
    products, lengths = matmul(transpose(vectors), vectors), 1 + summed(below * below, axis=-2)
    inner = triu(products, 1) + eye(k, dtype=x.dtype) * expand_dims(lengths * 0.5, -1)
    q = unit - matmul(vectors, solve_triangular(inner, transpose(vectors[..., :k, :]), upper=True))
    signs = linalg_diagonal(x.detach()).astype("int64").astype(x.dtype)
    return q * expand_dims(signs, -2)


def _completed(q):
    """A square orthogonal matrix that begins with the columns of `q`, or with those that QR makes of them."""
    n, k = q.shape[-2:]
    numbers = q.detach().numpy()
    gram = np.swapaxes(numbers, -1, -2) @ numbers
    if n == k and np.allclose(gram, np.eye(k), rtol=0, atol=10 * n * np.finfo(numbers.dtype).eps):
        return asarray(numbers.copy())
    more = randn(*q.shape[:-1], n - k).astype(q.dtype).numpy()
    made, triangle = np.linalg.qr(np.concatenate([numbers, more], axis=-1))
    return asarray(made * np.sign(np.diagonal(triangle, axis1=-2, axis2=-1))[..., None, :])


def _factored(q):
    """The vectors of the reflections whose product begins with the columns of `q`, and on the diagonal the signs."""
    raw, scales = np.linalg.qr(q, mode="raw")
    found = np.swapaxes(raw, -1, -2).copy()
    i = np.arange(found.shape[-1])
    found[..., i, i] = np.sign(found[..., i, i]) * np.where(scales == 0, -1, 1)
    return found.astype(q.dtype)

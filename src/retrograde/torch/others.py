"""The table of functions that are not of each element: reductions, products, triangles and norms."""

from ..ops.axes import products, reductions, searches
from ..ops.elementary import conversions
from ..ops.linalg import contractions, distances, matrices, tensors
from . import differing, linear
from .binding import Row

_OVER = "dim=None, keepdim=False"

ROWS = [
    Row(f"sum(input, {_OVER}, *, dtype=None)", reductions.sum, "cast(input, dtype), axes(dim, input), keepdim", "counted"),
    Row(f"nansum(input, {_OVER}, *, dtype=None)", differing.nansum, "cast(input, dtype), axes(dim, input), keepdim", "counted"),
    Row(f"prod(input, {_OVER}, *, dtype=None)", products.prod, "cast(input, dtype), axes(dim, input), keepdim", "counted"),
    Row(f"mean(input, {_OVER}, *, dtype=None)", reductions.mean, "cast(input, dtype), axes(dim, input), keepdim"),
    Row("logsumexp(input, dim, keepdim=False)", reductions.logsumexp, "input, axes(dim, input), keepdim", "float"),
    Row(f"all(input, {_OVER})", differing.every, "input, axes(dim, input), keepdim"),
    Row(f"any(input, {_OVER})", differing.some, "input, axes(dim, input), keepdim"),
    Row(f"argmax(input, {_OVER})", searches.argmax, "input, axes(dim, input), keepdim"),
    Row(f"argmin(input, {_OVER})", searches.argmin, "input, axes(dim, input), keepdim"),
    Row("cumsum(input, dim, *, dtype=None)", differing.cumsum, "cast(input, dtype), dim", "counted", has_inplace=True),
    Row("cumprod(input, dim, *, dtype=None)", differing.cumprod, "cast(input, dtype), dim", "counted", has_inplace=True),
    Row("matmul(input, other)", contractions.matmul, "input, other"),
    Row("mm(input, mat2)", contractions.matmul, "input, mat2"),
    Row("bmm(input, mat2)", contractions.matmul, "input, mat2"),
    Row("mv(input, vec)", linear.mv, "input, vec"),
    Row("dot(input, tensor)", differing.product_of_vectors, "input, tensor"),
    Row("inner(input, other)", differing.product_of_vectors, "input, other"),
    Row("vdot(input, other)", differing.product_of_vectors, "input.conj(), other"),
    Row("outer(input, vec2)", differing.outer_of_vectors, "input, vec2"),
    Row("ger(input, vec2)", differing.outer_of_vectors, "input, vec2"),
    Row("kron(input, other)", tensors.kron, "input, other"),
    Row("tensordot(a, b, dims=2)", differing.tensordot, "a, b, dims", has_method=False),
    Row("cross(input, other, dim=-1)", differing.crossed, "input, other, dim"),
    Row("cdist(x1, x2, p=2.0, compute_mode=None)", distances.cdist, "x1, x2, p", has_method=False),
    Row("tril(input, diagonal=0)", matrices.tril, "input, diagonal", has_inplace=True),
    Row("triu(input, diagonal=0)", matrices.triu, "input, diagonal", has_inplace=True),
    Row("diag(input, diagonal=0)", matrices.diag, "input, diagonal"),
    Row("diagonal(input, offset=0, dim1=0, dim2=1)", matrices.diagonal, "input, offset, dim1, dim2"),
    Row("trace(input)", matrices.trace, "input", "counted"),
    Row("clone(input, *, memory_format=None)", conversions.contiguous, "input"),
]

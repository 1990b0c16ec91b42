"""Distances between each two of many vectors."""

from math import prod

import numpy as np

from ...errors import ShapeError
from .._families import composite
from .._native import by_pairs
from .._samples import call, distinct, of
from ..axes.reductions import sum
from ..elementary.conversions import as_floats
from ..manipulation.joins import concatenate
from ..manipulation.movements import expand_dims, transpose, unbroadcast
from .norms import vector_norm, vector_norm_gradient

#: So many differences are in memory at once, unless they are recorded.
_AT_ONCE = 1 << 17
_FIRST, _SECOND = of((3, 2), distinct(-3, 1)), of((4, 2), distinct(0.1, 2))


@composite(faster=by_pairs, samples=(
    call(_FIRST, _SECOND), call(of((2, 3, 2), distinct(-3, 1)), _SECOND, p=1.0), call(_FIRST, _SECOND, np.inf),
    call(_FIRST, _SECOND, p=3.5), call(of((2, 0)), of((3, 0))), call(of((0, 2)), _SECOND)))
def cdist(x, y, /, p=2.0):
    r"""The distance of each row of `x` from each row of `y`: the norm of order `p` of their difference; batches are broadcast.

    $z_{i j} = \lVert x_i - y_j \rVert_p$, and $\bar x_i$ is the sum over $j$ of what `vector_norm` hands back to the differences,
    which is 0 for rows that are equal.

    >>> rg.cdist(rg.tensor([[0.0, 0.0], [3.0, 0.0]]), rg.tensor([[0.0, 4.0]])).tolist()
    [[4.0], [5.0]]
    """
    if len(x.shape) < 2 or len(y.shape) < 2 or x.shape[-1] != y.shape[-1]:
        raise ShapeError(f"cdist needs rows of the same length in x and y, got shapes {x.shape} and {y.shape}")
    x, y = as_floats(x, y)
    return _in_parts(lambda x: vector_norm(expand_dims(x, -2) - expand_dims(y, -3), -1, ord=p), y, x)


def _in_parts(function, y, *operands):
    """`function` of `operands` with a row for each of x, and of arrays some rows at a time."""
    count = operands[-1].shape[-2]
    rows = max(1, _AT_ONCE // max(1, prod(y.shape) * prod(operands[-1].shape[:-2])))
    if rows >= count or not all([v.__class__ is np.ndarray for v in (y, *operands)]):
        return function(*operands)
    return concatenate([function(*[v[..., i : i + rows, :] for v in operands]) for i in range(0, count, rows)], -2)


def _cdist_rule(g, needs, x, y, z, p):
    of_x = unbroadcast(cdist_gradient(g, z, x, y, p), x.shape) if needs[0] else None
    of_y = unbroadcast(cdist_gradient(transpose(g), transpose(z), y, x, p), y.shape) if needs[1] else None
    return of_x, of_y


cdist.defvjp_all(_cdist_rule)


@composite(is_public=False, faster=by_pairs, samples=(
    call((3, 4), of((3, 4), distinct(1, 2)), _FIRST, _SECOND), call((2, 4), of((2, 4), distinct(1, 2)), (2, 2), _SECOND, p=3.0)))
def cdist_gradient(g, distances, x, y, /, p=2.0):
    r"""What `cdist` hands back to the rows of `x`, by the gradient $\bar z$ of the `distances` $z$: see there."""
    def of_rows(g, z, x):
        return sum(vector_norm_gradient(g, expand_dims(x, -2) - expand_dims(y, -3), z, -1, p), -2)

    return _in_parts(of_rows, y, g, distances, x)

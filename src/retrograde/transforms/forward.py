"""Forward derivatives: how results change as arguments move. Made of two reverse passes, so that every op has them."""

from typing import Any

import numpy as np

from .. import tree
from ..core.mode import walkable
from ..core.value import Value
from ..dtypes import is_float
from ..errors import ArgumentError, ShapeError
from ..ops.manipulation.joins import stack
from ..ops.manipulation.movements import moveaxis, reshape
from .grad import vjp
from .plain import pushed, wrapping


def jvp(function, primals, tangents, has_aux=False) -> Any:
    """(value, change): the value of `function` at `primals`, and its change as they move by `tangents`.

    Both are tuples with one entry for each argument, arrays or trees of them. With `has_aux` the function returns
    (value, anything), which comes back as a third result.

    What the reverse pass makes of a cotangent is linear in it, $u \\mapsto J^\\top u$, and its own reverse pass is
    $v \\mapsto J v$.

    >>> rg.jvp(lambda x, y: x * y, (3.0, 4.0), (1.0, 0.0))
    (array(12.), array(4.))
    """
    value, push, *aux = _pushed(function, primals, has_aux)
    return value, push(tangents), *aux


def linearize(function, *primals) -> Any:
    """(value, push): `push(*tangents)` is the change of the value; it can be called repeatedly at the cost of the linear part.

    >>> value, push = rg.linearize(lambda x: x**3, 2.0)
    >>> push(1.0), push(0.5)
    (array(12.), array(6.))
    """
    value, push = _pushed(function, primals, False)
    return value, lambda *tangents: push(tangents)


def _pushed(function, primals, has_aux):
    """The value, the function from tangents to its change, and what else the function returns."""
    if not isinstance(primals, (tuple, list)):
        raise ArgumentError(f"primals must be a tuple with one entry for each argument, got {type(primals).__name__}")
    value, pullback, *aux = vjp(function, *primals, has_aux=has_aux)
    _, transposed = vjp(pullback, tree.map(_zeros, value))
    leaves = tree.leaves(list(primals))
    shapes = [np.shape(_data(x)) for x in leaves]

    def push(tangents):
        given = tree.leaves(list(tangents))
        if [np.shape(_data(v)) for v in given] != shapes:
            raise ShapeError(f"tangents must have the shapes of primals, {shapes}, got {[np.shape(_data(v)) for v in given]}")
        change = transposed(tuple(tangents))[0]
        return tree.map(lambda c: pushed(c, leaves, given, pullback.handed_out), change)

    return value, push, *aux


def jacfwd(function, argnums=0, *, argnum=None):
    """The Jacobian, like `rg.jacobian`, column by column: for functions with more results than arguments.

    >>> rg.jacfwd(lambda x: rg.stack([x[0], x[0] * x[1]]))(np.array([2.0, 3.0]))
    array([[1., 0.],
           [3., 2.]])
    """
    argnums = argnums if argnum is None else argnum

    @wrapping(function)
    def jacobian_of(*args, **kwargs):
        numbers = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
        chosen = [args[number] for number in numbers]

        def of_chosen(*new):
            given = list(args)
            for number, x in zip(numbers, new, strict=True):
                given[number] = x
            with walkable():
                return function(*given, **kwargs)

        _, push = linearize(of_chosen, *chosen)
        leaves, build = tree.flatten(chosen)
        found = build([_columns(push, leaves, build, i) for i in range(len(leaves))])
        return tuple(found) if isinstance(argnums, (tuple, list)) else found[0]

    return jacobian_of


def _columns(push, leaves, build, place):
    """The changes for each element of leaf number `place`, with the axes of the leaf last."""
    zeros, moved = [_zeros(x) for x in leaves], leaves[place]
    shape, size = np.shape(_data(moved)), np.size(_data(moved))
    units = np.eye(size, dtype=zeros[place].dtype).reshape(size, *shape)
    columns = [push(*build([unit if i == place else zero for i, zero in enumerate(zeros)])) for unit in units]
    return tree.map(lambda *parts: _joined(parts, shape), columns[0], *columns[1:])


def _joined(parts, shape):
    joined = moveaxis(stack(list(parts)), 0, -1)
    return reshape(joined, (*joined.shape[:-1], *shape))


def _zeros(x):
    dtype = getattr(_data(x), "dtype", None)
    return np.zeros(np.shape(_data(x)), dtype if dtype is not None and is_float(dtype) else np.float64)


def _data(x):
    return x.raw if isinstance(x, Value) else x

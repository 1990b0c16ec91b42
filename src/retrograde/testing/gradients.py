r"""Derivatives against finite differences.

A function $f$ of order $n$ is checked through $L(x) = \sum \bar z \cdot f(x)$ with a random cotangent $\bar z$: the derivative of
$L$ along a random direction by reverse mode must equal the one by differences. Order $n + 1$ does the same with the
function $(x, \bar z) \mapsto \partial L / \partial x$.
"""

import numpy as np

from .. import tree
from ..core.gradient import gradient
from ..core.mode import enable_grad, is_recording, no_grad
from ..core.value import Value
from ..dtypes import float64, is_float
from ..errors import ArgumentError, DTypeError, GradientCheckError
from ..ops.complexes import view_as_complex, view_as_real
from ..tensor.tensor import Tensor

# The central difference with an error of the sixth order: steps and weights.
_STENCIL = ((1, 45 / 60), (2, -9 / 60), (3, 1 / 60))
_DIRECTIONS = 2
_MOST_PROBES = 10_000


def check_gradients(function, inputs, order=2, eps=1e-3, rtol=1e-6, atol=1e-8, seed=0):
    """Raise a GradientCheckError unless the derivatives of `function` up to `order` agree with finite differences.

    function  takes the `inputs`, returns a tensor or a tree of tensors
    inputs    a tuple or list of arguments, or the only one; each may be a tree. Floats are tested, as float64, and complex
              numbers as pairs of them; anything else is handed through
    eps       the step of the differences: keep `inputs` at least three times as far from every kink
    rtol      how far they may lie apart, relative to the sum of the absolute terms of the directional derivative
    seed      of the random directions and cotangents

    The cotangents differ from element to element, since equal ones hide what is summed over a wrong axis.

    >>> rg.testing.check_gradients(lambda x: rg.exp(x).sum(axis=0), np.ones((2, 3)))
    """
    if order < 1:
        raise ArgumentError(f"order must be at least 1, got {order}")
    args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    leaves, build = tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if _is_tested(leaf)]
    if not places:
        raise DTypeError(f"check_gradients needs an input of a float dtype, got {', '.join(map(_described, leaves))}")

    def of_floats(*floats):
        filled = list(leaves)
        for i, x in zip(places, floats, strict=True):
            filled[i] = view_as_complex(x) if _is_complex(leaves[i]) else x
        found = [x for x in tree.leaves(function(*build(filled))) if isinstance(x, Value) and is_float(x.raw.dtype)]
        found = [view_as_real(x) if _is_complex(x) else x for x in found]
        if not found:
            raise GradientCheckError("the function returned no tensor of floats, so there is nothing to check")
        return found

    names = [name for number, arg in enumerate(args) for name in _names(number, tree.leaves(arg))]
    points = [_real(_data(leaves[i])) for i in places]
    _check(of_floats, points, [names[i] for i in places], (1, order), (eps, rtol, atol), np.random.default_rng(seed))


def _is_tested(leaf):
    data = _data(leaf)
    if isinstance(data, float):
        return True
    return hasattr(data, "dtype") and is_float(data.dtype)


def _is_complex(leaf):
    data = _data(leaf)
    return hasattr(data, "dtype") and data.dtype.kind == "c"


def _real(data):
    """`data` as float64; of complex numbers, their two parts along a last axis."""
    return np.stack([data.real, data.imag], -1).astype(float64) if _is_complex(data) else np.array(data, float64)


def _data(leaf):
    return leaf.raw if isinstance(leaf, Value) else leaf


def _described(leaf):
    return str(getattr(leaf, "dtype", type(leaf).__name__))


def _names(number, leaves):
    return [f"input {number}" if len(leaves) == 1 else f"input {number}, leaf {i}" for i in range(len(leaves))]


def _check(function, points, names, orders, limits, rng):
    """Check `function` of `points` at the first of `orders`, and its gradient at the next, up to the last."""
    order, last = orders
    with no_grad():
        shapes = [z.shape for z in function(*map(Tensor, points))]
    seeds = [_uneven(rng, shape) for shape in shapes]
    pulled = _pulled(function, len(points))
    with no_grad():
        found = [g.raw for g in pulled(*map(Tensor, (*points, *seeds)))]
    for i, name in enumerate(names):
        where = f"the derivative of order {order} in {name}"
        _check_form(found[i], points[i], where)

        def along(direction, i=i):
            return _difference(function, points, seeds, i, direction, limits[0])

        for _ in range(_DIRECTIONS):
            direction = _uneven(rng, points[i].shape)
            terms = found[i] * direction
            _compare(float(terms.sum()), along(direction), np.abs(terms).sum(), limits, where, found[i], along)
    if order < last:
        names = [*names, *(f"the cotangent of output {i} (order {order})" for i in range(len(seeds)))]
        _check(pulled, [*points, *seeds], names, (order + 1, last), limits, rng)


def _uneven(rng, shape):
    """Random numbers of both signs, none of them small."""
    return rng.uniform(0.5, 1.5, shape) * rng.choice((-1.0, 1.0), shape)


def _pulled(function, count):
    """The function from `count` inputs and the cotangents of the outputs of `function` to the cotangents of the inputs."""

    def pull(*args):
        is_differentiable_again = is_recording()
        with enable_grad():
            inputs = [x if x.requires_grad else Tensor(x.raw).requires_grad_() for x in args[:count]]
            outputs = function(*inputs)
            live = [(z, seed) for z, seed in zip(outputs, args[count:], strict=True) if z.requires_grad]
            found = [None] * count
            if live:
                found = gradient([z for z, _ in live], inputs, [s for _, s in live], create_graph=is_differentiable_again)
        return [_as_tensor(g, x) for g, x in zip(found, inputs, strict=True)]

    return pull


def _as_tensor(g, x):
    if g is None:
        return Tensor(np.zeros_like(x.raw))
    return g if isinstance(g, Value) else Tensor(g)


def _check_form(found, point, where):
    if found.shape != point.shape or found.dtype != point.dtype:
        raise GradientCheckError(f"{where} must have shape {point.shape} and dtype {point.dtype}, got {found.shape} "
                                 f"and {found.dtype}")


def _difference(function, points, seeds, i, direction, eps):
    """The derivative of the weighted sum of the outputs as input `i` moves along `direction`."""

    def total(step):
        moved = [p + step * direction if j == i else p for j, p in enumerate(points)]
        with no_grad():
            outputs = function(*[Tensor(np.asarray(p)) for p in moved])
        return [np.asarray(z.raw, float64) for z in outputs]

    slope = 0.0
    for steps, weight in _STENCIL:
        pairs = zip(total(steps * eps), total(-steps * eps), seeds, strict=True)
        slope += weight / eps * sum(float(((ahead - behind) * seed).sum()) for ahead, behind, seed in pairs)
    return slope


def _compare(analytic, numeric, size, limits, where, found, along):
    """Raise unless the two derivatives agree, and say at which element they differ most."""
    _, rtol, atol = limits
    if abs(analytic - numeric) <= atol + rtol * size:
        return
    raise GradientCheckError(f"{where} is {analytic:.10g} along a random direction, and {numeric:.10g} by finite "
                             f"differences{_worst(found, along)}")


def _worst(found, along):
    """The element in which the two disagree most, found one element at a time."""
    if found.size == 0 or found.size > _MOST_PROBES:
        return ""
    numeric = np.empty(found.shape)
    for index in np.ndindex(found.shape):
        direction = np.zeros(found.shape)
        direction[index] = 1
        numeric[index] = along(direction)
    gap = np.nan_to_num(np.abs(found - numeric), nan=np.inf)
    index = tuple(map(int, np.unravel_index(gap.argmax(), gap.shape)))
    return f"; at index {index} reverse mode gives {found[index]:.10g} and finite differences {numeric[index]:.10g}"

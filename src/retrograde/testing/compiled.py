"""Compiled code against eager ops: the same numbers, and the same gradients."""

from itertools import cycle

import numpy as np

from .. import extras, tree
from ..core.value import Value
from ..dtypes import is_float
from ..errors import ArgumentError, CompiledCheckError
from ..ops._samples import call, of
from ..tensor.creation import asarray
from ..transforms.grad import grad
from ..transforms.jit import jit
from .close import assert_close, tolerance

#: Shapes of operands by element: a number, fewer than fill a vector, many with some left over, none, and broadcast ones.
_SHAPES = ((), (3,), (2, 67), (0, 3))
_BROADCAST = ((2, 67), (67,), (2, 1))

#: A gradient is a sum, of which so many parts of the rounding of its greatest numbers may be left where the others cancel out.
_CANCELLED = 8


def check_compiled(op, inputs=None, dtypes=("float32", "float64"), rtol=None, atol=None, seed=0):
    """Raise a CompiledCheckError unless `op` gives compiled what it gives eagerly, and so do its gradients.

    op      an op, which is called as its own samples say; or any function, with `inputs`
    inputs  a tuple or list of arguments, or the only one; each may be a tree. Arrays are handed to the compiled function
    dtypes  those of the floats among the operands, each in turn
    rtol, atol  as in `assert_close`

    It finds a wrong `emit`, which eager calls and their derivatives do not meet; so it needs llvmlite, and where
    RETROGRADE_COMPILER=reference asks for NumPy in the place of machine code it finds wrong expansions alone.
    """
    extras.optional("llvmlite", "jit")
    if inputs is None and not hasattr(op, "op"):
        raise ArgumentError("check_compiled calls an op as its samples say, and needs `inputs` for any other function")
    name, rng = getattr(op, "__name__", repr(op)), np.random.default_rng(seed)
    has_gradient = not hasattr(op, "op") or op.op.is_differentiable and (op.op.has_rule or op.op.is_composite)
    for dtype in map(np.dtype, dtypes):
        args = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        for given, named in _calls(op.op, rng, dtype) if inputs is None else [(_cast(args, dtype), {})]:
            _check(op, name, given, named, has_gradient, (rtol, atol), rng)


def _calls(op, rng, dtype):
    """The arguments of each call that the samples of `op` stand for."""
    samples = op.samples if isinstance(op.samples, tuple) else (op.samples,)
    if samples[0] is None:
        raise ArgumentError(f"{op.name} has no samples; give `inputs`, or samples=rg.ops.uniform(low, high) where it is defined")
    if not isinstance(samples[0], call):
        count = len(op.operands)
        shapes = [*[[shape] * count for shape in _SHAPES], *([_BROADCAST[i % 3] for i in range(count)],) * (count > 1)]
        samples = [call(*[of(shape, domain) for shape, domain in zip(row, cycle(samples), strict=False)]) for row in shapes]
    return [sample.draw(rng, dtype) for sample in samples]


def _cast(args, dtype):
    def cast(leaf):
        data = leaf.raw if isinstance(leaf, Value) else leaf
        is_cast = hasattr(data, "dtype") and is_float(data.dtype) and data.dtype.kind != "c"
        return np.asarray(data, dtype) if is_cast else data

    return tree.map(cast, args)


def _check(function, name, args, named, has_gradient, limits, rng):
    """Compare one call, and its gradients in all operands of floats."""
    leaves, build = tree.flatten(args)
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, (np.ndarray, np.generic))]
    tensors = [asarray(np.asarray(leaves[i])) for i in places]

    def called(*operands):
        filled = dict(zip(places, operands, strict=True))
        return function(*build([filled.get(i, leaf) for i, leaf in enumerate(leaves)]), **named)

    expected = called(*tensors)
    told = ", ".join(f"{x.dtype.name}{list(x.shape)}" for x in tensors)
    _compare(f"{name} of {told}", jit(called), called, tensors, limits)
    floats = tuple([i for i, x in enumerate(tensors) if is_float(x.dtype)])
    results = [is_float(z.dtype) for z in tree.leaves(expected) if hasattr(z, "dtype")]
    if not (has_gradient and floats and any(results)):
        return
    weights = [rng.uniform(0.5, 1.5, z.shape) for z in tree.leaves(expected) if hasattr(z, "dtype") and is_float(z.dtype)]

    def total(*operands):
        parts = [z for z in tree.leaves(called(*operands)) if hasattr(z, "dtype") and is_float(z.dtype)]
        parts = [z.real + z.imag if z.dtype.kind == "c" else z for z in parts]
        return sum([(z * weight.astype(z.dtype)).sum() for z, weight in zip(parts, weights, strict=True)])

    slope = grad(total, floats)
    _compare(f"the gradient of {name} of {told}", jit(slope), slope, tensors, limits, _CANCELLED)


def _compare(told, compiled, eager, tensors, limits, cancelled=0):
    found, wanted = compiled(*tensors), eager(*tensors)
    # Rounding is that of the coarsest numbers that are met.
    usual = tolerance([x.dtype for x in (*tensors, *tree.leaves(wanted)) if hasattr(x, "dtype")])
    sizes = [np.abs(z.raw[np.isfinite(z.raw)], dtype=float).max(initial=0) for z in tree.leaves(wanted) if hasattr(z, "raw")]
    usual = usual[0], usual[1] + cancelled * usual[0] * max(sizes, default=0)
    try:
        assert_close(found, wanted, *[usual[i] if limit is None else limit for i, limit in enumerate(limits)])
    except AssertionError as error:
        raise CompiledCheckError(f"{told}: compiled code disagrees with the eager op: {error}") from None

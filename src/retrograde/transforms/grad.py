"""Derivatives of plain functions: arrays in, arrays out, of any order."""

from functools import partial
from itertools import compress
from math import prod
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from .. import tree
from ..core.algebra import Algebra
from ..core.gradient import walked
from ..core.graph import span_of
from ..core.leaving import differentiating
from ..core.mode import current, is_recording, recording, walkable
from ..core.value import Record, Value, leaf, of_kind
from ..errors import ArgumentError, DTypeError, GraphError, ShapeError
from ..ops._arrays import arrays
from ..ops.elementary.arithmetic import positive
from ..ops.manipulation.joins import stack
from ..ops.manipulation.movements import reshape
from ..tensor.boxes import gathered
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor
from .plain import check_function, is_tensor, owned, plain, tensor, wrapping

#: Jacobians of more rows are computed by a loop in compiled code; fewer rows are written out, which runs faster.
_UNROLLED = 8


def grad(function, argnums=0, has_aux=False, *, argnum=None):
    """The function that computes the gradient of `function`, which returns one number.

    argnums  which arguments to differentiate in: an integer, or a tuple for a tuple of gradients. Each may be a tree
             of arrays (lists, tuples, dictionaries, dataclasses); its gradient is a tree of the same structure.
    has_aux  whether `function` returns (number, anything); the gradient comes back with that beside it.
    argnum   another name of `argnums`, that of HIPS autograd.

    Arrays in, arrays out; tensors in, tensors out. Derivatives nest to any order.

    >>> rg.grad(rg.grad(lambda x: x**3))(2.0)
    array(12.)
    """
    both = value_and_grad(function, argnums, has_aux, argnum=argnum)

    @wrapping(function)
    def gradient_of(*args, **kwargs) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return gradient_of


def value_and_grad(function, argnums=0, has_aux=False, *, argnum=None):
    """Like `grad`, but returns (value, gradient), at the cost of the gradient alone."""
    argnums = argnums if argnum is None else argnum

    @wrapping(function)
    def both(*args, **kwargs):
        return recording(_value_and_gradient, partial(function, **kwargs) if kwargs else function, _Inputs(args, argnums), has_aux)

    return both


def _value_and_gradient(function, inputs, has_aux):
    result = differentiating(inputs.records, function, inputs.args)
    output, aux = parted(result, has_aux)
    if not isinstance(output, Value):
        output = gathered(output)
    _check_number(output)
    gradients = inputs.gradients([output], [None])
    value = inputs.handed_out(output)
    return ((value, tree.map(inputs.handed_out, aux)) if has_aux else value), gradients


def parted(result, has_aux):
    """What a function returned as (result, what it returned beside that)."""
    if not has_aux:
        return result, None
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ArgumentError(f"with has_aux=True the function must return (result, anything), got {type(result).__name__}")
    return result


def _check_number(output):
    """Raise unless `output` is one number. A constant has a derivative, 0; None or a tuple has none."""
    if isinstance(output, (bool, np.bool_)) or getattr(getattr(output, "dtype", None), "kind", "") == "b":
        raise DTypeError("grad needs a function that returns a real number, got a truth value, which has no derivative")
    if not isinstance(output, (Value, Number, np.ndarray, np.generic)):
        advice = "; pass has_aux=True if the first is the number" if isinstance(output, (tuple, list)) else ""
        raise GraphError(f"grad needs a function that returns one number, got {type(output).__name__}{advice}")
    shape = output.shape if isinstance(output, (Value, np.ndarray, np.generic)) else ()
    if prod(shape) != 1:
        raise GraphError(f"grad needs a function that returns one number, got shape {shape}; sum it, or use jacobian")
    if isinstance(output, Value) and output.algebra.has_shapes and output.dtype.kind == "c":
        raise DTypeError(f"grad needs a function that returns a real number, got {output.dtype}; take .real, or use "
                         "holomorphic_grad, or vjp")


def vjp(function, *primals, has_aux=False) -> Any:
    """(value, pullback): `pullback(cotangent)` is the tuple of cotangents of `primals`, and can be called repeatedly.

    The value and its cotangent may be trees.

    >>> value, pullback = rg.vjp(lambda x, y: x * y, 3.0, 4.0)
    >>> pullback(1.0)
    (array(4.), array(3.))
    """
    check_function(function)
    inputs = _Inputs(primals, tuple(range(len(primals))))
    result = recording(differentiating, inputs.records, function, inputs.args)
    output, aux = parted(result, has_aux)
    outputs, build = tree.flatten(output)
    outputs = list(map(gathered, outputs))
    span = inputs.span(outputs)

    def pullback(cotangent):
        seeds = tree.leaves(cotangent)
        if len(seeds) != len(outputs):
            raise ArgumentError(f"the cotangent must have {len(outputs)} leaves like the value, got {len(seeds)}")
        return inputs.gradients(outputs, seeds, span)

    # What a transform of the pullback hands out follows the same rule as the value.
    pullback.handed_out = partial(inputs.handed_out, is_outer=span is not None and span.is_open)
    value = build([pullback.handed_out(o) for o in outputs])
    return (value, pullback, tree.map(pullback.handed_out, aux)) if has_aux else (value, pullback)


def jacobian(function, argnums=0, *, argnum=None):
    """The function that computes the Jacobian: its shape is the shape of the result followed by that of the argument.

    A result that is a tree of arrays gives a tree of Jacobians.

    >>> rg.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    argnums = argnums if argnum is None else argnum

    @wrapping(function)
    def jacobian_of(*args, **kwargs):
        inputs = _Inputs(args, argnums)
        with walkable():
            leaves, build = tree.flatten(differentiating(inputs.records, partial(function, **kwargs), inputs.args))
            if not leaves:
                raise GraphError("jacobian needs a function that returns an array, or a tree of arrays, got one that returns none")
            return build([_jacobian_of(inputs, asarray(gathered(x))) for x in leaves])

    return jacobian_of


def _jacobian_of(inputs, output):
    """The derivatives of `output` in the arguments."""
    basis = np.eye(output.size, dtype=output.dtype).reshape(output.size, *output.shape)
    scan = _scan_of_trace() if output.size > _UNROLLED else None
    if scan is not None:
        return inputs.walked(scan, output, basis)
    span = inputs.span([output])
    return inputs.stacked([inputs.gradients([output], [seed], span) for seed in basis], output.shape)


jacrev = jacobian


def hessian(function, argnums=0, *, argnum=None):
    """The function that computes the second derivatives of `function`: a matrix, if that takes a vector and returns one number.

    >>> rg.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return jacobian(jacobian(function, argnums, argnum=argnum), argnums, argnum=argnum)


def stop_gradient(x):
    """`x` as a constant: no gradient flows through it. `x` may be a tree."""
    return tree.map(lambda part: part.detach() if isinstance(part, Value) else part, x)


class _Target(NamedTuple):
    """What a gradient is asked for: the value that an argument has when the function is called."""

    record: Record
    algebra: Algebra


class _Inputs:
    """The arguments of a call, with those to differentiate in replaced by fresh nodes of the graph."""

    def __init__(self, args, argnums):
        self._is_single = not isinstance(argnums, (tuple, list))
        self._are_tensors = self._is_outer = False
        self.args, self._nodes, self._builders = list(args), [], []
        #: (the record of a node, the number of its argument)
        self.records = []
        for number in (argnums,) if self._is_single else argnums:
            leaves, build = tree.flatten(args[_checked(number, len(args))])
            nodes = [self._node(x) for x in leaves]
            self.records += [(node.record, number) for node in nodes]
            self.args[number] = build(nodes)
            self._builders.append((build, len(nodes)))
            self._nodes += nodes
        # The records as they are now: a function that writes to its argument gives that node another one.
        self._targets = [_Target(node.record, node.algebra) for node in self._nodes]

    def _node(self, x):
        """A fresh node with the data of `x`, linked to `x` if an outer derivative may flow through it."""
        if isinstance(x, Value):
            self._are_tensors = self._are_tensors or is_tensor(x)
            if x.record is not None and is_recording():
                return recording(positive, x)
            return x.unlinked().requires_grad_()
        if x.__class__ is not np.ndarray:
            is_python_number, x = not hasattr(x, "dtype"), np.asarray(x)
            x = x.astype(np.float64) if is_python_number and x.dtype.kind in "iu" else x
        mode = current()
        # Where nothing is traced nobody else need know of the node.
        return leaf(Tensor(x)) if mode is None or mode.tracer is None else Tensor(x).unlinked().requires_grad_()

    def gradients(self, outputs, seeds, span=None):
        """The gradients in the arguments of `outputs`; notes whether an outer derivative may flow through them.

        `span` is what is between the two, if the caller has it already: it must be looked for again if outputs were written to.
        """
        live = [isinstance(o, Value) and o.record is not None for o in outputs]
        if False in live:
            outputs, seeds = list(compress(outputs, live)), list(compress(seeds, live))
        found, self._is_outer = [None] * len(self._nodes), False
        if outputs:
            seeds = [_seeded(o, s) for o, s in zip(outputs, seeds, strict=True)]
            if span is None or span.outputs != [o.record for o in outputs]:
                span = span_of(outputs, self._targets)
            self._is_outer = span.is_open or any([isinstance(s, Value) and s.requires_grad for s in seeds])
            found = walked(span, self._targets, seeds, True, self._is_outer)
            if self._is_outer or any([isinstance(g, Value) for g in found]):
                found = _apart(found, seeds)
        return self._built([self._given(node, g) for node, g in zip(self._nodes, found, strict=True)])

    def span(self, outputs):
        """What is between the arguments and `outputs`; None if nothing is."""
        live = [o for o in outputs if isinstance(o, Value) and o.record is not None]
        return span_of(live, self._targets) if live else None

    def _given(self, node, g):
        found = self._of_node(node, g)
        return of_kind(found, node.kind) if isinstance(found, Value) else found

    def _of_node(self, node, g):
        if node.is_traced or isinstance(g, Value):
            g = g if isinstance(g, Value) else arrays.shown(np.zeros(node.shape, node.dtype) if g is None else np.array(g))
            return g if self._is_outer else tensor(g) if self._are_tensors else plain(g)
        g = np.zeros_like(node.raw) if g is None else np.array(g, node.dtype, subok=True)
        return arrays.shown(g) if self._are_tensors or self._is_outer else g

    def _built(self, flat):
        parts = []
        for build, count in self._builders:
            parts.append(build(flat[:count]))
            flat = flat[count:]
        return parts[0] if self._is_single else tuple(parts)

    def handed_out(self, value, is_outer=None):
        """A result of the function as the user gets it: an array if arrays came in and no outer derivative is live."""
        if not isinstance(value, Value):
            return value
        value = owned(value) if self._is_held(value) else value
        if self._is_outer if is_outer is None else is_outer:
            return value
        return tensor(value) if self._are_tensors else plain(value)

    def _is_held(self, value):
        """Whether a result may share memory with an argument: it is one, or a view."""
        return value.base is not None or any([value.raw is node.raw for node in self._nodes])

    def walked(self, scan, output, basis):
        """The Jacobians by one walk back that is traced once, and repeated for each row of `basis`."""
        span = self.span([output])
        is_outer = span is not None and span.is_open
        _, rows = scan(lambda carry, seed: (carry, self.gradients([output], [seed])), (), [basis], lambda leaves: leaves[0],
                       len(basis), False)
        leaves, build = tree.flatten(rows)
        found = [reshape(x, (*output.shape, *node.shape)) for node, x in zip(self._nodes, leaves, strict=True)]
        return build(found if is_outer else [self.handed_out(x, is_outer=False) for x in found])

    def stacked(self, rows, shape):
        """Gradients, one for each element of a result of `shape`, as Jacobians."""
        leaves, build = tree.flatten(rows[0]) if rows else tree.flatten(self._built([n.raw for n in self._nodes]))
        columns = zip(*(tree.leaves(row) for row in rows), strict=True) if rows else ([] for _ in leaves)
        return build([
            reshape(stack(column), (*shape, *node.shape)) if column else np.zeros((*shape, *node.shape), node.dtype)
            for node, column in zip(self._nodes, columns, strict=True)
        ])


def _apart(gradients, seeds):
    """`gradients` as values of which none shares its memory with another one, or a seed: each may be written to."""
    memory = lambda g: id(g.raw if isinstance(g, Value) else g)
    held, found = set(map(memory, seeds)), []
    for g in gradients:
        found.append(g.algebra.separate(g) if isinstance(g, Value) and (g.is_traced or memory(g) in held) else g)
        held.add(memory(g))
    return found


def _scan_of_trace():
    """The loop that is compiled as one, while a function is traced; else None."""
    mode = current()
    return None if mode is None or mode.tracer is None or mode.tracer.scan is None else partial(mode.tracer.scan, mode.tracer)


def _seeded(output, seed):
    """The cotangent with which a walk from `output` starts: 1 if none is given; else in the shape and type of `output`."""
    algebra, data = output.algebra, output.raw
    if seed is None:
        return algebra.seed(output)
    if isinstance(seed, Value):
        return algebra.conjugated(algebra.check_seed(output, seed))
    if seed.__class__ is not np.ndarray or seed.dtype is not data.dtype:
        seed = np.asarray(seed, data.dtype)
    if seed.shape == data.shape:
        return algebra.conjugated(seed)
    if seed.ndim > len(data.shape) or any([n not in (1, m) for n, m in zip(seed.shape[::-1], data.shape[::-1], strict=False)]):
        raise ShapeError(f"a cotangent must have the shape of the value, {tuple(data.shape)}, got {seed.shape}")
    return algebra.conjugated(np.broadcast_to(seed, data.shape))


def _checked(number, count):
    if not hasattr(number, "__index__"):
        raise DTypeError(f"argnums must be an integer or a tuple of integers, got {number!r}")
    if not -count <= number < count:
        raise ArgumentError(f"argnums must be positions of arguments, got {number} for {count} arguments")
    return number

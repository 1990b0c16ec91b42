"""Extend: functions of your own with derivatives of your own, in the manner of HIPS autograd.

`@primitive` makes a function a black box that may do anything with arrays; `defvjp` says how a cotangent goes back through
it. `rg.Function` and `@rg.ops.elementwise` are the other ways.
"""

from functools import update_wrapper
from typing import Any

import numpy as np

from . import tree
from .core.function import Function
from .core.mode import is_recording
from .core.value import Value
from .errors import ArgumentError, MissingRuleError
from .tensor.tensor import Tensor


class Primitive:
    """A function on arrays that stands as one node in the graph. Made by `primitive`."""

    __name__: str

    def __init__(self, function):
        update_wrapper(self, function)
        self.function: Any = function
        self.pull: Any = None

    def __call__(self, *args, **kwargs):
        leaves, build = tree.flatten(args)
        if not any([isinstance(leaf, Value) for leaf in leaves]):
            return self.function(*args, **kwargs)
        return _Call.apply(self, build, kwargs, *leaves)


def primitive(function):
    """`function`, which the graph does not look into: it is called with arrays, and needs a rule from `defvjp`.

    >>> @rg.primitive
    ... def cube(x):
    ...     return x**3
    >>> rg.extend.defvjp(cube, lambda ans, x: lambda g: g * 3 * x**2)
    >>> rg.grad(cube)(2.0)
    array(12.)
    """
    return Primitive(function)


def defvjp(function, *makers, argnums=None):
    """Give the derivatives of a primitive: `maker(result, *args)` returns the function from a cotangent to that of the argument.

    One maker for each argument, in order or as `argnums` says; None where the derivative is zero. What a maker returns must
    be written in differentiable functions, if second derivatives are wanted.
    """
    rules = dict(zip(range(len(makers)) if argnums is None else argnums, makers, strict=False))

    def pull(number, *call):
        if number not in rules:
            raise MissingRuleError(f"{_checked(function).__name__} has no derivative in argument {number}; give one to defvjp")
        maker = rules[number]
        return (lambda g: None) if maker is None else maker(*call[:-2], *call[-2], **call[-1])

    defvjp_argnum(function, pull)


def defvjp_argnum(function, maker):
    """Give the derivatives by one function: `maker(argnum, result, args, kwargs)`."""
    defvjp_argnums(function, lambda argnums, *call: lambda g: [maker(number, *call)(g) for number in argnums])


def defvjp_argnums(function, maker):
    """Give the derivatives in several arguments at once: `maker(argnums, result, args, kwargs)`."""
    _checked(function).pull = maker


def defjvp(function, *_, **__):
    """Nothing to do: the forward derivative follows from `defvjp`. Here so that programs written for autograd run."""
    _checked(function)


def notrace_primitive(function):
    """`function`, called on the data of tensors: its result is a constant."""

    def on_data(*args, **kwargs):
        args, kwargs = tree.map(_data, (args, kwargs))
        return function(*args, **kwargs)

    return update_wrapper(on_data, function)


class _Call(Function):
    """One call of a primitive. Its arguments are the leaves of those of the primitive."""

    @staticmethod
    def forward(ctx, function, build, kwargs, *leaves):
        answer = function.function(*build([_data(leaf) for leaf in leaves]), **kwargs)
        results, ctx.build_answer = tree.flatten(answer)
        outputs = [Tensor(np.array(x)) for x in results]
        ctx.set_materialize_grads(False)
        ctx.function, ctx.build, ctx.kwargs, ctx.count = function, build, kwargs, len(outputs)
        ctx.leaves = [None if isinstance(leaf, Value) else leaf for leaf in leaves]
        ctx.is_value = [isinstance(leaf, Value) for leaf in leaves]
        ctx.save_for_backward(*[leaf for leaf in leaves if isinstance(leaf, Value)], *outputs)
        return tuple(outputs) if isinstance(answer, (tuple, list)) else outputs[0]

    @staticmethod
    def backward(ctx, *cotangents):
        if ctx.function.pull is None:
            raise MissingRuleError(f"{ctx.function.__name__} has no derivative; give one with defvjp({ctx.function.__name__}, ...)")
        shown = (lambda x: x) if is_recording() else _data  # plain arrays are what rules for autograd expect
        *saved, = map(shown, ctx.saved_tensors)
        split = len(saved) - ctx.count
        values = iter(saved[:split])
        args = ctx.build([next(values) if is_value else leaf for leaf, is_value in zip(ctx.leaves, ctx.is_value, strict=True)])
        needs, sizes = ctx.needs_input_grad[3:], [len(tree.leaves(arg)) for arg in args]
        numbers = [i for i, size in enumerate(sizes) for _ in range(size)]
        argnums = list(dict.fromkeys([n for n, needed in zip(numbers, needs, strict=True) if needed]))
        answer = ctx.build_answer(saved[split:])
        given = zip(cotangents, saved[split:], strict=True)
        g = ctx.build_answer([np.zeros_like(x) if c is None else shown(c) for c, x in given])
        found = dict(zip(argnums, ctx.function.pull(argnums, answer, args, ctx.kwargs)(g), strict=True))
        return (None, None, None, *_leaves_of(found, sizes, needs))


def _leaves_of(found, sizes, needs):
    """For each leaf of the arguments its gradient, None where there is none."""
    gradients = []
    for number, size in enumerate(sizes):
        given = found.get(number)
        gradients += [None] * size if given is None else tree.leaves(given)
    return [g if needed else None for g, needed in zip(gradients, needs, strict=True)]


def _data(x):
    return np.asarray(x) if isinstance(x, Value) else x


def _checked(function):
    if not isinstance(function, Primitive):
        raise ArgumentError(f"a derivative can be given to functions made by @primitive, got {function!r}; for an op of "
                            "retrograde use its own defvjp")
    return function

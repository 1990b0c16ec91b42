"""Extend: functions of your own with derivatives of your own, in the manner of HIPS autograd.

`@primitive` makes a function a black box that may do anything with arrays; `defvjp` says how a cotangent goes back through
it. `rg.Function` and `@rg.ops.elementwise` are the other ways.
"""

from functools import reduce, update_wrapper
from inspect import Signature, signature
from itertools import compress
from operator import add
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from . import tree
from .core.dispatch import specs_of
from .core.mode import is_lazy, is_recording, unrecorded
from .core.value import Projection, Record, Value
from .core.value import Value as Box
from .errors import ArgumentError, MissingRuleError, TraceError
from .ops._arrays import arrays
from .spaces import VSpace, vspace
from .tensor.tensor import Tensor
from .transforms.grad import vjp

__all__ = [
    "Box", "Primitive", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum",
    "defvjp_argnums", "notrace_primitive", "primitive", "primitive_vjps", "vspace",
]

#: What `defvjp` and its like have given: a maker of reverse derivatives by primitive.
primitive_vjps: Any = WeakKeyDictionary()


class Primitive:
    """A function on arrays that stands as one node in the graph. Made by `primitive`."""

    __name__: str

    def __init__(self, function):
        update_wrapper(self, function)
        self.function: Any = function
        self.push: Any = None

    def __call__(self, *args, **kwargs):
        if kwargs and any([_is_tracked(leaf) for leaf in tree.leaves(kwargs)]):
            args, kwargs = _in_order(self, args, kwargs)
        leaves, build = tree.flatten(args)
        are_values = [isinstance(leaf, Value) for leaf in leaves]
        if True not in are_values:
            return self.function(*args, **kwargs)
        if any([is_value and leaf.is_traced for leaf, is_value in zip(leaves, are_values, strict=True)]) and not is_lazy():
            raise TraceError(f"{self.__name__}, a primitive, computes with arrays, and jit and vmap trace values without numbers; "
                             "call it outside of them, or make it an op of a family, such as @rg.ops.elementwise()")
        saved = [_data(leaf) for leaf in leaves]
        answer = unrecorded(lambda: self.function(*build(saved), **kwargs))
        results, build_answer = tree.flatten(answer)
        outputs = [np.array(x) for x in results]
        parents = tuple([leaf.record if is_value else None for leaf, is_value in zip(leaves, are_values, strict=True)])
        if not (any(parents) and is_recording()):
            return build_answer(map(Tensor, outputs))
        call = _Call(self, are_values, build, kwargs, build_answer, len(results) == 1 and results[0] is answer)
        record = Record().filled(call, parents, (*saved, *outputs), specs_of(saved, parents))
        return build_answer([
            Tensor(data, call.result(record, i, len(outputs)) if arrays.is_differentiable(data) else None)
            for i, data in enumerate(outputs)
        ])


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
    rules = _numbered(makers, argnums)

    def pull(numbers, answer, args, kwargs):
        pulls = [(maker := _rule(function, rules, n)) and maker(answer, *args, **kwargs) for n in numbers]
        return lambda g: [pull and pull(g) for pull in pulls]

    defvjp_argnums(function, pull)


def defvjp_argnum(function, maker):
    """Give the derivatives by one function: `maker(argnum, result, args, kwargs)`."""
    defvjp_argnums(function, lambda argnums, *call: lambda g: [maker(number, *call)(g) for number in argnums])


def defvjp_argnums(function, maker):
    """Give the derivatives in several arguments at once: `maker(argnums, result, args, kwargs)`."""
    primitive_vjps[_checked(function)] = maker


def defjvp(function, *pushes, argnums=None):
    """Give the forward derivatives of a primitive: `push(v, result, *args)` is its change as the argument moves by `v`.

    One for each argument, in order or as `argnums` says; None where the derivative is zero. They must be written in
    differentiable functions: the reverse derivatives follow from them by transposing, so `defvjp` is not needed. Where that is
    given too, it counts, in both directions. "same", for a function that is linear in the argument, needs it.

    >>> @rg.primitive
    ... def cube(x):
    ...     return x**3
    >>> rg.extend.defjvp(cube, lambda v, ans, x: v * 3 * x**2)
    >>> rg.grad(cube)(2.0)
    array(12.)
    """
    rules = _numbered(pushes, argnums)

    def changes(number, v, answer, args, kwargs):
        push = _rule(function, rules, number)
        if push == "same":
            raise MissingRuleError(f"{function.__name__} is linear in argument {number}, and how it goes back cannot be told from "
                                   f"that; give its transpose, with defvjp({function.__name__}, ...)")
        return tree.map(np.zeros_like, answer) if push is None else push(v, answer, *args, **kwargs)

    defjvp_argnum(function, changes)


def defjvp_argnum(function, push):
    """Give the forward derivatives by one function: `push(argnum, v, result, args, kwargs)`."""

    def changes(argnums, vs, *call):
        parts = [push(number, v, *call) for number, v in zip(argnums, vs, strict=True)]
        return tree.map(lambda *terms: reduce(add, terms), *parts)

    defjvp_argnums(function, changes)


def defjvp_argnums(function, push):
    """Give the forward derivatives in several arguments at once: `push(argnums, vs, result, args, kwargs)`."""
    _checked(function).push = push


def def_linear(function):
    """Say that a primitive is linear in each of its arguments. Its derivatives come from `defvjp`, which it needs."""
    _checked(function)


def _numbered(rules, argnums):
    return dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))


def _rule(function, rules, number):
    if number not in rules:
        raise MissingRuleError(f"{function.__name__} has no derivative in argument {number}; give one to defvjp or defjvp")
    return rules[number]


def _transposed(push):
    """The reverse derivative from the forward one, which is linear in directions: the reverse derivative in these."""

    def pull(argnums, answer, args, kwargs):
        zeros = [vspace(args[number]).zeros() for number in argnums]
        return vjp(lambda *vs: push(argnums, vs, answer, args, kwargs), *zeros)[1]

    return pull


def notrace_primitive(function):
    """`function`, called on the data of tensors: its result is a constant."""

    def on_data(*args, **kwargs):
        args, kwargs = tree.map(_data, (args, kwargs))
        return function(*args, **kwargs)

    return update_wrapper(on_data, function)


class _Call:
    """The op of one call of a primitive, whose joint rule asks what `defvjp` gave. Its operands are the leaves of the arguments.

    What its record saves are the data of all leaves, tensors or not, and then of the results.
    """

    rules, is_foreign = None, True
    # Not an attribute: an object that holds itself is freed by the cycle collector only.
    joint = property(lambda self: self)
    algebra = arrays

    def __init__(self, primitive, are_values, build, kwargs, build_answer, is_single):
        self.primitive, self.are_values, self.build, self.kwargs = primitive, are_values, build, kwargs
        self.build_answer, self.is_single = build_answer, is_single

    @property
    def name(self):
        """The name of the primitive."""
        return self.primitive.__name__

    def result(self, record, i, count):
        """The record of result `i` of `count`."""
        return record if self.is_single else Projection(record, i, count)

    def revived(self, record):
        """What was saved, with tensors among it as values of the graph, so that what the rule does is recorded."""
        split = len(self.are_values)
        leaves = zip(record.saved[:split], record.parents, self.are_values, strict=True)
        results = record.saved[split:]
        return [*[Tensor(data, parent) if is_value else data for data, parent, is_value in leaves],
                *[Tensor(data, self.result(record, i, len(results))) for i, data in enumerate(results)]]

    def function(self, g, needs, *saved):
        """The gradients of all leaves from those of the results; arrays, as rules for autograd expect, if nothing is recorded."""
        split, is_flat = len(self.are_values), self.build is tuple
        pull = primitive_vjps.get(self.primitive) or self.primitive.push and _transposed(self.primitive.push)
        if pull is None:
            raise MissingRuleError(f"{self.name} has no derivative; give one with defvjp({self.name}, ...)")
        args, results = self.build(saved[:split]), saved[split:]
        shown = _tensor if is_recording() else np.asarray
        given = (g,) if self.is_single else [np.zeros_like(x) if c is None else c for c, x in zip(g, results, strict=True)]
        g = self.build_answer([shown(arrays.conjugated(c)) for c in given])
        numbers = range(split) if is_flat else [i for i, arg in enumerate(args) for _ in tree.leaves(arg)]
        argnums = list(dict.fromkeys(compress(numbers, needs)))
        found = dict(zip(argnums, pull(argnums, self.build_answer(results), args, self.kwargs)(g), strict=True))
        gradients = [found.get(n) for n in numbers] if is_flat else _leaves_of(found, numbers)
        return [arrays.conjugated(g) if needed else None for g, needed in zip(gradients, needs, strict=True)]


def _is_tracked(leaf):
    return isinstance(leaf, Value) and (leaf.record is not None or leaf.is_traced)


def _in_order(function, args, kwargs):
    """The arguments of a primitive with those in order that have derivatives; rules are told of these by their numbers."""
    tracked = [name for name, value in kwargs.items() if any([_is_tracked(leaf) for leaf in tree.leaves(value)])]
    try:
        form = signature(function.function)
    except (TypeError, ValueError):  # of a function written in C
        form = Signature()
    names = [p.name for p in form.parameters.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if not set(tracked) <= set(names):
        raise ArgumentError(f"{function.__name__} takes {', '.join(tracked)}= by name, and a primitive has derivatives in "
                            "arguments that are given in order only; give the tensor in order")
    bound = form.bind(*args, **kwargs)
    bound.apply_defaults()
    first = names[: 1 + max([names.index(name) for name in tracked])]
    return tuple([bound.arguments[name] for name in first]), {name: value for name, value in kwargs.items() if name not in first}


def _leaves_of(found, numbers):
    """The gradient of each leaf, from those of the arguments that they belong to; None where there is none."""
    leaves = {n: iter(tree.leaves(given)) for n, given in found.items() if given is not None}
    return [next(leaves[n]) if n in leaves else None for n in numbers]


def _tensor(x):
    return x if isinstance(x, Value) else Tensor(x)


def _data(x):
    return np.asarray(x) if isinstance(x, Value) else x


def _checked(function):
    if not isinstance(function, Primitive):
        raise ArgumentError(f"a derivative can be given to functions made by @primitive, got {function!r}; for an op of "
                            "retrograde use its own defvjp")
    return function

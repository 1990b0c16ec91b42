"""Forms of nodes: each op on operands of other dtypes, known and empty ones, and with other parameters, one change at a time.

Most are such as no kernel and no rule is for. What they become says that those who must refuse them do.
"""

from collections import Counter

import numpy as np

from retrograde.compiler.graph.infer import infer
from retrograde.compiler.graph.recorder import PICK
from retrograde.compiler.pipeline import planned
from retrograde.compiler.run.program import Graph
from retrograde.core.symbol import Symbol
from retrograde.errors import RetrogradeError
from tests.graphs import leaf
from tests.sweeping import every_case

from .telling import checksum, passes_of

_DTYPES = ("float32", "float16", "int64", "bool", "complex64")


def of_ops():
    """By the name of an op its first case and its last one."""
    cases = {}
    for _, case in every_case():
        cases.setdefault(case.op.name, []).append(case)
    return {name: [found[0], found[-1]] if len(found) > 1 else found for name, found in cases.items()}


def lines_of(case):
    """What the forms of a case become: the kernels of their steps, and what stands for all of their graphs; a line for the changes of
    each argument.
    """
    args, kwargs = case.drawn(np.float64)
    op = case.op
    known = dict(zip(op.arguments, args, strict=False)) | kwargs
    defaults = {op.arguments[i]: value for i, value in op.defaults.items()}
    args = [(defaults | known).get(name, _Missing) for name in op.arguments]
    if any([a is _Missing for a in args]):
        return []
    base = [_leaf(a) for a in args]
    found = [f"as it is: {_become(op, base)}"]
    for place, (name, argument) in enumerate(zip(op.arguments, args, strict=True)):
        forms = [f"{told}: {_become(op, [*base[:place], other, *base[place + 1 :]])}" for told, other in _others(argument)]
        if forms:
            kernels = Counter([form.split(": ")[1].rpartition(" ")[0] or "refused" for form in forms])
            told = "; ".join([f"{count} {name}" for name, count in sorted(kernels.items())])
            found.append(f"{name} otherwise: {told}; {checksum(chr(10).join(forms))}")
    return found


class _Missing:
    """What an argument is that nobody has given."""


def _leaf(argument, dtype=None):
    """An argument with nodes in the place of arrays."""
    if isinstance(argument, (list, tuple)) and any([isinstance(a, np.ndarray) for a in argument]):
        return [_leaf(a, dtype) for a in argument]
    if isinstance(argument, np.ndarray):
        return leaf(*argument.shape, dtype=np.dtype(dtype or argument.dtype))
    return argument


def _others(argument):
    """Others in the place of an argument, each with what it is."""
    if isinstance(argument, np.ndarray):
        yield "known", argument
        yield "a number", 2 if argument.dtype.kind in "iu" else 2.5
        yield from ((dtype, _leaf(argument, dtype)) for dtype in _DTYPES if argument.dtype != dtype)
        if argument.ndim:
            yield "empty", leaf(0, *argument.shape[1:], dtype=argument.dtype)
            yield "known and empty", argument[:0]
            yield "one more axis", leaf(1, *argument.shape, dtype=argument.dtype)
            yield "one row", leaf(1, *argument.shape[1:], dtype=argument.dtype)
    elif isinstance(argument, (list, tuple)) and any([isinstance(a, np.ndarray) for a in argument]):
        yield "known", argument
        yield "the first of float32", [_leaf(argument[0], "float32"), *[_leaf(a) for a in argument[1:]]]
        yield "the first known", [argument[0], *[_leaf(a) for a in argument[1:]]]
        yield "one alone", [_leaf(argument[0])]
    elif isinstance(argument, bool):
        yield f"{not argument}", not argument
    elif isinstance(argument, (float, complex)):
        yield from ((str(other), other) for other in (0.0, -1.5, 2, 1j, True, None))
        yield "a node", leaf()
    elif argument is None or isinstance(argument, (int, tuple)):
        yield from ((str(other), other) for other in (None, 0, 1, -1, (0,), (0, 1), True, np.dtype(np.float32)) if other is not argument and (other.__class__ is not argument.__class__ or other != argument))


def _become(op, args):
    try:
        with np.errstate(all="ignore"):
            draft = _planned(op, args)
    except (RetrogradeError, ValueError, TypeError, IndexError, AttributeError, ArithmeticError, KeyError, NotImplementedError) as error:
        return type(error).__name__
    kernels = ", ".join([step.kernel.name for step in draft.schedule.steps])
    return f"{kernels or 'nothing'} {checksum(chr(10).join(passes_of(draft)))}"


def _planned(op, args):
    spec, args = infer(op, tuple(args)), tuple(args)
    if op.is_multiple:
        node = Symbol(op, args, None, None)
        results = [Symbol(PICK, (node, number), *one) for number, one in enumerate(spec)]
    else:
        results = [Symbol(op, args, *spec)]
    inputs = [a for argument in args for a in (argument if isinstance(argument, list) else [argument]) if isinstance(a, Symbol)]
    return planned(Graph(list(dict.fromkeys(inputs)), [], results, [], []))

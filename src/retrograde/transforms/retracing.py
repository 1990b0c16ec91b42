"""Retracing: why a function is compiled again and again, in words: an argument that changes, or `jit` called anew each time."""

import inspect
import weakref
from types import FunctionType, MethodType

from .. import tree

#: A function that was given to `jit` so often, and called once each time, is warned about.
MANY_MADE = 20


def named_specs(function, args, kwargs, spec_of):
    """For each argument of a call, by its name: its structure, and the specs of its leaves."""
    return {name: (tree.structure(a), [spec_of(leaf) for leaf in tree.leaves(a)]) for name, a in _named(function, args, kwargs)}


def _named(function, args, kwargs):
    """(name, argument) of each; those that the function takes as one have the names or the places under which they were given."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # not every function of C tells its own
        return [*[(f"argument {i}", a) for i, a in enumerate(args)], *kwargs.items()]
    bound, found = signature.bind(*args, **kwargs).arguments, []
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            found += [(f"{name}[{i}]", a) for i, a in enumerate(value)]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            found += value.items()
        else:
            found.append((name, value))
    return found


def change(old, new):
    """The first argument in which two calls differ, as `named_specs` gives them, and how; None if there is none."""
    for name in {**new, **old}:
        if old.get(name) != new.get(name):
            return f"{name}: {_difference(old.get(name), new.get(name))}"
    return None


def _difference(old, new):
    if old is not None and new is not None:
        (before, past), (after, now) = old, new
        if before == after:
            return next(f"{_told(a)}, then {_told(b)}" for a, b in zip(past, now, strict=True) if a != b)
        if len(past) == len(now):
            return "another structure each time"
    return f"{_counted(old)}, then {_counted(new)}"


def _counted(found):
    if found is None:
        return "not given"
    specs = found[1]
    return _told(specs[0]) if len(specs) == 1 else f"{len(specs)} leaves"


def _told(spec):
    kind, *parts = spec
    if isinstance(kind, tuple):
        shape, dtype, of, needs_gradient = spec
        kind = " of a tensor" * (of is not None) + " that needs a gradient" * needs_gradient
        return f"{dtype}{list(shape)}{kind}"
    if issubclass(kind, tuple):
        return f"({', '.join(map(_told, parts))})"
    return parts[0] if issubclass(kind, (float, complex)) else repr(parts[0])


class Row:
    """How many programs a jitted function has compiled in a row, at one call each."""

    __slots__ = ("count",)

    def __init__(self):
        self.count = 0


class _Made:
    """The functions that `jit` was given of one piece of code: what the latest one `uses`, its `Row`, and how many in a row used
    the same and were called once.
    """

    def __init__(self, uses):
        self.uses, self.row, self.count = uses, Row(), 0
        self.row.count = 1


_MADE = weakref.WeakKeyDictionary()


def made_again(function, row):
    """Note that a jitted `function` has compiled its first program, with `row` to count them. If the same function was jitted
    `MANY_MADE` times, each time to be called once, the place where it is defined; None else.
    """
    function = function if isinstance(function, MethodType) else inspect.unwrap(function)
    if not isinstance(function, FunctionType):
        return None
    code, variables = function.__code__, [*_contents(function), *(function.__defaults__ or ())]
    made = _MADE.get(code)
    if made is None or not _are_same(made.uses, variables):
        made = _MADE[code] = _Made(list(map(_reference, variables)))
    made.count = made.count + 1 if made.row.count else 1
    made.row = row
    return f"{code.co_filename}:{code.co_firstlineno}" if made.count == MANY_MADE else None


def _contents(function):
    """What the variables of enclosing functions hold."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            yield None


def _reference(value):
    """What gives `value` as long as it lives; of what cannot be referred to weakly, plain constants only."""
    if value is None or isinstance(value, (int, float, str)):
        return lambda: value
    try:
        return weakref.ref(value)
    except TypeError:
        return object


def _are_same(references, values):
    return all([reference() is value for reference, value in zip(references, values, strict=True)])

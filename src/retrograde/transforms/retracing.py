"""Retracing: which argument is another than at the call before, in words."""

import inspect

from .. import tree


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
        shape, dtype, is_tensor, needs_gradient = spec
        kind = " of a tensor" * is_tensor + " that needs a gradient" * needs_gradient
        return f"{dtype}{list(shape)}{kind}"
    if issubclass(kind, tuple):
        return f"({', '.join(map(_told, parts))})"
    return parts[0] if issubclass(kind, (float, complex)) else repr(parts[0])

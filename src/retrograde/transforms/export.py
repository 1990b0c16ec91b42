"""Exporting: compiled functions as a file of machine code, and a header for C beside it."""

import inspect
from pathlib import Path

from .. import tree
from ..atomic import writing
from ..compiler.backends import chosen
from ..errors import ArgumentError, ProgramError
from .header import header


def write(path, functions, target):
    """Write `Exported` functions to `path`, and the header beside it; both or, where something is wrong, neither."""
    path = Path(path)
    if path.suffix == ".h":
        raise ArgumentError(f"{path} is the name of the header that is written beside the program; take another one, as model.rgx")
    # All of it is made before anything is written.
    found = chosen().exported(functions, target)
    text = header(path.name, found)
    try:
        with writing(path) as part:
            part.write_bytes(found.content)
        with writing(path.with_suffix(".h")) as part:
            part.write_text(text)
    except OSError as error:
        raise ProgramError(f"{path} cannot be written: {error.strerror or error}") from None


def function_name(function):
    """What a function is called in a file: by its own name if it has one that C could have, else "run"."""
    name = getattr(function, "__name__", "")
    return name if name.isidentifier() and name.isascii() else "run"


def leaf_names(function, args, kwargs):
    """The name of each leaf of the arguments of a call, in order."""
    arguments = [*zip(_positional(function, len(args)), args, strict=True), *kwargs.items()]
    return [joined(name, path) for name, argument in arguments for path in tree.paths(argument)]


def result_names(rebuild, count):
    """The name of each leaf of what a function returns, which `rebuild` makes of them; None as it is one value."""
    if rebuild is None:
        return ["result"]
    return [joined("result", path) for path in tree.paths(rebuild(list(range(count))))]


def joined(name, path):
    """One name for what is found in `name` by keys and places."""
    return "_".join([name, *map(str, path)])


def _positional(function, count):
    """The names of so many arguments by place."""
    try:
        # Of a model the signature that says something is that of its `forward`.
        parameters = inspect.signature(getattr(function, "forward", function)).parameters.values()
    except (TypeError, ValueError):  # not every function of C tells its own
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    return [*names, *[f"{rest}_{number}" for number in range(count - len(names))]][:count]

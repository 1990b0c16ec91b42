"""The registry: every op once, by name, by alias and by family."""

from importlib import import_module

from ..errors import RegistryError

_OPS = {}
_ALIASES = {}


def register(op):
    """Enter `op` under its name and its aliases; a name that is taken is an error, and then nothing is entered."""
    for name in (op.name, *op.aliases):
        if name in _OPS or name in _ALIASES:
            raise RegistryError(f"an op named {name!r} is registered already; choose another name or unregister it")
    _OPS[op.name] = op
    _ALIASES.update(dict.fromkeys(op.aliases, op.name))
    return op


def unregister(name):
    """Take the op `name` and its aliases out of the registry."""
    op = get(name)
    del _OPS[op.name]
    for alias in op.aliases:
        del _ALIASES[alias]


def get(name):
    """The op called `name`, or of which `name` is an alias.

    >>> rg.ops.get("absolute").name
    'abs'
    """
    op = _OPS.get(_ALIASES.get(name, name))
    if op is None:
        close = import_module("difflib").get_close_matches(name, [*_OPS, *_ALIASES], n=3)  # only errors need it
        hint = f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        raise RegistryError(f"no op is named {name!r}{hint}")
    return op


def is_registered(op):
    """Whether `op` is the one that is found by its name."""
    return _OPS.get(op.name) is op


def names(family=None):
    """The sorted names of all ops, or of one family.

    >>> "sin" in rg.ops.names("elementwise")
    True
    """
    found = [op.name for op in _OPS.values() if family in (None, op.family)]
    if not found and family is not None:
        raise RegistryError(f"no family is named {family!r}; there are {', '.join(families())}")
    return sorted(found)


def families():
    """The sorted names of the families."""
    return sorted({op.family for op in _OPS.values()})


def aliases():
    """Every alias and the name that it stands for."""
    return dict(_ALIASES)

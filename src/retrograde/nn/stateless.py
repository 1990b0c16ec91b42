"""A module called with other parameters than its own."""

from contextlib import contextmanager
from functools import partial

from ..core.mode import changed, current
from ..core.value import Value
from ..errors import ArgumentError, DTypeError
from ..tensor.creation import asarray
from .module import Module


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """What `module` gives for `args` with the tensors of `parameters_and_buffers` in place of its own.

    parameters_and_buffers  a dictionary by the names of `state_dict`, or a tuple of such dictionaries
    args, kwargs            arguments of the module: a tuple, or one that is none, or is a named one
    tie_weights             whether a tensor that the module has under several names is replaced under all of them
    strict                  whether all parameters and buffers must be given

    The module is as before afterwards: so a model is a function of its parameters for `grad`, `vmap` and `jit`. What the module
    writes to its buffers goes to those that are given. What is jitted inside the module runs as it is; to compile it with other
    weights, jit the function that calls `functional_call`.

    >>> model = rg.nn.Linear(1, 1, bias=False)
    >>> loss = lambda weights, x: rg.nn.functional_call(model, weights, x).sum()
    >>> rg.grad(loss)({"weight": rg.tensor([[3.0]])}, rg.tensor([[2.0]]))
    {'weight': tensor([[2.]])}
    """
    if not isinstance(module, Module):
        raise DTypeError(f"functional_call needs a Module, got {module!r}")
    given = _merged(parameters_and_buffers)
    # A named tuple, such as a packed sequence, is one argument.
    args = () if args is None else args if isinstance(args, tuple) and not hasattr(args, "_fields") else (args,)
    replacing, mode = partial(_replaced, _places(module, given, tie_weights, strict)), current()
    with replacing(), changed(runs_compiled=False, within=(*(mode.within if mode is not None else ()), replacing)):
        return module(*args, **(kwargs or {}))


def _merged(dictionaries):
    if isinstance(dictionaries, dict):
        return dictionaries
    parts = dictionaries if isinstance(dictionaries, (tuple, list)) else [dictionaries]
    if not all([isinstance(part, dict) for part in parts]):
        raise DTypeError(f"functional_call needs a dictionary of tensors by name, or a tuple of such, got {dictionaries!r}")
    found = {}
    for part in parts:
        if twice := found.keys() & part.keys():
            raise ArgumentError(f"functional_call was given {', '.join(sorted(twice))} more than once")
        found |= part
    return found


def _places(module, given, tie_weights, strict):
    """(attributes of a module, name, new tensor) of all that is replaced."""
    owned = dict(_owned(module))
    if unknown := given.keys() - owned.keys():
        raise ArgumentError(f"{type(module).__name__} has no parameter or buffer {', '.join(sorted(unknown))}")
    new = {name: value if isinstance(value, Value) else asarray(value) for name, value in given.items()}
    by_tensor = {id(owned[name][2]): value for name, value in new.items()} if tie_weights else {}
    found = []
    for name, (attributes, key, old) in owned.items():
        value = new[name] if name in new else by_tensor.get(id(old))
        if value is not None:
            found.append((attributes, key, value))
        elif strict:
            raise ArgumentError(f"functional_call with strict=True needs all parameters and buffers; {name} is missing")
    return found


def _owned(module):
    """(path, (attributes of a module, name, tensor)) of all parameters and buffers, under each of their names."""
    for pairs in (module.named_parameters, module.named_buffers):
        for path, value in pairs(remove_duplicate=False):
            owner, _, name = path.rpartition(".")
            yield path, (vars(module.get_submodule(owner)), name, value)


@contextmanager
def _replaced(places):
    """Other tensors in their places, and in the end those that were there."""
    # Past the modules' own `__setattr__`: nothing that is compiled for the module as it is must notice, and nothing of it runs.
    before = [(attributes, name, attributes[name]) for attributes, name, _ in places]
    try:
        for attributes, name, value in places:
            attributes[name] = value
        yield
    finally:
        for attributes, name, value in before:
            attributes[name] = value

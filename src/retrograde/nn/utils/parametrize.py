"""Weights that other parameters make: whether a module has such, and how they become plain again."""

from ...core.edits import edited
from ...core.mode import no_grad
from ...errors import ArgumentError
from ..parameter import Parameter
from .parametrizations import parametrized_kind, parametrized_names


def is_parametrized(module, tensor_name=None):
    """Whether `module` has a parametrized weight; or whether its `tensor_name` is one.

    >>> layer = rg.nn.utils.parametrizations.weight_norm(rg.nn.Linear(3, 2))
    >>> rg.nn.utils.parametrize.is_parametrized(layer, "weight"), rg.nn.utils.parametrize.is_parametrized(layer, "bias")
    (True, False)
    """
    names = parametrized_names(module)
    return bool(names) if tensor_name is None else tensor_name in names


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Let the weight `tensor_name` of `module` be a plain parameter again; returns `module`.

    It starts as what it was made as, or, without `leave_parametrized`, as the one parameter that it was made of.
    """
    names = parametrized_names(module)
    if tensor_name not in names:
        raise ArgumentError(f"{type(module).__name__} has no parametrized {tensor_name!r}; it has {', '.join(names) or 'none'}")
    made = vars(module.parametrizations)[tensor_name]
    originals = list(made.parameters(recurse=False))
    if not leave_parametrized and len(originals) != 1:
        raise ArgumentError(f"{tensor_name!r} is made of {len(originals)} parameters; leave_parametrized=False needs one")
    with no_grad():
        weight = getattr(module, tensor_name).clone() if leave_parametrized else originals[0]
    delattr(module.parametrizations, tensor_name)
    left = parametrized_names(module)
    if not left:
        del module.parametrizations
    module.__class__ = parametrized_kind(type(module), left)
    setattr(module, tensor_name, weight if isinstance(weight, Parameter) else Parameter(weight))
    edited()
    return module

"""Weights that other parameters make by modules of your own, and how they become plain again."""

from typing import Any

from ...core.edits import edited
from ...core.mode import no_grad
from ...errors import ArgumentError, ShapeError
from ..container import ModuleList
from ..parameter import Parameter
from .parametrized import parametrized, parametrized_kind, parametrized_names


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Let the weight `tensor_name` of `module` be what the module `parametrization` makes of it; returns `module`.

    `parametrization.right_inverse(weight)`, if there is such a method, gives what the weight is made of at first and when it is
    set: a tensor, or a tuple of several. `state_dict` calls it `parametrizations.weight.original` (or `original0` and so on). A
    weight that is parametrized already is parametrized once more. Unless `unsafe`, shape and dtype must stay.

    >>> class Symmetric(rg.nn.Module):
    ...     def forward(self, x):
    ...         return rg.triu(x) + rg.triu(x, 1).T
    >>> layer = rg.nn.utils.parametrize.register_parametrization(rg.nn.Linear(3, 3), "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    if tensor_name not in parametrized_names(module):
        return parametrized(module, tensor_name, lambda weight: ParametrizationList([parametrization], weight, unsafe))
    made = vars(module.parametrizations)[tensor_name]
    if not isinstance(made, ParametrizationList):
        raise ArgumentError(f"{tensor_name!r} is made by {type(made).__name__.strip('_')}, to which nothing can be added")
    before = getattr(module, tensor_name)
    if not unsafe:
        _check_alike(before, parametrization(before))
    made.append(parametrization)
    return module


class ParametrizationList(ModuleList):
    """The modules that make a weight, one after the other, and the parameters that they make it of."""

    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        self.shape, self.is_tensor = original.shape, True
        with no_grad():
            parts = self._inverse(original, is_strict=False)
            self.is_tensor = not isinstance(parts, (tuple, list))
            if parts is original or self.is_tensor and parts.shape == original.shape:
                original[...] = parts
                self.original = original
            else:
                for name, part in self._named_parts(parts):
                    setattr(self, name, Parameter(part.clone(), original.requires_grad))
            if not unsafe:
                _check_alike(original, self())

    def _named_parts(self, parts):
        return [("original", parts)] if self.is_tensor else [(f"original{i}", part) for i, part in enumerate(parts)]

    def _inverse(self, weight, is_strict):
        """What `weight` is made of."""
        for module in reversed(list(self)):
            inverse: Any = getattr(module, "right_inverse", None)
            if inverse is not None:
                weight = inverse(weight)
            elif is_strict:
                raise ArgumentError(f"the weight cannot be set, since {type(module).__name__} has no method right_inverse")
        return weight

    def forward(self):
        first, *others = self
        x = first(*[part for _, part in self.own(Parameter)])
        for module in others:
            x = module(x)
        return x

    def assign(self, weight):
        """Let the weight be `weight` from here on."""
        for name, part in self._named_parts(self._inverse(weight, is_strict=True)):
            vars(self)[name][...] = part


def _check_alike(weight, made):
    if made.shape != weight.shape or made.dtype != weight.dtype:
        raise ShapeError(f"a parametrization keeps shape and dtype, {weight.shape} and {weight.dtype}, got {made.shape} and "
                         f"{made.dtype}; set unsafe=True if that is meant")


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

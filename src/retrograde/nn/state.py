"""Loading: tensors by name, copied into the tensors of a module, all of them or none."""

from collections.abc import Mapping
from typing import NamedTuple

from ..core.mode import no_grad
from ..errors import CheckpointError, DTypeError
from ..tensor.creation import asarray
from .parameter import Uninitialized


class IncompatibleKeys(NamedTuple):
    """What a lenient `load_state_dict` left out: names without a tensor, and tensors without a name."""

    missing_keys: list
    unexpected_keys: list


def load(owner, targets, state, strict, assign=False):
    """Copy the tensors of `state` into `targets` of the same names; `owner` is whose they are, for the error.

    With `assign` their arrays become those of the targets.
    """
    if not isinstance(state, Mapping):
        raise DTypeError(f"a state is a dictionary of tensors by name, as state_dict() gives, got {type(state).__name__}")
    given = {name: asarray(value).detach() for name, value in state.items()}
    # A tensor with several names has arrived if one of them has.
    arrived = {id(target) for name, target in targets.items() if name in given}
    missing = [name for name, target in targets.items() if id(target) not in arrived]
    unexpected = [name for name in given if name not in targets]
    faults = [
        f"{name} has shape {given[name].shape} and the model needs {target.shape}"
        for name, target in targets.items()
        if name in given and not isinstance(target, Uninitialized) and given[name].shape != target.shape
    ]
    if strict:
        faults += [f"no tensor for {name}" for name in missing] + [f"no place for {name}" for name in unexpected]
    if faults:
        raise CheckpointError(f"these tensors do not fit {owner}: {_listed(faults)}{_hint(targets, given)}")
    with no_grad():
        for name, target in targets.items():
            if name in given:
                if isinstance(target, Uninitialized):
                    target.materialize(given[name].shape)
                if assign:
                    target.data = given[name].raw
                    continue
                target[...] = given[name].to(target.device).astype(target.dtype)
    return IncompatibleKeys(missing, unexpected)


def _hint(targets, given):
    """What to do if all names are right but for a word before them, as other tools put there."""
    last = next(iter(targets), "")
    prefix = next((name.removesuffix(last) for name in given if last and name.endswith(last)), "")
    if not prefix or any([prefix + name not in given for name in targets]):
        return ""
    taken = f"{{name.removeprefix({prefix!r}): x for name, x in state.items()}}"
    return f"; the names given begin with {prefix!r}, take that away: {taken}"


def _listed(faults, limit=8):
    more = len(faults) - limit
    return "; ".join(faults[:limit]) + (f"; and {more} more" if more > 0 else "")

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
        f"{name} has shape {given[name].shape} and the model needs {whole_shape(target)}"
        for name, target in targets.items()
        if name in given and not isinstance(target, Uninitialized) and given[name].shape != whole_shape(target)
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
                share, value = share_of(target), given[name]
                value = value if share is None else asarray(share.of(value.numpy()))
                if assign:
                    target.data = value.raw
                    continue
                target[...] = value.to(target.device).astype(target.dtype)
    return IncompatibleKeys(missing, unexpected)


def share_of(tensor):
    """What is known of a tensor of which this process holds a part (`distributed.Share`); None of one that it holds whole."""
    return getattr(tensor, "share", None)


def whole_shape(tensor):
    """The shape of a tensor; of one of which this process holds a part, that of the whole."""
    share = share_of(tensor)
    return tuple(tensor.shape) if share is None else share.shape


def put_together(pairs):
    """{name: tensor} of those among (name, tensor) of which several processes hold a part each, whole."""
    shares = [(name, tensor, share) for name, tensor in pairs if (share := share_of(tensor)) is not None]
    parts = {name: (share, tensor.detach().numpy()) for name, tensor, share in shares}
    return shares[0][2].wholes(parts, "the parts of a model") if shares else {}


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

"""Checks of arguments that calls of this package share: models, paths, seeds, and names of options."""

import os
from functools import wraps
from pathlib import Path

from ..errors import ArgumentError


def check_writes(network, what):
    """Raise an ArgumentError if a network is none that says which token comes next, as `what` needs it."""
    if not hasattr(network, "table_path"):
        raise ArgumentError(f"{what} needs a network that writes, such as Decoder or GPT2, got {type(network).__name__}")


def check_model(model, what, taken="a Model, which rg.models.load gives"):
    """Raise an ArgumentError unless `model`, which `what` needs, has a network that writes and a tokenizer, as a Model has."""
    network = getattr(model, "network", None)
    if network is None or not hasattr(model, "tokenizer"):
        raise ArgumentError(f"{what} takes {taken}, got {type(model).__name__}")
    check_writes(network, what)


def check_seed(seed):
    """Raise an ArgumentError unless a seed is an integer of 64 bits."""
    if type(seed) is not int or not 0 <= seed < 2**64:
        raise ArgumentError(f"a seed is an integer from 0 to 2**64 - 1, got {seed!r:.80}")


def check_options(what, given, known):
    """Raise an ArgumentError if an option in `given` is none of those `known`, which `what` has."""
    if strange := sorted({*given} - {*known}):
        raise ArgumentError(f"{what} has no option {strange[0]}; it has {', '.join(known)}")


def with_known_options(kind):
    """A dataclass that tells which options it has if it is given another one."""
    made, known = kind.__init__, tuple(kind.__dataclass_fields__)

    @wraps(made)
    def checked(self, *args, **options):
        check_options(kind.__name__, options, known)
        made(self, *args, **options)

    kind.__init__ = checked
    return kind


def path_of(path, what):
    """A path as a Path; an ArgumentError that tells `what` has one if it is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentError(f"{what}, got {path!r:.80}")
    return Path(path)

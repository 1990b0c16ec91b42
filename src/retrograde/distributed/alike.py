"""Alike: whether all processes of a group begin with the same model."""

import hashlib

import numpy as np

from ..errors import DistributedError
from .meeting import reported


def check_alike(model, group):
    """Raise a DistributedError unless all processes have the same parameters and buffers; it tells the first that differs."""
    facts = [f"{name} {_described(value)}" for name, value in model.state_dict(keep_vars=True).items()]
    everywhere = [content.decode().split("\n") for content in group.contents("\n".join(facts).encode(), "the weights of a model")]
    for rank, theirs in enumerate(everywhere):
        if theirs != everywhere[0]:
            pair = next(((a, b) for a, b in zip(everywhere[0], theirs, strict=False) if a != b),
                        (f"{len(everywhere[0])} tensors", f"{len(theirs)} tensors"))
            raise reported(DistributedError(
                f"all processes must begin with the same model, got at process {group.ranks[0]}: {pair[0]}; at process "
                f"{group.ranks[rank]}: {pair[1]}. Call rg.manual_seed with the same seed on all before the model is made, or load "
                "its weights"), group.rank == 0)


def _described(value):
    array = np.ascontiguousarray(value.detach().numpy())
    return f"{array.dtype}{list(array.shape)}, content {hashlib.sha256(array.tobytes()).hexdigest()[:12]}"

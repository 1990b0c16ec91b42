"""Runs: checkpoints of several processes, which process 0 writes."""

from typing import Any

from ..nn.module import Module
from ..nn.state import share_of
from ..runs.saving import save_run as save_alone
from .patience import patience
from .world import world

#: Seconds that the others wait for the process that writes.
_WRITING = 600


def save_run(path, /, **options):
    """`rg.save_run`, which all processes call and process 0 does; all go on when it is done. Returns the folder at process 0.

    What is kept in parts, as the state of an optimizer under `shard="optimizer"` or a `TensorParallel` model, is put
    together. `rg.load_run`, which all processes call, restores it on any number of them.

    >>> model = rg.distributed.DataParallel(rg.nn.Linear(2, 1), shard="optimizer")
    >>> optimizer = rg.optim.AdamW(model.parameters())
    >>> _ = rg.distributed.save_run("run", model=model, optimizer=optimizer, step=3)
    >>> rg.load_run("run", model=model, optimizer=optimizer)
    {'step': 3}
    """
    group, found = world(), None
    if group.rank == 0:
        found = save_alone(path, **options)
    else:
        # In the order in which process 0 asks for them.
        for part in in_parts(options):
            part.state_dict()
    with patience(_WRITING):
        group.meet("the checkpoint is written")
    return found


def in_parts(part: Any):
    """The models and optimizers, in a part of a run, of which several processes keep a part each; in the order of saving."""
    if isinstance(part, Module):
        if any([share_of(p) is not None for p in part.parameters()]):
            yield part
    elif getattr(part, "keeper", None) is not None:
        yield part
    elif isinstance(part, dict):
        for inner in part.values():
            yield from in_parts(inner)
    elif isinstance(part, (list, tuple)):
        for inner in part:
            yield from in_parts(inner)

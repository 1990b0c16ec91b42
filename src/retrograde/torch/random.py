"""`torch.random`: seeds, and the state of the default generator."""

from contextlib import contextmanager

from ..ops.random.draws import preserved_state
from .modes import default_generator, get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextmanager
def fork_rng(devices=(), enabled=True):
    """After it, the default generator is where it was before."""
    if not enabled:
        yield
        return
    with preserved_state():
        yield

"""`torch.utils.checkpoint`: what a part would keep for the backward pass is computed again in it."""

from ...transforms.checkpoint import checkpoint as _checkpoint
from ..kinds import handed_out

__all__ = ["checkpoint", "checkpoint_sequential"]


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None, determinism_check=None, debug=False,
               **kwargs):
    """`function(*args, **kwargs)`, of which only inputs and outputs are kept until the backward pass.

    Random numbers are drawn as in the first pass; the other arguments of PyTorch's change nothing.
    """
    return handed_out(_checkpoint(function)(*args, **kwargs))


def checkpoint_sequential(functions, segments, input, use_reentrant=None, preserve_rng_state=True):
    """Functions one after the other, in so many parts, of which all but the last are checkpointed."""
    functions = list(functions)
    size = len(functions) // segments
    for i in range(0, size * (segments - 1), size):
        input = checkpoint(_chained(functions[i : i + size]), input)
    return _chained(functions[size * (segments - 1) :])(input)


def _chained(functions):
    def run(x):
        for function in functions:
            x = function(x)
        return x

    return run

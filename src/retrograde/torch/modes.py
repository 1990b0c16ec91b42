"""What is ambient, under PyTorch's names: whether gradients are recorded, the default dtype, seeds and threads."""

import importlib
import os

from ..core.mode import enable_grad, inference_mode, is_recording, no_grad, set_grad_enabled
from ..dtypes import as_dtype
from ..errors import DTypeError
from ..ops.random import draws
from .devices import placed
from .kinds import DEFAULT, is_floating

__all__ = ["Generator", "default_generator", "enable_grad", "get_default_dtype", "get_num_threads", "get_rng_state",
           "inference_mode",
           "initial_seed", "is_grad_enabled", "is_inference_mode_enabled", "manual_seed", "no_grad", "seed", "set_default_device",
           "set_default_dtype", "set_float32_matmul_precision", "set_grad_enabled", "set_num_threads", "set_rng_state",
           "use_deterministic_algorithms"]

default_generator = draws.default_generator
get_rng_state, set_rng_state = draws.get_rng_state, draws.set_rng_state
_SEED = [67280421310721]


class Generator(draws.Generator):
    """What random numbers come from."""

    def __init__(self, device=None):
        placed(device)
        super().__init__(_SEED[0])
        self.device = "cpu"


def manual_seed(seed):
    """Start the default generator anew. Equal seeds give equal numbers, but not those of PyTorch."""
    _SEED[0] = int(seed)
    return draws.manual_seed(int(seed))


def initial_seed():
    """The seed that the default generator was started with."""
    return _SEED[0]


def seed():
    """Start the default generator from a seed of the system's, which is returned."""
    manual_seed(int.from_bytes(os.urandom(6), "little"))
    return _SEED[0]


def is_grad_enabled():
    """Whether ops on tensors that need gradients are recorded."""
    return is_recording()


def is_inference_mode_enabled():
    """Whether nothing is recorded."""
    return not is_recording()


def get_default_dtype():
    """The dtype of new tensors from Python floats."""
    return DEFAULT[0]


def set_default_dtype(dtype):
    """Let new tensors from Python floats have a floating dtype."""
    if not is_floating(as_dtype(dtype)):
        raise DTypeError(f"the default dtype must be a floating type, got {dtype}")
    DEFAULT[0] = as_dtype(dtype)


def set_default_device(device):
    """Nothing, for the CPU; an error for others."""
    placed(device)


def set_float32_matmul_precision(precision):
    """Nothing: products of float32 are computed in float32."""


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Nothing: results do not differ from run to run."""


def get_num_threads():
    """How many threads compiled code uses."""
    return importlib.import_module("retrograde.compiler.backends").get_num_threads()


def set_num_threads(count):
    """Let compiled code use so many threads."""
    importlib.import_module("retrograde.compiler.backends").set_num_threads(count)

"""`torch.mps`: present, and not available."""

from .devices import no, none_of, nothing

is_available = is_built = no
manual_seed = synchronize = empty_cache = nothing

__all__ = ["empty_cache", "is_available", "is_built", "manual_seed", "synchronize"]
__getattr__ = none_of("mps")

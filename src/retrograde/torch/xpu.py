"""`torch.xpu`: present, and not available."""

from .devices import no, none_of, nothing, zero

is_available = no
device_count = zero
manual_seed = manual_seed_all = synchronize = empty_cache = nothing

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all", "synchronize"]
__getattr__ = none_of("xpu")

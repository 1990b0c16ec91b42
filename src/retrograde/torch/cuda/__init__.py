"""`torch.cuda`: present, and not available."""

from ..devices import no, none_of, nothing, zero
from . import amp

is_available = is_initialized = is_bf16_supported = no
device_count = max_memory_allocated = memory_allocated = memory_reserved = max_memory_reserved = zero
manual_seed = manual_seed_all = synchronize = empty_cache = reset_peak_memory_stats = nothing

__all__ = [
    "amp", "device_count", "empty_cache", "is_available", "is_bf16_supported", "is_initialized", "manual_seed",
    "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved",
    "reset_peak_memory_stats", "synchronize",
]
__getattr__ = none_of("cuda")

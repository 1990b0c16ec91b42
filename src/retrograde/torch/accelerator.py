"""`torch.accelerator`: present, and not available."""

from .devices import no, none_of, nothing, zero

is_available = no
device_count = zero
current_accelerator = synchronize = nothing

__all__ = ["current_accelerator", "device_count", "is_available", "synchronize"]
__getattr__ = none_of("accelerator")

"""`torch.backends.cudnn`: present, and not available; its switches change nothing."""

from ..devices import no as is_available
from ..devices import nothing as version

enabled = benchmark = deterministic = allow_tf32 = False

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

"""The processor: its name, and the instructions that matter for what is measured."""

import platform
from pathlib import Path

#: Instructions for vectors, the widest last, and those for numbers of two bytes.
_KNOWN = ("avx2", "avx512f", "avx512_bf16", "asimd", "sve", "bf16")


def features():
    """The instructions of this processor as Linux names them; empty elsewhere."""
    return frozenset((_fact("flags") or _fact("Features")).split())


def name():
    """The processor in a few words."""
    found = features()
    return ", ".join([_fact("model name") or platform.machine(), *[known for known in _KNOWN if known in found]])


def _fact(wanted):
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return next((value.strip() for key, _, value in (line.partition(":") for line in lines) if key.strip() == wanted), "")

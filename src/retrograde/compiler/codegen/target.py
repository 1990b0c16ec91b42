"""What the generated code needs to know about the machine it runs on."""

import platform
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from ..units import library, name_for
from . import ir
from .vecmath.elements import vector_type

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Target(NamedTuple):
    """A processor: vector size in bytes, number of vector registers, cache sizes in bytes.

    `has_masks` says that loading and storing a part of a vector is one instruction.
    """

    name: str
    vector_bytes: int
    registers: int
    has_fma: bool
    has_masks: bool
    first_cache: int
    second_cache: int
    third_cache: int

    @property
    def reads_operands(self):
        """Whether multiply-adds read vectors from memory as well as from registers, of which there are few."""
        return self.has_fma and self.registers <= 16

    def lanes(self, dtype):
        """How many numbers of `dtype` one vector holds."""
        return self.vector_bytes // ITEM_BYTES[dtype]


_KINDS = [kind for field, kind in Target.__annotations__.items() if field != "name"]
ITEM_BYTES = {"float32": 4, "float64": 8}
SCALAR_TYPES = {"float32": ir.FloatType(), "float64": ir.DoubleType()}


class InVectors:
    """What is computed on vectors of so many `lanes`, of numbers of one dtype."""

    dtype: str
    lanes: int

    @property
    def item(self):
        """The LLVM type of one number."""
        return SCALAR_TYPES[self.dtype]

    @property
    def vector(self):
        """The LLVM type of one vector."""
        return vector_type(self.item, self.lanes)


@cache
def host():
    """The processor that this process runs on. What LLVM says of it is kept on disk, since loading LLVM takes long."""
    store, name = library().store, name_for("target")
    known = store.get(name)
    if known is None:
        llvm = import_module("llvmlite.binding")
        found = describe(llvm.get_host_cpu_name(), platform.machine().lower(), llvm.get_host_cpu_features(), cache_sizes())
        store.put(name, "\n".join([found.name, *[str(int(number)) for number in found[1:]]]).encode())
        return found
    called, *numbers = known.decode().split("\n")
    return Target(called, *[kind(int(number)) for kind, number in zip(_KINDS, numbers, strict=True)])


def describe(name, machine, features, caches):
    """A `Target` from a name, an architecture, a mapping of LLVM feature names, and three cache sizes."""
    first, second, third = caches
    for matches, vector_bytes, registers, has_fma, has_masks in _families(machine, features):
        if matches:
            return Target(name, vector_bytes, registers, has_fma, has_masks, first, second, third)
    return Target(name, 16, 16, False, False, first, second, third)


def _families(machine, features):
    is_x86 = machine in ("x86_64", "amd64", "i386", "i686")
    is_arm = machine in ("aarch64", "arm64")
    has_fma = bool(features.get("fma"))
    return (
        (is_x86 and features.get("avx512f") and features.get("avx512vl"), 64, 32, True, True),
        (is_x86 and features.get("avx"), 32, 16, has_fma, True),
        (is_arm, 16, 32, True, False),
    )


def cache_sizes():
    """Bytes of the first, second and third level data caches; usual sizes where the system does not say."""
    found = {}
    for folder in sorted(_CACHES.glob("index*")) if _CACHES.is_dir() else ():
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdigit():
            found[int(level)] = _bytes(size)
    first = found.get(1) or 32 * 1024
    second = found.get(2) or 512 * 1024
    return first, second, found.get(3) or max(second, 4 * 1024 * 1024)


def _read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _bytes(text):
    scale = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(text[-1:], 1)
    digits = text.rstrip("KMG")
    return int(digits) * scale if digits.isdigit() else 0

"""Targets: what code is generated for. One is an argument of all that plans, writes or compiles code."""

from pathlib import Path
from typing import NamedTuple

from ..errors import ArgumentError

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
#: Bytes of the caches of a processor that does not say.
USUAL_CACHES = 32 * 1024, 512 * 1024, 4 * 1024 * 1024
ITEM_BYTES = {"float32": 4, "float64": 8}
#: Bytes that processors move together, of all targets here. Buffers begin at a multiple, so that no vector lies across two lines.
CACHE_LINE = 64


class Target(NamedTuple):
    """A processor: what LLVM is told of it, vector size in bytes, number of vector registers, cache sizes in bytes.

    `has_masks` says that loading and storing a part of a vector is one instruction. Code depends on all of this, and on nothing
    else of the machine.
    """

    triple: str
    name: str
    features: str
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

    @property
    def converts_half(self):
        """Whether it has instructions between float16 and float32."""
        return self.machine == "aarch64" or self.has_instructions("f16c")

    @property
    def rounds(self):
        """Whether it has instructions that round to whole numbers."""
        return self.machine != "x86_64" or self.has_instructions("sse4.1")

    @property
    def has_avx2(self):
        """Whether it shuffles vectors of 32 bytes, and has no longer ones."""
        return self.vector_bytes == 32 and self.has_instructions("avx2")

    @property
    def has_bfloat16(self):
        """Whether it has instructions for products of bfloat16 in vectors of 64 bytes."""
        return self.vector_bytes == 64 and self.has_instructions("avx512bf16")

    @property
    def gains_by_bfloat16(self):
        """Whether such an instruction takes less time than the two multiply-adds of float32 in place of it.

        AMD's takes as long as one. Intel's takes four times as long (Emerald Rapids: 1.35 against 5.5 in a nanosecond).
        """
        return self.has_bfloat16 and self.name.startswith("znver")

    @property
    def byte_dots(self):
        """What adds up products of neighbouring integers of 8 bits: "vnni", "avx2", "ssse3", "dotprod", or "" for widening them."""
        has = self.has_instructions
        if self.machine == "x86_64":
            is_wide = has("avx2") and self.vector_bytes >= 32
            if is_wide and (has("avx512vnni") and has("avx512vl") or has("avxvnni")):
                return "vnni"
            return "avx2" if is_wide else "ssse3" if has("ssse3") else ""
        return "dotprod" if self.machine == "aarch64" and has("dotprod") else ""

    def has_instructions(self, feature):
        """Whether it has the instructions that LLVM calls `feature`."""
        # All processors of this set have SSE2, which is told only where it could be missing.
        return feature in required(self) or feature == "sse2" and self.machine == "x86_64"

    @property
    def machine(self):
        """The instruction set, as in "x86_64"."""
        return self.triple.partition("-")[0]

    def lanes(self, dtype):
        """How many numbers of `dtype` one vector holds."""
        return self.vector_bytes // ITEM_BYTES[dtype]


#: What the levels of x86-64 have, each on top of the one before, as LLVM calls it: the psABI's list, less what code does not use.
_V2 = ("cx16", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
#: Targets that go by a name: the instruction set, what LLVM calls the processor, and what it must have.
_NAMED = {
    "x86-64": ("x86_64", "x86-64", ()), "x86-64-v2": ("x86_64", "x86-64-v2", _V2), "x86-64-v3": ("x86_64", "x86-64-v3", _V3),
    "x86-64-v4": ("x86_64", "x86-64-v4", _V4), "aarch64": ("aarch64", "generic", ("neon",)),
}
NAMES = tuple(_NAMED)


def named(name, system="unknown-linux-gnu", caches=USUAL_CACHES):
    """The target that goes by a `name`, one of `NAMES`, on a `system` as in the rest of an LLVM triple."""
    if name not in _NAMED:
        raise ArgumentError(f"the target must be one of {', '.join(NAMES)}, got {name!r}")
    machine, called, features = _NAMED[name]
    return describe(called, machine, dict.fromkeys(features, True), caches, f"{machine}-{system}", told="")


def lacking(name, machine, features):
    """What a processor with the instruction set `machine` and `features` by name lacks to run code for the target called `name`."""
    needed = _NAMED[name]
    if needed[0] != _SPELLED.get(machine, machine):
        return [needed[0]]
    return [feature for feature in needed[2] if not features.get(feature)]


def required(target):
    """What a processor must have to run code for a target, as LLVM calls it."""
    if target.features:
        return tuple([word[1:] for word in target.features.split(",") if word[:1] == "+"])
    return next(features for machine, name, features in _NAMED.values() if (machine, name) == (target.machine, target.name))


_SPELLED = {"amd64": "x86_64", "arm64": "aarch64"}


def describe(name, machine, features, caches, triple="", told=None):
    """A `Target` from a name, an architecture, a mapping of LLVM feature names, and three cache sizes.

    `told` are the features in LLVM's words, if they are not what the mapping says.
    """
    if told is None:
        told = ",".join([f"{'+' if has else '-'}{feature}" for feature, has in sorted(features.items())])
    for matches, *facts in _families(machine, features):
        if matches:
            return Target(triple, name, told, *facts, *caches)
    return Target(triple, name, told, 16, 16, False, False, *caches)


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
    """Bytes of the first, second and third level data caches of this machine; usual sizes where the system does not say."""
    found = {}
    for folder in sorted(_CACHES.glob("index*")) if _CACHES.is_dir() else ():
        level, kind, size = (_read(folder / name) for name in ("level", "type", "size"))
        if kind in ("Data", "Unified") and level.isdigit():
            found[int(level)] = _bytes(size)
    first = found.get(1) or USUAL_CACHES[0]
    second = found.get(2) or USUAL_CACHES[1]
    return first, second, found.get(3) or max(second, USUAL_CACHES[2])


def _read(path):
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _bytes(text):
    scale = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(text[-1:], 1)
    digits = text.rstrip("KMG")
    return int(digits) * scale if digits.isdigit() else 0

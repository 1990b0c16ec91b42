"""What the generated code needs to know about the machine it runs on."""

import ctypes
import platform
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite.binding as llvm

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

    def lanes(self, dtype):
        """How many numbers of `dtype` one vector holds."""
        return self.vector_bytes // ITEM_BYTES[dtype]


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
    """The processor that this process runs on."""
    features = llvm.get_host_cpu_features()
    return describe(llvm.get_host_cpu_name(), platform.machine().lower(), features, cache_sizes())


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


def fma_peak(compile_module, target, dtype, repeats=200):
    """Measured multiply-add peak of one thread, in operations a second (a multiply-add counts as two).

    `compile_module` takes a module and returns a function from names to addresses.
    """
    chains = 10 if target.registers <= 16 else 24
    name = f"fma_peak_{dtype}"
    address = compile_module(_peak_module(target, dtype, chains, name))(name)
    function = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)(address)
    scratch = (ctypes.c_double * 64)()
    steps = 20_000
    best = min(_elapsed(function, steps, scratch) for _ in range(repeats))
    return 2 * target.lanes(dtype) * chains * steps / best


def _elapsed(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def _peak_module(target, dtype, chains, name):
    """A loop of independent multiply-add chains, none of which touches memory."""
    module = ir.Module(name)
    vector = ir.VectorType(SCALAR_TYPES[dtype], target.lanes(dtype))
    index, pointer = ir.IntType(64), ir.PointerType()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [index, pointer]), name)
    bits = 8 * ITEM_BYTES[dtype]
    fma = ir.Function(module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{vector.count}f{bits}")
    entry, body, done = (function.append_basic_block(part) for part in ("entry", "body", "done"))
    builder = ir.IRBuilder(entry)
    factor = builder.load(function.args[1], typ=vector, align=8)
    builder.branch(body)
    builder.position_at_end(body)
    step = builder.phi(index)
    sums = [builder.phi(vector) for _ in range(chains)]
    after = [builder.call(fma, [factor, factor, value]) for value in sums]
    for number, (phi, value) in enumerate(zip(sums, after, strict=True)):
        phi.add_incoming(ir.Constant(vector, [float(number)] * vector.count), entry)
        phi.add_incoming(value, body)
    following = builder.add(step, index(1))
    step.add_incoming(index(0), entry)
    step.add_incoming(following, body)
    builder.cbranch(builder.icmp_signed("<", following, function.args[0]), body, done)
    builder.position_at_end(done)
    total = after[0]
    for value in after[1:]:
        total = builder.fadd(total, value)
    builder.store(total, function.args[1], align=8)
    builder.ret_void()
    return module

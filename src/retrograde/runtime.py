"""Runtime: loads a program that `f.export(path)` wrote, checks it, and runs it. It needs NumPy, and nothing else of retrograde.

A copy of this file runs exported programs where retrograde is not installed; `deploy/retrograde_runtime.c` is the same in C.

A file is a head, sections and a SHA-256 of all before it, in words of 64 bits with the lowest byte first. Machine code begins to
run only when all of it has been checked: what the file says of itself, the digest, the processor, and that each place which the
loader reads or writes lies within its section. Whoever made the file is trusted, as with any library that is loaded.
"""

import ctypes
import hashlib
import math
import mmap
import os
import platform
import stat
import sys
import threading
from typing import Any, NamedTuple

import numpy as np

try:
    from .errors import ProgramError  # pyright: ignore[reportAssignmentType]
except ImportError:  # this file by itself, copied beside a program

    class ProgramError(ValueError, RuntimeError):
        """A file of machine code cannot be loaded or run here."""


__all__ = ["Function", "Program", "ProgramError", "Value", "load"]

# The format

MAGIC, VERSION = b"\x89RGPROG\n", 1
#: The numbers of ELF for machines, as Python's `platform.machine` calls them.
MACHINES = {"x86_64": 62, "aarch64": 183}
#: Sections in the order of the head, which has (first byte, how many items) of each after its first four words, and the bytes of an
#: item: text that ends in zeros, machine code, numbers of tensors; then words, several of which are an item.
SECTIONS = {"text": 1, "code": 1, "data": 1, "numbers": 8, "outside": 16, "requirements": 48, "tensors": 32, "values": 40,
            "functions": 144}
#: Head: magic, version and machine, size; where `run` is in the code; where the name of the target is in the text; the sections.
HEAD = 8 * (5 + 2 * len(SECTIONS))
DIGEST = 32
#: What slots and copies lie in: nothing that is read, the flag of checks, an input, an output, memory of the loader's, a tensor of
#: the file. Each is followed by a number and an offset in bytes.
POOL, FLAG, INPUT, OUTPUT, ARENA, TENSOR = range(6)
SLOT, COPY = 3, 7
#: What a requirement asks: (CPUID, leaf, part, register, mask), (STATE, 0, 0, 0, mask of what the system keeps for programs), or
#: (HWCAP, 16 or 26, 0, 0, mask of what Linux says on ARM); each is followed by the place of its name in the text.
CPUID, STATE, HWCAP = range(3)
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128")
#: What checks in machine code leave in the flag.
FAILURES = {1: "an index was negative or too great", 3: "a matrix is not positive definite", 5: "a matrix is singular"}
#: Functions of the system that machine code may call; `fma` and `fmaf` on processors that have no such instruction.
OUTSIDE = ("memcpy", "memmove", "memset", "fma", "fmaf")
#: Buffers begin at a multiple of so many bytes.
LINE = 64
#: `ask(leaf, part, registers)` and `enabled()` for x86-64: the instructions CPUID and XGETBV.
ASK = bytes.fromhex("53 89f8 89f1 4989d0 0fa2 418900 41895804 41894808 4189500c 5b c3")
ENABLED = bytes.fromhex("31c9 0f01d0 48c1e220 4809d0 c3")
_KEEPS_STATE, _EXTENDED = 1 << 27, 0x80000000
_MOST_AXES = 64


class Value(NamedTuple):
    """An input or a result: its name, its shape, and the name of its dtype. bfloat16 is handed over as uint16, its bits."""

    name: str
    shape: tuple
    dtype: str

    @property
    def numpy(self):
        """The dtype of its arrays."""
        return np.dtype("uint16" if self.dtype == "bfloat16" else self.dtype)

    @property
    def nbytes(self):
        """The bytes of its arrays."""
        return math.prod(self.shape) * self.numpy.itemsize


def load(path):
    """The program in the file at `path`, ready to run; a ProgramError for what is no whole program for this machine.

    program = retrograde.runtime.load("model.rgx")
    y = program(x)
    """
    return Program(_File(path))


class Program:
    """The functions of a file by their names, `functions`, and the state that they share. A call runs the only one.

    One call runs at a time, on the thread that calls; who wants more loads the file several times.
    """

    def __init__(self, file):
        self.target, self._file, self._lock = file.target, file, threading.Lock()
        self._memory = _Executable(file)
        self._tensors = [file.tensor(i) for i in range(len(file.sections["tensors"]))]
        records = file.sections["functions"].tolist()
        self._arena = _room(max([record[11] for record in records], default=0))
        flag, pool = np.zeros(1, np.int64), _room(512)
        pool[:] = 0
        self.functions = {}
        for record in records:
            known = {POOL: [pool], FLAG: [flag.view(np.uint8)], ARENA: [self._arena], TENSOR: self._tensors}
            made = Function(file, record, known, flag, self._memory, self._lock)
            self.functions[made.name] = made

    def __call__(self, *arrays):
        """What the only function of the file gives for its inputs, in order."""
        if len(self.functions) != 1:
            raise ProgramError(f"the file has {len(self.functions)} functions; choose one of {', '.join(self.functions)}, as in "
                               "program.functions[name](...)")
        return next(iter(self.functions.values()))(*arrays)

    def reset(self):
        """Let the state, such as that of a random generator, be what it was when the file was written."""
        with self._lock:
            for number, tensor in enumerate(self._tensors):
                tensor[...] = self._file.tensor(number)


class Function:
    """One function of a program: its `name`, what its `inputs` and `outputs` are, and a call that runs it."""

    def __init__(self, file, record, known, flag, memory, lock):
        self.name, self._flag, self._lock, self._known = file.text(record[0]), flag, lock, known
        self.inputs, self.outputs = file.values(*record[12:14]), file.values(*record[14:16])
        self._words = file.numbers(*record[1:3]).copy()
        places, calls = file.numbers(*record[3:5]), file.numbers(record[5], 2 * record[6]).reshape(-1, 2)
        file.check(places, len(self._words), "a word")
        file.check(calls[:, 0], len(self._words), "a word")
        file.check(calls[:, 1], len(file.sections["code"]), "a function")
        file.check(self._words[places], len(self._words), "a word")
        self._words[places] = _address(self._words) + 8 * self._words[places]
        self._words[calls[:, 0]] = memory.address + calls[:, 1]
        first, self._count = record[7:9]
        file.check(np.array([first, self._count, first + 4 * self._count]), len(self._words) + 1, "a step")
        # The memory of the code as well: a function may be kept when its program is not.
        self._steps, self._run, self._memory = _address(self._words) + 8 * first, memory.run, memory
        self._slots = file.numbers(record[9], SLOT * record[10]).reshape(-1, SLOT).tolist()
        self._copies = file.numbers(record[16], COPY * record[17]).reshape(-1, COPY).tolist()
        sizes = {kind: [len(array) for array in arrays] for kind, arrays in known.items()}
        sizes |= {INPUT: [value.nbytes for value in self.inputs], OUTPUT: [value.nbytes for value in self.outputs]}
        for kind, number, at in self._slots:
            _within(file, sizes, kind, number, at, 0)
        for *target, size in self._copies:
            for kind, number, at in (target[:3], target[3:]):
                _within(file, sizes, kind, number, at, size)
        self._table = np.zeros(max(len(self._slots), 2), np.int64)
        self._moving = []
        for place, (kind, number, at) in enumerate(self._slots):
            if kind in (INPUT, OUTPUT):
                self._moving.append((place, kind, number, at))
            else:
                self._table[place] = _address(known[kind][number]) + at
        self._arguments = _address(self._table), self._steps, self._count

    def __call__(self, *arrays):
        """The result for arrays, one for each of the `inputs`; a tuple if there are several `outputs`."""
        if len(arrays) != len(self.inputs):
            raise ProgramError(f"{self.name} takes {len(self.inputs)} arrays ({', '.join([v.name for v in self.inputs])}), got "
                               f"{len(arrays)}")
        given = [_fitting(self.name, value, array) for value, array in zip(self.inputs, arrays, strict=True)]
        made = [np.empty(value.shape, value.numpy) for value in self.outputs]
        known = {**self._known, INPUT: [_bytes(array) for array in given], OUTPUT: [_bytes(array) for array in made]}
        with self._lock:
            for place, kind, number, at in self._moving:
                self._table[place] = _address(known[kind][number]) + at
            self._flag[0] = 0
            if self._count:
                self._run(*self._arguments)
            if self._flag[0]:
                raise ProgramError(f"{self.name}: {FAILURES.get(int(self._flag[0]), 'a check failed')}; nothing was written")
            for kind, number, at, source, other, start, size in self._copies:
                known[kind][number][at : at + size] = known[source][other][start : start + size]
        return made[0] if len(made) == 1 else tuple(made)


class _File:
    """The sections of a file that has been checked."""

    def __init__(self, path):
        self.path = path
        self._bytes = content = _content(path)
        if len(content) < HEAD + DIGEST or content[: len(MAGIC)].tobytes() != MAGIC:
            raise self.damaged("it does not begin as an exported program does")
        words = content[:HEAD].view("<i8").tolist()
        version, machine = content[8:16].view("<u4").tolist()
        if version != VERSION:
            raise ProgramError(f"{path} has version {version} of the format, and this loader reads version {VERSION}; export the "
                               "function again, or take the loader of the release that wrote it")
        if words[2] != len(content):
            raise self.damaged(f"it says that it has {words[2]} bytes, and has {len(content)}")
        if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:].tobytes():
            raise self.damaged("its SHA-256 is another one than it says")
        self._check_machine(machine)
        self.sections = {}
        for number, (name, size) in enumerate(SECTIONS.items()):
            first, count = words[5 + 2 * number : 7 + 2 * number]
            if first < HEAD or count < 0 or first % 8 or first + count * size > len(content) - DIGEST:
                raise self.damaged(f"its section {name} does not lie within it")
            part = content[first : first + count * size]
            self.sections[name] = part if size == 1 else part.view("<i8").reshape(count, size // 8)
        self.run = words[3]
        self.check(np.array([self.run]), len(self.sections["code"]), "a function")
        self.target = self.text(words[4])
        _check_processor(self)

    def damaged(self, what):
        """The error of a file that is no whole program."""
        return ProgramError(f"{self.path} cannot be loaded: {what}")

    def _check_machine(self, machine):
        here = MACHINES.get({"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower()))
        if machine != here or sys.platform != "linux":
            names = {number: name for name, number in MACHINES.items()}
            raise ProgramError(f"{self.path} is for Linux on {names.get(machine, f'machine {machine}')}, and this is "
                               f"{sys.platform} on {platform.machine()}; export the function for this machine")

    def check(self, places, size, what):
        """Raise a ProgramError if one of the `places` is no place among `size`."""
        if len(places) and (places.min() < 0 or places.max() >= size):
            raise self.damaged(f"{what} lies outside of its section")

    def text(self, place):
        """The text that begins at a place."""
        text = self.sections["text"]
        self.check(np.array([place]), len(text), "a name")
        found, end, _ = text[place:].tobytes().partition(b"\0")
        if not end:
            raise self.damaged("a name has no end")
        return found.decode("utf-8", "replace")

    def numbers(self, first, count):
        """So many numbers of the pool of all functions."""
        pool = self.sections["numbers"].reshape(-1)
        if first < 0 or count < 0 or first + count > len(pool):
            raise self.damaged("a list lies outside of its section")
        return pool[first : first + count].astype(np.int64)

    def values(self, first, count):
        """What so many inputs or outputs are."""
        records = self.sections["values"]
        if first < 0 or count < 0 or first + count > len(records):
            raise self.damaged("a value lies outside of its section")
        return [self._value(*record) for record in records[first : first + count].tolist()]

    def _value(self, name, dtype, nbytes, rank, at):
        if not 0 <= dtype < len(DTYPES) or not 0 <= rank <= _MOST_AXES:
            raise self.damaged("a value has a dtype or a rank that there is not")
        found = Value(self.text(name), tuple(self.numbers(at, rank).tolist()), DTYPES[dtype])
        if min(found.shape, default=0) < 0 or found.nbytes != nbytes:
            raise self.damaged(f"{found.name} has {nbytes} bytes and the shape {found.shape}")
        return found

    def tensor(self, number):
        """The bytes of a tensor; of one that is written to a copy."""
        at, size, is_written, _ = self.sections["tensors"][number].tolist()
        data = self.sections["data"]
        if at < 0 or size < 0 or at + size > len(data):
            raise self.damaged("a tensor lies outside of its section")
        found = data[at : at + size]
        if not is_written:
            return found
        copied = _room(size)
        copied[:] = found
        return copied


class _Executable:
    """Machine code in memory that can be run, and no longer be written to; `run` is its function that runs steps."""

    def __init__(self, file):
        self._system = ctypes.CDLL(None, use_errno=True)
        fixes = []
        for name, place in file.sections["outside"].tolist():
            file.check(np.array([place, place + 7]), len(file.sections["code"]), "an address")
            fixes.append((place, self._outside(file.text(name))))
        self._block, self.address = mapped(file.sections["code"], fixes, self._system)
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self.run = prototype(self.address + file.run)

    def _outside(self, name):
        """The address of a function of the system."""
        if name not in OUTSIDE:
            raise ProgramError(f"machine code of this file calls {name}, which this loader does not have")
        # Python itself has loaded the library of mathematical functions.
        return ctypes.cast(getattr(self._system, name), ctypes.c_void_p).value


def mapped(code, fixes=(), system=None):
    """(memory, its address) of machine code that can be run; `fixes` are (place, address to be put there)."""
    system = system or ctypes.CDLL(None, use_errno=True)
    block = mmap.mmap(-1, max(len(code), 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    block[: len(code)] = bytes(code)
    for place, address in fixes:
        block[place : place + 8] = address.to_bytes(8, "little")
    address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    if system.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(block)), mmap.PROT_READ | mmap.PROT_EXEC):
        raise ProgramError(f"the system does not let machine code run: {os.strerror(ctypes.get_errno())}")
    return block, address


def _check_processor(file):
    """Raise a ProgramError that names what this processor lacks for the code of a file."""
    processor = _Processor()
    lacking = [file.text(name) for *asked, name in file.sections["requirements"].tolist() if not processor.has(*asked)]
    if lacking:
        raise ProgramError(f"{file.path} is for {file.target}, and this processor lacks {', '.join(dict.fromkeys(lacking))}; "
                           "export the function for an older target, such as x86-64-v2")


class _Processor:
    """What the processor says of itself."""

    def __init__(self):
        self._leaves = {}
        if platform.machine().lower() in ("x86_64", "amd64"):
            self._block, address = mapped(ASK + ENABLED)
            self._ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)
            self._enabled = ctypes.CFUNCTYPE(ctypes.c_uint64)(address + len(ASK))

    def has(self, kind, leaf, part, register, mask):
        """Whether a requirement is met."""
        if kind == HWCAP:
            system: Any = ctypes.CDLL(None)
            system.getauxval.restype, system.getauxval.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
            return system.getauxval(leaf) & mask == mask
        if kind == STATE:
            return bool(self._leaf(1, 0)[2] & _KEEPS_STATE) and self._enabled() & mask == mask
        # A processor answers leaves that it has not with those of another one.
        is_there = 0 <= leaf <= self._leaf(leaf & _EXTENDED, 0)[0]
        return kind == CPUID and 0 <= register < 4 and is_there and self._leaf(leaf, part)[register] & mask == mask

    def _leaf(self, leaf, part):
        if (leaf, part) not in self._leaves:
            registers = (ctypes.c_uint32 * 4)()
            self._ask(leaf, part, ctypes.addressof(registers))
            self._leaves[leaf, part] = list(registers)
        return self._leaves[leaf, part]


def _content(path):
    """The bytes of an ordinary file, in memory of this process: a file that is changed later changes nothing here."""
    try:
        # A FIFO without a writer is opened at once, and then refused.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb", buffering=0) as file:
            facts = os.fstat(handle)
            if not stat.S_ISREG(facts.st_mode):
                raise ProgramError(f"{path} cannot be loaded: it is no ordinary file")
            content, read = _room(facts.st_size), 0
            while read < len(content) and (count := file.readinto(memoryview(content)[read:])):
                read += count
    except OSError as error:
        raise ProgramError(f"{path} cannot be loaded: {error.strerror or error}") from None
    return content[:read]


def _room(nbytes):
    """Memory that begins where a buffer may."""
    try:
        block = np.empty(nbytes + LINE, np.uint8)
    except (MemoryError, ValueError):
        raise ProgramError(f"there is no memory of {nbytes} bytes for this program") from None
    start = -block.ctypes.data % LINE
    return block[start : start + nbytes]


def _within(file, sizes, kind, number, at, size):
    """Raise a ProgramError if there are no `size` bytes from a place on."""
    known = sizes.get(kind, ())
    if not 0 <= number < len(known) or at < 0 or size < 0 or at + size > known[number]:
        raise file.damaged("a buffer lies outside of its memory")


def _fitting(name, value, array):
    """`array` as the input that `value` describes; a ProgramError if it is another one."""
    array = np.asarray(array)
    if array.dtype.name == value.dtype == "bfloat16":
        array = array.view(np.uint16)
    if array.shape != value.shape or array.dtype != value.numpy:
        raise ProgramError(f"{name} takes {value.name} as {value.numpy}{list(value.shape)}, got {array.dtype}{list(array.shape)}")
    return np.require(array, requirements=["C", "A"]).reshape(value.shape)


def _bytes(array):
    return array.reshape(-1).view(np.uint8)


def _address(array):
    return array.__array_interface__["data"][0]

"""Images: machine code that lies in memory as it lies on disk.

An object file is linked once, when it has been compiled: its sections stand one after the other, and what they say of one
another holds wherever they are put. So loading is one copy, which needs neither LLVM nor the time that it takes to load. What
has no such form stays an object file (`linked` gives None), as do all that are not of this kind of machine.
"""

import ctypes
import marshal
import mmap
import platform
import sys
from struct import pack_into, unpack_from

from ....errors import CompilerError
from ...target import CACHE_LINE

#: Whether processes on this machine can load images.
IS_POSSIBLE = sys.platform == "linux" and platform.machine() == "x86_64"
_MAGIC = b"image"
_PAGE = mmap.PAGESIZE
_ELF = b"\x7fELF\x02\x01"  # of 64 bits, the lowest byte first
_X86_64 = 62
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
_WRITTEN, _ALLOCATED, _UNWINDING = 1, 2, 0x70000001
#: Relocations that ask for the distance from the place itself: PC32, and PLT32 where a function is called.
_DISTANCE, _CALL = 2, 4
#: A jump to where the eight bytes after it say.
_JUMP = b"\xff\x25\x00\x00\x00\x00"


def linked(code):
    """The image of an object file, or None if it has none."""
    if not IS_POSSIBLE or not code.startswith(_ELF) or unpack_from("<H", code, 18) != (_X86_64,):
        return None
    try:
        block, functions, outside = _Link(code).done()
    except _UnknownError:
        return None
    return image_of(bytes(block), functions, outside)


def image_of(block, functions, outside=None):
    """The image of a block of code: where its functions begin, and where the addresses of functions of the system are to stand."""
    return _MAGIC + marshal.dumps((block, functions, outside or {}))


def is_image(code):
    """Whether `code` is an image rather than an object file."""
    return code.startswith(_MAGIC)


class _UnknownError(Exception):
    """Something that an image cannot hold."""


class _Link:
    """The sections of an object file in one block, with jumps to functions of the system at its end."""

    def __init__(self, code):
        self._code, self._block, self._at, self._outside = code, bytearray(), {}, {}
        first, = unpack_from("<Q", code, 40)
        count, = unpack_from("<H", code, 60)
        # name, kind, flags, address, offset, size, link, info, alignment, size of an entry
        self._sections = [unpack_from("<IIQQQQIIQQ", code, first + 64 * i) for i in range(count)]

    def done(self):
        """(the block, {function: where it is}, {function of the system: where its address is to stand})."""
        for number, section in enumerate(self._sections):
            if section[2] & _ALLOCATED and section[1] != _UNWINDING:
                self._place(number, section)
        symbols = next(section for section in self._sections if section[1] == _SYMBOLS)
        self._names = self._sections[symbols[6]][4]
        self._symbols = [unpack_from("<IBBHQQ", self._code, symbols[4] + 24 * i) for i in range(symbols[5] // 24)]
        for section in self._sections:
            if section[1] == _RELOCATIONS and section[7] in self._at:
                self._relocate(section)
        found = {self._name(s): self._at[s[3]] + s[4] for s in self._symbols if _is_open(s) and s[3] in self._at}
        return self._block, found, self._outside

    def _place(self, number, section):
        if section[1] == _NO_BITS or section[2] & _WRITTEN or section[8] > CACHE_LINE:
            raise _UnknownError
        self._block.extend(bytes(-len(self._block) % CACHE_LINE))
        self._at[number] = len(self._block)
        self._block += self._code[section[4] : section[4] + section[5]]

    def _relocate(self, section):
        start = self._at[section[7]]
        for i in range(section[5] // 24):
            place, info, more = unpack_from("<QQq", self._code, section[4] + 24 * i)
            kind, symbol = info & 0xFFFFFFFF, self._symbols[info >> 32]
            if kind not in (_DISTANCE, _CALL):
                raise _UnknownError
            target = self._at[symbol[3]] + symbol[4] if symbol[3] in self._at else self._jump(symbol, kind)
            pack_into("<i", self._block, start + place, target + more - start - place)

    def _jump(self, symbol, kind):
        """Where a jump to a function of the system is, which is appended."""
        if symbol[3] or kind != _CALL:
            raise _UnknownError
        name = self._name(symbol)
        if name not in self._outside:
            self._block.extend(bytes(-len(self._block) % 8 + 2) + _JUMP + bytes(8))
            self._outside[name] = len(self._block) - 8
        return self._outside[name] - len(_JUMP)

    def _name(self, symbol):
        start = self._names + symbol[0]
        return self._code[start : self._code.index(b"\0", start)].decode()


def _is_open(symbol):
    """Whether a symbol is a function that others may call."""
    return symbol[1] & 15 == 2 and symbol[1] >> 4 > 0


class Images:
    """The images that are loaded in this process."""

    def __init__(self):
        self._system, self._addresses, self._blocks = ctypes.CDLL(None, use_errno=True), {}, []

    def load(self, images):
        """Load images, all into one block of memory, which can no longer be written to when it can be run."""
        parts, size = [], 0
        for image in images:
            block, functions, outside = marshal.loads(memoryview(image)[len(_MAGIC) :])  # noqa: S302 - made here, or checked by the cache
            parts.append((size, block, functions, outside))
            size += -(-len(block) // CACHE_LINE) * CACHE_LINE
        memory = mmap.mmap(-1, max(-(-size // _PAGE), 1) * _PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for at, block, functions, outside in parts:
            memory[at : at + len(block)] = block
            for name, place in outside.items():
                pack_into("<Q", memory, at + place, self._outside(name))
            self._addresses.update({name: address + at + place for name, place in functions.items()})
        if self._system.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(len(memory)), mmap.PROT_READ | mmap.PROT_EXEC):
            raise CompilerError(f"the system does not let compiled code run: error {ctypes.get_errno()} of mprotect")
        self._blocks.append(memory)

    def _outside(self, name):
        """The address of a function of the system."""
        try:
            return ctypes.cast(getattr(self._system, name), ctypes.c_void_p).value
        except AttributeError:
            raise CompilerError(f"compiled code calls {name}, which this system does not have") from None

    def address(self, name):
        """The address of a function of a loaded image; None if there is none."""
        return self._addresses.get(name)

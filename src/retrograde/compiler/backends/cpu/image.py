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
from struct import pack_into

from ....errors import CompilerError
from ...target import CACHE_LINE
from .linking import X86_64, Block, UnlinkableError, machine_of

#: Whether processes on this machine can load images.
IS_POSSIBLE = sys.platform == "linux" and platform.machine() == "x86_64"
_MAGIC = b"image"
_PAGE = mmap.PAGESIZE


def linked(code):
    """The image of an object file, or None if it has none."""
    if not IS_POSSIBLE or machine_of(code) != X86_64:
        return None
    block = Block(X86_64)
    try:
        block.add(code)
    except UnlinkableError:
        return None
    return image_of(bytes(block.content), block.functions, block.outside)


def image_of(block, functions, outside=None):
    """The image of a block of code: where its functions begin, and where the addresses of functions of the system are to stand."""
    return _MAGIC + marshal.dumps((block, functions, outside or {}))


def is_image(code):
    """Whether `code` is an image rather than an object file."""
    return code.startswith(_MAGIC)


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

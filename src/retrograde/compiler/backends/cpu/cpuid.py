"""CPUID: what an x86-64 processor says of itself, asked by its own instruction and without LLVM, which takes long to load.

It is what LLVM asks too. The system's own account, /proc/cpuinfo, may be that of another processor: under an emulator of programs
it is that of the machine below.
"""

import ctypes

from ....runtime import ASK, ENABLED
from .image import IS_POSSIBLE, Images, image_of

_KEEPS_STATE = 1 << 27
#: (number, part, which registers) of the leaves that say what there is; other registers number cores, and differ between them.
_LEAVES = ((0, 0, "abcd"), (1, 0, "acd"), (7, 0, "bcd"), (7, 1, "abcd"), (0xD, 1, "a"), (0x14, 0, "b"), (0x19, 0, "b"),
           (0x1E, 1, "a"), (0x24, 0, "b"), (0x80000001, 0, "cd"), (0x80000008, 0, "b"))
_EXTENDED = 0x80000000


def identity():
    """The numbers by which processors differ in what they can run; None where they cannot be asked for."""
    if not IS_POSSIBLE:
        return None
    images = Images()
    images.load([image_of(ASK + ENABLED, {"ask": 0, "enabled": len(ASK)})])
    ask = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(images.address("ask"))
    enabled = ctypes.CFUNCTYPE(ctypes.c_uint64)(images.address("enabled"))

    def leaf(number, part):
        registers = (ctypes.c_uint32 * 4)()
        ask(number, part, ctypes.addressof(registers))
        return dict(zip("abcd", registers, strict=True))

    # A processor answers leaves that it has not with those of another one.
    most = {False: leaf(0, 0)["a"], True: leaf(_EXTENDED, 0)["a"]}
    found = [leaf(number, part)[name] for number, part, names in _LEAVES if number <= most[number >= _EXTENDED] for name in names]
    return *found, enabled() if leaf(1, 0)["c"] & _KEEPS_STATE else 0

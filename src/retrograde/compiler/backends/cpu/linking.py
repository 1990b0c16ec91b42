"""Linking: the sections of object files in one block of bytes, which holds wherever it is put in memory.

What sections say of one another is a distance, of which nothing changes when the block is moved. Calls of functions of the system
are the one thing that must be filled in: jumps to them stand in the block, with room for an address each.
"""

from struct import pack_into, unpack_from
from types import MappingProxyType

from ...target import CACHE_LINE

_ELF = b"\x7fELF\x02\x01"  # of 64 bits, the lowest byte first
_MACHINE, X86_64, AARCH64 = 18, 62, 183
_SYMBOLS, _RELOCATIONS, _NO_BITS = 2, 4, 8
_WRITTEN, _ALLOCATED, _UNWINDING = 1, 2, 0x70000001
#: Memory is handed out in pages of at least so many bytes, at which a block begins.
PAGE = 4096


class UnlinkableError(Exception):
    """Something that a block cannot hold."""


def machine_of(code):
    """The number by which object files name their machine; None of what is no such file."""
    return unpack_from("<H", code, _MACHINE)[0] if code.startswith(_ELF) else None


class Block:
    """Code of object files for one machine.

    content    the bytes, which are to begin at a page
    functions  where each function is
    outside    where the address of each function of the system is to stand
    """

    def __init__(self, machine):
        self.content, self.functions, self.outside = bytearray(), {}, {}
        self._machine = _MACHINES[machine]()

    def add(self, code):
        """Add an object file; an UnlinkableError for what only a linker of the system can do."""
        first, = unpack_from("<Q", code, 40)
        count, = unpack_from("<H", code, 60)
        # name, kind, flags, address, offset, size, link, info, alignment, size of an entry
        sections = [unpack_from("<IIQQQQIIQQ", code, first + 64 * i) for i in range(count)]
        places = {number: self._place(code, section) for number, section in enumerate(sections)
                  if section[2] & _ALLOCATED and section[1] != _UNWINDING}
        table = next(section for section in sections if section[1] == _SYMBOLS)
        symbols = [_Symbol(code, table[4] + 24 * i, sections[table[6]][4], places) for i in range(table[5] // 24)]
        for section in sections:
            if section[1] == _RELOCATIONS and section[7] in places:
                self._relocate(code, section, places[section[7]], symbols)
        self.functions.update({symbol.name: symbol.at for symbol in symbols if symbol.is_open})

    def _place(self, code, section):
        if section[1] == _NO_BITS or section[2] & _WRITTEN or section[8] > CACHE_LINE:
            raise UnlinkableError
        self.content.extend(bytes(-len(self.content) % CACHE_LINE))
        at = len(self.content)
        self.content += code[section[4] : section[4] + section[5]]
        return at

    def _relocate(self, code, section, start, symbols):
        for i in range(section[5] // 24):
            place, info, more = unpack_from("<QQq", code, section[4] + 24 * i)
            kind, symbol = info & 0xFFFFFFFF, symbols[info >> 32]
            target = self._jump(symbol, kind) if symbol.at is None else symbol.at
            self._machine.relocate(self.content, kind, start + place, target + more)

    def _jump(self, symbol, kind):
        """Where a jump to a function of the system is, which is appended."""
        if not symbol.is_outside or kind not in self._machine.calls:
            raise UnlinkableError
        jump = self._machine.jump
        if symbol.name not in self.outside:
            self.content.extend(bytes(-(len(self.content) + len(jump)) % 8) + jump + bytes(8))
            self.outside[symbol.name] = len(self.content) - 8
        return self.outside[symbol.name] - len(jump)


class _Symbol:
    """A name in an object file: where it is in the block, None for what is not there."""

    def __init__(self, code, at, names, places):
        name, info, _, section, value, _ = unpack_from("<IBBHQQ", code, at)
        self.at = places[section] + value if section in places else None
        self.is_outside = section == 0
        #: Whether it is a function that others may call.
        self.is_open = info & 15 == 2 and info >> 4 > 0 and self.at is not None
        start = names + name
        self.name = code[start : code.index(b"\0", start)].decode()


class _X86:
    #: PC32, and PLT32 where a function is called: both ask for the distance from the place itself.
    _DISTANCE, calls = 2, (4,)
    #: A jump to where the eight bytes after it say.
    jump = b"\xff\x25\x00\x00\x00\x00"

    def relocate(self, content, kind, place, target):
        if kind != self._DISTANCE and kind not in self.calls:
            raise UnlinkableError
        pack_into("<i", content, place, target - place)


class _Arm:
    """Instructions take a distance in pages and the rest of an address apart; the block begins at a page, so that both stay."""

    _DISTANCE, _PAGES, _ADDITION, calls = 261, 275, 277, (282, 283)
    #: Loads and stores, by the logarithm of their size, in which the rest of an address is counted.
    _LOADS = MappingProxyType({278: 0, 284: 1, 285: 2, 286: 3, 299: 4})
    #: ldr x16, 8 bytes on; br x16.
    jump = bytes.fromhex("50000058 00021fd6")

    def relocate(self, content, kind, place, target):
        if kind == self._DISTANCE:
            pack_into("<i", content, place, target - place)
            return
        word, = unpack_from("<I", content, place)
        if kind == self._PAGES:
            pages = (target >> 12) - (place >> 12)
            word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        elif kind in self.calls:
            word |= (target - place >> 2) & 0x3FFFFFF
        elif kind == self._ADDITION:
            word |= (target & 0xFFF) << 10
        elif kind in self._LOADS:
            word |= (target & 0xFFF) >> self._LOADS[kind] << 10
        else:
            raise UnlinkableError
        pack_into("<I", content, place, word)


_MACHINES = {X86_64: _X86, AARCH64: _Arm}

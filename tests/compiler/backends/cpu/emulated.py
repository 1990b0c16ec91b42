"""Programs for other machines: compiled steps linked into one file that an emulator of programs runs, without any library there."""

import struct
import subprocess

import numpy as np

from retrograde.compiler.backends.cpu.engine import object_code
from retrograde.compiler.backends.cpu.table import Words
from retrograde.core.symbol import Symbol

_CODE, _DATA, _LINE = 0x400000, 0x10000000, 64
_ALLOCATED, _PROGRAM, _NO_BITS, _RELOCATIONS, _SYMBOLS = 2, 1, 8, 4, 2
#: Relocations of aarch64: pages, the rest of an address in an addition or (by the log of its size) a load, calls, distances.
_PAGE, _ADDITION, _CALLS, _LOADS, _DISTANCE = 275, 277, (282, 283), {278: 0, 284: 1, 285: 2, 286: 3, 299: 4}, 261


class Image:
    """Memory of a program: code at one place, data at another, both with addresses that are known when they are written."""

    def __init__(self):
        self.code, self.data, self.addresses = bytearray(), bytearray(), {}

    def put(self, content):
        """The address of new data."""
        self.data += bytes(-len(self.data) % _LINE)
        at = _DATA + len(self.data)
        self.data += content
        return at

    def link(self, code):
        """Add an object file for aarch64; its functions are then in `addresses`."""
        first, = struct.unpack_from("<Q", code, 40)
        count, = struct.unpack_from("<H", code, 60)
        sections = [struct.unpack_from("<IIQQQQIIQQ", code, first + 64 * i) for i in range(count)]
        places = {}
        for number, section in enumerate(sections):
            if section[2] & _ALLOCATED and section[1] in (_PROGRAM, _NO_BITS):
                self.code += bytes(-len(self.code) % _LINE)
                places[number] = _CODE + len(self.code)
                self.code += bytes(section[5]) if section[1] == _NO_BITS else code[section[4] : section[4] + section[5]]
        table = next(section for section in sections if section[1] == _SYMBOLS)
        names = sections[table[6]][4]
        symbols = [struct.unpack_from("<IBBHQQ", code, table[4] + 24 * i) for i in range(table[5] // 24)]
        for name, info, _, section, value, _ in symbols:
            if info >> 4 and section in places:
                text = code[names + name : code.index(b"\0", names + name)].decode()
                self.addresses[text] = places[section] + value
        for section in sections:
            for i in range(section[5] // 24 if section[1] == _RELOCATIONS and section[7] in places else 0):
                offset, info, more = struct.unpack_from("<QQq", code, section[4] + 24 * i)
                symbol = symbols[info >> 32]
                assert symbol[3] in places, "code for a bare machine calls nothing from outside"
                self._relocate(info & 0xFFFFFFFF, places[section[7]] + offset, places[symbol[3]] + symbol[4] + more)

    def _relocate(self, kind, place, target):
        at = place - _CODE
        word, = struct.unpack_from("<I", self.code, at)
        if kind == _PAGE:
            pages = (target >> 12) - (place >> 12)
            word |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        elif kind in _CALLS:
            word |= (target - place >> 2) & 0x3FFFFFF
        elif kind == _ADDITION:
            word |= (target & 0xFFF) << 10
        elif kind == _DISTANCE:
            word = (target - place) & 0xFFFFFFFF
        else:
            word |= (target & 0xFFF) >> _LOADS[kind] << 10
        struct.pack_into("<I", self.code, at, word)

    def file(self, start):
        """The program as an ELF file that begins at the address `start`."""
        head = 64 + 2 * 56
        code_at, data_at = 0x1000, 0x1000 + -(-len(self.code) // 0x1000) * 0x1000
        out = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 183, 1, start, 64, 0, 0, 64, 56, 2, 0, 0, 0)
        for flags, at, address, content in ((5, code_at, _CODE, self.code), (6, data_at, _DATA, self.data)):
            out += struct.pack("<IIQQQQQQ", 1, flags, at, address, address, len(content), len(content), 0x1000)
        assert len(out) == head
        return out.ljust(code_at, b"\0") + bytes(self.code).ljust(data_at - code_at, b"\0") + bytes(self.data)


def _load(register, number):
    """Instructions of aarch64 that put a number of 48 bits into a register."""
    return [0xD2800000 | (number & 0xFFFF) << 5 | register] + [
        0xF2800000 | part << 21 | (number >> 16 * part & 0xFFFF) << 5 | register for part in (1, 2)]


def run(parts, arrays, results, target, folder, emulator):
    """The arrays of `results`, nodes, after all launches in `parts` on `arrays` by leaf, computed by a program for `target`."""
    image, pointers, words, kept = Image(), {}, Words(), []
    for unit in {unit.name: unit for part in parts for unit in part.units}.values():
        image.link(object_code(unit.text, target, unit.is_final))

    def pointer(buffer):
        if isinstance(buffer, str):  # the pool, and the flag of checks
            key, content = buffer, bytes(4096)
        elif isinstance(buffer, np.ndarray):
            key, content = id(buffer), np.ascontiguousarray(buffer).tobytes()
        elif isinstance(buffer, Symbol) and buffer in arrays:
            key, content = id(buffer), arrays[buffer].tobytes()
        else:
            key, content = id(buffer), bytes(max(buffer.nbytes, 1))
        if key not in pointers:
            kept.append(buffer)
            pointers[key] = len(pointers), image.put(content)
        return pointers[key]

    calls = [(part, part.put(lambda buffer: pointer(buffer)[0], words)) for part in parts]
    table = image.put(struct.pack(f"<{len(pointers)}Q", *[address for _, address in pointers.values()]))
    slots = image.put(words.array(lambda name: image.addresses[name]).tobytes())
    code = []
    for part, at in calls:
        for chunk in range(part.chunks):
            entry = image.addresses[part.entry]
            for register, number in ((0, table), (1, slots + 8 * at), (2, chunk), (9, entry)):
                code += _load(register, number)
            code.append(0xD63F0120)  # blr x9
    for node in results:
        for register, number in ((0, 1), (1, pointer(node)[1]), (2, node.nbytes), (8, 64)):
            code += _load(register, number)
        code.append(0xD4000001)  # svc: write
    code += [*_load(0, 0), *_load(8, 93), 0xD4000001]  # svc: exit
    image.code += bytes(-len(image.code) % _LINE)
    start = _CODE + len(image.code)
    image.code += struct.pack(f"<{len(code)}I", *code)
    path = folder / "program"
    path.write_bytes(image.file(start))
    path.chmod(0o700)
    written = subprocess.run([emulator, path], capture_output=True, check=True).stdout
    found, at = [], 0
    for node in results:
        found.append(np.frombuffer(written[at : at + node.nbytes], node.dtype).reshape(node.shape))
        at += node.nbytes
    return found

"""Writing: the bytes of a file of functions; `retrograde.runtime` describes the format."""

import hashlib
from struct import pack
from typing import Any

import numpy as np

from .....errors import ProgramError
from .....runtime import COPY, DTYPES, HEAD, LINE, MACHINES, MAGIC, OUTSIDE, SECTIONS, SLOT, VERSION
from ....run.exported import ExportedFile
from ..codegen import parallel
from ..codegen.interchange import INTERCHANGED
from ..compiling import objects
from ..linking import Block, UnlinkableError, machine_of
from ..units import TextUnit
from .function import Function
from .requirements import requirements
from .tensors import Tensors

_RUN = "retrograde_run"


def exported(functions, target, name, store):
    """The `ExportedFile` of `Exported` functions for a target, which goes by a `name`; code is kept in `store`."""
    tensors = Tensors()
    made = [Function(function, target, tensors) for function in functions]
    tensors.check_apart(functions)
    block = _linked(made, target, store)
    pool = _Pool()
    records = [pool.function(function, block.functions) for function in made]
    sections = {
        "code": bytes(block.content), "data": bytes(tensors.data),
        "outside": _words([(pool.text(called), place) for called, place in block.outside.items()]),
        "requirements": _words([(*question, pool.text(told)) for question, told in requirements(target)]),
        "tensors": _words(tensors.records), "values": _words(pool.values), "functions": _words(records)}
    called = pool.text(name)
    sections |= {"text": bytes(pool.texts), "numbers": _words(pool.numbers)}
    content = _laid_out(sections, MACHINES[target.machine], block.functions[_RUN], called)
    return ExportedFile(content, name, [(function.name, function.inputs, function.outputs) for function in made])


def _linked(functions, target, store):
    """The machine code of all functions, and of what runs their steps on one thread."""
    runner = TextUnit(parallel.RUNNER + parallel.NEST + INTERCHANGED + parallel.SERIAL, target)
    units = {unit.name: unit for unit in (runner, *[unit for function in functions for unit in function.units.values()])}
    codes = objects(units.values(), store)
    block: Any = None
    for code in codes.values():
        if (machine := machine_of(code)) is None:
            raise ProgramError(f"code for {target.triple} is no ELF file, and exported programs are for Linux; name a target, as "
                               "in target=\"aarch64\"")
        block = block or Block(machine)
        try:
            block.add(code)
        except UnlinkableError:
            raise ProgramError("machine code of this function cannot be moved in memory, as exported programs must be: a fault of "
                               "ours, worth a report") from None
    if foreign := {*block.outside} - {*OUTSIDE}:
        raise ProgramError(f"machine code of this function calls {', '.join(sorted(foreign))}, which loaders do not have; name "
                           "another target")
    return block


class _Pool:
    """Texts, values and lists of numbers, which records refer to by where they begin."""

    def __init__(self):
        self.texts, self.numbers, self.values, self._known = bytearray(), [], [], {}

    def text(self, text):
        """Where a text begins."""
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts += text.encode() + b"\0"
        return self._known[text]

    def listed(self, numbers, width=1):
        """(first number, how many items) of a list whose items have so many numbers."""
        self.numbers += numbers
        return len(self.numbers) - len(numbers), len(numbers) // width

    def described(self, values):
        """(first value, how many) of inputs or outputs."""
        for value in values:
            first, rank = self.listed(value.shape)
            self.values.append((self.text(value.name), DTYPES.index(value.dtype), value.nbytes, rank, first))
        return len(self.values) - len(values), len(values)

    def function(self, function, addresses):
        """The record of a function; `addresses` says where in the code functions are."""
        words, slots, copies = function.words, [], []
        for place in function.slots:
            slots += place
        for target, source, size in function.copies:
            copies += [*target, *source, size]
        calls = [number for place, name in words.functions.items() for number in (place, addresses[name])]
        return (
            self.text(function.name), *self.listed(np.array(words.numbers, np.int64).tolist()), *self.listed(words.places),
            *self.listed(calls, 2), function.steps, function.step_count, *self.listed(slots, SLOT), function.arena_bytes,
            *self.described(function.inputs), *self.described(function.outputs), *self.listed(copies, COPY))


def _words(rows):
    return np.array(rows, "<i8").tobytes()


def _laid_out(sections, machine, run, target):
    """The file: head, sections and digest."""
    body, table = bytearray(), []
    for name, size in SECTIONS.items():
        body.extend(bytes(-(HEAD + len(body)) % LINE))
        table += [HEAD + len(body), len(sections[name]) // size]
        body += sections[name]
    body.extend(bytes(-(HEAD + len(body)) % 8))
    total = HEAD + len(body) + hashlib.sha256().digest_size
    content = MAGIC + pack(f"<IIQQQ{len(table)}Q", VERSION, machine, total, run, target, *table) + body
    return bytes(content) + hashlib.sha256(content).digest()

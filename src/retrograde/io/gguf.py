"""The GGUF format of ggml: metadata, then tensors, many of them quantised. It holds nothing that runs.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; versions 2 and 3, low byte first. Nothing that a file says is believed
before it is compared with its length.
"""

import sys
from math import prod
from typing import NamedTuple

import ml_dtypes
import numpy as np

from ..errors import CheckpointError
from ..ops.networks._quantizing import FORMATS
from .mapped import Stored, as_array, mapped_bytes
from .tensor_file import is_possible

_MAGIC, _VERSIONS = b"GGUF", (2, 3)
#: By number the dtype of a value of metadata; 8 is a text and 9 an array.
_VALUES = {0: "u1", 1: "i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "u1", 10: "<u8", 11: "<i8", 12: "<f8"}
_BOOLEAN, _TEXT, _ARRAY = 7, 8, 9
#: By number the types of tensors: arrays of a dtype, quantised ones, and those that are not read.
_DTYPES = {0: np.float32, 1: np.float16, 24: np.int8, 25: np.int16, 26: np.int32, 27: np.int64, 28: np.float64,
           30: ml_dtypes.bfloat16}
_QUANTIZED = {2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 12: "Q4_K", 14: "Q6_K"}
_UNREAD = {9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 13: "Q5_K", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S",
           20: "IQ4_NL", 21: "IQ3_S", 22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4"}
#: The longest name, the most axes, and the deepest array of arrays that are read; ggml has 64 bytes and 4 axes, and no such arrays.
_LONGEST_NAME, _MOST_AXES, _DEEPEST = 1 << 16, 4, 4


class GGUF(NamedTuple):
    """What a file holds: `metadata` by key, and `tensors` by name, each a `Stored` that is read when it is looked at."""

    metadata: dict
    tensors: dict


class _Entry(NamedTuple):
    """A tensor: its shape, the number of its type, its first byte counted from that of the data, the format of its blocks or None,
    and the dtype and the shape of what lies in the file.
    """

    shape: tuple
    kind: int
    start: int
    format: str | None
    dtype: np.dtype
    lies: tuple

    @property
    def nbytes(self):
        """How many bytes it takes."""
        return prod(self.lies) * self.dtype.itemsize


def read(path):
    """The metadata and the tensors of the GGUF file at `path`; tensors are mapped, not read.

    Raises a CheckpointError that says what is wrong if the file is damaged, of another kind, or has tensors of a type that
    retrograde does not know.
    """
    if sys.byteorder != "little":
        raise CheckpointError("GGUF files have the low byte first, and this machine the high one")
    reader = _Reader(path, mapped_bytes(path))
    count, keys = reader.header()
    metadata = reader.metadata(keys)
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or alignment < 1 or alignment & (alignment - 1):
        raise reader.damaged(f"its alignment is {alignment}, which is no power of two")
    entries = reader.entries(count)
    reader.check_places(entries, alignment)
    return GGUF(metadata, reader.tensors(entries, -(-reader.place // alignment) * alignment))


class _Reader:
    """Reads one value after the other; `place` is the next byte."""

    def __init__(self, path, content):
        self.path, self.content, self.place = path, content, 0

    def damaged(self, why):
        return CheckpointError(f"{self.path} is no GGUF file, or a damaged one: {why}")

    def take(self, count):
        """The next `count` bytes."""
        start, left = self.place, len(self.content) - self.place
        if count > left:
            raise self.damaged(f"at byte {start} it should go on for {count} bytes, and it ends after {left}")
        self.place = start + count
        return self.content[start : self.place]

    def number(self, dtype):
        return self.take(np.dtype(dtype).itemsize).view(dtype)[0].item()

    def text(self):
        length = self.number("<u8")
        return self.take(length).tobytes().decode(errors="replace")

    def header(self):
        """(number of tensors, number of keys)."""
        if self.content[:4].tobytes() != _MAGIC:
            raise self.damaged(f"it begins with {self.content[:4].tobytes()!r}, not with GGUF")
        self.place = 4
        version = self.number("<u4")
        if version not in _VERSIONS:
            is_swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in _VERSIONS
            raise self.damaged("it has the high byte first, which retrograde does not read" if is_swapped else
                               f"it is of version {version}, and retrograde reads 2 and 3")
        return self.number("<u8"), self.number("<u8")

    def metadata(self, count):
        # Each key takes 13 bytes at least: a count that cannot be is refused before anything is made.
        self._check_count(count, 13, "keys")
        found = {}
        for _ in range(count):
            key = self.text()
            if key in found:
                raise self.damaged(f"its key {key!r:.80} is there twice")
            found[key] = self.value(self.number("<u4"), 0)
        return found

    def value(self, kind, depth):
        if kind == _TEXT:
            return self.text()
        if kind == _ARRAY:
            return self._array(depth)
        if kind not in _VALUES:
            raise self.damaged(f"at byte {self.place} a value is of type {kind}, and there are 0 to 12")
        number = self.number(_VALUES[kind])
        return bool(number) if kind == _BOOLEAN else number

    def _array(self, depth):
        """A list of texts, or an array of numbers."""
        kind, count = self.number("<u4"), self.number("<u8")
        if depth >= _DEEPEST:
            raise self.damaged(f"its arrays are nested more than {_DEEPEST} deep")
        if kind in _VALUES:
            dtype = np.dtype(_VALUES[kind])
            self._check_count(count, dtype.itemsize, "numbers")
            numbers = self.take(count * dtype.itemsize).copy().view(dtype)
            return numbers.astype(bool) if kind == _BOOLEAN else numbers
        self._check_count(count, 8 if kind == _TEXT else 12, "entries")
        return self._texts(count) if kind == _TEXT else [self.value(kind, depth + 1) for _ in range(count)]

    def _texts(self, count):
        # A vocabulary has a hundred thousand of them: they are cut from one piece of bytes, not taken one by one.
        content, place, found = self.content.data, self.place, []
        for _ in range(count):
            start = place + 8
            place = start + int.from_bytes(content[place:start], "little")
            if place > len(content) or start > len(content):
                raise self.damaged(f"a text that begins at byte {start} goes beyond its end")
            found.append(bytes(content[start:place]).decode(errors="replace"))
        self.place = place
        return found

    def _check_count(self, count, least, what):
        if count * least > len(self.content) - self.place:
            raise self.damaged(f"at byte {self.place} it should have {count} {what}, for which it is too short")

    def entries(self, count):
        """The `_Entry` of each tensor by name."""
        self._check_count(count, 24, "tensors")
        found = {}
        for _ in range(count):
            name = self.text()
            axes = self.number("<u4")
            if name in found or len(name) > _LONGEST_NAME:
                raise self.damaged(f"its tensor {name!r:.80} is there twice, or has too long a name")
            if axes > _MOST_AXES:
                raise self.damaged(f"{name} has {axes} axes, and there are {_MOST_AXES} at most")
            # The first length is that of rows, as in Fortran.
            shape = tuple([self.number("<u8") for _ in range(axes)][::-1])
            found[name] = self._entry(name, shape, self.number("<u4"), self.number("<u8"))
        return found

    def check_places(self, entries, alignment):
        """Raise a CheckpointError unless each tensor begins where another one ends, but for what aligns it, as ggml has it.

        What has another shape or type than the file says would leave a hole, or lie over the next.
        """
        place = 0
        for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].nbytes)):
            if entry.start != place:
                raise self.damaged(f"{name} begins at byte {entry.start} of the data, and must begin at {place}, after the one "
                                   "before")
            place = -(-(entry.start + entry.nbytes) // alignment) * alignment

    def tensors(self, entries, first):
        """The tensors by name; the data begins at byte `first`."""
        return {name: self._tensor(name, entry, first + entry.start) for name, entry in entries.items()}

    def _entry(self, name, shape, kind, start):
        if kind in _QUANTIZED:
            form = FORMATS[_QUANTIZED[kind]]
            if not shape or shape[-1] % form.size:
                raise self.damaged(f"{name} of shape {shape} has no whole blocks of {form.size}, as {form.name} has")
            found = _Entry(shape, kind, start, form.name, np.dtype(np.uint8), (*shape[:-1], form.row_bytes(shape[-1])))
        elif kind in _DTYPES:
            found = _Entry(shape, kind, start, None, np.dtype(_DTYPES[kind]), shape)
        else:
            raise CheckpointError(f"{self.path}: {name} is of type {_UNREAD.get(kind, kind)}, which retrograde does not read; it "
                                  f"reads F32, F16, BF16, F64, integers, {', '.join(_QUANTIZED.values())}")
        if not is_possible(shape, found.dtype):
            raise self.damaged(f"{name} of shape {shape} is greater than any array")
        return found

    def _tensor(self, name, entry, start):
        if (end := start + entry.nbytes) > len(self.content):
            raise self.damaged(f"{name} of shape {entry.shape} ends at byte {end}, and the file at {len(self.content)}")
        return Stored(as_array(self.content, start, entry.dtype, entry.lies), entry.shape, entry.format)

"""Types of LLVM values, and how their constants are written."""

import struct
from typing import NamedTuple

from .values import Constant


class Type:
    """A type, known by its text; called with a number it gives a constant."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text

    def __eq__(self, other):
        return isinstance(other, Type) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __call__(self, value):
        return Constant(self, value)


class VoidType(Type):
    """The type of what has no value."""

    def __init__(self):
        super().__init__("void")


class PointerType(Type):
    """An address of anything."""

    def __init__(self):
        super().__init__("ptr")

    def written(self, value):
        """The null pointer, which is the only constant one."""
        if value is not None:
            raise ValueError(f"a constant pointer must be None, got {value!r}")
        return "null"


class IntType(Type):
    """Integers of so many bits."""

    def __init__(self, width):
        super().__init__(f"i{width}")
        self.width = width

    def written(self, value):
        """A constant as text."""
        return str(int(value))


class _FloatType(Type):
    """Floating-point numbers; `code` is that of `struct`."""

    name, code = "", ""

    def __init__(self):
        super().__init__(self.name)

    def written(self, value):
        """A constant as text: the bits of the number of this type, as a double."""
        # Rounded to the type first: LLVM refuses a float whose double has bits that the type has not.
        (rounded,) = struct.unpack(self.code, struct.pack(self.code, value))
        (bits,) = struct.unpack("Q", struct.pack("d", rounded))
        return f"{bits:#016x}"


class HalfType(_FloatType):
    """Floating-point numbers of 16 bits."""

    name, code = "half", "e"


class BFloatType(Type):
    """Numbers of bfloat16, which only instructions for them have; there are no constants."""

    def __init__(self):
        super().__init__("bfloat")


class FloatType(_FloatType):
    """Floating-point numbers of 32 bits."""

    name, code = "float", "f"


class DoubleType(_FloatType):
    """Floating-point numbers of 64 bits."""

    name, code = "double", "d"


class _Sequence(Type):
    """So many elements of one type between `brackets`."""

    brackets = ""

    def __init__(self, element, count):
        before, after = self.brackets
        super().__init__(f"{before}{count} x {element.text}{after}")
        self.element, self.count = element, count

    def written(self, values):
        """A constant as text, from a number for each element."""
        (before, after), element = self.brackets, self.element
        return f"{before}{', '.join([f'{element.text} {element.written(value)}' for value in values])}{after}"


class VectorType(_Sequence):
    """A vector."""

    brackets = "<>"


class ArrayType(_Sequence):
    """An array in memory."""

    brackets = "[]"


class LiteralStructType(Type):
    """Several values in one."""

    def __init__(self, elements):
        super().__init__(f"{{{', '.join([element.text for element in elements])}}}")
        self.elements = tuple(elements)


class FunctionType(NamedTuple):
    """What a function returns, and what it takes."""

    result: Type
    arguments: list

"""Element dtypes as LLVM types: scalars, vectors, constants of either, and the names that LLVM gives them."""

from functools import lru_cache

from .. import ir

ELEMENTS = {
    "bool": ir.IntType(1),
    "int8": ir.IntType(8),
    "int16": ir.IntType(16),
    "int32": ir.IntType(32),
    "int64": ir.IntType(64),
    "float32": ir.FloatType(),
    "float64": ir.DoubleType(),
}
#: Dtypes in memory that registers have as float32.
NARROW = frozenset(["float16", "bfloat16"])
#: Bytes in memory.
BYTES = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_DTYPES = {element.text: dtype for dtype, element in ELEMENTS.items()}
_FLOAT_SUFFIXES = {"float": "f32", "double": "f64"}


def dtype_of(value):
    """The name of the element dtype of an LLVM value, such as "float32"."""
    return _DTYPES[_element(value.type).text]


def lanes_of(value):
    """The number of lanes of an LLVM value; 1 for a scalar."""
    return getattr(value.type, "count", 1)


def type_of(dtype, lanes):
    """The LLVM type of `lanes` elements of `dtype` in registers; a plain scalar for one lane."""
    element = ELEMENTS[in_registers(dtype)]
    return element if lanes == 1 else vector_type(element, lanes)


def in_registers(dtype):
    """The dtype in which registers have numbers that memory has in `dtype`."""
    return "float32" if dtype in NARROW else dtype


@lru_cache
def vector_type(element, lanes):
    """The type of a vector, the same object each time, since it keeps its text."""
    return ir.VectorType(element, lanes)


def stored_type_of(dtype, lanes=1):
    """The type in memory: a mask lane is one bit in registers and one byte in memory; of half precision memory has the bits."""
    return type_of("int8" if dtype == "bool" else "int16" if dtype in NARROW else dtype, lanes)


def is_float(dtype):
    """Whether values of this dtype are floating point."""
    return dtype.startswith("float")


def suffix_of(kind):
    """What LLVM appends to the name of an intrinsic for a type, such as "v8f32"."""
    element = _element(kind)
    name = _FLOAT_SUFFIXES.get(element.text, element.text)
    return name if element is kind else f"v{kind.count}{name}"


def conversion_between(source, target):
    """The name of the instruction that converts one dtype to another; `target` is not "bool"."""
    if is_float(source):
        if not is_float(target):
            return "fptosi"
        return "fpext" if BYTES[target] > BYTES[source] else "fptrunc"
    if source == "bool":
        return "uitofp" if is_float(target) else "zext"
    if is_float(target):
        return "sitofp"
    return "sext" if BYTES[target] > BYTES[source] else "trunc"


def constant(value, kind):
    """A number as a constant of an LLVM type, the same in all lanes."""
    element = _element(kind)
    made = ir.Constant(element, float(value) if element.text in _FLOAT_SUFFIXES else int(value))
    return made if element is kind else repeated(made, kind.count)


def repeated(number, lanes):
    """A vector constant with one number in all lanes."""
    return ir.Written(vector_type(number.type, lanes), f"splat ({number})")


@lru_cache
def zeros(kind):
    """Zero, or a vector of zeros."""
    return ir.Written(kind, "zeroinitializer") if hasattr(kind, "element") else ir.Constant(kind, 0)


@lru_cache
def picked(*lanes):
    """The numbers of lanes that a shuffle picks."""
    return ir.Constant(vector_type(ir.IntType(32), len(lanes)), list(lanes))


@lru_cache
def undefined(kind):
    """Any value of a type."""
    return ir.Constant(kind, ir.Undefined)


def _element(kind):
    return getattr(kind, "element", kind)

"""The table of math functions, and how one of them becomes a function of the module that is being built.

A file of this package adds a function with the decorator, and the list of the package names it; `k.name(x)` then finds it. The body
is emitted once per module, element dtype and number of lanes, as an internal function, and every use is a call of it.
"""

from .. import ir
from .elements import dtype_of, lanes_of, suffix_of

#: (how a function is emitted, the number of its results), by its name and the dtype of its operands, of the files that are loaded.
FUNCTIONS = {}
# How many calls of one builder are inlined, where it does not say; LLVM itself would inline thousands.
FEW_CALLS = 6


def function(emit):
    """Enter a function for both dtypes; its body asks `k.dtype` for the constants to use."""
    return function_for("float32", "float64")(emit)


def function_for(*dtypes, results=1):
    """Enter a function for some dtypes only, or one that returns a tuple of several results."""

    def enter(emit):
        FUNCTIONS.update({(emit.__name__, dtype): (emit, results) for dtype in dtypes})
        return emit

    return enter


def call_function(k, name, *operands):
    """Call the function `name` of the table, emitting it on first use."""
    operands = k.lift(*operands)
    dtype = dtype_of(operands[0])
    if (name, dtype) not in FUNCTIONS:
        raise TypeError(f"k.{name} takes float32 or float64 operands, got {dtype}; convert them first")
    emit, results = FUNCTIONS[name, dtype]
    found = _find(k, name, emit, operands, [operands[0].type] * results)
    k.calls += 1
    inline = k.inline or ("alwaysinline" if k.calls <= FEW_CALLS else "noinline")
    return _results(k, k.ir.call(found, operands, attrs=(inline,)))


def call_cold(k, name, emit, operands, results):
    """Call a function that is rarely needed and kept out of line; `results` are the types of its results."""
    found = _find(k, name, emit, operands, results, "noinline", "cold")
    return _results(k, k.ir.call(found, operands))


def _find(k, name, emit, operands, results, *attributes):
    symbol = f"retrograde.{name}.{suffix_of(operands[0].type)}"
    found = k.ir.module.globals.get(symbol)
    return found or _emit(k, symbol, emit, operands, results, attributes)


def _emit(k, symbol, emit, operands, results, attributes):
    result = results[0] if len(results) == 1 else ir.LiteralStructType(results)
    made = ir.Function(k.ir.module, ir.FunctionType(result, [x.type for x in operands]), symbol)
    made.linkage = "internal"
    for attribute in ("nounwind", "readnone", *attributes):
        made.attributes.add(attribute)
    start = ir.IRBuilder(made.append_basic_block("entry"))
    inner = type(k)(start, dtype_of(operands[0]), lanes_of(operands[0]))
    _return(start, emit(inner, *made.args), result)
    return made


def _return(builder, values, result):
    if isinstance(values, tuple):
        packed = ir.Constant(result, ir.Undefined)
        for i, value in enumerate(values):
            packed = builder.insert_value(packed, value, i)
        values = packed
    builder.ret(values)


def _results(k, called):
    if not isinstance(called.type, ir.LiteralStructType):
        return called
    return tuple(k.ir.extract_value(called, i) for i in range(len(called.type.elements)))

"""The header of an exported program: a function of C for each of its functions, which say what they take and what they give."""

import math
import re

from ..errors import ArgumentError
from ..runtime import DIGEST

#: What C calls the elements of a dtype; complex numbers are pairs, and numbers of 16 bits are handed over as their bits.
_TYPES = {"bool": "uint8_t", "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
          "complex64": "float", "complex128": "double"}
#: Words that no argument may be called.
_TAKEN = frozenset([
    "alignas", "alignof", "auto", "bool", "break", "case", "char", "class", "const", "continue", "default", "delete", "do",
    "double", "else", "enum", "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "namespace",
    "new", "operator", "private", "program", "protected", "public", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typename", "union", "unsigned", "using",
    "virtual", "void", "volatile", "while", "inputs", "outputs"])

_HEADER = """/* Made by retrograde: the functions of {file}, machine code for {target}. Made anew by each export. */
#ifndef {guard}
#define {guard}

#include "retrograde_runtime.h"

/* The digest of the file that this header was written with; another file is refused. */
static const unsigned char {prefix}_digest[{size}] = {{
{digest}
}};

/* The program in the file at `path`; null, and a message in words, if it cannot be loaded. `retrograde_close` ends it. */
static inline retrograde_program *{prefix}_open(const char *path, char *message, size_t message_size)
{{
    return retrograde_open(path, {prefix}_digest, message, message_size);
}}
{functions}
#endif
"""
_FUNCTION = """
/* {told}
   Returns 0, or a number for which `retrograde_error` has words. Arrays are in row-major order and do not overlap. */
{counts}
static inline int {prefix}_{name}({arguments})
{{
    const void *inputs[] = {{{inputs}}};
    void *outputs[] = {{{outputs}}};
    return retrograde_run(program, {number}, inputs, outputs);
}}
"""


def header(file, found):
    """The text of the header of an `ExportedFile`, whose name is to be `file`."""
    prefix = _identifier(file.partition(".")[0])
    digest = [f"0x{byte:02x}," for byte in found.content[-DIGEST:]]
    lines = ["    " + " ".join(digest[i : i + 16]) for i in range(0, DIGEST, 16)]
    functions = [_function(prefix, number, *function) for number, function in enumerate(found.functions)]
    return _HEADER.format(
        file=file, target=found.target, guard=f"RETROGRADE_PROGRAM_{prefix.upper()}_H", prefix=prefix, size=DIGEST,
        digest="\n".join(lines), functions="".join(functions))


def _function(prefix, number, name, inputs, outputs):
    called = _distinct([*inputs, *outputs])
    given, made = called[: len(inputs)], called[len(inputs) :]
    arguments = ["retrograde_program *program", *[f"const {_type(v)} *{c}" for v, c in zip(inputs, given, strict=True)],
                 *[f"{_type(v)} *{c}" for v, c in zip(outputs, made, strict=True)]]
    counts = [f"#define {f'{prefix}_{name}_{c}_count'.upper()} {_count(v)}"
              for v, c in zip([*inputs, *outputs], called, strict=True)]
    told = f"{name}({', '.join(map(_told, inputs))}) gives {', '.join(map(_told, outputs)) or 'nothing'}."
    return _FUNCTION.format(prefix=prefix, name=name, number=number, told=told, counts="\n".join(counts),
                            arguments=", ".join(arguments), inputs=", ".join(given) or "0", outputs=", ".join(made) or "0")


def _told(value):
    return f"{value.name} {value.dtype}{list(value.shape)}".replace("*/", "")


def _type(value):
    return _TYPES.get(value.dtype, f"{value.dtype}_t")


def _count(value):
    """How many numbers of C an array has."""
    return math.prod(value.shape) * (2 if value.dtype.startswith("complex") else 1)


def _distinct(values):
    """A name of C for each value, no two of them equal."""
    found = []
    for value in values:
        name = _identifier(value.name)
        if name in _TAKEN:
            name += "_"
        while name in found:
            name += "_"
        found.append(name)
    return found


def _identifier(name):
    """A name of C, as near to `name` as it can be."""
    found = re.sub(r"\W", "_", name, flags=re.ASCII)
    if not found.strip("_"):
        raise ArgumentError(f"{name!r} has no letter or digit of which C could make a name")
    return f"_{found}" if found[0].isdigit() else found

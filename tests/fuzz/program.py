"""Programs: functions as plain Python source, with the arrays that they are called with."""

import re
from dataclasses import dataclass, replace

import ml_dtypes  # noqa: F401 - NumPy learns the name bfloat16
import numpy as np

import retrograde as rg

#: What the source of a program may name.
NAMES = {"np": np, "rg": rg, "inf": np.inf, "nan": np.nan}
_CALLED = re.compile(r"\.get\('(\w+)'\)\.call|\b(?:rg|nn|optim|F|utils|linalg|lr_scheduler)\.([A-Za-z]\w*)\(|\b[vx]\d+\.(\w+)\(")


@dataclass(frozen=True)
class Program:
    """Statements over arguments.

    inputs      (name, source of an array) of each argument
    statements  source of one statement or block each, in order
    outputs     the names that are returned
    seed        what it was drawn from
    """

    inputs: tuple
    statements: tuple
    outputs: tuple
    seed: int

    @property
    def text(self):
        """The source of the function `program`."""
        body = [line for statement in self.statements for line in statement.split("\n")]
        return "\n".join([
            f"def program({', '.join(name for name, _ in self.inputs)}):",
            *(f"    {line}" for line in body),
            f"    return {', '.join(self.outputs)},",
        ])

    @property
    def inputs_text(self):
        """The source of the tuple `inputs`."""
        return "\n".join(["inputs = (", *(f"    {text},  # {name}" for name, text in self.inputs), ")"])

    def without_unused(self):
        """The program without arguments that nothing reads; one argument stays."""
        body = "\n".join([*self.statements, *self.outputs])
        used = tuple(pair for pair in self.inputs if reads(body, pair[0]))
        return replace(self, inputs=used or self.inputs[:1])


def reads(text, name):
    """Whether a name occurs in some source."""
    return any(not text[i + len(name):i + len(name) + 1].isalnum() for i in range(len(text)) if text.startswith(name, i))


def names_in(text):
    """What some source calls by name, each once: functions of the library, and methods of values."""
    return sorted({name for groups in _CALLED.findall(text) for name in groups if name})


def literal(value):
    """Source of a Python object or an array; ValueError for what has none."""
    if isinstance(value, (np.ndarray, np.generic)):
        return array_literal(np.asarray(value))
    if isinstance(value, np.dtype):
        return f"np.dtype({str(value)!r})"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(literal, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if len(value) == 1 else f"({inner})"
    if value is None or value is Ellipsis or isinstance(value, (bool, int, float, complex, str, slice)):
        return repr(value)
    raise ValueError(f"no literal for {value!r}")


def array_literal(x):
    """Source of an array, whose numbers are rounded to three digits so that they can be read."""
    if not x.size:
        return f"np.zeros({x.shape}, {str(x.dtype)!r})"
    if x.dtype.kind in "biu":
        return f"np.array({x.tolist()}, {str(x.dtype)!r})"
    wide = x.astype("complex128" if x.dtype.kind == "c" else "float64")
    return f"np.array({np.round(wide, 3).tolist()}, {str(x.dtype)!r})"


def arrays(program):
    """The arrays that a program is called with."""
    return eval(f"({''.join(text + ', ' for _, text in program.inputs)})", dict(NAMES))

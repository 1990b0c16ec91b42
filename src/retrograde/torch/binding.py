"""Binding: functions with PyTorch's signature, made of rows that say which op they are and where its arguments come from."""

import inspect
from typing import Any, NamedTuple

from ..core.value import Value
from ..errors import ArgumentError
from ..ops.elementary.conversions import astype
from . import kinds


class Row(NamedTuple):
    """A function of PyTorch's.

    signature  as in PyTorch, such as "sum(input, dim=None, keepdim=False, *, dtype=None)"
    op         what computes it
    arguments  those of the op, as expressions of the names in the signature
    settles    how operands are brought to one dtype: "pair" promotes `input` and `other`, as "power" does with `exponent`, and
               "floats" with integers made floats; "float" makes integers floats, "counted" booleans and small integers int64;
               None leaves them
    has_method, has_inplace  whether tensors have it as a method, and as one with `_` that writes to the tensor
    """

    signature: str
    op: Any
    arguments: str
    settles: Any = None
    has_method: bool = True
    has_inplace: bool = False

    @property
    def name(self):
        """The name of the function."""
        return self.signature.partition("(")[0]


_SETTLING = {
    None: "",
    "pair": "    input, other = promoted(input, other)\n",
    "power": "    input, exponent = promoted(input, exponent)\n",
    "floats": "    input, other = promoted(floated(input), floated(other))\n",
    "float": "    if input.raw.dtype.kind not in 'fcV': input = floating(input)\n",
    "counted": "    if input.raw.dtype.kind in 'biu': input = counted(input)\n",
}
_OF_PAIRS = ("pair", "floats", "power")
#: Names of NumPy's for arguments of PyTorch's, which PyTorch takes as well.
_ALSO = {"dim": "axis", "keepdim": "keepdims"}


def counted(x):
    """Booleans and small integers as int64, in which PyTorch adds them up."""
    return x if x.raw.dtype == "int64" else astype(x, "int64")


def floated(x):
    """An operand, integers as numbers of the default dtype."""
    return kinds.floating(x) if isinstance(x, Value) else x


def refused(name, given, also=()):
    """Raise for what a function called `name` was `given` beyond its arguments."""
    if "out" in given:
        raise ArgumentError(f"torch.{name} takes no out= here; write y = torch.{name}(...), or y.copy_(torch.{name}(...))")
    raise TypeError(f"torch.{name}() got an unexpected keyword argument {next(iter(given))!r}")


def bound(row, helpers):
    """The function of a row; `helpers` are functions that the arguments of its op name."""
    name, settles = row.name, row.settles
    names = _names(row.signature)
    first = names[0]
    opening = row.signature.rpartition(")")[0]
    respelled = [f"        {n} = given.pop({also!r}, {n})\n" for n, also in _ALSO.items() if n in names]
    source = (
        f"def {opening}, **given):\n"
        f"    if given:\n{''.join(respelled)}"
        f"        if given: refused({name!r}, given)\n"
        + ("" if settles in _OF_PAIRS else f"    if {first}.__class__ is not Tensor: {first} = operand({first})\n")
        + _SETTLING[settles]
        + _returned(row, names)
    )
    namespace = {"op": row.op, "promoted": kinds.promoted, "floating": kinds.floating, "floated": floated, "counted": counted,
                 "operand": kinds.operand, "refused": refused, "Tensor": kinds.TorchTensor.kind, **helpers}
    exec(source, namespace)  # noqa: S102 - our own text, made of the rows
    function = namespace[name]
    function.__module__, function.__qualname__ = "retrograde.torch", name
    function.__doc__ = _told(row)
    return function


def _returned(row, names):
    """The last line of a function: what was counted in int64 is of the dtype that was asked for."""
    found = f"op({row.arguments})"
    return f"    return {f'cast({found}, dtype)' if row.settles == 'counted' and 'dtype' in names else found}\n"


def _names(signature):
    parts = signature.partition("(")[2].rpartition(")")[0].split(",")
    return [n for part in parts if (n := part.partition("=")[0].strip()) not in ("*", "/", "")]


def _told(row):
    name = getattr(row.op, "__name__", "op")
    doc = inspect.getdoc(row.op) or ""
    return f"PyTorch's `{row.signature}`: `{name}` here.\n\n{doc.partition('>>>')[0]}"

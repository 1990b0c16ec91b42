"""Methods of sparse tensors that are one function of each value, another dtype, or an operator by its name."""

from dataclasses import replace

from .. import methods
from .tensor import SparseTensor


def _method(name, make, doc):
    make.__name__, make.__doc__ = name, doc
    setattr(SparseTensor, name, make)


def _of_values(name):
    function = methods.FUNCTIONS[name]

    def of_values(self):
        found = self.coalesce()
        return replace(found, numbers=function(found.numbers))

    return of_values


#: Functions that are 0 of 0, and so of each value alone.
KEEPING_ZERO = ("abs", "asin", "asinh", "atan", "ceil", "expm1", "floor", "log1p", "neg", "relu", "round", "sign", "sin", "sinh",
                "sqrt", "square", "tan", "tanh", "trunc")
for _name in KEEPING_ZERO:
    _method(_name, _of_values(_name), f"`torch.{_name}` of the values.")
for _name in ("float", "double", "half", "bfloat16", "long", "int", "short", "bool"):
    _method(_name, (lambda name: lambda self: replace(self, numbers=getattr(self.numbers, name)()))(_name),
            f"The elements as torch.{_name}.")
for _name, _operator in {"mm": "__matmul__", "matmul": "__matmul__", "mv": "__matmul__", "spmm": "__matmul__",
                         "mul": "__mul__", "div": "__truediv__", "pow": "__pow__"}.items():
    _method(_name, (lambda operator: lambda self, other: getattr(self, operator)(other))(_operator),
            f"`torch.{_name}(self, other)`.")


def _add(self, other, *, alpha=1):
    return self + (other if alpha == 1 else other * alpha)


_method("add", _add, "`torch.add(self, other, alpha=alpha)`.")
_method("sub", lambda self, other, *, alpha=1: _add(self, other, alpha=-alpha), "`torch.sub(self, other, alpha=alpha)`.")

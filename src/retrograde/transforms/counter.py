"""Counter: the number of the present iteration of a loop that is traced, which behaves as Python's integer does elsewhere."""

from ..core.value import Value
from ..tensor.tensor import Tensor


class Counter(Tensor):
    """A number that takes the dtype of what it meets, as do numbers that Python's operators make of it and other numbers."""

    __slots__ = ()
    __hash__ = Tensor.__hash__
    is_weak = True


def counted(value):
    """`value`, an integer of a loop, as a counter if it is traced."""
    return Counter(value.raw) if isinstance(value, Value) and value.is_traced else value


def _is_number(x):
    return isinstance(x, Counter) or x.__class__ in (bool, int, float)


def _keeping(operator):
    """The operator of tensors, whose result is a counter where all its operands are numbers."""

    def made(*numbers):
        found = operator(*numbers)
        return counted(found) if all(map(_is_number, numbers)) else found

    return made


#: Operators that have a reflected form, and others.
_BOTH = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
_OTHERS = ("neg", "pos", "abs", "eq", "ne", "lt", "le", "gt", "ge")
for _name in [f"__{name}__" for name in (*_BOTH, *[f"r{name}" for name in _BOTH], *_OTHERS)]:
    setattr(Counter, _name, _keeping(getattr(Tensor, _name)))

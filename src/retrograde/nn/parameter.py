"""Parameter, a tensor that a module learns, Buffer, one that it keeps, and both while they have no shape yet."""

from typing import Any

import numpy as np

from ..core.edits import edited
from ..core.mode import changed, is_lazy, is_tracing, no_grad
from ..core.symbol import Symbol
from ..core.value import Leaf, Value
from ..errors import ArgumentError, DTypeError, ShapeError, TraceError
from ..tensor.creation import asarray, empty
from ..tensor.elsewhere import OF_TENSORS, array_of
from ..tensor.tensor import Tensor


def set_data(parameter, data):
    """Let a parameter hold `data`, an array, or a tensor whose array is taken; raises where that cannot be."""
    before = parameter.raw
    _check(parameter, before, data)
    if isinstance(data, Value):
        if is_tracing():
            with no_grad():
                parameter[...] = data
            return
        data = data.realize().raw
    else:
        _check_is_outside(before)
    parameter.raw = np.asarray(data) if isinstance(data, np.generic) else data


def _check(parameter, before, data):
    """Raise an error unless `data`, an array or a tensor, can take the place of `before`."""
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        raise DTypeError(f"the data of a parameter is an array, or a tensor whose array is taken, got {data!r}")
    if not isinstance(before, Symbol) and data.shape != before.shape:
        raise ShapeError(f"the data of a parameter keeps its shape, {before.shape}, got {data.shape}; make another Parameter")
    if parameter.requires_grad:
        parameter.algebra.check_differentiable(data)


def _check_is_outside(before):
    """Raise an error where a jitted function would write, at each call, an array as it was when the function was traced."""
    # A symbol is what the trace itself put there, which takes it away again.
    if is_tracing() and not is_lazy() and isinstance(before, np.ndarray):
        raise TraceError("in a jitted function the data of a parameter is set to a tensor, got an array, which would be constant; "
                         "compute with the parameters and not with their data: p.data = 0.9 * p + 0.1 * q, or p += 1")


class Parameter(Tensor):
    """A tensor that requires gradients and that a module lists when it becomes one of its attributes.

    Shares memory with `data` if that is a tensor or an array, as it does with one that its attribute `data` is set to.

    >>> p = rg.nn.Parameter(rg.ones(2))
    >>> p.data = rg.tensor([3.0, 4.0])
    >>> p
    Parameter containing:
    tensor([3., 4.], requires_grad=True)
    """

    __slots__ = ()
    data: Any = property(array_of, set_data, doc="The array that it holds, which is checked when it is set.")

    def __init__(self, data, requires_grad=True):
        super().__init__(asarray(data).realize().raw)
        self.requires_grad = requires_grad

    def __repr__(self):
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that belongs to the state of a module when it becomes one of its attributes, but is not learned.

    One that is not `persistent` is left out of `state_dict`.

    >>> class Scale(rg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = rg.nn.Buffer(rg.ones(1))
    >>> [name for name, _ in Scale().named_buffers()]
    ['factor']
    """

    __slots__ = ()
    persistent = True

    def __init__(self, data, *, persistent=True):
        super().__init__(asarray(data).realize().raw)
        if not persistent:
            self.persistent = False


def _nothing(_):
    raise ArgumentError("this parameter of a lazy module has no shape yet; call the model on an example, or load its state, before "
                        "it is read, saved or given to an optimizer")


class Uninitialized(Tensor):
    """What a parameter and a buffer of a lazy module are before their shape is known; `materialize` gives them one.

    To read one raises an ArgumentError that says what to do.
    """

    __slots__ = ()
    data: Any = property(_nothing)
    raw: Any = property(_nothing)
    _becomes: Any = Tensor

    def __init__(self, requires_grad=False, device=None, dtype=None):
        self.record = Leaf(self) if requires_grad else None
        vars(self)["options"] = {"device": device, "dtype": dtype}

    def bring_to(self, **target):
        """Become one of another device or dtype when there are numbers."""
        vars(self)["options"].update(target)

    def materialize(self, shape, device=None, dtype=None):
        """Become a parameter, or a tensor, of `shape` from here on; its numbers are yet to be written."""
        options = vars(self).pop("options")
        given: Any = {"device": device or options["device"], "dtype": dtype or options["dtype"]}
        with changed(tracer=None):
            made = empty(*shape, **given)
        self.__class__ = self._becomes
        self.raw = made.raw
        edited()

    def __deepcopy__(self, memo):
        made = memo[id(self)] = type(self)(self.record is not None, **vars(self)["options"])
        return made

    def __reduce__(self):
        return type(self), (self.record is not None, *vars(self)["options"].values())

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __dir__(self):
        """Its methods, and what needs no shape."""
        return [name for name in object.__dir__(self) if name not in _NEED_NUMBERS]


_NEED_NUMBERS = {*OF_TENSORS, "data", "raw", "is_traced",
                 *[name for name, found in vars(Tensor).items() if isinstance(found, property)]}


class UninitializedParameter(Uninitialized, Parameter):
    """A parameter without a shape."""

    __slots__ = ()
    _becomes = Parameter

    def __init__(self, requires_grad=True, device=None, dtype=None):
        super().__init__(requires_grad, device, dtype)


class UninitializedBuffer(Uninitialized):
    """A buffer without a shape."""

    __slots__ = ()

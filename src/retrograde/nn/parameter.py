"""Parameter, a tensor that a module learns."""

from ..core.mode import is_tracing, no_grad
from ..core.symbol import Symbol
from ..core.value import Value
from ..errors import DTypeError, ShapeError
from ..tensor.creation import asarray
from ..tensor.tensor import Tensor


class _Data:
    """The data of a parameter, which is checked when it is set.

    It has no `__get__`, so that Python reads it from the dictionary of the parameter without calling anything.
    """

    def __set__(self, parameter, data):
        attributes = vars(parameter)
        before = attributes.get("data")
        if isinstance(data, Value):
            _check(parameter, before, data)
            if is_tracing():
                with no_grad():
                    parameter[...] = data
                return
            data = data.realize().data
        elif not isinstance(data, Symbol):
            _check(parameter, before, data)
        attributes["data"] = data


def _check(parameter, before, data):
    """Raise an error unless `data`, an array or a tensor, can take the place of `before`, which is None at first."""
    if not hasattr(data, "shape") or not hasattr(data, "dtype"):
        raise DTypeError(f"the data of a parameter is an array, or a tensor whose array is taken, got {data!r}")
    if before is None:
        return
    if not isinstance(before, Symbol) and data.shape != before.shape:
        raise ShapeError(f"the data of a parameter keeps its shape, {before.shape}, got {data.shape}; make another Parameter")
    if parameter.requires_grad:
        parameter.algebra.check_differentiable(data)


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
    data = _Data()

    def __init__(self, data, requires_grad=True):
        super().__init__(asarray(data).realize().data)
        self.requires_grad = requires_grad

    def __repr__(self):
        return f"Parameter containing:\n{super().__repr__()}"

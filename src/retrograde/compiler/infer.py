"""Inference: the shape and dtype of an op's result, from symbols instead of arrays."""

from functools import lru_cache

import numpy as np

from ..core import registry
from ..core.symbol import Symbol


def infer(op, args):
    """(shape, dtype) of `op` on `args`, in which symbols stand for arrays; a list of such pairs for several results.

    The kernel itself is asked, on arrays that take no memory: of shape () where operands are broadcast, of zero strides
    elsewhere. An op whose kernel would take long has a rule.
    """
    if op.broadcasts:
        return _broadcast(op, tuple([(a.shape, a.dtype) if hasattr(a, "dtype") else (None, a.__class__, a) for a in args]))
    with np.errstate(all="ignore"):
        shape = NotImplemented if op.result_shape is None else op.result_shape(*args)
        if shape is not NotImplemented:
            dtype = _dtype_of_operands(op, args) if op.result_dtype is None else op.result_dtype(*args)
            return [(part, dtype) for part in shape] if op.is_multiple else (shape, dtype)
        result = op.kernel(*[stand_in(a) for a in args])
    if op.is_multiple:
        return [(np.shape(r), np.asarray(r).dtype) for r in result]
    return np.shape(result), np.asarray(result).dtype


def _dtype_of_operands(op, args):
    return np.result_type(*[a.dtype for a in (args[0] if op.is_variadic else args) if hasattr(a, "dtype")])


def stand_in(argument):
    """`argument` with symbols replaced by arrays that take no memory: ones, or zeros for integers, which are valid
    indices and labels.
    """
    if isinstance(argument, Symbol):
        fill = np.zeros((), argument.dtype) if argument.dtype.kind in "iub" else np.ones((), argument.dtype)
        return np.broadcast_to(fill, argument.shape)
    if isinstance(argument, (tuple, list)):
        return type(argument)([stand_in(a) for a in argument])
    return argument


@lru_cache(maxsize=4096)
def _broadcast(op, specs):
    """As `infer`, from (shape, dtype) of arrays, and (None, class, number) of Python numbers, which are weak."""
    shape = np.broadcast_shapes(*[spec[0] for spec in specs if spec[0] is not None])
    arrays = [np.ones((), spec[1]) if spec[0] is not None else spec[2] for spec in specs]
    with np.errstate(all="ignore"):
        return shape, np.asarray(op.kernel(*arrays)).dtype if op.result_dtype is None else op.result_dtype(*arrays)


def called(name, *args, **named):
    """The symbol of an op with its defaults filled in."""
    op = registry.get(name)
    defaults = dict(zip(op.arguments[::-1], (op.kernel.__defaults__ or ())[::-1], strict=False))
    args = (*args, *[{**defaults, **named}[name] for name in op.arguments[len(args) :]])
    return Symbol(op, args, *infer(op, args))

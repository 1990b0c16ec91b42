"""Inference: the shape and dtype of an op's result, from symbols instead of arrays."""

from functools import lru_cache

import numpy as np

from ...core import registry
from ...core.dispatch import operands_of
from ...core.symbol import Symbol
from ...core.warn import given
from ...dtypes import common_dtype, is_complex
from ...errors import DTypeError, LinAlgError
from .effects import TOKEN, Effectful

#: Arrays of fewer elements are not made smaller: kernels compute with them faster than smaller shapes are thought out, and ask
#: for no compiled code.
_FEWEST = 256
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)


def infer(op, args):
    """(shape, dtype) of `op` on `args`, in which symbols stand for arrays; a list of such pairs for several results.

    The kernel itself is asked, on arrays that take no memory: of shape () where operands are broadcast, of zero strides
    elsewhere, of which those are made small that keep sizes. Another op whose kernel would take long has a rule.
    """
    # Its kernel must not run while shapes are found.
    if op.has_effect:
        return _declared(op, args)
    if op.broadcasts:
        return _broadcast(op, tuple([(a.shape, a.dtype) if hasattr(a, "dtype") else (None, a.__class__, a) for a in args]))
    if getattr(op, "is_foreign", True):  # the kernel of a user's may give another shape the next time
        return _found(op, args)
    try:
        key = op, *[_known_as(a) for a in args]
        found = _KNOWN.get(key)
    except TypeError:
        return _found(op, args)
    if found is None:
        before, found = given(), _found(op, args)
        if given() == before:  # a warning is for each call that earns it
            # Emptied and not pruned: it fills rarely, and any order of use would cost at each look.
            if len(_KNOWN) >= _MOST:
                _KNOWN.clear()
            _KNOWN[key] = found
    return list(found) if op.is_multiple else found


#: What `infer` has found, of so many at most: layers that repeat ask for the same again and again.
_KNOWN: dict = {}
_MOST = 16384
#: Constants of at most so many elements stand in the keys of what is known.
_SMALL = 64


def _known_as(argument):
    """What the spec of an op's result depends on of an argument; a TypeError where that is too much to keep."""
    if isinstance(argument, Symbol):
        return Symbol, argument.shape, argument.dtype
    if isinstance(argument, (tuple, list)):
        return argument.__class__, *[_known_as(a) for a in argument]
    if isinstance(argument, np.ndarray):
        if argument.size > _SMALL or argument.dtype.hasobject:
            raise TypeError
        return np.ndarray, argument.shape, argument.dtype, argument.tobytes()
    if isinstance(argument, slice):
        return slice, _known_as(argument.start), _known_as(argument.stop), _known_as(argument.step)
    return argument.__class__, repr(argument) if isinstance(argument, (float, complex)) else argument


def _found(op, args):
    """As `infer`, with nothing known."""
    with np.errstate(all="ignore"):
        shape = NotImplemented if op.result_shape is None else op.result_shape(*args)
        if shape is not NotImplemented:
            dtype = _dtype_of_operands(op, args) if op.result_dtype is None else op.result_dtype(*args)
            return [(part, dtype) for part in shape] if op.is_multiple else (shape, dtype)
        is_small = not op.keeps_sizes or max([a.size for a in _arrays(args)], default=0) < _FEWEST
        found = None if is_small else _of_small(op, args, {n for a in _arrays(args) for n in a.shape if n > 1})
        return _asked(op, args) if found is None else found


def _asked(op, args):
    """As `infer`, from what the kernel gives for stand-ins."""
    try:
        return _specs(op, op.kernel(*map(stand_in, args)))
    except LinAlgError:  # matrices of ones, or of zeros, are singular
        return _specs(op, op.kernel(*map(_easy, args)))


def _declared(op, args):
    """As `infer`, for an op whose kernel must not be asked, since it has an effect."""
    if op.__class__ is Effectful:
        found = _declared(op.op, args[1:])
        return [*(found if op.op.is_multiple else [found]), (TOKEN.shape, TOKEN.dtype)]
    if op.result_shape is None:
        shape = np.broadcast_shapes(*[np.shape(a) if not isinstance(a, Symbol) else a.shape for a in operands_of(op, args)])
    else:
        shape = op.result_shape(*args)
    dtype = _dtype_of_operands(op, args) if op.result_dtype is None else op.result_dtype(*args)
    return [(part, dtype) for part in shape] if op.is_multiple else (shape, dtype)


def _specs(op, result):
    if op.is_multiple:
        return [(np.shape(r), np.asarray(r).dtype) for r in result]
    return np.shape(result), np.asarray(result).dtype


def _of_small(op, args, sizes):
    """What `infer` gives for an op that keeps sizes, from arrays with small ones in the place of `sizes`, in their order; None if
    these tell nothing, as where axes are joined: their sizes are primes, which no product is.
    """
    if len(sizes) > len(_PRIMES):
        return None
    ranks = dict(zip(sorted(sizes), _PRIMES, strict=False))
    try:
        found = _specs(op, op.kernel(*[stand_in(_resized(a, ranks)) for a in args]))
    except Exception:  # noqa: BLE001 - the error is that of arrays of the sizes that the user knows
        return None
    # Sizes 0 and 1 are not changed: broadcasting and empty arrays depend on them.
    back = {0: 0, 1: 1, **{prime: n for n, prime in ranks.items()}}
    found = found if op.is_multiple else [found]
    if not all([n in back for shape, _ in found for n in shape]):
        return None
    specs = [(tuple([back[n] for n in shape]), dtype) for shape, dtype in found]
    return specs if op.is_multiple else specs[0]


def _arrays(args):
    """The arrays among arguments, and symbols, which stand for some."""
    for a in args:
        if isinstance(a, (Symbol, np.ndarray)):
            yield a
        elif isinstance(a, (tuple, list)):
            yield from _arrays(a)


def _resized(argument, ranks):
    """`argument` with symbols of other sizes in the place of arrays."""
    if isinstance(argument, (Symbol, np.ndarray)):
        return Symbol(None, (), tuple([ranks.get(n, n) for n in argument.shape]), argument.dtype)
    if isinstance(argument, (tuple, list)):
        return type(argument)([_resized(a, ranks) for a in argument])
    return argument


def check_kind(node, result):
    """Raise a DTypeError if `result` is complex where real numbers were foreseen, as the root of a real matrix may be."""
    if node.dtype.kind != "c" and is_complex(result):
        raise DTypeError(f"{node.op.name} gave complex numbers for real ones, for which compiled code and vmap have no room; give "
                         "it complex numbers, as in x.astype(rg.complex128), or call it outside of jit, lazy mode and vmap")


def _dtype_of_operands(op, args):
    return common_dtype([a.dtype for a in (args[0] if op.is_variadic else args) if hasattr(a, "dtype")])


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


def _easy(argument):
    """As `stand_in`, with matrices that any function of matrices has an answer for."""
    if isinstance(argument, Symbol) and argument.ndim > 1:
        return np.broadcast_to(np.eye(*argument.shape[-2:], dtype=argument.dtype), argument.shape)
    return stand_in(argument)


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
    defaults = {op.arguments[i]: value for i, value in op.defaults.items()}
    args = (*args, *[{**defaults, **named}[name] for name in op.arguments[len(args) :]])
    return Symbol(op, args, *infer(op, args))

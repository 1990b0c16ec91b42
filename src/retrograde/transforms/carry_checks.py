"""What bodies of loops return, checked: what is carried must keep its structure, its shapes and its dtypes."""

import numpy as np

from .. import tree
from ..core.value import Value
from ..errors import ArgumentError, DTypeError, ShapeError
from ..ops.manipulation.movements import reshape
from ..tensor.creation import asarray


def checked_pair(returned):
    """What the body of a scan returned, if it is two things."""
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise ArgumentError(f"the function of a scan must return (carry, y), got {type(returned).__name__}; y may be None")
    return returned


def check_carry(before, after):
    """Raise unless `after`, what a body made of the carry `before`, may be carried on; the error names the leaf."""
    if tree.structure(before) != tree.structure(after):
        raise ShapeError(f"the body must return a carry of the structure it was given, {told(before)}, got {told(after)}")
    for path, old, new in zip(_paths(before), tree.leaves(before), tree.leaves(after), strict=True):
        if shape_of(old) != shape_of(new):
            raise ShapeError(f"the carry must keep its shape: {path} was {shape_of(old)} and became {shape_of(new)}; "
                             "start with what has the shape of the result, or reduce it in the body")
        if not is_number(old) and dtype_of(old) != dtype_of(new):
            raise DTypeError(f"the carry must keep its dtype: {path} was {dtype_of(old)} and became {dtype_of(new)}; "
                             f"start with one of {dtype_of(new)}, or convert it in the body by .astype")


def agreeing(true, false):
    """What two branches gave, if that has one structure, shapes and dtypes; Python numbers as arrays of the other's dtype."""
    if tree.structure(true) != tree.structure(false):
        raise ShapeError(f"both branches of cond must return the same structure, got {told(true)} and {told(false)}")
    (trues, build), falses = tree.flatten(true), tree.leaves(false)
    pairs = [_of_one_dtype(*pair) for pair in zip(trues, falses, strict=True)]
    for i, (x, y) in enumerate(pairs):
        if shape_of(x) != shape_of(y):
            raise ShapeError(f"both branches of cond must return the same shapes, got {shape_of(x)} and {shape_of(y)} for leaf {i}")
        if dtype_of(x) != dtype_of(y):
            raise DTypeError(f"both branches of cond must return the same dtypes, got {dtype_of(x)} and {dtype_of(y)} for leaf "
                             f"{i}; convert one by .astype")
    return build([x for x, _ in pairs]), build([y for _, y in pairs])


def _of_one_dtype(x, y):
    """A pair of leaves, with Python numbers as arrays: of the dtype of the other leaf if that can hold them."""
    if not is_number(x) and not is_number(y):
        return x, y
    if is_number(x) and is_number(y):
        dtype = np.result_type(np.asarray(x), np.asarray(y))
    else:
        number, dtype = (x, dtype_of(y)) if is_number(x) else (y, dtype_of(x))
        if not _holds(dtype, number):
            return x, y
    return tuple([np.asarray(a, dtype) if is_number(a) else a for a in (x, y)])


def _holds(dtype, number):
    """Whether arrays of `dtype` can hold a Python number as what it is."""
    return _RANKS[np.asarray(number).dtype.kind] <= _RANKS.get(dtype.kind, _RANKS["f"])


#: Kinds of dtypes, each of which holds the numbers of those before it; dtypes of other libraries' kinds are floats.
_RANKS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def truth(found):
    """The answer of a condition, as a value without axes."""
    if shape_of(found) not in ((), (1,)):
        raise ShapeError(f"the condition of while_loop must give one truth value, got shape {shape_of(found)}; use rg.all or "
                         "rg.any")
    return reshape(asarray(found).unlinked(), ()).astype(bool)


def truth_value(name, predicate):
    """`predicate`, handed to the function `name`, if it is one number or truth value; raises else."""
    if isinstance(predicate, (bool, int, float)):
        return predicate
    if getattr(getattr(predicate, "dtype", None), "kind", "O") in "OUSMm":
        raise DTypeError(f"{name} needs a truth value, got {type(predicate).__name__}; pass a bool, or a tensor with one element")
    if predicate.size != 1:
        raise ArgumentError(f"{name} needs one truth value, got shape {predicate.shape}; use rg.where to choose by element")
    return predicate


def integer(name, what, number):
    """`number`, handed to the function `name`, as an integer, or as a value of one integer; raises where it is none."""
    if isinstance(number, (bool, int)):
        return int(number)
    if getattr(getattr(number, "dtype", None), "kind", "O") not in "iub":
        given = number if isinstance(number, (float, str)) else getattr(number, "dtype", type(number).__name__)
        raise DTypeError(f"{name} needs an integer for {what}, got {given}; convert it by int(), or a tensor by .astype")
    if number.size != 1:
        raise ArgumentError(f"{name} needs one integer for {what}, got shape {number.shape}")
    return reshape(number, ()) if isinstance(number, Value) else number.item()


def settled(start, after):
    """`start`, a leaf of a carry; a Python number as an array of the dtype that the body makes of it, if that can hold it."""
    if not is_number(start):
        return start
    dtype = asarray(after).dtype if is_number(after) else dtype_of(after)
    return np.asarray(start, dtype if _holds(dtype, start) else None)


def is_number(leaf):
    """Whether a leaf is a plain Python number, which takes the dtype of what is made of it."""
    return leaf.__class__ in (bool, int, float, complex)


def is_plain(tracer, leaf):
    """Whether a leaf is no tensor, and does not stand for one in a trace."""
    return not isinstance(leaf, Value) or tracer.is_plain(leaf)


def writable(leaf):
    """A leaf of a body as it is handed to it: a value of its own, which the body may write to."""
    return leaf.linked(leaf.record) if isinstance(leaf, Value) else leaf


def shape_of(leaf):
    """The shape of a leaf: a value, an array or a number."""
    return leaf.shape if isinstance(leaf, Value) else np.shape(leaf)


def dtype_of(leaf):
    """The dtype of a leaf."""
    return leaf.dtype if hasattr(leaf, "dtype") else np.asarray(leaf).dtype


def _paths(carry):
    """For each leaf, in words, where it stands."""
    found = []

    def walk(part, path):
        if part is None:
            return
        if isinstance(part, dict):
            items = [(f"{path}[{key!r}]", value) for key, value in part.items()]
        elif isinstance(part, (list, tuple)):
            items = [(f"{path}[{i}]", value) for i, value in enumerate(part)]
        else:
            leaves = tree.leaves(part)
            found.extend([path] if len(leaves) == 1 else [f"{path}, leaf {i}" for i in range(len(leaves))])
            return
        for name, value in items:
            walk(value, name)

    walk(carry, "carry")
    return found


def told(carry):
    """A tree in words, with dtypes and shapes for leaves."""
    return repr(tree.map(lambda leaf: f"{dtype_of(leaf)}{list(shape_of(leaf))}", carry)).replace("'", "")

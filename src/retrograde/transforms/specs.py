"""Specs: what a compiled program depends on of the arguments of a call, and their arrays as it takes them."""

import numpy as np

from .. import tree
from ..dtypes import native
from ..errors import ArgumentError
from ..tensor.tensor import Tensor
from .plain import array_of_table
from .statics import Static, exact


def key_of(leaves, arguments, records):
    """What a program for arguments with these leaves is found by; an ArgumentError for one that nothing could be found by."""
    key = (tree.structure(arguments), records, *[spec_of(leaf, records) for leaf in leaves])
    try:
        hash(key)
    except TypeError:
        for leaf in leaves:
            value = leaf.value if isinstance(leaf, Static) else leaf
            if not is_array(value) and type(value).__hash__ is None:
                raise ArgumentError("an argument of a jitted function that is no array must be hashable, got "
                                    f"{type(value).__name__}; pass an array, or a tuple") from None
        raise
    return key


def matched(args, specs, targets):
    """The arrays of `args` if they are as `specs` has them and not in the memory `targets`, so that the last program can be called
    at once.
    """
    if len(args) != len(specs):
        return None
    arrays = []
    for a, (shape, dtype, kind, is_linked, _) in zip(args, specs, strict=True):
        array = a.raw if a.__class__ is kind else a
        if array.__class__ is not np.ndarray or (array is a) is not (kind is None):
            return None
        if array.shape != shape or array.dtype is not dtype:
            return None
        if is_linked or (kind is not None and a.record is not None):
            return None
        arrays.append(array)
    if targets is not None and targets.holds_one(arrays):
        return None
    return [array if spec[-1] or array.flags.c_contiguous else np.ascontiguousarray(array)
            for array, spec in zip(arrays, specs, strict=True)]


def as_input(leaf):
    """A leaf as compiled code takes it: floats of NumPy, which such code returns and may be handed again, are arrays."""
    leaf = array_of_table(leaf)
    if isinstance(leaf, np.inexact):
        return np.asarray(leaf)
    if isinstance(leaf, Tensor):
        leaf.algebra.settled_data(leaf)
    return native(leaf) if isinstance(leaf, np.ndarray) else leaf


def is_array(leaf):
    """Whether a leaf is an input; all others are constants."""
    return isinstance(leaf, (Tensor, np.ndarray))


def array_of(leaf):
    """The array of an argument that is one, or a tensor; else None."""
    return leaf.raw if isinstance(leaf, Tensor) else leaf if is_array(leaf) else None


def needs_gradient(leaf, records):
    """Whether a leaf has a history that results are to continue."""
    return records and isinstance(leaf, Tensor) and leaf.record is not None


def spec_of(leaf, records):
    """What a program depends on of a leaf."""
    if is_array(leaf):
        return leaf.shape, leaf.dtype, leaf.kind if isinstance(leaf, Tensor) else None, needs_gradient(leaf, records)
    return exact(leaf.value if isinstance(leaf, Static) else leaf)


def contiguous(leaf):
    """The array of an input in row-major order."""
    return np.ascontiguousarray(leaf.raw if isinstance(leaf, Tensor) else leaf).reshape(leaf.shape)

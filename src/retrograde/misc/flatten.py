"""Flatten: nested lists, tuples and dictionaries of arrays as one vector, and back."""

from math import prod

import numpy as np

from .. import tree
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from ..ops.manipulation.selections import getitem


def flatten(value):
    """(vector, unflatten): all numbers in `value` one after another, and the function that makes such a value of a vector.

    Both ways are differentiable. Dictionaries are taken in the order of their keys.

    >>> vector, unflatten = rg.misc.flatten({"b": np.ones(2), "a": 3.0})
    >>> vector
    array([3., 1., 1.])
    """
    leaves, build = tree.flatten(_sorted(value))
    shapes = [np.shape(leaf) for leaf in leaves]
    ends = np.cumsum([prod(shape) for shape in shapes]).tolist()
    vector = concatenate([reshape(leaf if hasattr(leaf, "shape") else np.asarray(leaf), (-1,)) for leaf in leaves]) if leaves \
        else np.array([])

    def unflatten(flat):
        parts = [getitem(flat, slice(end - prod(shape), end)) for shape, end in zip(shapes, ends, strict=True)]
        return build([reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)])

    return vector, unflatten


def flatten_func(function, example):
    """(function of a vector, unflatten, vector) for a `function` of values like `example`."""
    vector, unflatten = flatten(example)
    return (lambda flat, *args: flatten(function(unflatten(flat), *args))[0]), unflatten, vector


def _sorted(value):
    """`value` with its dictionaries in the order of their keys."""
    if isinstance(value, dict):
        return type(value)((key, _sorted(value[key])) for key in sorted(value))
    return type(value)(map(_sorted, value)) if type(value) in (list, tuple) else value

"""Boxes: arrays of NumPy whose elements are values, which is how a list of values goes through `np.array` with its gradients."""

from typing import Any

import numpy as np

from ..core.value import Value
from ..ops._arrays import arrays
from ..ops.manipulation.movements import reshape

#: The most elements that are taken one by one: 20,000 take a second, there and back.
MANY = 20_000


def boxed(x):
    """An array of objects of the shape of `x`, each a value: one element of `x`. What NumPy computes with it, it computes by their
    operators and methods, so that their gradients are not lost.
    """
    found = np.empty(x.shape, object)
    if not x.shape:
        found[()] = x
        return found
    flat, elements = found.reshape(-1), reshape(x, (-1,))
    for i in range(flat.size):
        flat[i] = elements[i]
    return found


def holds_values(data):
    """Whether `data` is an array of objects among which are values."""
    return data.__class__ is np.ndarray and data.dtype is arrays.boxed and any([isinstance(x, Value) for x in data.flat])


def gathered(data) -> Any:
    """`data`, as one tensor if it is an array of values."""
    if not holds_values(data) or any([np.shape(x) != () for x in data.flat]):
        return data
    return reshape(arrays.stacked(list(data.flat)), data.shape)

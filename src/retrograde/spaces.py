"""Spaces: the vector space that a value belongs to, for code that works on values of any structure, by the names of autograd."""

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from . import tree
from .core.value import Value
from .dtypes import is_float
from .errors import DTypeError


class VSpace:
    """The vector space of a value: of a number, an array, or a tree of them. Two are equal if structures, shapes and dtypes are.

    The sums and products can be differentiated. Inner products are real: complex numbers count as pairs.

    >>> space = rg.extend.vspace({"a": 1.0, "b": np.zeros(2)})
    >>> space.size, space.ones()
    (3, {'a': array(1.), 'b': array([1., 1.])})
    """

    def __init__(self, value):
        leaves, self._build = tree.flatten(value)
        self._forms = [_form(leaf) for leaf in leaves]
        self._structure = tree.structure(value)

    @property
    def shape(self) -> Any:
        """The shape of an array; of a tree, the tree of shapes."""
        return self._built(lambda shape, _: shape)

    @property
    def dtype(self) -> Any:
        """The dtype of an array; of a tree, the tree of dtypes."""
        return self._built(lambda _, dtype: dtype)

    @property
    def iscomplex(self):
        """Whether there are complex numbers in the values."""
        return any(dtype.kind == "c" for _, dtype in self._forms)

    @property
    def size(self):
        """The number of dimensions: 2 for each complex number, 1 for any other."""
        return sum(int(np.prod(shape)) * (2 if dtype.kind == "c" else 1) for shape, dtype in self._forms)

    def zeros(self):
        """The value of zeros."""
        return self._built(np.zeros)

    def ones(self):
        """The sum of the standard basis: ones, and 1 + 1j for complex numbers."""
        return self._built(lambda shape, dtype: np.full(shape, 1 + 1j if dtype.kind == "c" else 1, dtype))

    def randn(self):
        """A value of standard normal numbers, drawn by np.random."""
        return self._built(_drawn)

    def standard_basis(self):
        """Yield the values with a single 1, and for complex numbers those with a single 1j, in order."""
        for i, (shape, dtype) in enumerate(self._forms):
            for index in np.ndindex(*shape):
                for unit in (1, 1j) if dtype.kind == "c" else (1,):
                    arrays = [np.zeros(*form) for form in self._forms]
                    arrays[i][index] = unit
                    yield self._build(arrays)

    def add(self, x, y):
        """x + y."""
        return tree.map(add, x, y)

    def mut_add(self, x, y):
        """x + y, of which `x` may be None, for zero."""
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x, a):
        """The number `a` times x."""
        return tree.map(lambda leaf: leaf * a, x)

    def inner_prod(self, x, y):
        """The real inner product, the sum of $\\\\Re(\\\\bar x y)$."""
        terms = [np.sum(np.real(np.conj(a) * b)) for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True)]
        return reduce(add, terms, 0.0)

    def covector(self, x):
        """`x` itself: a gradient here is the direction of ascent, so no conjugation leads from vectors to cotangents."""
        return x

    def _built(self, make):
        return self._build([make(*form) for form in self._forms])

    def __eq__(self, other):
        return isinstance(other, VSpace) and (self._structure, self._forms) == (other._structure, other._forms)

    def __hash__(self):
        return hash((self._structure, tuple(self._forms)))

    def __repr__(self):
        return f"VSpace({', '.join(f'{dtype}{list(shape)}' for shape, dtype in self._forms)})"


def vspace(value):
    """The vector space that `value` belongs to.

    >>> rg.extend.vspace(np.zeros((2, 3)))
    VSpace(float64[2, 3])
    """
    return VSpace(value)


def _form(leaf):
    """The shape and dtype of a leaf. Python numbers are floats, as gradients have it."""
    data = leaf.raw if isinstance(leaf, Value) else leaf
    dtype = np.dtype(data.dtype) if hasattr(data, "dtype") else np.result_type(np.asarray(data), np.float64)
    if not is_float(dtype):
        raise DTypeError(f"a vector space needs floats or complex numbers, got {type(leaf).__name__} of dtype {dtype}")
    return tuple(np.shape(data)), dtype


def _drawn(shape, dtype):
    drawn = np.random.randn(*shape)
    return np.asarray(drawn + 1j * np.random.randn(*shape) if dtype.kind == "c" else drawn, dtype)

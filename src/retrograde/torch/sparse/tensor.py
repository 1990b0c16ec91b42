"""SparseTensor: the elements of a tensor that are not 0, and where they stand. What it computes are ops of its two tensors."""

from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from ...core.symbol import Symbol
from ...core.value import Value
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.elementary.conversions import astype
from ...ops.manipulation import joins, movements, segments, selections
from ...ops.manipulation.gathering import take
from ...shapes import one_axis
from .. import devices, kinds
from ..absent import absent_from
from ..shapes import Size
from .shown import as_text

COO, CSR = "torch.sparse_coo", "torch.sparse_csr"


@dataclass(frozen=True, eq=False, repr=False)
class SparseTensor:
    """A tensor of which only the elements that are not 0 are kept. Make one with `torch.sparse_coo_tensor(...)`.

    Its indices and values are tensors as others: gradients reach the values, and a compiled function takes it as an argument.

    >>> import retrograde.torch as torch
    >>> x = torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x @ torch.ones(3, 1)
    tensor([[3.],
            [4.]])
    """

    places: Any
    numbers: Any
    sizes: Any
    is_unique: bool = False
    layout: str = COO

    #: What `rg.tree` is told: the parts, and what says how to read them.
    _fields: ClassVar = ("places", "numbers", "sizes", "is_unique", "layout")
    _tree_constants: ClassVar = ("sizes", "is_unique", "layout")
    __hash__ = object.__hash__

    def __repr__(self):
        return as_text(self)

    # What it is.
    is_sparse = property(lambda self: self.layout == COO, doc="Whether its layout is that of coordinates.")
    is_sparse_csr = property(lambda self: self.layout == CSR, doc="Whether its layout is that of compressed rows.")
    is_cuda = is_mps = is_xpu = is_quantized = is_meta = is_nested = False
    shape = property(lambda self: Size(self.sizes), doc="Sizes of the axes.")
    ndim = property(lambda self: len(self.sizes), doc="The number of axes.")
    dtype = property(lambda self: self.numbers.dtype, doc="The type of the elements.")
    device = property(lambda self: self.numbers.device, doc="Where the elements are.")
    requires_grad = property(lambda self: self.numbers.requires_grad, doc="Whether gradients of the values are computed.")
    is_leaf = property(lambda self: self.numbers.is_leaf, doc="Whether no op made the values.")
    grad_fn = property(lambda self: self.numbers.grad_fn, doc="The record of the op that made the values, or None.")
    T = property(lambda self: self.t(), doc="The transpose.")

    @property
    def grad(self):
        """The gradient of the values, where they stand; None if there is none."""
        return None if self.numbers.grad is None else replace(self, numbers=kinds.tensor_of(self.numbers.grad))

    def size(self, dim=None):
        """The shape, or the length along `dim`."""
        return self.shape if dim is None else self.sizes[dim]

    def dim(self):
        """The number of axes."""
        return len(self.sizes)

    def numel(self):
        """The number of elements, with those that are 0."""
        return prod(self.sizes)

    def sparse_dim(self):
        """How many axes the indices count."""
        return self.places.shape[0]

    def dense_dim(self):
        """How many axes each value has."""
        return self.numbers.ndim - 1

    def _nnz(self):
        return self.places.shape[1]

    def is_floating_point(self):
        """Whether its elements are real floats."""
        return self.numbers.is_floating_point()

    def is_complex(self):
        """Whether its elements are complex numbers."""
        return self.numbers.is_complex()

    # Its parts.
    def indices(self):
        """Where the values stand: a row for each axis."""
        return self._coalesced("indices").places

    def values(self):
        """The elements that are kept."""
        return self.numbers if self.layout == CSR else self._coalesced("values").numbers

    def _indices(self):
        return self.places

    def _values(self):
        return self.numbers.detach()

    def crow_indices(self):
        """How many values stand before each row begins, and at last how many there are."""
        rows = self._compressed("crow_indices").places[0]
        counts = segments.segment_sum(kinds.operand(rows * 0 + 1), rows, self.sizes[0])
        return joins.concatenate([counts[:1] * 0, counts.cumsum(0)], 0)

    def col_indices(self):
        """The columns of the values."""
        return self._compressed("col_indices").places[1]

    def _compressed(self, name):
        if self.layout != CSR:
            raise ArgumentError(f"{name}() is of the layout torch.sparse_csr, got {self.layout}; use x.to_sparse_csr()")
        return self

    def _coalesced(self, name):
        if self.layout != COO:
            raise ArgumentError(f"{name}() is of the layout torch.sparse_coo, got {self.layout}; use x.to_sparse()")
        if not self.is_unique:
            raise ArgumentError(f"{name}() needs a tensor without indices that occur twice; use x.coalesce().{name}()")
        return self

    def is_coalesced(self):
        """Whether the indices are sorted and none occurs twice."""
        return self.is_unique

    def coalesce(self):
        """The same tensor with its indices sorted and the values of equal indices added."""
        if self.is_unique:
            return self
        keys, group = np.unique(self.keys(), return_inverse=True)
        places = np.stack(np.unravel_index(keys, self.sizes[:self.sparse_dim()])).astype(np.int64)
        return replace(self, places=kinds.made(places), numbers=summed(self.numbers, group.reshape(-1), len(keys)), is_unique=True)

    def keys(self):
        """Where the values stand in the flattened tensor, as an array."""
        return np.ravel_multi_index(tuple(self.places.numpy()), self.sizes[:self.sparse_dim()])

    # Conversions.
    def to_dense(self, dtype=None, *, masked_grad=None):
        """The tensor with all of its elements."""
        numbers = self.numbers if dtype is None else self.numbers.to(dtype)
        is_boolean = numbers.dtype.kind == "b"
        found = selections.scatter_add(astype(numbers, "int64") if is_boolean else numbers, tuple(self.sizes), self.index())
        return found != 0 if is_boolean else found if found.dtype == numbers.dtype else astype(found, numbers.dtype)

    def index(self):
        """An index of a dense tensor that picks where the values stand."""
        return tuple([self.places[axis] for axis in range(self.sparse_dim())])

    def to_sparse(self, *, layout=None):
        """The tensor in the layout of coordinates, or in `layout`."""
        if layout == CSR:
            return self.to_sparse_csr()
        if layout not in (None, COO):
            raise ArgumentError(f"layout must be torch.sparse_coo or torch.sparse_csr, got {layout}")
        return self if self.layout == COO else replace(self, layout=COO)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self, dense_dim=None):
        """The tensor in the layout of compressed rows."""
        self.matrix("to_sparse_csr")
        return replace(self.coalesce(), layout=CSR)

    def to(self, *targets, dtype=None, device=None, **named):
        """The tensor with another dtype; there is one device."""
        return replace(self, numbers=self.numbers.to(*[t.numbers if isinstance(t, SparseTensor) else t for t in targets],
                                                     dtype=dtype, device=device, **named))

    def cpu(self, memory_format=None):
        """The tensor itself."""
        return self

    def cuda(self, device=None, non_blocking=False):
        """An error: there is no GPU."""
        devices.placed("cuda" if device is None else device)
        return self

    def numpy(self, *, force=False):
        """An error: NumPy has no sparse arrays."""
        raise DTypeError("a sparse tensor is no array of NumPy's; use x.to_dense().numpy()")

    def __array__(self, *_, **__):
        return self.numpy()

    __array_ufunc__ = __array__

    # The graph.
    def detach(self):
        """The same numbers outside of the graph."""
        return replace(self, numbers=self.numbers.detach())

    def clone(self, *, memory_format=None):
        """A copy."""
        return replace(self, numbers=self.numbers.clone())

    def requires_grad_(self, requires_grad=True):
        """Let gradients of the values be computed, or not."""
        self.numbers.requires_grad_(requires_grad)
        return self

    # Products.
    def matrix(self, name):
        """The tensor, which must be a matrix of numbers."""
        if len(self.sizes) != 2 or self.sparse_dim() != 2:
            raise ShapeError(f"{name} takes a sparse matrix, got shape {tuple(self.sizes)} of which {self.sparse_dim()} axes are "
                             "sparse; use x.to_dense() for others")
        return self

    def __matmul__(self, other):
        rows, columns = self.matrix("matmul").index()
        if isinstance(other, SparseTensor):
            return _product(self, other.matrix("matmul"))
        if not isinstance(other, Value):
            return NotImplemented
        other = _alike("matmul", self, kinds.operand(other))
        if other.ndim not in (1, 2) or other.shape[0] != self.sizes[1]:
            raise ShapeError(f"sparse matmul needs a vector or matrix with x.shape[1] == y.shape[0], got {tuple(self.sizes)} and "
                             f"{tuple(other.shape)}")
        numbers = self.numbers if other.ndim == 1 else movements.expand_dims(self.numbers, 1)
        return summed(numbers * take(other, columns, 0), rows, self.sizes[0])

    def __rmatmul__(self, other):
        if not isinstance(other, Value):
            return NotImplemented
        product = self.t() @ (other if other.ndim == 1 else kinds.operand(other).mT)
        return product if other.ndim == 1 else product.mT

    # Sums.
    def __add__(self, other):
        if isinstance(other, SparseTensor):
            return _sum(self, other)
        if not isinstance(other, Value):
            raise DTypeError(f"a sparse tensor plus {type(other).__name__} would have no zeros; use x.to_dense() + y")
        return _same_shape("add", self, kinds.operand(other)) + self.to_dense()

    __radd__ = __add__

    def __sub__(self, other):
        return self + -other

    def __rsub__(self, other):
        return -self + other

    def __neg__(self):
        return replace(self, numbers=-self.numbers)

    # Products of elements.
    def __mul__(self, other):
        if isinstance(other, SparseTensor):
            return _common(self, other)
        if isinstance(other, Value) and other.ndim:
            found = _same_shape("mul", self, kinds.operand(other))
            return replace(self, numbers=self.numbers * found[self.index()])
        return replace(self, numbers=self.numbers * other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if isinstance(other, (SparseTensor, Value)) and getattr(other, "ndim", 0):
            raise ArgumentError("a sparse tensor can be divided by a number only; use x.to_dense() / y")
        return replace(self, numbers=self.numbers / other)

    def __pow__(self, exponent):
        if not isinstance(exponent, (int, float)) or exponent <= 0:
            raise ArgumentError(f"the power of a sparse tensor must be a number above 0, got {exponent}; use x.to_dense() ** y")
        found = self.coalesce()
        return replace(found, numbers=found.numbers ** exponent)

    # Axes.
    def t(self):
        """The transpose of a matrix."""
        return self.matrix("t").transpose(0, 1)

    def transpose(self, dim0, dim1):
        """The tensor with two axes exchanged."""
        one, other = (one_axis(dim, len(self.sizes)) for dim in (dim0, dim1))
        if max(one, other) >= self.sparse_dim():
            raise ShapeError(f"transpose of a sparse tensor exchanges axes that the indices count, the first "
                             f"{self.sparse_dim()}, got {dim0} and {dim1}")
        order = list(range(self.sparse_dim()))
        order[one], order[other] = order[other], order[one]
        sizes = Size([self.sizes[axis] for axis in order] + list(self.sizes[len(order):]))
        found = replace(self, places=take(self.places, np.asarray(order), 0), sizes=sizes, is_unique=False, layout=COO)
        if self.layout == CSR:
            return found.to_sparse_csr()
        return found.coalesce() if self.is_unique and not isinstance(self.places.raw, Symbol) else found

    def sum(self, dim=None, keepdim=False, *, dtype=None):
        """The sum of all elements, or over axes."""
        numbers = self.numbers if dtype is None else self.numbers.to(dtype)
        if dim is None or dim == ():
            return numbers.sum()
        axes = {one_axis(axis, len(self.sizes)) for axis in (dim if isinstance(dim, (list, tuple)) else (dim,))}
        if keepdim:
            raise ArgumentError("the sum of a sparse tensor keeps no axes of length 1; use x.to_dense().sum(dim, keepdim=True)")
        count = self.sparse_dim()
        inner = tuple(sorted([axis - count + 1 for axis in axes if axis >= count]))
        numbers = numbers.sum(inner) if inner else numbers
        kept = [axis for axis in range(count) if axis not in axes]
        if not kept:
            return numbers.sum(0)
        sizes = Size([n for axis, n in enumerate(self.sizes) if axis not in axes])
        is_unique = self.is_unique and len(kept) == count
        found = SparseTensor(take(self.places, np.asarray(kept), 0), numbers, sizes, is_unique)
        return found if isinstance(self.places.raw, Symbol) else found.coalesce()

    def __getattr__(self, name):
        return _missing(name)


_missing = absent_from("torch.sparse_coo_tensor(...)", lambda: dir(SparseTensor))


def summed(numbers, group, count):
    """The sums of the rows of `numbers` with the same number in `group`."""
    is_boolean = numbers.dtype.kind == "b"
    found = segments.segment_sum(astype(numbers, "int64") if is_boolean else numbers, group, count)
    return found != 0 if is_boolean else found if found.dtype == numbers.dtype else astype(found, numbers.dtype)


def _alike(name, x, y):
    if x.dtype != y.dtype:
        raise DTypeError(f"{name} needs operands of one dtype, got {x.dtype} and {y.dtype}; use x.to(y.dtype)")
    return y


def _same_shape(name, x, y):
    if tuple(x.sizes) != tuple(y.shape):
        raise ShapeError(f"{name} of a sparse tensor needs operands of one shape, got {tuple(x.sizes)} and {tuple(y.shape)}")
    return y


def _sum(x, y):
    _same_shape("add", x, y)
    if x.sparse_dim() != y.sparse_dim():
        raise ShapeError(f"add needs operands with as many sparse axes, got {x.sparse_dim()} and {y.sparse_dim()}")
    dtype = kinds.result_type(x.numbers, y.numbers)
    numbers = joins.concatenate([x.numbers.to(dtype), y.numbers.to(dtype)], 0)
    found = SparseTensor(joins.concatenate([x.places, y.places], 1), numbers, x.sizes)
    if isinstance(found.places.raw, Symbol):
        return found
    return found.to_sparse_csr() if x.layout == y.layout == CSR else found.coalesce()


def _common(x, y):
    """The product of elements: what stands in both."""
    _same_shape("mul", x, y)
    x, y = x.coalesce(), y.coalesce()
    keys, first, second = np.intersect1d(x.keys(), y.keys(), assume_unique=True, return_indices=True)
    places = np.stack(np.unravel_index(keys, x.sizes[:x.sparse_dim()])).astype(np.int64)
    return replace(x, places=kinds.made(places), numbers=take(x.numbers, first, 0) * take(y.numbers, second, 0))


def _product(x, y):
    """The product of two matrices: each value of `x` meets the values of `y` in the row that its column names."""
    if x.sizes[1] != y.sizes[0]:
        raise ShapeError(f"matmul needs x.shape[1] == y.shape[0], got {tuple(x.sizes)} and {tuple(y.sizes)}")
    _alike("matmul", x, y)
    x, y = x.coalesce(), y.coalesce()
    (rows, middle), (begins, columns) = x.places.numpy(), y.places.numpy()
    start = np.searchsorted(begins, middle)
    counts = np.searchsorted(begins, middle, "right") - start
    first = np.repeat(np.arange(len(rows)), counts)
    second = np.arange(len(first)) + np.repeat(start - (counts.cumsum() - counts), counts)
    numbers = take(x.numbers, first, 0) * take(y.numbers, second, 0)
    places = kinds.made(np.stack([rows[first], columns[second]]))
    found = SparseTensor(places, numbers, Size([x.sizes[0], y.sizes[1]])).coalesce()
    return found.to_sparse_csr() if x.layout == CSR else found

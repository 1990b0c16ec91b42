"""Sparse tensors of indices and values, and of dense tensors."""

from typing import Any

import numpy as np

from ...core.symbol import Symbol
from ...errors import ArgumentError, OutOfRangeError, ShapeError
from ...ops.manipulation import selections
from .. import creation, kinds
from ..devices import placed
from ..shapes import Size
from .tensor import COO, CSR, SparseTensor


def sparse_coo_tensor(indices, values=None, size=None, *, dtype=None, device=None, requires_grad=False, check_invariants=None,
                      is_coalesced=None):
    """The sparse tensor with `values` at `indices`, which have a row for each axis; values of one place are added.

    >>> import retrograde.torch as torch
    >>> torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [1.0, 2.0, 3.0], (2, 3)).to_dense()
    tensor([[0., 0., 1.],
            [5., 0., 0.]])
    """
    if values is None and size is None:
        return _empty(tuple(indices), dtype, device)
    places, numbers = creation.as_tensor(indices, dtype="int64"), _numbers(values, dtype, device, requires_grad)
    if places.ndim != 2 or not numbers.ndim or places.shape[1] != numbers.shape[0]:
        raise ShapeError("indices must have shape (axes, n) and values n elements along their first axis, got "
                         f"{tuple(places.shape)} and {tuple(numbers.shape)}")
    if size is None:
        size = (*[int(row.max()) + 1 for row in places], *numbers.shape[1:])
    size = tuple(size)
    if len(size) != places.shape[0] + numbers.ndim - 1 or size[places.shape[0]:] != tuple(numbers.shape[1:]):
        raise ShapeError(f"size must have the {places.shape[0]} axes of the indices and then those of the values "
                         f"{tuple(numbers.shape[1:])}, got {size}")
    _check(places, size)
    return SparseTensor(places, numbers, Size(size), bool(is_coalesced))


def _check(places, size):
    """Whether the indices lie in the tensor; those of a compiled function are checked where they are used."""
    if isinstance(places.raw, Symbol) or not places.numel():
        return
    for axis, row in enumerate(places.numpy()):
        if not 0 <= row.min() <= row.max() < size[axis]:
            raise OutOfRangeError(f"indices along axis {axis} must lie between 0 and {size[axis] - 1}, got {row.min()} to "
                                  f"{row.max()}")


def _numbers(values, dtype, device, requires_grad) -> Any:
    placed(device)
    numbers = creation.as_tensor(values, dtype=dtype)
    return numbers.detach().clone().requires_grad_() if requires_grad else numbers


def _empty(size, dtype, device):
    placed(device)
    return SparseTensor(creation.zeros(len(size), 0, dtype="int64"), creation.zeros(0, dtype=dtype), Size(size), True)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, requires_grad=False,
                      check_invariants=None):
    """The sparse matrix of compressed rows: row i has the `values` number `crow_indices[i]` to `crow_indices[i + 1]`.

    >>> import retrograde.torch as torch
    >>> torch.sparse_csr_tensor([0, 1, 3], [2, 0, 1], [1.0, 2.0, 3.0], (2, 3)).to_dense()
    tensor([[0., 0., 1.],
            [2., 3., 0.]])
    """
    begins, columns = (creation.as_tensor(x, dtype="int64") for x in (crow_indices, col_indices))
    numbers = _numbers(values, dtype, device, requires_grad)
    counts = np.diff(begins.numpy())
    if begins.ndim != 1 or columns.ndim != 1 or numbers.ndim != 1 or len(columns) != len(numbers):
        raise ShapeError("a sparse matrix of compressed rows takes three vectors, col_indices and values of one length, got shapes "
                         f"{tuple(begins.shape)}, {tuple(columns.shape)} and {tuple(numbers.shape)}")
    if (counts < 0).any() or int(begins[0]) or int(begins[-1]) != len(columns):
        raise ArgumentError(f"crow_indices must go up from 0 to the number of values, {len(columns)}, got {begins.tolist()}")
    rows = np.repeat(np.arange(len(counts)), counts)
    size = (len(counts), int(columns.max()) + 1) if size is None else tuple(size)
    if len(size) != 2 or size[0] != len(counts):
        raise ShapeError(f"size must be ({len(counts)}, columns) by crow_indices, got {size}")
    found = SparseTensor(kinds.made(np.stack([rows, columns.numpy()])), numbers, Size(size), False, CSR)
    _check(found.places, size)
    keys = found.keys()
    if (np.diff(keys) <= 0).any():
        raise ArgumentError("col_indices must go up within each row, none twice; for others use torch.sparse_coo_tensor")
    return SparseTensor(found.places, numbers, found.sizes, True, CSR)


def to_sparse(self, sparse_dim=None, *, layout=None):
    """The elements that are not 0 as a sparse tensor."""
    if sparse_dim not in (None, self.ndim) or not self.ndim:
        raise ArgumentError(f"to_sparse counts all axes of a tensor that has some, got shape {tuple(self.shape)} and sparse_dim="
                            f"{sparse_dim}")
    if layout not in (None, COO, CSR):
        raise ArgumentError(f"layout must be torch.sparse_coo or torch.sparse_csr, got {layout}")
    places = np.stack(np.nonzero(self.detach().numpy())).astype(np.int64)
    found = SparseTensor(kinds.made(places), selections.getitem(self, tuple(places)), self.shape, True)
    return found.to_sparse_csr() if layout == CSR else found


def to_sparse_csr(self, dense_dim=None):
    """The elements that are not 0 as a sparse matrix of compressed rows."""
    return to_sparse(self, layout=CSR)


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, which is dense."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self, mask):
    """The elements where a sparse tensor has some, as a sparse tensor."""
    if tuple(mask.sizes) != tuple(self.shape):
        raise ShapeError(f"sparse_mask needs a mask of the shape {tuple(self.shape)}, got {tuple(mask.sizes)}")
    return SparseTensor(mask.places, selections.getitem(self, mask.index()), mask.sizes, mask.is_unique, mask.layout)


METHODS = {"to_sparse": to_sparse, "to_sparse_coo": to_sparse, "to_sparse_csr": to_sparse_csr, "to_dense": to_dense,
           "sparse_mask": sparse_mask}

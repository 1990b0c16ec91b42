"""RowGradient: the gradient of a table of which few rows were read, as these rows and their positions."""

from functools import partial
from typing import Any

import numpy as np

from ..core.mode import no_grad
from ..core.value import Value
from ..errors import InplaceError
from ..ops._arrays import arrays
from ..ops.axes.finding import first_places
from ..ops.manipulation.gathering import take
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.selections import scatter_add
from .tensor import Tensor


class RowGradient(Tensor):
    """A gradient whose rows are zero but for those at `positions`, where `rows` are added up: of `nn.Embedding(sparse=True)`.

    To everything that reads its elements it is an ordinary tensor, which is made anew each time. What knows of it reads its
    parts: `clip_grad_norm_`, and optimizers that update rows by themselves. Its methods are those of PyTorch's sparse tensors.

    >>> table = rg.nn.Embedding(1000, 2, sparse=True)
    >>> table(rg.tensor([7, 3, 7])).sum().backward()
    >>> table.weight.grad.coalesce().indices()
    tensor([[3, 7]])
    >>> table.weight.grad.coalesce().values()
    tensor([[1., 1.],
            [2., 2.]])
    """

    __slots__ = ()
    positions: Any
    rows: Any
    sizes: Any
    is_unique: Any
    is_sparse = True

    def __init__(self, positions, rows, shape, is_unique=False):
        self.record = None
        found = vars(self)
        found["positions"], found["rows"] = (part if isinstance(part, Value) else arrays.made(part) for part in (positions, rows))
        found["sizes"], found["is_unique"] = tuple(shape), is_unique

    def _whole(self):
        """The array, of which nobody can change an element: it is another one the next time."""
        found = scatter_add(self.rows, self.sizes, (self.positions,)).raw
        if found.__class__ is np.ndarray:
            found.flags.writeable = False
        return found

    def _refuse(self, _):
        raise InplaceError("a gradient that is rows of a table cannot be written to; set p.grad = p.grad.to_dense(), or write to "
                           "p.grad.rows")

    raw: Any = property(_whole, _refuse)
    data: Any = property(_whole, _refuse, doc="The whole array, which is read-only.")
    shape = property(lambda self: self.sizes, doc="Sizes of the axes.")
    dtype = property(lambda self: self.rows.dtype, doc="Type of the elements.")
    ndim = property(lambda self: len(self.sizes), doc="Number of axes.")
    device = property(lambda self: self.rows.device, doc="Where the elements are.")
    is_traced = property(lambda self: self.rows.is_traced or self.positions.is_traced)
    parts = property(lambda self: (self.positions, self.rows), doc="The tensors that it is made of.")

    def maker(self):
        """What makes one like this of other parts."""
        return partial(RowGradient, shape=self.sizes, is_unique=self.is_unique)

    def __repr__(self):
        return f"RowGradient({self.positions!r}, {self.rows!r}, {self.sizes})"

    def __add__(self, other):
        if not isinstance(other, RowGradient):
            return super().__add__(other)
        positions, rows = zip(self.parts, other.parts, strict=True)
        with no_grad():
            return RowGradient(concatenate(positions, 0), concatenate(rows, 0), self.sizes)

    def __setitem__(self, index, value):
        self._refuse(value)

    def summed(self):
        """(positions, for each of them the sum of all rows at that position)."""
        if self.is_unique:
            return self.parts
        with no_grad():
            first = first_places(self.positions)
            sums = scatter_add(self.rows, self.rows.shape, (first,))
            return self.positions, take(sums, first, 0)

    def summed_once(self):
        """The rows such that each position counts once: the sum of its rows where it occurs first, zeros where it is repeated."""
        if self.is_unique:
            return self.rows
        with no_grad():
            return scatter_add(self.rows, self.rows.shape, (first_places(self.positions),))

    def become(self, rows):
        """Have other rows at the same positions from here on."""
        vars(self)["rows"] = rows if rows.dtype == self.dtype else rows.astype(self.dtype)

    # As in PyTorch.
    def coalesce(self):
        """The same with sorted positions, of which none occurs twice. Of a traced one this would have no shape."""
        if self.is_unique:
            return self
        positions, group = np.unique(self.positions.numpy(), return_inverse=True)
        rows = scatter_add(self.rows.raw, (len(positions), self.sizes[1]), (np.reshape(group, -1),))
        return RowGradient(positions, rows, self.sizes, True)

    def is_coalesced(self):
        """Whether no position occurs twice, and they are sorted."""
        return self.is_unique

    def indices(self):
        """The positions, of shape (1, rows)."""
        return self.positions.reshape(1, -1)

    def values(self):
        """The rows."""
        return self.rows

    _indices, _values = indices, values

    def to_dense(self):
        """An ordinary tensor of the same elements."""
        return Tensor(self.raw.copy()) if not self.is_traced else arrays.made(self.raw)

    # It has no history, and nobody writes to its parts but those who own it.
    def detach(self):
        """Itself: it has no history."""
        return self

    def clone(self):
        """One of parts of its own."""
        return self.maker()(*[part.clone() for part in self.parts])

    __copy__ = clone

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), self.clone())

    def __reduce__(self):
        return RowGradient, (*[part.raw for part in self.parts], self.sizes, self.is_unique)

    def zero_(self):
        """Let it be zero: it has no rows then."""
        vars(self).update(positions=self.positions[:0], rows=self.rows[:0])
        return self


arrays.rows = RowGradient

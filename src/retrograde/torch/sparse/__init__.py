"""`torch.sparse`: tensors of which only the elements that are not 0 are kept, and functions of them."""

from dataclasses import replace
from functools import wraps
from typing import Any

from ...errors import ArgumentError
from ...ops.manipulation import segments
from ...ops.manipulation.gathering import take
from ...shapes import one_axis
from ..absent import absent_from
from .making import METHODS, sparse_coo_tensor, sparse_csr_tensor
from .methods import KEEPING_ZERO
from .tensor import COO, CSR, SparseTensor, summed

__all__ = ["SparseTensor", "addmm", "log_softmax", "mm", "softmax", "sum"]


def mm(sparse, dense):
    """The product of two matrices, of which one or both are sparse."""
    return sparse @ dense


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """`beta * mat + alpha * (mat1 @ mat2)`."""
    return mat * beta + (mat1 @ mat2) * alpha


def sum(input, dim=None, dtype=None):
    """The sum of all elements, or over axes: sparse where axes are left that are sparse."""
    return input.sum(dim, dtype=dtype)


def softmax(input, dim, *, dtype=None):
    """The softmax along `dim` of the values that are kept: the others count as minus infinity."""
    found, group, count = _grouped(input, dim, dtype)
    powers = _shifted(found.numbers, group, count).exp()
    return replace(found, numbers=powers / take(summed(powers, group, count), group, 0))


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of the softmax along `dim` of the values that are kept."""
    found, group, count = _grouped(input, dim, dtype)
    low = _shifted(found.numbers, group, count)
    return replace(found, numbers=low - take(summed(low.exp(), group, count), group, 0).log())


def _grouped(input, dim, dtype):
    """A coalesced tensor, the number of the line along `dim` in which each value stands, and how many lines there are."""
    if input.sparse_dim() != len(input.sizes):
        raise ArgumentError("softmax takes a tensor of which all axes are sparse; use x.to_dense()")
    found = input.coalesce() if dtype is None else input.coalesce().to(dtype)
    axis, group, count = one_axis(dim, len(input.sizes)), None, 1
    for other, size in enumerate(input.sizes):
        if other != axis:
            group = found.places[other] if group is None else group * size + found.places[other]
            count *= size
    return found, found.places[0] * 0 if group is None else group, count


def _shifted(numbers: Any, group, count):
    return numbers - take(segments.segment_max(numbers.detach(), group, count), group, 0)


def choosing(dense, sparse):
    """`dense`, or `sparse` where one of the first three arguments is a sparse tensor."""

    @wraps(dense)
    def called(*args, **kwargs):
        for x in args[:3]:
            if x.__class__ is SparseTensor:
                return sparse(*args, **kwargs)
        return dense(*args, **kwargs) if not kwargs or not _is_sparse(kwargs.get("input")) else sparse(**kwargs)

    return called


def _is_sparse(x):
    return isinstance(x, SparseTensor)


def _method(name):
    return lambda input, *args, **kwargs: getattr(input, name)(*args, **kwargs)


def _added(input, other, *, alpha=1):
    return input + (other if alpha == 1 else other * alpha)


def _transposed(input, dim0, dim1):
    return input.transpose(dim0, dim1)


#: What functions of the package do with sparse tensors, by name.
FUNCTIONS = {
    **dict.fromkeys(("mm", "matmul", "mv"), mm), "addmm": addmm, "softmax": softmax, "log_softmax": log_softmax,
    **{name: _method(name) for name in (*KEEPING_ZERO, "sum", "t", "pow", "div", "clone")}, "transpose": _transposed,
    "add": _added, "sub": lambda input, other, *, alpha=1: _added(input, other, alpha=-alpha),
    "mul": lambda input, other: input * other,
    "is_floating_point": _method("is_floating_point"), "is_complex": _method("is_complex"), "numel": _method("numel"),
    "is_tensor": lambda obj: True,
}
#: What the package has beside them.
NAMES = {"sparse_coo_tensor": sparse_coo_tensor, "sparse_csr_tensor": sparse_csr_tensor, "spmm": mm, "sparse_coo": COO,
         "sparse_csr": CSR}

__getattr__ = absent_from("torch.sparse", lambda: __all__)

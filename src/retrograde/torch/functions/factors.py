"""Factors of matrices by elimination and by reflections, and equations that are solved by them."""

from collections import namedtuple

import numpy as np

from ...core.function import Function
from ...core.mode import is_tracing, whole
from ...errors import MissingRuleError
from ...ops.linalg.elimination import lu_factor as _eliminated
from ...ops.linalg.triangular import solve_triangular as solve
from ...ops.manipulation.joins import concatenate
from .. import creation, kinds
from ..kinds import operand

__all__ = ["geqrf", "lu", "lu_solve", "lu_unpack", "ormqr", "triangular_solve"]


def _named(name, fields):
    made = namedtuple(name, fields)
    made.__module__ = "retrograde.torch.return_types"
    return made


_LU, _FACTORS, _FACTORS_EX = _named("lu", "P L U"), _named("lu_factor", "LU pivots"), _named("lu_factor_ex", "LU pivots info")
_TRIANGULAR, _GEQRF = _named("triangular_solve", "solution cloned_coefficient"), _named("geqrf", "a tau")


def _order_of(array):
    """For each matrix which of its rows comes first, second, ... in elimination with partial pivoting."""
    rows, columns = array.shape[-2:]
    if rows == columns:
        return np.real(np.asarray(_eliminated(array))[..., rows, :]).astype(np.int64)
    if rows < columns:  # the first columns alone choose
        return _order_of(array[..., :rows])
    # Columns that are added to a tall matrix change no choice before them.
    size = rows
    wide = np.zeros((*array.shape[:-2], size, size), array.dtype)
    wide[..., :rows, :columns] = array
    if not array.size:
        return np.broadcast_to(np.arange(rows), array.shape[:-1])
    return np.real(np.asarray(_eliminated(wide))[..., size, :rows]).astype(np.int64)


def _factored(array):
    """L and U of a matrix whose rows are in order already, by elimination without pivots."""
    rows, columns = array.shape[-2:]
    x, count = np.array(array), min(rows, columns)
    for k in range(count):
        pivot = x[..., k : k + 1, k]
        x[..., k + 1 :, k] /= np.where(pivot == 0, 1, pivot)
        x[..., k + 1 :, k + 1 :] -= x[..., k + 1 :, k, None] * x[..., k, None, k + 1 :]
    return np.tril(x[..., :, :count], -1) + np.eye(rows, count, dtype=x.dtype), np.triu(x[..., :count, :])


class _Elimination(Function):
    """L and U of matrices whose rows are in order. Its derivative is that of A = L U with both kept triangular."""

    @staticmethod
    def forward(ctx, a):
        low, up = _factored(np.asarray(a.detach().numpy()))
        low, up = kinds.made(low), kinds.made(up)
        ctx.save_for_backward(low, up)
        return low, up

    @staticmethod
    def backward(ctx, g_low, g_up):
        low, up = (kinds.tensor_of(x) for x in ctx.saved_tensors)
        g_low, g_up = kinds.tensor_of(g_low), kinds.tensor_of(g_up)
        rows, columns, count = low.shape[-2], up.shape[-1], low.shape[-1]
        if rows <= columns:
            inside = (low.mH @ g_low - g_up @ up.mH).tril(-1)
            inside = solve(up[..., :count].mH, inside, upper=False, left=False)
            rest = creation.zeros(*inside.shape[:-1], columns - count, dtype=inside.dtype)
            return solve(low.mH, g_up + concatenate([inside, rest], -1), upper=True, unitriangular=True)
        inside = (g_up @ up.mH - low.mH @ g_low).triu()
        inside = solve(low[..., :count, :].mH, inside, upper=True, unitriangular=True)
        rest = creation.zeros(*inside.shape[:-2], rows - count, count, dtype=inside.dtype)
        return solve(up.mH, g_low + concatenate([inside, rest], -2), upper=False, left=False)


class Underived(Function):
    """What has no derivative in `source` although it was made of it: a gradient that reaches it must be zero."""

    @staticmethod
    def forward(ctx, x, source):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        if not is_tracing() and bool((g != 0).any()):
            raise MissingRuleError("the vectors that full_matrices=True adds have no derivative, and are part of a gradient here; "
                                   "use full_matrices=False, or detach() them")
        return None, None


def _in_order(A):
    """The order of rows of `A`, and L and U of `A` in that order."""
    A = operand(A, "A")
    order = _order_of(np.asarray(A.detach().numpy()))
    rows = kinds.made(order).unsqueeze(-1)
    return order, *_Elimination.apply(A.take_along_dim(rows, -2))


def _permutation(order, dtype):
    """The matrix P with P L U = A, of the order of the rows of A in L U."""
    return np.swapaxes(np.eye(order.shape[-1], dtype=dtype)[order], -1, -2)


def _pivots(order, count):
    """The exchanges of rows that lead to an order, counted from 1."""
    found = np.zeros((*order.shape[:-1], count), np.int32)
    for place in np.ndindex(order.shape[:-1]):
        now = list(range(order.shape[-1]))
        for k in range(count):
            j = now.index(order[place][k])
            now[k], now[j] = now[j], now[k]
            found[(*place, k)] = j + 1
    return found


def _rows_of(pivots, count):
    """The order of `count` rows that exchanges lead to."""
    found = np.broadcast_to(np.arange(count), (*pivots.shape[:-1], count)).copy()
    for place in np.ndindex(pivots.shape[:-1]):
        row = found[place]
        for k, j in enumerate(pivots[place]):
            row[k], row[j - 1] = row[j - 1], row[k]
    return found


def lu_of(A, *, pivot=True):
    """P, L and U of which `A` is the product: a permutation, a lower triangle with ones on its diagonal, and an upper triangle."""
    if not pivot:
        return _LU(operand(A, "A").new_empty((0,)), *_Elimination.apply(operand(A, "A")))
    order, low, up = _in_order(A)
    return _LU(kinds.made(_permutation(order, A.dtype)), low, up)


def lu_factor(A, *, pivot=True):
    """L and U in one matrix, and the exchanges of rows, counted from 1."""
    if pivot:
        order, low, up = _in_order(A)
    else:
        low, up = _Elimination.apply(operand(A, "A"))
        order = np.broadcast_to(np.arange(A.shape[-2]), tuple(A.shape[:-1]))
    rows, columns, count = A.shape[-2], A.shape[-1], min(A.shape[-2:])
    low = low.tril(-1)
    lower = concatenate([low, low.new_zeros((*low.shape[:-1], columns - count))], -1)
    packed = lower + concatenate([up, up.new_zeros((*up.shape[:-2], rows - count, columns))], -2)
    return _FACTORS(packed, kinds.made(_pivots(order, count)))


def lu_factor_ex(A, *, pivot=True, check_errors=False):
    """`lu_factor`, and for each matrix where its first pivot of 0 is, or 0."""
    packed, pivots = lu_factor(A, pivot=pivot)
    is_zero = np.diagonal(packed.detach().numpy(), axis1=-2, axis2=-1) == 0
    info = np.where(is_zero.any(-1), is_zero.argmax(-1) + 1, 0).astype(np.int32)
    return _FACTORS_EX(packed, pivots, kinds.made(info))


def lu(A, pivot=True, get_infos=False, out=None):
    """The older name of `torch.linalg.lu_factor`."""
    found = lu_factor_ex(A, pivot=pivot)
    return tuple(found) if get_infos else tuple(found[:2])


def lu_unpack(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    """P, L and U of what `lu_factor` gave; empty tensors for those that are not asked for."""
    packed, nothing = operand(LU_data, "LU_data"), creation.empty(0)
    count = min(packed.shape[-2:])
    low = up = permutation = nothing
    if unpack_data:
        low = packed[..., :count].tril(-1) + kinds.made(np.eye(packed.shape[-2], count, dtype=packed.dtype))
        up = packed[..., :count, :].triu()
    if unpack_pivots:
        permutation = kinds.made(_permutation(_rows_of(LU_pivots.numpy(), packed.shape[-2]), packed.dtype))
    return _LU(permutation, low, up)


@whole
def lu_solve_with(LU, pivots, B, *, left=True, adjoint=False):
    """X in A X = B by what `lu_factor` gave of A: in X A = B without `left`, of A conjugate transposed with `adjoint`."""
    if not left:
        return lu_solve_with(LU, pivots, B.mH, adjoint=not adjoint).mH
    permutation, low, up = lu_unpack(LU, pivots)
    if adjoint:
        return permutation @ solve(low.mH, solve(up.mH, B, upper=False), upper=True, unitriangular=True)
    return solve(up, solve(low, permutation.mT @ B, upper=False, unitriangular=True), upper=True)


def lu_solve(b, LU_data, LU_pivots):
    """The older name of `torch.linalg.lu_solve`, with the right side first."""
    return lu_solve_with(LU_data, LU_pivots, operand(b, "b"))


def triangular_solve(b, A, upper=True, transpose=False, unitriangular=False):
    """X in A X = b of a triangular A, and a copy of A; of A transposed with `transpose`."""
    given = operand(A, "A")
    A = given.triu() if upper else given.tril()
    whole = A.mT if transpose else A
    return _TRIANGULAR(solve(whole, b, upper=upper != transpose, unitriangular=unitriangular), given.clone())


def householder_product(input, tau):
    """The first columns of the product of reflections `1 - tau v v^H`, whose `v` stand below the diagonal."""
    x, tau = operand(input), operand(tau, "tau")
    rows, columns = x.shape[-2:]
    found = kinds.made(np.broadcast_to(np.eye(rows, columns, dtype=x.dtype), tuple(x.shape)))
    found = found if tau.shape[-1] else found + x * 0  # without reflections, of the same graph all the same
    return _reflected(x, tau, found, range(tau.shape[-1] - 1, -1, -1), False)



def _reflected(x, tau, other, order, adjoint):
    """`other` after reflections, one after the other."""
    below = x.tril(-1) + kinds.made(np.eye(x.shape[-2], x.shape[-1], dtype=x.dtype))
    for k in order:
        v, t = below[..., k : k + 1], tau[..., k, None, None]
        other = other - (t.conj() if adjoint else t) * (v @ (v.mH @ other))
    return other


def ormqr(input, tau, other, left=True, transpose=False):
    """The product of all reflections (see `householder_product`) times `other`, or of its conjugate transpose."""
    x, tau, other = operand(input), operand(tau, "tau"), operand(other, "other")
    if not left:
        return ormqr(x, tau, other.mH, True, not transpose).mH
    count = tau.shape[-1]
    return _reflected(x, tau, other, range(count) if transpose else range(count - 1, -1, -1), transpose)


def geqrf(input):
    """The reflections of a QR factorization below the diagonal of R, and their factors."""
    x = operand(input).detach().numpy()
    packed, tau = np.linalg.qr(x, mode="raw")
    return _GEQRF(kinds.made(np.ascontiguousarray(np.swapaxes(packed, -1, -2)).astype(x.dtype)), kinds.made(tau.astype(x.dtype)))

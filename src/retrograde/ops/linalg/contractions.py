"""Contractions: sums of products."""

from functools import lru_cache
from math import prod

import numpy as np

from ...dtypes import bfloat16, is_float, without_promotion
from ...errors import ShapeError
from ...shapes import mismatch
from .._arrays import shape_of
from .._families import composite, contraction
from .._samples import call
from ..axes.reductions import sum as summed
from ..elementary.conversions import is_narrow
from ..manipulation.movements import broadcast_to, expand_dims, permute_dims, reshape, transpose, unbroadcast
from ._multiplying import exact, product
from ._plans import kept_labels, matrix_plan, pairwise_path

#: To fetch a number that lies apart takes about as long as so many products in vectors, which need so many matrices side by side.
_MOST_PRODUCTS, _FEWEST_MATRICES = 12, 8
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def product_shape(x, y):
    """The shape of the matrix product of `x` and `y`; a ShapeError if there is none."""
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else -1]:
        raise ShapeError(f"matmul needs x.shape[-1] == y.shape[-2], got {x.shape} and {y.shape}")
    if wrong := mismatch([x.shape[:-2], y.shape[:-2]]):
        raise ShapeError(f"the leading axes of x and y are batches, which must broadcast: {wrong}")
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return (*batch, *(x.shape[-2:-1] if x.ndim > 1 else ()), *(y.shape[-1:] if y.ndim > 1 else ()))


def _in_matrices(x, y):
    """The product of vectors as one of matrices."""
    if x.ndim > 1 and y.ndim > 1:
        return NotImplemented
    left = expand_dims(x, 0) if x.ndim == 1 else x
    right = expand_dims(y, -1) if y.ndim == 1 else y
    return matmul(left, right).reshape(product_shape(x, y))


@contraction(result_shape=product_shape, expansion=_in_matrices, samples=(
    call((2, 3), (3, 4)), call((3,), (3,)), call((2, 3), (3,)), call((3,), (3, 2)), call((2, 1, 2, 3), (4, 3, 2)),
    call((0, 3), (3, 2)), call((2, 0), (0, 3))))
def matmul(x, y, /):
    r"""Matrix product over the last two axes; leading axes are batches and broadcast. Vectors work as in NumPy.

    $Z = X Y \;\Rightarrow\; \bar X = \bar Z\, Y^\top,\; \bar Y = X^\top \bar Z$
    """
    return product(x, y)


def _left_rule(g, x_shape, y):
    if len(x_shape) == 1:
        if y.ndim == 1:
            return g * y
        return unbroadcast(matmul(y, expand_dims(g, -1))[..., 0], x_shape)
    if y.ndim == 1:
        return unbroadcast(expand_dims(g, -1) * y, x_shape)
    return unbroadcast(matmul(g, transpose(y)), x_shape)


def _right_rule(g, x, y_shape):
    if len(y_shape) == 1:
        if x.ndim == 1:
            return g * x
        return unbroadcast(matmul(expand_dims(g, -2), x)[..., 0, :], y_shape)
    if x.ndim == 1:
        return unbroadcast(expand_dims(x, -1) * expand_dims(g, -2), y_shape)
    return unbroadcast(matmul(transpose(x), g), y_shape)


matmul.defvjp(_left_rule, _right_rule)


@composite(samples=(call((2,), (3,)), call((2, 2), (3,))))
def outer(x, y, /):
    r"""All products of an element of `x` with an element of `y`, shape (x.size, y.size).

    $Z = x y^\top \;\Rightarrow\; \bar x = \bar Z y,\; \bar y = \bar Z^\top x$
    """
    return reshape(x, (-1, 1)) * reshape(y, (1, -1))


outer.defvjp(lambda g, x, y: reshape(matmul(g, reshape(y, (-1,))), x.shape),
             lambda g, x, y: reshape(matmul(transpose(g), reshape(x, (-1,))), y.shape))


def einsum(subscripts, /, *operands):
    """Sum of products over named axes, in Einstein's notation: `einsum("ij,jk->ik", x, y)` is the matrix product.

    More than two operands are contracted two at a time, in an order that opt_einsum finds if it is installed
    (`pip install 'retrograde[einsum]'`), and a simpler search if not; the derivative goes back the same way.

    >>> rg.einsum("i,i->", rg.tensor([1.0, 2.0]), rg.tensor([3.0, 4.0]))
    tensor(11.)
    """
    operands = without_promotion(operands)
    if len(operands) <= 2 or not isinstance(subscripts, str) or all([x.dtype.kind in "iub" for x in operands]):
        return contract(operands, subscripts)
    inputs, output = _explicit(subscripts, [len(shape_of(x)) for x in operands])
    if any(len(labels) != len(shape_of(x)) for labels, x in zip(inputs, operands, strict=True)):
        return contract(operands, subscripts)  # which says what is wrong
    parts = list(operands)
    for pair in pairwise_path(inputs, output, _sizes_by_label(inputs, operands)):
        is_last = len(parts) == 2
        labels = output if is_last else kept_labels(inputs, pair, output)
        found = contract([parts[i] for i in pair], ",".join(inputs[i] for i in pair) + "->" + labels)
        parts = [x for i, x in enumerate(parts) if i not in pair] + [found]
        inputs = [x for i, x in enumerate(inputs) if i not in pair] + [labels]
    return parts[0]


def _sizes_by_label(inputs, operands):
    sizes = {}
    for labels, x in zip(inputs, operands, strict=True):
        for c, n in zip(labels, x.shape, strict=True):
            known = sizes.setdefault(c, n)
            if known != n and 1 not in (known, n):
                raise ShapeError(f"einsum needs one length for axis {c!r}, got {known} and {n}")
            sizes[c] = n if known == 1 else known
    return sizes


def _contraction_shape(operands, subscripts):
    """The shape of a contraction that is plainly right; NumPy is asked about others, and says what is wrong with them."""
    parts = _parts(operands, subscripts)
    if parts is None or any([x.dtype.kind not in "fc" for x in operands]):
        return NotImplemented
    _, output, sizes = parts
    return tuple([sizes[c] for c in output])


def _parts(operands, subscripts):
    """The labels of operands and of the output, and the length of each; None where axes do not agree with labels, or one is there
    twice.
    """
    if not isinstance(subscripts, str) or subscripts.partition("->")[0].count(",") + 1 != len(operands):
        return None
    inputs, output = _explicit(subscripts, [len(shape_of(x)) for x in operands])
    if any([len(labels) != len(shape_of(x)) for labels, x in zip(inputs, operands, strict=True)]):
        return None
    sizes = _sizes_by_label(inputs, operands)
    is_known = set(output) <= set(sizes)
    is_once = all([len(set(labels)) == len(labels) for labels in (*inputs, output)])
    return (inputs, output, sizes) if is_known and is_once else None


def _contract_in_ops(operands, subscripts):
    """A contraction of one or two operands as sums, products of matrices and movements."""
    parts = _parts(operands, subscripts) if len(operands) < 3 else None
    if parts is None or any([x.dtype.kind not in "fc" for x in operands]):
        return NotImplemented
    inputs, output, sizes = parts
    if len(operands) == 1:
        return _arranged(operands[0], inputs[0], output)
    # An axis of 1 that stands for a longer one is no axis of the product.
    inputs = ["".join([c for c, n in zip(labels, x.shape, strict=True) if n == sizes[c]])
              for labels, x in zip(inputs, operands, strict=True)]
    operands = [reshape(x, tuple([sizes[c] for c in labels])) for x, labels in zip(operands, inputs, strict=True)]
    plan = matrix_plan(inputs[0], inputs[1], output)
    has_vector = any([prod([sizes[c] for c in labels]) == 1 for labels in (plan.rows, plan.columns)])
    if _lie_in_batches(inputs, output, plan, sizes):
        return _multiplied(operands, inputs, plan, output)
    if not plan.shared or plan.batch and has_vector:
        return _arranged(_multiplied(operands, inputs, plan, plan.result), plan.result, output)
    return _arranged(_as_matrices(operands, inputs, plan, sizes), plan.result, output)


def _lie_in_batches(inputs, output, plan, sizes):
    """Whether the numbers of each matrix lie apart, those of different ones side by side, and matrices are so small that to bring
    them together takes longer than their product.
    """
    last = {labels[-1:] for labels in (*inputs, output)}
    if len(last) > 1 or not last <= set(plan.batch) or sizes[last.pop()] < _FEWEST_MATRICES:
        return False
    m, k, n = [prod([sizes[c] for c in labels]) for labels in (plan.rows, plan.shared, plan.columns)]
    return m * k * n <= _MOST_PRODUCTS * (m * k + k * n + m * n)


def _arranged(x, labels, output):
    """`x` without the axes that the output does not have, the others in its order."""
    others = tuple([i for i, c in enumerate(labels) if c not in output])
    kept = [c for c in labels if c in output]
    x = summed(x, others) if others else x
    return x if kept == list(output) else permute_dims(x, tuple([kept.index(c) for c in output]))


def _placed(x, labels, wanted):
    """`x` with the axes `wanted`, in that order; axes that it does not have are of size 1."""
    x = _arranged(x, labels, "".join([c for c in wanted if c in labels]))
    missing = tuple([i for i, c in enumerate(wanted) if c not in labels])
    return expand_dims(x, missing) if missing else x


def _multiplied(operands, inputs, plan, result):
    """The product, with the labels `result`, as a sum over products of elements: where nothing is summed, or one matrix is a
    vector, or matrices lie beside each other.
    """
    wanted = result + plan.shared
    left, right = [_placed(x, labels, wanted) for x, labels in zip(operands, inputs, strict=True)]
    axes = tuple(range(len(result), len(wanted)))
    return summed(left * right, axes) if axes else left * right


def _as_matrices(operands, inputs, plan, sizes):
    """The product as one of matrices."""
    found = []
    for x, labels, (first, second) in zip(operands, inputs, ((plan.rows, plan.shared), (plan.shared, plan.columns)), strict=True):
        x = _placed(x, labels, plan.batch + first + second)
        found.append(reshape(x, (*x.shape[: len(plan.batch)], *[prod([sizes[c] for c in part]) for part in (first, second)])))
    return reshape(matmul(*found), tuple([sizes[c] for c in plan.result]))


@contraction(is_public=False, is_variadic=True, told="einsum", expansion=_contract_in_ops,
             result_shape=_contraction_shape, samples=(
    call([(2, 3), (3, 4)], subscripts="ij,jk->ik"), call([(3, 3)], subscripts="ii"), call([(3, 3)], subscripts="ii->i"),
    call([(2, 3), (2,)], subscripts="ij,i"), call([(2, 3)], subscripts="ij->j"),
    call([(2, 1, 3), (4, 3)], subscripts="...i,...i->..."),
    call([(2,), (3,), (2, 3)], subscripts="i,j,ij->")))
def contract(operands, /, subscripts):
    r"""The forward pass of `einsum`: sum of products of `operands` over the axes that `subscripts` leaves out.

    $z_{o} = \sum \prod_i x^{(i)}_{s_i} \;\Rightarrow\; \bar x^{(i)}_{s_i} = \sum \bar z_{o} \prod_{j \ne i} x^{(j)}_{s_j}$
    """
    operands = [x if hasattr(x, "dtype") else np.asarray(x) for x in operands]
    if not any(map(is_narrow, operands)):
        return _contracted(operands, subscripts)
    # NumPy's sums of float16 would stop growing, and its einsum knows no bfloat16.
    found = _contracted([x.astype(np.float32) if is_narrow(x) else x for x in operands], subscripts)
    if all([x.dtype != bfloat16 for x in operands]):
        return found.astype(np.result_type(*operands), copy=False)
    is_wide = any([is_float(x.dtype) and x.dtype != bfloat16 for x in operands])
    return found if is_wide else found.astype(bfloat16)


def _contracted(operands, subscripts):
    """`contract` of arrays whose numbers are wide enough to add them up."""
    # To look for matrix products in it takes longer than small contractions do.
    optimize = len(operands) > 2 or any([np.size(x) > _LARGE for x in operands])
    try:
        found = exact(lambda *arrays: np.einsum(subscripts, *arrays, optimize=optimize), *operands)
        is_view = len(operands) == 1 and np.may_share_memory(found, operands[0])  # as NumPy's einsum of one operand may give
        return found.copy("K") if is_view else found
    except ValueError:
        inputs = subscripts.replace(" ", "").partition("->")[0].split(",")
        if [len(labels) for labels in inputs] == [len(shape_of(x)) for x in operands] and "." not in subscripts:
            _sizes_by_label(inputs, operands)  # which says what is wrong with the lengths
        raise


_LARGE = 1 << 13


def _contract_rule(g, needs, operands, subscripts):
    inputs, output = _explicit(subscripts, [len(shape_of(x)) for x in operands])
    return [_operand_rule(g, i, operands, inputs, output) if needed else None for i, needed in enumerate(needs)]


contract.defvjp_all(_contract_rule)


def _explicit(subscripts, ndims):
    """The labels of each operand and of the result, with the ellipsis and the implied result written out."""
    return _written_out(subscripts, tuple(ndims))


@lru_cache(maxsize=256)
def _written_out(subscripts, ndims):
    """The labels of each operand and of the result, with the ellipsis and the implied result written out."""
    left, arrow, output = subscripts.replace(" ", "").partition("->")
    inputs = left.split(",")
    unused = iter(sorted(set(_LETTERS) - set(subscripts)))
    widths = [ndim - len(s.replace("...", "")) if "..." in s else 0 for s, ndim in zip(inputs, ndims, strict=True)]
    batch = "".join(next(unused) for _ in range(max(widths, default=0)))
    if not arrow:
        letters = left.replace(",", "").replace("...", "")
        output = ("..." if "..." in left else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    inputs = [s.replace("...", batch[len(batch) - width :]) for s, width in zip(inputs, widths, strict=True)]
    return inputs, output.replace("...", batch)


def _operand_rule(g, i, operands, inputs, output):
    """The cotangent of operand `i`: the result's labels traded for its own."""
    mine, shape = inputs[i], operands[i].shape
    others = [(s, x) for j, (s, x) in enumerate(zip(inputs, operands, strict=True)) if j != i]
    distinct = "".join(dict.fromkeys(mine))
    known = [c for c in distinct if c in output or any(c in s for s, _ in others)]
    found = contract((g, *(x for _, x in others)), ",".join([output, *(s for s, _ in others)]) + "->" + "".join(known))
    if len(known) == len(mine) and found.shape == shape:
        return found
    sizes = dict(zip(mine, shape, strict=True))
    found = reshape(found, tuple(n if c in known else 1 for c, n in zip(distinct, _sizes_of(found, known, distinct), strict=True)))
    if all(mine.count(c) == 1 for c in distinct):
        return broadcast_to(unbroadcast(found, tuple(a if a == b else 1 for a, b in zip(found.shape, shape, strict=True))), shape)
    return _on_diagonals(broadcast_to(found, tuple(sizes[c] for c in distinct)), mine, distinct)


def _sizes_of(found, known, distinct):
    sizes = dict(zip(known, found.shape, strict=True))
    return [sizes.get(c, 1) for c in distinct]


def _on_diagonals(found, mine, distinct):
    """`found`, with one axis per distinct label, placed on the diagonal of the labels that `mine` repeats."""
    unused = iter(sorted(set(_LETTERS) - set(mine)))
    labels, eyes, terms = [], [], []
    for c in mine:
        if c not in labels:
            labels.append(c)
            continue
        labels.append(next(unused))
        terms.append(c + labels[-1])
        eyes.append(np.eye(found.shape[distinct.index(c)], dtype=found.dtype))
    return contract((found, *eyes), ",".join([distinct, *terms]) + "->" + "".join(labels))

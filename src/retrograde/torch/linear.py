"""Products with something added, and sums over named axes, in PyTorch's spelling."""

from ..core.mode import current, whole
from ..ops.linalg import contractions
from ..ops.manipulation import borders, grids, joins
from ..shapes import unpacked
from . import kinds
from .binding import counted
from .kinds import operand
from .shapes import at_least


def _plus(product):
    def added(input, first, second, *, beta=1, alpha=1):
        made = product(operand(first), operand(second))
        if input.dtype.kind in "iu":  # factors are numbers of the dtype of the operands, and so are sums
            alpha, beta, made = int(alpha), int(beta), made.to(input.dtype)
        mode = current()
        if mode is not None and mode.settles is not None and made.dtype != input.dtype:
            input = operand(input).to(made.dtype)  # autocast brings it to the dtype of the product
        made = made if alpha == 1 else made * alpha
        return made if beta == 0 else operand(input) * beta + made if beta != 1 else operand(input) + made

    added.__name__ = product.__name__
    added.__doc__ = f"`beta * input + alpha * product`: {product.__doc__}"
    return added


@_plus
def addmm(x, y):
    """The product of matrices."""
    return contractions.matmul(x, y)


@whole
def mv(input, vec):
    """The product of a matrix and a vector."""
    return contractions.matmul(input, vec)


@_plus
@whole
def addmv(x, y):
    """The product of a matrix and a vector."""
    return contractions.matmul(x, y)


@_plus
def baddbmm(x, y):
    """The product of matrices."""
    return contractions.matmul(x, y)


@_plus
def addbmm(x, y):
    """The sum of products of matrices."""
    return contractions.matmul(x, y).sum(0)


@_plus
def addr(x, y):
    """The outer product of vectors."""
    return contractions.outer(x, y)


def lerp(input, end, weight):
    """`input + weight * (end - input)`."""
    return operand(input) + weight * (end - input)


def addcmul(input, tensor1, tensor2, *, value=1):
    """`input + value * tensor1 * tensor2`."""
    return operand(input) + (tensor1 * tensor2 if value == 1 else value * tensor1 * tensor2)


def addcdiv(input, tensor1, tensor2, *, value=1):
    """`input + value * tensor1 / tensor2`."""
    return operand(input) + (tensor1 / tensor2 if value == 1 else value * tensor1 / tensor2)


def einsum(equation, *operands):
    """The sum of products over named axes; also over those of an ellipsis that the result does not name."""
    inputs, arrow, output = equation.partition("->")
    is_left_out = arrow and "..." in inputs and "..." not in output
    operands = [operand(x) for x in unpacked(operands)]
    if len(operands) == 1 and operands[0].dtype.kind in "biu" and _is_sum(inputs, arrow, output):
        operands = [counted(operands[0])]  # a sum, not one of products
    found = contractions.einsum(f"{inputs}->...{output}" if is_left_out else equation, *operands)
    summed = tuple(range(found.ndim - len(output.replace(" ", "")))) if is_left_out else ()
    return found.sum(summed) if summed else found  # an ellipsis may stand for no axis, and a sum over none is one over all


def _is_sum(inputs, arrow, output):
    """Whether a letter is not in the result, or twice where the result is not said: its axis is summed over."""
    letters = [c for c in inputs if c.isalpha()]
    return any([c not in output for c in letters]) if arrow else len(set(letters)) < len(letters)


def meshgrid(*tensors, indexing="ij"):
    """The coordinates of a grid, tensor number i along axis i; the other way round for the first two with indexing="xy"."""
    return tuple(grids.meshgrid(*[operand(t) for t in unpacked(tensors)], indexing=indexing))


def block_diag(*tensors):
    """A matrix with these along its diagonal."""
    blocks = [at_least(operand(t), 2) for t in tensors]
    width, left, rows = sum([b.shape[1] for b in blocks]), 0, []
    for block in blocks:
        rows.append(borders.pad(block, ((0, 0), (left, width - left - block.shape[1]))))
        left += block.shape[1]
    dtype = kinds.result_type(*blocks)
    return joins.concatenate([row if row.dtype == dtype else row.astype(dtype) for row in rows], 0)

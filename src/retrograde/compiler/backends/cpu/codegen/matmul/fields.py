"""What the fields of a descriptor hold for a problem: its sizes, its strides in bytes, and how it is cut."""

from .....target import ITEM_BYTES

#: Numbers that only some kinds of product have.
_NONE = dict.fromkeys(("wide_tiles", "full_tiles", "left_start", "is_right_direct", "is_right_resident"), 0)


def fields(problem, **parts):
    """The run-time numbers of a problem, by field; `parts` are those that depend on how it is computed."""
    names, item = ("a_row", "a_column", "b_row", "b_column", "c_row", "c_column"), ITEM_BYTES[problem.dtype]
    strides = dict(zip(names, [x * item for x in problem.a + problem.b + problem.c], strict=True))
    sizes = {"m": problem.m, "n": problem.n, "k": problem.k, "batch": problem.batch_size, "rank": len(problem.batch), "item": item}
    return {**_NONE, **sizes, **strides, **parts}


def fields_of_pairs(problem, **parts):
    """As `fields`: an operand goes on by two bytes from number to number, and along k by two numbers."""
    item = ITEM_BYTES[problem.dtype]
    (a_row, a_column), (b_row, b_column) = problem.a, problem.b
    strides = {"a_row": a_row * item // 2, "a_column": a_column * item, "b_row": b_row * item, "b_column": b_column * item // 2}
    return {**fields(problem, **parts), **strides}


def batch_fields(problem):
    """The dimensions of a batch, with steps in bytes."""
    item = ITEM_BYTES[problem.dtype]
    return tuple((size, *[step * item for step in steps]) for size, *steps in problem.batch)


def batch_fields_of_pairs(problem):
    """As `batch_fields`, of operands of two bytes."""
    item = ITEM_BYTES[problem.dtype]
    return tuple((size, a * item // 2, b * item // 2, c * item) for size, a, b, c in problem.batch)

"""Interchange: loops in which a row never meets another one, such as those over time with a batch beside it, run chunk of rows by
chunk of rows, and iterations inside.

Takes  the steps of the body of a loop.
Gives  one `Nest` of all of them, where a chunk of rows goes through all iterations before the next one; or nothing. What was tiled
       before is left as it is, and said to be such or not.
Keeps  the results do not depend on the number of threads, since the chunks do not.
"""

from ..nests import Nest
from .tile import keep_to_rows

#: A chunk has at least so many rows: each of them meets all matrices, which had better be worth it.
_FEWEST_ROWS = 16
#: The matrices of an iteration have at most so many bytes, since each chunk meets all of them.
_MATRIX_BYTES = 1024 * 1024
#: Loops of fewer operations than this are not worth sharing.
_LEAST_FLOPS = 4_000_000


def interchanged(steps, accesses, body):
    """Make all steps of the body of a loop one nest, if each keeps to its rows from iteration to iteration; whether it does."""
    loop = body.loop
    are_passes = all([step.kernel.may_interchange and 0 not in step.reduced for step in steps])
    # A copy between iterations is of all rows at once, and a condition is asked of all rows: both would make chunks wait for each
    # other.
    if not are_passes or body.copies or loop.length is None:
        return False
    products = [product for step in steps if (product := step.kernel.product(step, accesses)) is not None]
    problems = [product.problem for product in products]
    # A matrix that changes with the iteration could not be packed once for all chunks.
    if not _are_worth_it(problems, loop.length) or any([body.fixed(product.b[0]) is None for product in products]):
        return False
    rows = min([problem.m for problem in problems])
    # What is carried counts as changing: a row may read its own state of the iteration before, never another row's.
    if rows < 2 * _FEWEST_ROWS or not keep_to_rows(accesses, steps, rows, [carry.leaf for carry in loop.carries]):
        return False
    blocks = 1 << (rows // _FEWEST_ROWS).bit_length() - 1  # threads come in powers of two, too
    nest = Nest(steps, rows, -(-rows // blocks))
    for step in steps:
        step.nest = nest
    return True


def is_interchanged(steps, accesses, body):
    """Whether the steps of a body, as they were tiled, are one nest without products in which each row keeps to itself from
    iteration to iteration, so that a chunk of rows may stay in cache through all of them.
    """
    nest = steps[0].nest if steps else None
    if nest is None or body.copies or body.loop.length is None:
        return False
    are_passes = all([step.nest is nest and step.kernel.may_interchange and 0 not in step.reduced for step in steps])
    if not are_passes or any([step.kernel.product(step, accesses) is not None for step in steps]):
        return False
    return keep_to_rows(accesses, steps, nest.rows, [carry.leaf for carry in body.loop.carries])


def _are_worth_it(problems, iterations):
    """Whether products are of rows by matrices that a chunk of rows had better meet alone."""
    are_plain = all([not problem.batch and problem.c == (problem.n, 1) for problem in problems])
    is_much = iterations * sum([problem.flops for problem in problems]) >= _LEAST_FLOPS
    return are_plain and is_much and sum([problem.matrix_bytes for problem in problems]) <= _MATRIX_BYTES

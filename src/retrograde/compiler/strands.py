"""Strands: loops in which a row never meets another one, such as those over time with a batch beside it.

Each chunk of rows goes through all turns on one thread, with nobody to wait for: what a turn hands to the next stays in the cache
of its core. The results do not depend on the number of threads, since the chunks do not.
"""

from .codegen.strands import PLACE
from .nesting import keep_to_rows
from .nests import Nest
from .repeat import Repeat, move
from .table import call_of

#: A chunk has at least so many rows: each of them meets all matrices, which had better be worth it.
_FEWEST_ROWS = 16
#: The matrices of a turn have at most so many bytes, since each chunk meets all of them.
_MATRIX_BYTES = 1024 * 1024
#: Loops of fewer operations than this are not worth sharing.
_LEAST_FLOPS = 4_000_000
#: Tables are so many words apart at least, a cache line: threads write to them all the time.
_LINE = 8


def form_strands(body, passes):
    """Make all steps of the body of a loop the passes of one nest, if each keeps to its rows from turn to turn; whether it does."""
    steps, loop = body.schedule.steps, body.loop
    are_passes = all([step.kernel.is_in_strands and 0 not in step.reduced for step in steps])
    if not are_passes or body.copies or loop.length is None:
        return False
    products = [product for step in steps if (product := step.kernel.product(step, passes)) is not None]
    problems = [product.problem for product in products]
    if not _are_worth_it(problems, loop.length) or any([body.fixed(product.b[0]) is None for product in products]):
        return False
    rows = min([problem.m for problem in problems])
    if rows < 2 * _FEWEST_ROWS or not keep_to_rows(passes, steps, rows, [carry.leaf for carry in loop.carries]):
        return False
    blocks = 1 << (rows // _FEWEST_ROWS).bit_length() - 1  # threads come in powers of two, too
    nest = Nest(steps, rows, -(-rows // blocks))
    for step in steps:
        step.nest = nest
    return True


def _are_worth_it(problems, turns):
    """Whether products are of rows by matrices that a chunk of rows had better meet alone."""
    are_plain = all([not problem.batch and problem.c == (problem.n, 1) for problem in problems])
    is_much = turns * sum([problem.flops for problem in problems]) >= _LEAST_FLOPS
    return are_plain and is_much and sum([problem.matrix_bytes for problem in problems]) <= _MATRIX_BYTES


class Strands(Repeat):
    """A loop as a native step that has one turn, in which each chunk of rows goes through all of them."""

    @property
    def strands(self):
        """How many chunks there are."""
        return self.launches[0].chunks

    def _turns(self, words):
        (launch,), places = self.launches, len(self._numbers)
        _, nest = call_of(launch, self._number, words)
        moves = [word for _, _, _, *turning in self._moved for word in move(turning)]
        moves = words.add([0] * (PLACE * places - len(moves)) + moves)  # the pool and the flag stay as they are
        size = (places // _LINE + 2) * _LINE
        tables = words.add([0] * (size * launch.chunks))
        slots = words.add([self.body.loop.length, size, tables, places, moves, nest], (2, 4, 5))
        return words.add([0, slots, launch.chunks, 0], (1,), [(0, "retrograde_strand")]), 1

    @staticmethod
    def move(_):
        """The pointers that strands start from stay where they are."""
        return 0, 0, 0

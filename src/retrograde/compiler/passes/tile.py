"""Tile: which steps go over the same rows, and run one after the other on a tile of rows that stays in cache.

Takes  steps in order; of the body of a loop also what it carries.
Gives  `Nest`s of steps, which stand beside each other then, each with the rows of a tile and what is local to it; and whether a
       loop is interchanged: all steps of its body are one nest, and a chunk of rows goes through all iterations before the next.
Keeps  the steps of a nest meet nothing of one another but what belongs to the same row, no sum of all rows that is not complete
       before the nest is over; each step comes after those that it reads. There this holds from iteration to iteration too.
       Results do not depend on the number of threads, since the chunks do not.

Softmax, cross entropy and normalisations fold each row, then go over it again, several times; a layer multiplies rows by a
matrix, adds a bias, applies an activation and multiplies again. Loops over time often have a batch beside it, whose rows never
meet.
"""

from .. import cost
from ..index.row_dependences import RowFacts
from .groups import Groups
from .nests import Nest


def tiled(schedule, accesses, kept, body=None):
    """Form the nests among the steps of a schedule, which may be those of the `body` of a loop: members have it as their `nest`,
    and stand beside each other. Returns whether the loop is interchanged.

    What is among the nodes `kept` is read when all is over.
    """
    rows = RowFacts(accesses)
    # Tried first: where chunks of rows can go through all iterations, blocks within an iteration gain nothing more.
    nest = None if body is None else _products_interchanged(schedule.steps, rows, body)
    if nest is not None:
        _join(nest)
        return True
    nests = _nests(schedule, rows, kept)
    for nest in nests:
        _join(nest)
    return body is not None and len(nests) == 1 and _is_interchanged(schedule.steps, nests[0], rows, body)


def _join(nest):
    for step in nest.steps:
        step.nest = nest


def _nests(schedule, rows, kept):
    """The nests among the steps of a schedule, whose members are put beside each other."""
    candidates = [number for number, step in enumerate(schedule.steps) if rows.counts(step)]
    # Few programs have such a step. The search below is quadratic in the steps at worst, so it is not begun for nothing.
    if not any([schedule.steps[number].kernel.is_worth_tiling(schedule.steps[number]) for number in candidates]):
        return []
    readers = _readers(schedule)
    groups, going = Groups(schedule, rows), {schedule.steps[number] for number in candidates}
    # A sum of all rows is complete when a nest is over: it must not keep out what needs it.
    for number in sorted(candidates, key=lambda number: (_is_awaited(schedule.steps[number], readers, going), number)):
        step = schedule.steps[number]
        groups.open(number, tuple([root for root in step.roots if readers.get(root, set()) - going]))
        for producer in sorted(groups.producers[number]):
            groups.unite(producer, number)
        for user in sorted(groups.users[number]):
            groups.unite(number, user)
    worth = [found for found in groups.found() if any([step.kernel.is_worth_tiling(step) for step in found[0]])]
    nests = [_cut(Nest(*found), rows, kept, readers) for found in worth]
    # One block is the same work in the same order, with a frame to be looked up for each buffer.
    nests = [nest for nest in nests if nest.blocks > 1]
    schedule.steps = groups.order(nests)
    return nests


def _readers(schedule):
    """For each stored node the steps that read it."""
    found = {}
    for step in schedule.steps:
        for node in schedule.read_by(step):
            found.setdefault(node, set()).add(step)
    return found


def _cut(nest, rows, kept, readers):
    """A nest with its blocks: what its own steps alone read is local to it."""
    members, made = set(nest.steps), {root for step in nest.steps for root in step.roots}
    nest.cut(rows.accesses, {node for node in made if node not in kept and readers.get(node, set()) <= members})
    return nest


def _is_awaited(step, readers, going):
    """Whether a step sums all rows, and one of those `going` over rows needs a sum."""
    stack = [root for root in step.roots if root.shape != step.domain] if 0 in step.reduced else []
    seen = set()  # a loop, whose results are picked by its own step, is among its readers
    while stack:
        for reader in readers.get(stack.pop(), ()):
            if reader in going:
                return True
            if reader not in seen:
                seen.add(reader)
                stack.extend(reader.roots)
    return False


def _products_interchanged(steps, rows, body):
    """The nest of all steps of a body with products, if rows keep to themselves and a chunk of them had better meet all matrices
    alone; None otherwise.
    """
    if not _may_be_interchanged(steps, body):
        return None
    products = rows.products(steps)
    problems = [product.problem for product in products]
    # A matrix that changes with the iteration could not be packed once for all chunks.
    if not _are_worth_it(problems, body.loop.length) or any([body.fixed(product.b[0]) is None for product in products]):
        return None
    count = min([problem.m for problem in problems])
    # What is carried counts as changing: a row may read its own state of the iteration before, never another row's.
    if count < 2 * cost.INTERCHANGED_ROWS or not rows.are_apart(steps, count, _carried(body)):
        return None
    nest = Nest(steps, count)
    nest.cut_for_interchange()
    return nest


def _is_interchanged(steps, nest, rows, body):
    """Whether the nest of a body is one of all its steps, without products, whose rows keep to themselves from iteration to
    iteration: then a chunk of them may stay in cache through all of these.
    """
    is_all = all([step.nest is nest for step in steps]) and _may_be_interchanged(steps, body)
    return is_all and not rows.products(steps) and rows.are_apart(steps, nest.rows, _carried(body))


def _may_be_interchanged(steps, body):
    """Whether the kernels of a body can run on a chunk of rows alone, and the body carries what it has made without copies."""
    can_run = all([step.kernel.may_interchange and 0 not in step.reduced for step in steps])
    # A copy between iterations is of all rows at once, and a condition is asked of all rows: both would make chunks wait for each
    # other.
    return can_run and not body.copies and body.loop.length is not None


def _carried(body):
    return [id(carry.leaf) for carry in body.loop.carries]


def _are_worth_it(problems, iterations):
    """Whether products are of rows by matrices that a chunk of rows had better meet alone."""
    are_plain = all([not problem.batch and problem.c == (problem.n, 1) for problem in problems])
    is_much = iterations * sum([problem.flops for problem in problems]) >= cost.INTERCHANGED_FLOPS
    return are_plain and is_much and sum([problem.matrix_bytes for problem in problems]) <= cost.INTERCHANGED_BYTES

"""How an einsum is computed: in which order, two operands at a time, so that little is computed; and how each contraction of two is
a product of matrices: which labels are its batch, its rows and its columns.
"""

from itertools import combinations, pairwise
from math import prod
from typing import NamedTuple

from ... import extras
from ...errors import MissingExtraError


class MatrixPlan(NamedTuple):
    """Labels of a product of matrices, (batch, rows, shared) by (batch, shared, columns).

    An operand that has not all labels of the batch has the size 1 in their place. Labels of one operand alone that the output
    does not have are in none of these: they are summed before.
    """

    batch: str
    rows: str
    shared: str
    columns: str

    @property
    def result(self):
        """The labels of the product."""
        return self.batch + self.rows + self.columns


def matrix_plan(left, right, output):
    """The plan for two operands, whose labels differ within each, and the labels of the output."""
    shared = "".join(c for c in left if c in right and c not in output)
    batch = "".join(c for c in output if c in left and c in right)
    alone = "".join(c for c in output if c not in batch)
    # A label of one operand between those of the other would have to be moved behind the product, so it joins the batch.
    while not _is_in_blocks([c in left for c in alone]):
        batch, alone = batch + alone[0], alone[1:]
    rows, columns = ("".join(c for c in alone if (c in left) == is_left) for is_left in (True, False))
    return MatrixPlan(batch, rows, shared, columns)


def _is_in_blocks(sides):
    """Whether all of one side come before all of the other."""
    return sum([a != b for a, b in pairwise(sides)]) <= 1


def pairwise_path(inputs, output, sizes):
    """Pairs of places: the two operands of each contraction, which are taken out of the list, and its result put at its end.

    By opt_einsum (Smith and Gray, 2018) where it is installed, else greedily. `inputs` and `output` are labels, `sizes` says
    how long the axis of each label is.
    """
    try:
        library = extras.optional("opt_einsum", "einsum")
    except MissingExtraError:
        return greedy_path(inputs, output, sizes)
    found, _ = library.contract_path(
        ",".join(inputs) + "->" + output, *[tuple(sizes[c] for c in labels) for labels in inputs], shapes=True)
    # More than two at once are contracted only where nothing is gained by less: then our own order is as good.
    return [tuple(places) for places in found] if all(len(p) == 2 for p in found) else greedy_path(inputs, output, sizes)


def greedy_path(inputs, output, sizes):
    """At each step the pair whose result is least larger than what it is made of."""
    inputs, path = [frozenset(labels) for labels in inputs], []
    while len(inputs) > 1:
        pair = min(combinations(range(len(inputs)), 2), key=lambda pair: _growth(inputs, pair, output, sizes))
        joined = kept_labels(inputs, pair, output)
        inputs = [labels for i, labels in enumerate(inputs) if i not in pair] + [frozenset(joined)]
        path.append(pair)
    return path


def kept_labels(inputs, pair, output):
    """The labels that the result of a pair must keep: those that others, or the output, still read."""
    needed = set(output).union(*[set(labels) for i, labels in enumerate(inputs) if i not in pair])
    return "".join(dict.fromkeys(c for i in pair for c in inputs[i] if c in needed))


def _growth(inputs, pair, output, sizes):
    result = prod(sizes[c] for c in kept_labels(inputs, pair, output))
    return result - sum(prod(sizes[c] for c in inputs[i]) for i in pair), prod(sizes[c] for i in pair for c in set(inputs[i]))

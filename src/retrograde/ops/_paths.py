"""In which order to contract the operands of an einsum, two at a time, so that little is computed."""

from itertools import combinations
from math import prod

from .. import extras
from ..errors import MissingExtraError


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

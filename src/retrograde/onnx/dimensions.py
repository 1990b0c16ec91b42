"""Dimensions: sizes that depend on the sizes of the inputs, found by tracing a function for several of these.

What is a number in each trace, and another one in each, is a sum of products of the sizes that may change; what is not, cannot be
exported.
"""

from itertools import combinations

import numpy as np

from ..errors import UnsupportedOnnxError
from .nodes import LoopBody, Node, ordered


class Dimension:
    """A size that is a sum of products of named sizes: {names: factor}, () for the number that is added."""

    def __init__(self, terms):
        self.terms = {names: factor for names, factor in terms.items() if factor}

    def __repr__(self):
        parts = ["*".join([*([str(factor)] if factor != 1 or not names else []), *names]) for names, factor in self.terms.items()]
        return "+".join(parts).replace("+-", "-")


class Fit:
    """Finds the dimensions behind numbers of traces at `points`, each of which gives a size to each of `names`.

    There is one point more than factors, so that what fits by chance is found.
    """

    def __init__(self, names, points):
        monomials = [(), *[(n,) for n in names], *combinations(names, 2)]
        self._monomials = monomials
        self._matrix = np.array([[np.prod([point[n] for n in m], dtype=np.int64) for m in monomials] for point in points], np.int64)

    def __call__(self, numbers, what):
        """What all numbers of the traces are: an integer, or a Dimension."""
        if len(set(numbers)) == 1:
            return numbers[0]
        wanted = np.array(numbers, np.int64)
        factors = np.rint(np.linalg.lstsq(self._matrix.astype(float), wanted.astype(float), rcond=None)[0]).astype(np.int64)
        if not (self._matrix @ factors == wanted).all():
            raise UnsupportedOnnxError(f"{what} depends on a size that is to be dynamic in a way that is not found, by {numbers} "
                                       "in traces of several sizes; export with dynamic=None, or keep that size out of it")
        return Dimension({m: int(f) for m, f in zip(self._monomials, factors, strict=True)})


def points_for(names, sizes):
    """The sizes at which a function is traced: enough for all sums of products of two of them, and one more.

    They are no multiples of one another, and none is one: what is true of such sizes alone is not taken for true of all.
    """
    base = {name: max(2, sizes[name]) for name in names}
    points = [base]
    points += [{**base, name: base[name] + 1} for name in names]
    points += [{**base, a: base[a] + 1, b: base[b] + 1} for a, b in combinations(names, 2)]
    return [*points, {name: 2 * base[name] + 3 + i for i, name in enumerate(names)}] if names else points


def merged(traces, fit):
    """One list of nodes for several, the outputs of each trace: sizes that differ are Dimensions, arrays that do are nodes."""
    walks = [ordered(outputs) for outputs in traces]
    if len({tuple([(n.name, len(n.args)) for n in nodes]) for nodes in walks}) > 1:
        raise UnsupportedOnnxError("the function computes other ops where a size that is to be dynamic is another; export with "
                                   "dynamic=None, or for each size by itself")
    made = {}
    for nodes in zip(*walks, strict=True):
        made[nodes[0]] = _merged_node(nodes, made, fit)
    return [made[parts[0]] if isinstance(parts[0], Node) else _merged_value(parts, made, fit, "a result")
            for parts in zip(*traces, strict=True)]


def _merged_node(nodes, made, fit):
    first = nodes[0]
    what = f"an argument of {first.name}"
    args = _merged_args([n.args for n in nodes], made, fit, what)
    shape = None if first.shape is None else tuple([fit(sizes, f"the shape of a result of {first.name}")
                                                    for sizes in zip(*[n.shape for n in nodes], strict=True)])
    return Node(first.name, args, shape, first.dtype, None if first.body is None else _merged_body([n.body for n in nodes], fit))


def _merged_body(bodies, fit):
    first = bodies[0]
    # Leaves that nothing reads are not among what outputs depend on.
    traces = [[*body.leaves, *body.outputs] for body in bodies]
    found = merged(traces, fit)
    count = len(first.leaves)
    length = None if first.length is None else fit([b.length for b in bodies], "the number of iterations of a loop")
    return LoopBody(found[:count], found[count:], first.counts, first.starts, first.results, length, first.reverse,
                    first.has_condition)


def _merged_args(rows, made, fit, what):
    return tuple([_merged_args(parts, made, fit, what) if isinstance(parts[0], (tuple, list))
                  else _merged_value(parts, made, fit, what)
                  for parts in zip(*rows, strict=True)])


def _merged_value(parts, made, fit, what):
    first = parts[0]
    if isinstance(first, Node):
        return made[first]
    if isinstance(first, np.ndarray):
        return _merged_array(parts, fit, what)
    if isinstance(first, slice):
        return slice(*[_merged_value([getattr(p, end) for p in parts], made, fit, what) for end in ("start", "stop", "step")])
    if isinstance(first, (int, np.integer)) and not isinstance(first, bool):
        return fit([int(p) for p in parts], what)
    if any(p != first for p in parts) and first == first:
        raise UnsupportedOnnxError(f"{what} is {parts} where a size that is to be dynamic is another; keep that size out of it, "
                                   "such as by a mean in place of a sum that is divided")
    return first


def _merged_array(parts, fit, what):
    """Arrays that are equal; or one that is repeated, or counted on, as far as a size goes."""
    first = parts[0]
    if all(p.shape == first.shape and p.dtype == first.dtype and p.tobytes() == first.tobytes() for p in parts):
        return first
    shape = tuple([fit(sizes, what) for sizes in zip(*[p.shape for p in parts], strict=True)])
    if first.ndim == 1 and first.dtype.kind in "iu" and all((p == np.arange(p.size)).all() for p in parts):
        return Node("range", (shape[0],), shape, first.dtype)
    places = tuple([slice(0, 1) if isinstance(n, Dimension) else slice(None) for n in shape])
    kept = first[places]
    is_repeated = [p[places].shape == kept.shape and np.array_equal(p, np.broadcast_to(kept, p.shape),
                                                                    equal_nan=kept.dtype.kind == "f")
                   for p in parts]
    if all(is_repeated):
        return Node("broadcast_to", (kept, shape), shape, first.dtype)
    raise UnsupportedOnnxError(f"{what} is an array whose numbers depend on a size that is to be dynamic; export with "
                               "dynamic=None, or hand it in as an argument")


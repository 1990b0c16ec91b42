"""The walk: `gradient` is the only backward pass, `backward` puts its result on the leaves."""

from ..errors import ArgumentError, FreedGraphError, GraphError, MissingRuleError
from . import anomaly, writes
from .graph import Span, span_of
from .mode import changed, current, recording, unrecorded
from .value import Retain, Value


def backward(outputs, gradients=None, retain_graph=False, create_graph=False, inputs=None):
    """Add the derivative of `outputs` to the `.grad` of the leaves that they depend on.

    outputs       a value or a list of values
    gradients     one cotangent per output; None for 1 where the output is a single number
    retain_graph  whether the graph may be walked again
    create_graph  whether the gradients can be differentiated in turn; keeps the graph too
    inputs        the leaves to fill; default: all
    """
    if isinstance(outputs, Value):
        seeds, records = [_seed(outputs, gradients)], [outputs.record]
    else:
        outputs = list(outputs)
        seeds, records = seeded(outputs, gradients), [output.record for output in outputs]
    if inputs is not None and len(inputs) == 0:
        raise ArgumentError("inputs= must name at least one leaf, got none; leave it out to fill all of them")
    if inputs is None:
        span = Span(records, ())
        span.targets = leaves = [record for record in span.ordered if record.op is None]
        flows = span.reached
    else:
        leaves = [_leaf(value) for value in inputs]
        span = Span(records, leaves)
        flows = span.flows()
    found = _Walk(flows, retain_graph or create_graph, create_graph).run(span, seeds)
    for leaf in leaves:
        target = leaf.target()
        if target is None or leaf not in found:
            continue
        if create_graph:
            leaf.algebra.accumulate_linked(target, leaf.algebra.conjugated(found.pop(leaf)))
        else:
            leaf.algebra.accumulate(target, leaf.algebra.conjugated(found.pop(leaf)))


def gradient(outputs, targets, seeds=None, *, retain_graph=True, create_graph=False, span=None,
             stops_at_targets=False):
    """The cotangents of `targets`, plain, or as values under `create_graph`; None where nothing flows.

    `outputs` and `targets` are lists of values with records; `seeds` has one cotangent per output, or None for 1;
    `span` is the span between them if the caller has it already; it is used up unless the graph is retained. A walk inside
    another one stops at its targets, even if one leads to another, and leaves their hooks to that one; its cotangents are
    those that the other one carries.
    """
    span, seeds = span or span_of(outputs, targets), seeded(outputs, seeds)
    if not stops_at_targets:
        return walked(span, targets, seeds, retain_graph, create_graph)
    walk = _Walk(span.flows(), retain_graph or create_graph, create_graph)
    walk.stops_at_targets = True
    found = walk.run(span, [output.algebra.conjugated(seed) for output, seed in zip(outputs, seeds, strict=True)])
    return [None if (g := found.get(target.record)) is None else target.algebra.whole(g) for target in targets]


def walked(span, targets, seeds, retain_graph, create_graph):
    """`gradient` for those who have the span and the cotangents that `seeded` gives."""
    found = _Walk(span.flows(), retain_graph or create_graph, create_graph).run(span, seeds)
    return [None if (g := found.get(target.record)) is None else _plain(target.algebra, g) for target in targets]


def _plain(algebra, g):
    """A cotangent of the walk as the derivative that users see."""
    return algebra.conjugated(algebra.whole(g))


def seeded(outputs, gradients):
    """The cotangents with which a walk from `outputs` starts; raises where it cannot start."""
    gradients = [None] * len(outputs) if gradients is None else list(gradients)
    if len(gradients) != len(outputs):
        raise GraphError(f"there must be one gradient per output, got {len(gradients)} for {len(outputs)} outputs")
    return [_seed(*pair) for pair in zip(outputs, gradients, strict=True)]


def _seed(output, g):
    """The cotangent with which a walk from `output` starts: `g`, or 1 for None."""
    if output.record is None:
        raise GraphError("this value needs no gradient: no input of it has requires_grad=True, or it was made in "
                         "no_grad(); set requires_grad=True on what you differentiate in")
    algebra = output.algebra
    return algebra.seed(output) if g is None else algebra.conjugated(algebra.check_seed(output, g))


def _leaf(value):
    if value.record is None or value.record.op is not None:
        raise GraphError("inputs= takes leaves with requires_grad=True; call retain_grad() for an inner value")
    return value.record


class _Walk:
    """One walk over the graph: cotangents of inputs from cotangents of outputs, newest record first, no recursion.

    Where a rule hands on several cotangents, the last goes first: so what arrives later always belongs to an earlier use.
    """

    stops_at_targets = False

    def __init__(self, flows, retain_graph, create_graph):
        self.flows, self.retain_graph, self.create_graph = flows, retain_graph, create_graph
        self.cotangents = {}
        mode = current()
        self.finds_anomalies = mode is not None and mode.finds_anomalies

    def run(self, span, seeds):
        """Walk the records of `span` back, with one seed for each output; the cotangents of its targets, by record."""
        mode = current()
        if mode is not None and mode.settles is not None:
            with changed(settles=None):  # rules keep the dtypes that the forward pass settled
                return self.run(span, seeds)
        # The last output first, as if all of them had been added up in order: so what arrives later belongs to an earlier use.
        for record, seed in zip(reversed(span.outputs), reversed(seeds), strict=True):
            seen, c = self.cotangents.get(record), self._carried(record, seed)
            self.cotangents[record] = c if seen is None else seen + c
        ordered = span.ordered.copy() if self.retain_graph else span.ordered
        walk = recording if self.create_graph else unrecorded
        return span.outputs[0].algebra.quietly(walk, self._back, ordered, set(span.targets))

    def _back(self, ordered, targets):
        """Walk `ordered` back, which is used up, so that what no rule will read any more is freed on the way."""
        cotangents, found = self.cotangents, {}
        while ordered:
            record = ordered.pop()
            g = cotangents.pop(record, None)
            if g is None:
                continue
            # Before its hooks are called, where a walk stops: they belong to the walk around, which meets the record as well.
            if record.hooks is not None and not (self.stops_at_targets and record in targets):
                g = self._hooked(record, g)
            if record in targets:
                found[record] = g
                if self.stops_at_targets:
                    continue
            if record.op is not None:
                self._pull(record, g)
        return found

    def _pull(self, record, g):
        """Hand on the cotangent `g` of `record` to its parents."""
        op, saved = record.op, record.saved
        if saved is None:
            raise FreedGraphError(f"the graph was freed by an earlier backward (at {op.name}); pass retain_graph=True "
                                  "to the first one to walk it twice")
        if writes.LATEST[0] > record.order:
            writes.check_fresh(record)
        if self.create_graph:
            saved = op.revived(record)
        rules = op.rules
        if rules is None:
            self._pull_together(record, g, saved)
        else:
            # Most cotangents come out right by themselves: one test for all of a record, not one for each.
            flows, cotangents, is_ready = self.flows, self.cotangents, record.fits is None and not self.finds_anomalies
            i = 0
            for parent in record.parents:
                if parent in flows and (rule := rules[i]) is not None:
                    c = rule.function(g, *saved[i])
                    if not is_ready:
                        c = self._checked(record, i, c)
                    seen = cotangents.get(parent)
                    cotangents[parent] = c if seen is None else seen + c
                i += 1
        if not self.retain_graph:
            record.saved = None

    def _pull_together(self, record, g, saved):
        """`_pull` through the one rule that gives the cotangents of all parents."""
        op, joint, parents = record.op, record.op.joint, record.parents
        if joint is None:
            raise MissingRuleError(f"{op.name} has no derivative; add one with {op.name}.defvjp(...)")
        needs = tuple(map(self.flows.__contains__, parents))
        given = joint.function(g, needs, *saved)
        if len(given) != len(needs):
            raise GraphError(f"the rule of {op.name} must return {len(needs)} cotangents, got {len(given)}")
        is_ready, cotangents, i = record.fits is None and not self.finds_anomalies, self.cotangents, len(needs)
        while i:
            i -= 1
            if needs[i] and (c := given[i]) is not None:
                parent = parents[i]
                c = parent.algebra.carried(c, self.create_graph) if is_ready else self._checked(record, i, c)
                seen = cotangents.get(parent)
                cotangents[parent] = c if seen is None else seen + c

    def _checked(self, record, i, c):
        parent = record.parents[i]
        c = self._carried(parent, c)
        if c is not None and record.fits is not None and (target := record.fits[i]) is not None:
            algebra, op = parent.algebra, record.op
            c = algebra.fit_foreign(c, target, op.name, i) if op.is_foreign else algebra.fit(c, target)
        if self.finds_anomalies:
            anomaly.check_backward(record, i, c)
        return c

    def _carried(self, record, c):
        """`c` as the walk carries it to `record`: plain, unless its own derivative is wanted or it has no data yet."""
        return record.algebra.carried(c, self.create_graph)

    def _hooked(self, record, g):
        """The cotangent after the hooks of `record` have seen it. A hook may write into what it sees: it is a copy."""
        g = record.algebra.conjugated(g)
        for hook in tuple(record.hooks):
            seen = g if isinstance(hook, Retain) else record.algebra.separate(g)
            answer = hook(seen)
            g = self._carried(record, seen if answer is None else answer)
        return record.algebra.conjugated(g)

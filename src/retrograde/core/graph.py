"""The graph behind values: which records a result depends on."""

from collections.abc import Collection
from operator import attrgetter
from typing import Any

_order = attrgetter("order")


def ancestors(records, oldest=0):
    """All records that `records` depend on, themselves included, in the order in which they were made.

    Records made before the time `oldest` are left out. Iterative, since graphs may be deep.
    """
    seen = {None, *records}
    stack = list(records)
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen and parent.order >= oldest:
                seen.add(parent)
                stack.append(parent)
    seen.remove(None)
    return sorted(seen, key=_order)


class Span:
    """The records between outputs and targets, in the order in which they were made.

    `is_open` says whether an outer derivative could flow through the outputs: the records stop at the oldest target, so a
    parent before that belongs to an outer derivative; a leaf after that was made inside, by an inner one.
    """

    def __init__(self, outputs, targets):
        self.outputs = outputs
        self.targets: Collection = targets
        self._flows: Any = None
        oldest = min([target.order for target in targets]) if targets else 0
        is_open = False
        seen, stack = {None, *outputs}, [*outputs]
        for record in outputs:
            is_open = is_open or record.order < oldest
        while stack:
            for parent in stack.pop().parents:
                if parent not in seen:
                    if parent.order >= oldest:
                        seen.add(parent)
                        stack.append(parent)
                    else:
                        is_open = True
        seen.remove(None)
        self.is_open, self.reached, self.ordered = is_open, seen, sorted(seen, key=_order)

    def flows(self):
        """The records through which a derivative with respect to a target flows."""
        if self._flows is None:
            found = self._flows = set(self.targets)
            for record in self.ordered:
                if not found.isdisjoint(record.parents):
                    found.add(record)
        return self._flows


def span_of(outputs, targets):
    """The span between values."""
    return Span([output.record for output in outputs], [target.record for target in targets])

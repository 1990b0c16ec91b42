"""Attempt: the body of a loop while it is traced."""

from ...core.symbol import Symbol
from ...errors import TraceError
from ...ops._arrays import arrays


class Attempt:
    """A body that is traced until it is known what it writes to.

    written  captures that the body writes to; those that are handed in hold leaves of the body meanwhile
    linked   those of them that hold something with a history after it, by identity; those that are handed in begin with one
    states   for each of those handed in, as values: (what it held before, its leaf, what it holds after one iteration)
    found    what those that are written to hold in the end, by identity
    nodes    the nodes that were made
    """

    def __init__(self, trace, written, linked):
        self._trace, self.written, self.linked, self.states = trace, list(written), dict(linked), []
        self.found, self.nodes = {}, []

    def __enter__(self):
        trace = self._trace
        # A body may be traced more than once, until it is known what it writes to: each time from the same state.
        self._held = {id(c): c.now for c in trace.captured()}
        self._gradients = {key: g.now for key, g in trace.gradients.items()}
        self._records = {id(c): c.value.record for c in trace.captured()}
        self._leaves = [arrays.made(Symbol(None, (), c.now.shape, c.now.dtype)) for c in self.written]
        for capture, leaf in zip(self.written, self._leaves, strict=True):
            capture.now = leaf.raw
            if id(capture) in self.linked:
                capture.value.record = leaf.requires_grad_().record
        trace.logs.append(self.nodes)
        trace.bodies.append(self)
        return self

    def __exit__(self, kind, *_):
        self._trace.logs.pop()
        self._trace.bodies.pop()
        trace, handed_in = self._trace, {id(c) for c in self.written}
        self.states = [self._state(c, leaf) for c, leaf in zip(self.written, self._leaves, strict=True)]
        for capture in trace.captured():
            record = self._records.get(id(capture), capture.record)
            if capture.value.record is not record:
                self.linked[id(capture)] = capture
                capture.value.record = record
        for capture in trace.captured():
            before = self._held.get(id(capture), capture.start)
            if capture.now is not before:
                self.found[id(capture)] = capture.now
            # Written to, and not known to be: the body is traced again with a leaf in its place.
            if capture.now is not before and id(capture) not in handed_in:
                self.written.append(capture)
            capture.now = before
        found = {key: g.now for key, g in trace.gradients.items() if g.now is not g.start or key in self._gradients}
        if kind is None and any(now is not self._gradients.get(key) for key, now in found.items()):
            raise TraceError("backward() within the body of a loop would write to .grad in each iteration; compute gradients there "
                             "with rg.grad, or call backward() on what the loop returns")

    def _state(self, capture, leaf):
        is_linked, made = id(capture) in self.linked, arrays.made
        before = made(self._held[id(capture)], self._records[id(capture)] if is_linked else None)
        return before, leaf, made(capture.now, capture.value.record if is_linked else None)

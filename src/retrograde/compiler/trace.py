"""Trace: what records ops without running them while a function is compiled."""

import numpy as np

from ..core.dispatch import explained, recorded
from ..core.mode import changed, current
from ..core.symbol import Symbol
from ..core.value import Projection, Value
from ..dtypes import is_float
from ..ops._arrays import arrays
from .infer import infer


class Pick:
    """The op of one result of an op with several."""

    name, family, expansion, broadcasts = "pick", "pick", None, False


PICK = Pick()


class Capture:
    """A tensor from outside that the trace uses: its symbol at the start, and what it holds at the end.

    `owner` is the tensor whose gradient it was when the trace began, if it was one: gradients are found anew at each
    call, through their owners.
    """

    def __init__(self, value, owner=None):
        self.value, self.owner, self.record = value, owner, value.record
        self.start = self.now = Symbol(None, (), value.data.shape, value.data.dtype)


class Gradient:
    """The gradient of a tensor in a trace. `is_read` says whether what it was before the trace matters."""

    def __init__(self, value, is_read):
        self.value, self.is_read = value, is_read
        with changed(tracer=None):
            self.start = self.now = value.grad


class Trace:
    """Records ops as symbols.

    Tensors from outside are captured by identity on first use. Writes to them and to their gradients are kept here, as
    what they hold at the end: the tensors themselves stay as they were.
    """

    def __init__(self):
        self.captures, self.gradients, self._by_array = {}, {}, {}
        self.numbers, self.watched, self._undo, self._kept = [], [], [], []

    def apply(self, op, args):
        """The result of `op` on `args`, some of which may be values without data."""
        operands = args[0] if op.is_variadic else [args[i] for i in op.operands]
        values = [a for a in (*operands, *args) if isinstance(a, Value)]
        if not values and not _has_values(args):
            return op.kernel(*args)
        symbolic = [self.symbolic(a) for a in args]
        try:
            spec = infer(op, symbolic)
        except Exception as error:  # noqa: BLE001 - whatever the kernel raises, the op and its inputs are named
            raise explained(op, error, args) from None
        node = Symbol(op, tuple(symbolic), None, None) if op.is_multiple else Symbol(op, tuple(symbolic), *spec)
        parents = tuple([a.record if isinstance(a, Value) else None for a in operands])
        mode = current()
        records = op.is_differentiable and any(parents) and mode.records
        if op.is_multiple:
            return self._several(op, args, parents if records else None, node, spec, mode)
        result = op.algebra.kind(node)
        if records and is_float(node.dtype):
            record = recorded(op, [self.detached(a) for a in args], parents, result, mode)
            return op.algebra.kind(node, record)
        return result

    def _several(self, op, args, parents, node, specs, mode):
        kind = op.algebra.kind
        parts = tuple([kind(Symbol(PICK, (node, i), *spec)) for i, spec in enumerate(specs)])
        if parents is None:
            return parts
        record = recorded(op, [self.detached(a) for a in args], parents, parts, mode)
        return tuple([
            kind(p.data, Projection(record, i, len(parts)) if is_float(p.dtype) else None) for i, p in enumerate(parts)
        ])

    def symbolic(self, argument):
        """`argument` with symbols where values stand."""
        if isinstance(argument, Value):
            return self.symbol(argument)
        if argument.__class__ in (tuple, list):
            return argument.__class__([self.symbolic(a) for a in argument])
        return argument

    def symbol(self, value):
        """The symbol of a value; a tensor from outside is captured."""
        if isinstance(value.data, Symbol):
            return value.data
        capture = self.captures.get(id(value))
        if capture is None:
            # A detached tensor is another object that holds the same array.
            capture = self._by_array.get(id(value.data)) or Capture(value)
            self.captures[id(value)] = self._by_array[id(value.data)] = capture
            self._kept.append(value)
        return capture.now

    def detached(self, argument):
        """`argument` as the rules will read it: values without their history."""
        if isinstance(argument, Value):
            return argument.algebra.kind(self.symbol(argument))
        if argument.__class__ in (tuple, list):
            return argument.__class__([self.detached(a) for a in argument])
        return argument

    def write(self, value, data):
        """Let `value` hold `data`, a value or an array of its shape and dtype, from here on."""
        symbol = data.data if isinstance(data, Value) else data
        if isinstance(value.data, Symbol):
            value.data = symbol
        else:
            self.symbol(value)
            self.captures[id(value)].now = symbol

    def read_gradient(self, value):
        """What `value.grad` is now."""
        gradient = self.gradients.get(id(value))
        if gradient is None:
            gradient = self.gradients[id(value)] = Gradient(value, is_read=True)
            if gradient.start is not None and not gradient.start.is_traced:
                self.captures.setdefault(id(gradient.start), Capture(gradient.start, owner=value))
        return gradient.now

    def write_gradient(self, value, gradient):
        """Let `value.grad` be `gradient` from here on."""
        if id(value) not in self.gradients:
            self.gradients[id(value)] = Gradient(value, is_read=False)
        self.gradients[id(value)].now = gradient

    def number(self, read):
        """A number that `read()` gives anew at each call of what is compiled: a value of float64."""
        value = arrays.kind(np.array(float(read()), np.float64))
        self.numbers.append((value, read))
        self.symbol(value)
        return value

    def watch(self, read):
        """Let what is compiled serve only as long as `read()` gives what it gives now."""
        self.watched.append((read, read()))

    def on_failure(self, undo):
        """Call `undo` if the trace fails."""
        self._undo.append(undo)

    def fail(self):
        """Take back what was changed outside the trace."""
        for undo in reversed(self._undo):
            undo()

    def changed(self):
        """The captures that hold something else at the end than at the start."""
        return [capture for capture in self.captured() if capture.now is not capture.start]

    def captured(self):
        """All captures, each once."""
        return list({id(capture): capture for capture in self.captures.values()}.values())

    def restore(self):
        """Give captured tensors the history back that they had before the trace."""
        for capture in self.captures.values():
            capture.value.record = capture.record


def _has_values(argument):
    if isinstance(argument, (tuple, list)):
        return any([_has_values(a) for a in argument])
    return isinstance(argument, Value)

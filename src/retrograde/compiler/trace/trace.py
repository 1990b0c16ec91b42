"""Trace: what records ops without running them while a function is compiled."""

from contextlib import contextmanager

import numpy as np

from ...core.symbol import Symbol, complete, ordered
from ...core.value import Value
from ...dtypes import is_float
from ...errors import ArgumentError, TraceError
from ...ops._arrays import arrays
from ...ops.random.draws import State
from ..graph.constants import as_constant, is_kept_as
from ..graph.effects import LAST, Effectful, World
from ..graph.orders import written_over
from ..graph.recorder import PICK, Recorder
from .attempt import Attempt
from .captures import Capture, Gradient, gradient_of
from .concrete import contents, rereader
from .formulas import applied
from .frozen import INSTEAD, Frozen

__all__ = ["PICK", "Capture", "Gradient", "Trace"]

#: What happens to tensors from outside beside the program.
_ONCE = "in a jitted function, which would be done while it is traced and at no call"


class Trace(Recorder):
    """Records ops as symbols.

    Tensors from outside are captured by identity on first use. Writes to them and to their gradients are kept here, as
    what they hold at the end: the tensors themselves stay as they were.
    """

    def __init__(self):
        super().__init__()
        self.captures, self.gradients, self._by_array = {}, {}, {}
        self.numbers, self.watched, self._undo, self._kept = [], [], [], []
        self._made, self._own, self.edits = {}, {}, {}
        #: How often anything was written to.
        self.changes = 0
        #: Floats that were read, of those made of tensors from outside.
        self._read = []
        #: (value, its record at first) of tensors from outside whose `requires_grad` is set or read, by identity.
        self.leaves = {}
        #: For nodes, and by their identity values, whether they stand for arrays; an argument that is an array is put here.
        self.plain = {}
        #: Lists that note the nodes which are made, and the attempts that they belong to, the innermost last.
        self.logs, self.bodies = [], []
        #: (array, what the graph keeps of it) by identity.
        self._constants = {}
        self.frozen = Frozen()
        self.world = World()
        #: (value, its array) of tensors from outside, by identity.
        self._arrays = {}
        #: (value, handle) of the hooks that were registered on tensors from outside.
        self._hooked = []
        #: (value, what it was detached from in the trace) of such values with memory, by identity.
        self._detached = {}

    def node(self, op, args, shape, dtype):
        # Most calls have no array among their arguments, and keep the tuple that they came with.
        for a in args:
            if a.__class__ is np.ndarray:
                args = tuple([self._constant(a) if a.__class__ is np.ndarray else a for a in args])
                break
        return self._with_effect(op, args, shape, dtype) if op.has_effect else self._noted(Symbol(op, args, shape, dtype))

    def copied(self, node, args):
        """A node that is the same as one of the trace but for its operands, and for numbers that are other objects."""
        return self._noted(Symbol(node.op, args, node.shape, node.dtype, node))

    def _noted(self, node):
        for log in self.logs:
            log.append(node)
        return node

    def _with_effect(self, op, args, shape, dtype):
        """The node of a call with an effect, which comes after all such calls that are recorded already."""
        token = self.symbol(self.world.touched_by(op))
        call = self._noted(Symbol(Effectful(op), (token, *args), None, None))
        self.write(self.world.value, self._noted(Symbol(PICK, (call, LAST), token.shape, token.dtype)))
        return call if op.is_multiple else self._noted(Symbol(PICK, (call, 0), shape, dtype))

    def _constant(self, array):
        """What the graph keeps of an array, the same for each time that it is met."""
        known = self._constants.get(id(array))
        if known is None or not is_kept_as(array, known[1]):
            known = self._constants[id(array)] = array, as_constant(array)
        # Python gives the identity of what is gone to what comes next, so that the array is kept beside what it became.
        return known[1]

    def symbol(self, value):
        """The symbol of a value; a tensor from outside is captured."""
        raw = value.raw
        if isinstance(raw, Symbol):
            return raw
        capture = self.captures.get(id(value))
        if capture is None and id(value) in self._detached:
            return self.symbol(self._origin(value))
        if capture is None:
            # Two tensors that hold one array are one leaf: what is written to the one is seen by the other.
            capture = self._by_array.get(id(raw)) or Capture(value)
            if value is not capture.value and id(value) not in self._own:
                capture.twins.append(value)
            if id(value) in self.leaves:
                capture.record = self.leaves[id(value)][1]
            self.captures[id(value)] = self._by_array[id(raw)] = capture
            self._kept += [value, raw]  # whose identities stay theirs
            self.freeze(value)
        return capture.now

    def freeze(self, value):
        """Let nobody but the engine write to the memory of `value`, a tensor from outside, until the trace is over."""
        try:
            array = arrays.settled_data(value)
        except ArgumentError:  # of a lazy module, which has none yet
            return
        if not isinstance(value, State):  # Nobody else has its memory.
            self.frozen.add(array)
            self._arrays.setdefault(id(value), (value, array))

    def rebound(self):
        """(tensor, its array) of tensors from outside that have another array than they had, or none."""
        return [(v, a) for v, a in self._arrays.values() if v.raw is not a and id(v) not in self._own]

    def value(self, algebra, node, record=None):
        made = super().value(algebra, node, record)
        self.born(made)
        return made

    def born(self, value):
        """Note in which body `value` is made."""
        value.body = self.bodies[-1] if self.bodies else None

    def check_within(self, value):
        """Raise unless `value`, which is about to be written to, was made in the body that is traced, or outside of the trace."""
        if self.bodies and getattr(value, "body", self.bodies[-1]) is not self.bodies[-1]:
            raise TraceError("the body of a loop or a branch cannot write to a value that was computed outside of it, since it may "
                             "run any number of times; carry the value along, or return what it is to hold")

    def write(self, value, data):
        """Let `value` hold `data`, a value or an array of its shape and dtype, from here on."""
        value = self._origin(value)
        self.check_within(value)
        self.changes += 1
        symbol = data.raw if isinstance(data, Value) else data
        self.set_aside(value)
        if isinstance(symbol, Symbol) and symbol.op is not None and not self.is_plain(value):
            self.plain[symbol] = False
        if isinstance(value.raw, Symbol):
            self.writes.append((value, value.raw, value.record))
            written_over(symbol, value.raw)
            value.raw = symbol
        else:
            self.symbol(value)
            written_over(symbol, self.captures[id(value)].now)
            self.captures[id(value)].now = symbol

    def snapshot(self):
        return len(self.writes), {id(c): (c.now, c.value.record) for c in self.captured()}

    @contextmanager
    def rewound_to(self, past):
        (count, states), (_, present) = past, self.snapshot()
        self._hold(states)
        try:
            with self.made_rewound_to(count):
                yield
        finally:
            self._hold(present)

    def _hold(self, states):
        """Let tensors from outside be in `states`, and as they were at first where nothing is known."""
        for capture in self.captured():
            capture.now, capture.value.record = states.get(id(capture), (capture.start, capture.record))

    def is_plain(self, value):
        if id(value) in self.captures or not isinstance(value.raw, Symbol):
            return False
        return self.plain[id(value)] if id(value) in self.plain else self._is_plain(value.raw)

    def _is_plain(self, symbol):
        """Whether a node depends on nothing but what stands for arrays."""
        known = self.plain
        complete(known, [symbol], lambda node: node.op is not None and all([known[a] for a in node.inputs]))
        return known[symbol]

    def note_kind(self, value, is_plain):
        symbol = self.symbol(value)
        if symbol.op is not None:
            self.plain[symbol] = is_plain
        else:  # A leaf is still what it was, a tensor or not, to others who read it.
            self.plain[id(value)] = is_plain
            self._kept.append(value)

    def made(self, value):
        """Let `value`, which was created in the trace, be the trace's own: what is written to it is gone after the call."""
        self._made[id(value)] = value
        self.born(value)
        self.own(value)

    def created(self, symbol):
        """The array of a tensor that was created in the trace, whose memory `symbol` stands for; None for what is from outside."""
        for capture in self.captures.values():
            if capture.start is symbol:
                return capture.value.raw if id(capture.value) in self._made and isinstance(capture.value.raw, np.ndarray) else None
        return None

    def note_shared(self, value, source):
        if not source.is_traced:
            self._detached[id(value)] = value, source
        elif self.shown is not None and value.algebra is arrays:
            self.shown(self, value, source)

    def _origin(self, value):
        """`value`, or the tensor with memory that it was detached from in this trace, whose memory it is by whatever name."""
        while id(value) in self._detached:
            value = self._detached[id(value)][1]
        return value

    def own(self, value):
        """Let `value` be known as an object that the trace has made, whatever memory it shows: nobody outside has it."""
        self._own[id(value)] = value
        self.leaves.pop(id(value), None)

    def is_own(self, value):
        """Whether the trace has made `value`, or what it was made of: nobody outside has it."""
        return id(value) in self._made or id(value) in self._own

    def noted_leaf(self, value):
        if value.is_traced or id(value) in self._own:
            return None
        return self.leaves.setdefault(id(value), (value, value.record))[1]

    def switched_leaves(self):
        """(value, whether it requires gradients in the end) of tensors from outside of which that is another than at first."""
        return [(v, v.record is not None) for v, first in self.leaves.values() if (v.record is None) is not (first is None)]

    def outer_gradients(self):
        """The gradients of tensors from outside."""
        return [g for g in self.gradients.values() if not g.value.is_traced and id(g.value) not in self._own]

    def set_aside(self, value):
        """Keep what a value of the trace's own was created with as a constant, since it is about to hold something else."""
        if self._made.pop(id(value), None) is None:
            return
        # The program begins with what the value was created with, and takes all later states from nodes.
        symbol, constant = self.symbol(value), arrays.made(value.raw)
        capture = self.captures[id(constant)] = self.captures.pop(id(value))
        capture.value = constant
        self._kept.append(constant)
        value.raw = symbol

    def read_gradient(self, value):
        """What `value.grad` is now."""
        gradient = self.gradients.get(id(value))
        if gradient is None:
            gradient = self.gradients[id(value)] = Gradient(value, is_read=True)
            if gradient.start is not None and not gradient.start.is_traced:
                capture = self.captures.setdefault(id(gradient.start), Capture(gradient.start, owner=value))
                self._by_array.setdefault(id(gradient.start.raw), capture)
        return gradient.now

    def write_gradient(self, value, gradient):
        """Let `value.grad` be `gradient` from here on."""
        if id(value) not in self.gradients:
            self.gradients[id(value)] = Gradient(value, is_read=False)
        self.gradients[id(value)].now = gradient

    def has_gradient(self, value):
        """Whether the trace gave `value` a gradient."""
        gradient = self.gradients.get(id(value))
        return gradient is not None and gradient.now is not None

    def number(self, read):
        """A number that `read()` gives anew at each call of what is compiled: a value of float64."""
        value = arrays.made(np.array(float(read()), np.float64))
        self.numbers.append((value, read))
        self.symbol(value)
        return value

    def watch(self, read, what="an option"):
        """Let what is compiled serve only as long as `read()` gives what it gives now; `what` it is that it gives."""
        self.watched.append((read, read(), what))

    def watch_edits(self, owner, read, what):
        """As `watch`, once for each `owner`, for what changes by edits only, so that nothing is read until there is one."""
        self.edits.setdefault(id(owner), (read, read(), what))

    def note_read(self, value):
        """What `value`, which the program reads, holds: it is a tensor from outside, or made of such alone, and what is compiled
        serves only as long as it holds that. None if it has no number.
        """
        value = self._origin(value)
        if id(value) in self._made:
            return value.raw
        capture = self.captures.get(id(value))
        if capture is not None and capture.now is not capture.start:
            raise TraceError("this tensor was written to in the function that is traced, so that it has no number yet; read it "
                             "before the write or outside the jitted function, or keep the computation in retrograde's ops")
        symbol, numbers = value.raw, {id(number) for number, _ in self.numbers}
        is_made = isinstance(symbol, Symbol)
        known = {c.start: c.value for c in self.captured() if c.owner is None and id(c.value) not in numbers}
        owner = None if capture is None else capture.owner
        read = rereader(symbol, known) if is_made else lambda: value.raw if owner is None else gradient_of(owner)
        if read is None:
            return None
        if is_made and is_float(symbol.dtype):
            self._read.append(symbol)
        self.watch(contents(read), "a number, read by item(), float() or numpy(),")
        return read()

    def check_outside(self):
        """Raise a TraceError if a tensor from outside was given another array or a hook, or if a float was read that is made of
        what the function writes to: it is another at each call.
        """
        for _, array in self.rebound():
            raise TraceError(f"the data of a tensor of shape {array.shape} from outside was set {_ONCE}; {INSTEAD}")
        for value, handle in self._hooked:
            if handle.is_registered:
                raise TraceError(f"a hook was registered on a tensor of shape {value.shape} from outside {_ONCE}; register it "
                                 "before the function is called, or remove it before the function returns")
        # Known only now: what a number was read of may be written to afterwards.
        written = {c.start for c in self.changed()}
        for symbol in self._read:
            if not written.isdisjoint(ordered([symbol])):
                raise TraceError("a number was read, by item(), float() or numpy(), that is computed from tensors which the jitted "
                                 "function writes to, so that it is another one at each call; return it from the function, or "
                                 "keep the computation in retrograde's ops")

    def note_hook(self, value, handle):
        """Note a hook that was registered on `value`, if that is from outside; a failed trace takes it back."""
        if not isinstance(value.raw, Symbol) and id(value) not in self._own:
            self._hooked.append((value, handle))
            self.on_failure(handle.remove)

    def repeated(self, known, key, formula, values):
        return applied(self, known, key, formula, values)

    def on_failure(self, undo):
        """Call `undo` if the trace fails."""
        self._undo.append(undo)

    def fail(self):
        """Take back what was changed outside the trace."""
        # The last change first, as each saw what those before it had left.
        for undo in reversed(self._undo):
            undo()

    def attempt(self, written=(), linked=()):
        """A context manager for the body of a loop: what it writes to tensors from outside is noted, and taken back."""
        return Attempt(self, written, linked)

    def changed(self):
        """The captures that hold something else at the end than at the start."""
        return [capture for capture in self.captured() if capture.now is not capture.start]

    def in_order(self):
        """The tensors from outside whose order in memory the trace took for granted."""
        return [c.value for key, c in self.captures.items() if key in self.in_rows or c.start in self.in_rows]

    def captured(self):
        """All captures, each once."""
        return list({id(capture): capture for capture in self.captures.values()}.values())

    def restore(self):
        """Give captured tensors the history back that they had before the trace, and their memory to NumPy."""
        self.frozen.release()
        for value, array in self.rebound():
            value.raw = array
        for capture in self.captures.values():
            capture.value.record = capture.record
        for value, record in self.leaves.values():
            value.record = record

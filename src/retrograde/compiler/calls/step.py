"""Step: one compiled trace, bound to the tensors that it uses from outside."""

from functools import partial
from typing import Any

import numpy as np

from ...core import writes
from ...core.edits import CLOCK
from ...core.symbol import Symbol
from ...errors import ProgramError
from ...ops._arrays import arrays as algebra
from ...ops.random.draws import State, run_drawing
from ...precision import is_current
from ..backends import new_program
from ..run.exported import Exported
from ..run.room import LEAST
from .gradients import Gradients
from .overlaps import Memory, overlap, shares
from .quick import all_bound, all_same, quick_call


class Step:
    """One compiled trace: its program, the tensors that it reads from outside and what it writes to them.

    arguments  the symbols of the arrays that are handed in at each call
    results    symbols, or plain data that is returned as it is; `kinds` are their classes: None for arrays, as they are from ops
               on arrays
    places     where the function finds tensors: another tensor or module in such a place, or a module that is being trained
               and was not, is noticed
    replay     what gives results their history, None if they have none
    room       memory that the programs of a function share, as one at a time runs
    """

    def __init__(self, trace, arguments, results, rebuild, places, kinds, replay=None, room=None):
        self._replay = replay
        self._kinds = [_unwrapped if kind is None else _maker(kind) for kind in kinds]
        self._numbers, self._watched, self._edits = trace.numbers, trace.watched, list(trace.edits.values())
        self._leaves = trace.switched_leaves()
        self._first = [(value, record is not None) for value, record in trace.leaves.values()]
        for gradient in trace.outer_gradients():
            if gradient.now is not None:
                for part in algebra.parts(gradient.now):
                    trace.symbol(part)  # so that it is among the captures
        self._captures = trace.captured()
        updates = [(c.start, c.now) for c in trace.changed()]
        self._written = {id(leaf) for leaf, _ in updates}
        self._gradients = Gradients(trace, self._captures, self._written, places)
        outputs = [r for r in results if isinstance(r, Symbol)]
        self.program = new_program(arguments, [c.start for c in self._captures], outputs, updates, self._gradients.held)
        self._gradients.bind(self.program)
        self._room = None if room is None or self.program.arena_bytes < LEAST else room
        self._finds = self._gradients.finds
        # Always in one order, so that no two steps wait for each other.
        self._drawn = sorted([c.value for c in trace.changed() if isinstance(c.value, State)], key=id)
        self._results, self._rebuild = results, rebuild
        asked = [value for value, _ in trace.leaves.values()]
        self._always, self._after_edits = places.watches([*[c.value for c in self._captures if c.owner is None], *asked])
        self._are_same = all_same(self._always)
        used = [c for c in self._captures if c.owner is None]
        self._tensors = [*[c.value for c in used], *[twin for c in used for twin in c.twins]]
        self._arrays = [None] * len(self._tensors)
        self._are_bound = all_bound(self._tensors, self._arrays)
        self._hooks = [(c.value, _hooks_of(c.record)) for c in self._captures if c.owner is None]
        self._loose, self._stamps, self._seen = [], [], list(CLOCK)
        #: The precision of convolutions that was asked for while it was traced and made; None where none was.
        self.precision: Any = None
        #: The memory of the tensors from outside that are written to; None without any.
        self.targets: Any = None
        #: The places of arguments that are written to; what is written comes after the results.
        self.rewritten = []
        #: The places of arguments that must lie row by row in memory, and the tensors from outside.
        self.in_rows = []
        self._rows_outside = trace.in_order()

    def fits(self, arguments=()):
        """Whether all that the trace took for granted is still so, and none of the arrays `arguments` lies in a gradient that is
        written to.
        """
        if not is_current(self.precision):
            return False
        # The clock of edits stands still while nobody changes a module or a hook: one comparison then says that all is as it
        # was.
        if CLOCK[0] != self._seen[0] and not self._is_as_traced():
            return False
        if not self._are_bound():
            # Other arrays than before may be held by tensors that are guarded, so that all else is asked again.
            return self._rebound() and self.fits(arguments)
        if self._is_guarded and not self._gradients.fit(self._memory, self.targets, arguments):
            return False
        if not self._are_same():
            return False
        return not self._watched or all([read() == seen for read, seen, _ in self._watched])

    def changed(self):
        """What is no longer as the trace took it for granted, in words; None if all is."""
        for watch in (*self._always, *self._after_edits):
            if not watch.is_same():
                return watch.told
        for capture in self._captures:
            now, spec = capture.value.raw, capture.start
            if (now.shape, now.dtype) != (spec.shape, spec.dtype):
                return f"the shape or the dtype of a tensor ({spec.dtype}{list(spec.shape)}, now {now.dtype}{list(now.shape)})"
        if not is_current(self.precision):
            return "the precision of convolutions"
        if self._other_gradients():
            return "whether a tensor requires gradients"
        if (gradients := self._gradients.differ()) is not None:
            return gradients
        return next((what for read, seen, what in [*self._edits, *self._watched] if read() != seen), None)

    def _is_as_traced(self):
        """Whether all is in its place that the trace found there, modules are in the mode that they were in, and the same tensors
        require gradients.
        """
        if not all([watch.is_same() for watch in self._after_edits]):
            return False
        if any([_hooks_of(value.record) != hooks for value, hooks in self._hooks]):
            return False
        if self._other_gradients() or any([read() != seen for read, seen, _ in self._edits]):
            return False
        self._seen[0] = CLOCK[0]
        return True

    def _other_gradients(self):
        """Whether other tensors require gradients than did when they were traced."""
        if any([value.requires_grad is not required for value, required in self._first]):
            return True
        return any([c.value.requires_grad is (c.record is None) for c in self._captures if c.owner is None])

    def meets(self, leaves):
        """Whether an array of the arguments, whose other leaves are None, lies in memory that is written to in another way, which
        compiled code would not see, or lies in another order than it must.
        """
        if any([not leaves[i].flags.c_contiguous for i in self.in_rows]):
            return True
        arrays = [(i, leaf) for i, leaf in enumerate(leaves) if leaf is not None]
        given = [array for _, array in arrays]
        if self.targets is not None and self.targets.holds_one(given) or self._gradients.hold_one(given):
            return True
        written = [(i, leaves[i]) for i in self.rewritten if leaves[i] is not None]
        return self._memory.holds_one([target for _, target in written]) or any([
            i != j and shares(array, target) for i, array in arrays for j, target in written])

    def quick(self, specs):
        """A function of the tuple of arguments that does what a call does if nothing has changed, and gives NotImplemented if
        something has; None if the step has more to do than this. `specs` are those of the arguments (see `quick_call`).
        """
        parts = self.program.quick_parts() if self._room is None else None
        if parts is None or self._prepares or self._rebuild is not None or self._is_guarded or self._watched:
            return None
        parts["kind"] = self._kinds[0]
        parts["link"] = None if self._replay is None else self._replay.quick_link()
        return quick_call(parts, specs, list(zip(self._tensors, self._arrays, strict=True)), self._always, self._seen)

    def bind(self):
        """Take the memory that captured tensors have now; before the first call."""
        self._rebound()
        self._gradients.fit(self._memory, self.targets, ())

    def _rebound(self):
        """Point the program at the memory that captured tensors have now; False if one is another than was traced."""
        arrays = self._bound_arrays()
        if arrays is None or any([not value.raw.flags.c_contiguous for value in self._rows_outside]):
            return False
        written = [id(c.start) in self._written for c in self._captures if c.owner is None]
        if any(written) and overlap(arrays, written):
            return False
        self._memory = Memory(arrays)
        self._arrays[:] = [value.raw for value in self._tensors]
        targets = [array for array, is_written in zip(arrays, written, strict=True) if is_written]
        self.targets = Memory(targets) if targets else None
        self._gradients.rebound()
        self._stamps = [writes.entry(algebra, array) for array in targets]
        self._refused = [array for array in targets if not writes.into(array).flags.writeable]
        self._is_guarded = self._gradients.are_guarded
        acts = self._numbers or self._loose or self._written or self._leaves
        self._prepares = bool(acts or self._gradients.acts)
        return True

    def _bound_arrays(self):
        """The arrays of captured tensors, at which the program is pointed; None if one is another than was traced."""
        arrays, self._loose = [], []
        for place, capture in enumerate(self._captures):
            if capture.owner is not None:  # a gradient, which is found through its owner
                continue
            value, spec = capture.value, capture.start
            data = algebra.settled_data(value)
            if (data.shape, data.dtype) != (spec.shape, spec.dtype):
                return None
            # Tensors that held one array when they were traced are one leaf of the program: they must still do so.
            if any([algebra.settled_data(twin) is not data for twin in capture.twins]):
                return None
            if data.flags.c_contiguous:
                self.program.bind(place, data)
            else:  # the program reads rows: a copy is filled before each call, and written back after it
                self._loose.append((value, self.program.bind(place, np.ascontiguousarray(data)), id(spec) in self._written))
            arrays.append(data)
        return arrays

    def __call__(self, arrays, records=()):
        """Run on `arrays`, one for each argument, which have these `records` if any has one; what the function returned."""
        # Nothing to hand in, to write back or to stamp: most of the time a call takes is the program's.
        if not self._prepares:
            return self._returned(*self._run(arrays), records)
        for array in self._refused:
            writes.check_writeable(array)
        for value, read in self._numbers:
            value.raw[()] = read()
        if writes.READERS or writes.KEPT:
            self._warn_readers()
        for value, array, _ in self._loose:
            array[...] = value.raw
        if self._finds:
            self._gradients.hand_in(self.program)
        try:
            found, kept = self._drawing(arrays) if self._drawn else self._run(arrays)
        # Also Ctrl-C in a library call: what was promised lies in memory that this call may have used already.
        except BaseException:
            self._gradients.forget()
            raise
        for value, array, is_written in self._loose:
            if is_written:
                writes.into(value.raw)[...] = array
        if self._stamps:
            writes.stamp_all(self._stamps)
        self._gradients.leave()
        for value, requires_grad in self._leaves:
            value.requires_grad = requires_grad
        return self._returned(found, kept, records)

    def _drawing(self, arrays):
        """Run the program while nobody else draws from the generators that it draws from."""
        for state in self._drawn:
            state.lock.acquire()
        try:
            return run_drawing(self._drawn, self._run, arrays)
        finally:
            for state in self._drawn:
                state.lock.release()

    def _run(self, arrays):
        """What the program gives, and what its derivative will be computed from."""
        kept = None if self._replay is None else self._replay.kept(arrays)
        return self.program(arrays) if self._room is None else self._room.run(self, self.program, arrays), kept

    def leave_room(self):
        """Take what was promised out of the memory of the program, for another one to use it."""
        self._gradients.take()
        self.program.leave()

    def _warn_readers(self):
        for capture in self._captures:
            if id(capture.start) in self._written and capture.owner is None:
                writes.before(algebra, capture.value.raw)
        self._gradients.keep_old()

    def _returned(self, found, kept, records):
        if self._rebuild is None and kept is None:
            return self._kinds[0](found[0])
        outputs, pairs = iter(found), zip(self._results, self._kinds, strict=True)
        values = [kind(next(outputs)) if isinstance(r, Symbol) else r for r, kind in pairs]
        if kept is not None:
            self._replay.link(values, kept, records)
        return values[0] if self._rebuild is None else self._rebuild(values)

    def exported(self, name, inputs, names_of):
        """This step as it is exported, its inputs with names, and its results with those that `names_of(rebuild, count)` gives.

        Numbers that are read outside at each call, such as a learning rate, are what they are now.
        """
        if (what := self._kept_outside()) is not None:
            raise ProgramError(f"{name} cannot be exported: {what}")
        for value, read in self._numbers:
            value.raw[()] = read()
        state = [algebra.settled_data(capture.value) for capture in self._captures]
        return Exported(name, self.program.graph, state, inputs, names_of(self._rebuild, len(self._results)))

    def _kept_outside(self):
        """What a program in a file could not do, in words; None if it can do all."""
        if self.rewritten:
            return "it writes to its arguments; let it return what it writes"
        if self._finds or self._gradients.add_up:
            return ("what it computes depends on gradients that it finds in tensors from outside; clear them before it computes "
                    "others, as by optimizer.zero_grad()")
        if self._leaves:
            return "it changes whether tensors from outside require gradients; set that before"
        plain = [result for result in self._results if not isinstance(result, Symbol)]
        return f"it returns {plain[0]!r}, which is no tensor; return tensors and arrays alone" if plain else None

    def profile(self, arrays, repeats):
        """The program's profile on these arguments."""
        self._gradients.take()
        if self._room is not None:
            self._room.enter(self, self.program)
        return self.program.profile(arrays, repeats)


def _hooks_of(record):
    """The hooks of a tensor from outside, by its record."""
    return () if record is None or record.hooks is None else tuple(record.hooks)


def _maker(kind):
    """What makes values of a kind."""
    return algebra.made if kind is algebra.kind else partial(algebra.made, kind=kind)


def _unwrapped(array):
    """An array as NumPy returns it: a number if it has no axes."""
    return array[()]

"""The reductions of a loop kernel: values folded into registers, or row after row into memory."""

from ....index.box import is_ordered
from ....index.elements import REDUCTIONS, start_of
from . import ir
from .builder import Builder
from .counting import counted
from .vecmath.elements import lanes_of, type_of

_INDEX = ir.IntType(64)


class Folds:
    """The part of a kernel's writer that folds."""

    def _start_sums(self):
        folds = [(i, store) for i, store in enumerate(self.box.stores) if store.combine is not None]
        if self.plan.keeps_rows:
            self.rows = {number: self._row(number, store, place) for place, (number, store) in enumerate(folds)}
            return
        for number, store in folds:
            # A slot and not a value: LLVM makes registers of slots, and loops need not hand sums on by phi nodes.
            self.sums[number] = self.ir.alloca(type_of(store.dtype, self._folded_lanes(store)))

    def _row(self, number, store, place):
        """The address of the row that a reduction folds into, filled with what it starts from."""
        width = self.box.width
        if self.plan.partials:
            row = self.pointers[id(self.plan.partials[place])]
            row = self.k.offset(row, self.ir.mul(self.entry.chunk, _INDEX(width)), store.dtype)
        else:
            start = self.entry.numbers.get(("store", number), 0)
            row = self.k.offset(self.pointers[id(store.buffer)], start, store.dtype)
        value = self.k.constant(start_of(store.combine, store.dtype), store.dtype, 1)
        with counted(self.ir, _INDEX(0), _INDEX(width)) as i:
            self.k.store(value, self.k.offset(row, i, store.dtype))
        return row

    def _clear_sums(self):
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            lanes = self._folded_lanes(store)
            self.ir.store(self.k.constant(start_of(store.combine, store.dtype), store.dtype, lanes), slot)

    def _folded_lanes(self, store):
        """How many numbers a reduction keeps: one where the lanes of a vector are folded in their order."""
        return 1 if self._is_across() and is_ordered(store) else self.lanes

    def _is_across(self):
        """Whether the loop that runs in vectors is reduced."""
        return self.vector is not None and self.box.is_reduced[self.vector]

    def _fold(self):
        """Combine the values of one round with what has been folded so far."""
        for number, row in self.rows.items():
            self._fold_row(self.box.stores[number], row)
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            combine = REDUCTIONS[store.combine][0]
            value = self.k.broadcast(self._typed(self._stored(store), store.dtype), self.lanes)
            # Lanes behind the end hold garbage; what a fold starts from changes nothing. Along another loop each lane folds for
            # itself, and the garbage is not stored.
            if self.mask is not None and self.box.is_reduced[self.vector]:
                value = self.k.where(self.mask, value, start_of(store.combine, store.dtype))
            lanes = self._folded_lanes(store)
            folded = self.ir.load(slot, typ=type_of(store.dtype, lanes))
            # What is folded in NumPy's order, as products are, goes through the lanes one by one.
            for part in [value] if lanes == self.lanes else [self.k.lane(value, lane) for lane in range(self.lanes)]:
                folded = getattr(self.k, combine)(folded, part)
            self.ir.store(folded, slot)

    def _fold_row(self, store, row):
        """Combine the values of this place in all rows."""
        place = _INDEX(0)
        for loop, step in enumerate(store.steps):
            if step:
                place = self.ir.add(place, self.ir.mul(self.counters[loop], _INDEX(step)))
        where = self.k.offset(row, place, store.dtype)
        value = self.k.broadcast(self._typed(self._stored(store), store.dtype), self.lanes)
        combine = getattr(self.k, REDUCTIONS[store.combine][0])
        if self.mask is None:
            self.k.store(combine(self.k.load(where, store.dtype), value), where)
        else:
            self.k.store_masked(combine(self.k.load_masked(where, self.mask, store.dtype), value), where, self.mask)

    def _store_sums(self):
        for number, slot in self.sums.items():
            store = self.box.stores[number]
            value = self.ir.load(slot, typ=type_of(store.dtype, self._folded_lanes(store)))
            if self._is_across() and lanes_of(value) > 1:
                value = self.k.reduce(getattr(self.k, REDUCTIONS[store.combine][0]), value)
            if self.plan.partials:
                partial = self.pointers[id(self.plan.partials[list(self.sums).index(number)])]
                self.k.store(value, self.k.offset(partial, self.entry.chunk, store.dtype))
            else:
                self._write(number, store, value)


def write_finish(entry, plan):
    """A function that combines partial results, always in the same order."""
    width = plan.box.width
    partials = iter(plan.partials)
    for number, store in enumerate(plan.box.stores):
        if store.combine is None:
            continue
        # Rows of partial sums are short beside what was summed; a masked rest is not worth its code.
        lanes = plan.lanes if width % plan.lanes == 0 else 1
        k, source, target = Builder(entry.ir, lanes=lanes), entry.pointers[id(next(partials))], entry.pointers[id(store.buffer)]
        target = k.offset(target, entry.numbers.get(("store", number), 0), store.dtype)
        with counted(entry.ir, _INDEX(0), _INDEX(width // lanes)) as i:
            at = entry.ir.mul(i, _INDEX(lanes))
            places = [entry.ir.add(at, _INDEX(chunk * width)) for chunk in range(plan.chunks)]
            parts = [k.load(k.offset(source, place, store.dtype), store.dtype) for place in places]
            combine = getattr(k, REDUCTIONS[store.combine][0])
            # In pairs: a tree rounds less than a chain, and its order depends on the number of chunks alone, never on threads.
            while len(parts) > 1:
                parts = [combine(*parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
            k.store(parts[0], k.offset(target, at, store.dtype))
    entry.ir.ret_void()

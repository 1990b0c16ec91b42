"""Kernels of functions of rows, `i64(pointers, sizes)`, which return 1: see `row_functions`.

A row lies in `pieces` pieces of `width` numbers, `piece_step` apart; rows begin `row_step` apart. The reductions of a row end a
pass over it; what the next pass needs by element is computed anew. Where `groups` rows belong together, as groups of channels of an
image do, each of their pieces is a channel.
"""

from .....index.elements import IDENTITIES, REDUCTIONS, start_of
from .....index.rows import CHANNEL, FULL, PLACE, ROW, Call, Fold, Leaf
from .. import emit, ir
from ..builder import Builder
from ..loop_values import library_function, operand_dtypes
from ..vecmath.elements import type_of

_INDEX, _POINTER = ir.IntType(64), ir.PointerType()
#: The numbers that a kernel is handed.
SIZES = ("rows", "row_step", "pieces", "piece_step", "width", "groups")


def write_rows(module, name, graph, dtype, leaf_count):
    """Add the kernel of a `RowGraph` to a module: its pointers are the arrays that it reads, then its results."""
    _Writer(module, name, graph, dtype, leaf_count).write()


class _Writer:
    def __init__(self, module, name, graph, dtype, leaf_count):
        function = ir.Function(module, ir.FunctionType(_INDEX, [_POINTER, _POINTER]), name)
        self.ir = ir.IRBuilder(function.append_basic_block("entry"))
        pointers, sizes = function.args
        self.graph, self.dtype = graph, dtype
        self.leaves = [self._pointer(pointers, i) for i in range(leaf_count)]
        self.outputs = [self._pointer(pointers, leaf_count + i) for i in range(len(graph.results))]
        self.size = {name: self.ir.load(self.ir.gep(sizes, [_INDEX(i)], source_etype=_INDEX), typ=_INDEX)
                     for i, name in enumerate(SIZES)}
        self.length = self.ir.mul(self.size["pieces"], self.size["width"])
        self.lanes = module.target.lanes(dtype)
        self.stages = _stages(graph)
        self.last = max([self.stages[number] + (isinstance(graph.values[number], Fold) and space in (PLACE, CHANNEL))
                         for number, space, _ in graph.results], default=0)
        self.sums = {}

    def _pointer(self, pointers, place):
        return self.ir.load(self.ir.gep(pointers, [_INDEX(place)], source_etype=_POINTER), typ=_POINTER)

    def write(self):
        """The whole kernel."""
        b = self.ir
        for number, value in enumerate(self.graph.values):
            if isinstance(value, Fold) and value.space in (ROW, CHANNEL):
                self.sums[number] = b.alloca(type_of(value.dtype, self.lanes))
        counts = {PLACE: self.length, CHANNEL: b.mul(self.size["groups"], self.size["pieces"])}
        for (number, space, dtype), pointer in zip(self.graph.results, self.outputs, strict=True):
            if space in counts:
                self._clear(self.graph.values[number], pointer, dtype, counts[space])
        with emit.loop(b, 0, self.size["rows"]) as row:
            self._write_row(row.index)
        b.ret(_INDEX(1))

    def _clear(self, fold, pointer, dtype, count):
        k = Builder(self.ir, dtype)
        value = k.constant(start_of(fold.combine, dtype), dtype, 1)
        with emit.loop(self.ir, 0, count) as place:
            k.store(value, k.offset(pointer, place.index, dtype))

    def _write_row(self, row):
        b = self.ir
        base, values = b.mul(row, self.size["row_step"]), {}
        channels = b.mul(b.urem(row, self.size["groups"]), self.size["pieces"])
        k = Builder(b, self.dtype)
        for stage in range(self.last + 1):
            self._compute(k, ROW, stage, values, lambda leaf: k.load(k.offset(self.leaves[leaf.number], row), self.dtype, 1))
            folds = [n for n, value in enumerate(self.graph.values)
                     if isinstance(value, Fold) and self.stages[value.argument] == stage]
            stores = [i for i, (n, space, _) in enumerate(self.graph.results) if space == FULL and self.stages[n] == stage]
            if folds or stores:
                self._pass(base, channels, stage, folds, stores, values)
            for number in folds:
                if self.graph.values[number].space == ROW:
                    values[number] = self._folded(number)
        for (number, space, dtype), pointer in zip(self.graph.results, self.outputs, strict=True):
            if space == ROW:
                k.store(k.convert(self._typed(k, values[number], dtype), dtype), k.offset(pointer, row, dtype))

    def _compute(self, k, space, stage, values, load):
        """Put values of a space into `values`, which need no more than `stage` passes."""
        for number, value in enumerate(self.graph.values):
            if number in values or value.space != space or self.stages[number] > stage or isinstance(value, Fold):
                continue
            values[number] = load(value) if isinstance(value, Leaf) else self._apply(k, value, values)

    def _start(self, folds, space):
        for number in folds:
            fold = self.graph.values[number]
            if fold.space == space:
                k = Builder(self.ir)
                self.ir.store(k.constant(start_of(fold.combine, fold.dtype), fold.dtype, self.lanes), self.sums[number])

    def _pass(self, base, channels, stage, folds, stores, outer):
        """One pass over a row: what `folds` reduce and what is stored of the results `stores`."""
        b = self.ir
        self._start(folds, ROW)
        wanted = _needed(self.graph, [self.graph.values[n].argument for n in folds] + [self.graph.results[i][0] for i in stores])
        whole = b.sub(self.size["width"], b.srem(self.size["width"], _INDEX(self.lanes)))
        with emit.loop(b, 0, self.size["pieces"]) as piece:
            start = b.add(base, b.mul(piece.index, self.size["piece_step"]))
            place, channel = b.mul(piece.index, self.size["width"]), b.add(channels, piece.index)
            values = dict(outer)
            k = Builder(b, self.dtype)
            self._compute(k, CHANNEL, stage, values,
                          lambda leaf, k=k, at=channel: k.load(k.offset(self.leaves[leaf.number], at), self.dtype, 1))
            self._start(folds, CHANNEL)
            with emit.loop(b, 0, whole, self.lanes) as column:
                self._body(b.add(start, column.index), b.add(place, column.index), None, stage, wanted, folds, stores, values)
            with b.if_then(b.icmp_signed("<", whole, self.size["width"])):
                mask = Builder(b, self.dtype, self.lanes).first_lanes(b.sub(self.size["width"], whole))
                self._body(b.add(start, whole), b.add(place, whole), mask, stage, wanted, folds, stores, values)
            for number in folds:
                if self.graph.values[number].space == CHANNEL:
                    self._add_to_channel(number, channel)

    def _body(self, at, place, mask, stage, wanted, folds, stores, outer):
        k = Builder(self.ir, self.dtype, self.lanes)
        values = dict(outer)

        def load(leaf):
            where = k.offset(self.leaves[leaf.number], at if leaf.space == FULL else place)
            return k.load(where) if mask is None else k.load_masked(where, mask)

        for number in wanted:
            value = self.graph.values[number]
            if number not in values and self.stages[number] <= stage:
                values[number] = load(value) if isinstance(value, Leaf) else self._apply(k, value, values)
        for number in folds:
            self._fold(k, number, values, place, mask)
        for i in stores:
            number, _, dtype = self.graph.results[i]
            value = k.broadcast(k.convert(self._typed(k, values[number], dtype), dtype), self.lanes)
            _store(k, value, k.offset(self.outputs[i], at, dtype), mask)

    def _fold(self, k, number, values, place, mask):
        fold = self.graph.values[number]
        combine, start = getattr(k, REDUCTIONS[fold.combine][0]), start_of(fold.combine, fold.dtype)
        value = k.broadcast(k.convert(self._typed(k, values[fold.argument], fold.dtype), fold.dtype), self.lanes)
        if number in self.sums:
            value = value if mask is None else k.where(mask, value, start)
            slot = self.sums[number]
            self.ir.store(combine(self.ir.load(slot, typ=value.type), value), slot)
            return
        for i, (result, _, dtype) in enumerate(self.graph.results):
            if result == number:
                where = k.offset(self.outputs[i], place, dtype)
                before = k.load(where, dtype) if mask is None else k.load_masked(where, mask, dtype)
                _store(k, combine(before, k.convert(value, dtype)), where, mask)

    def _add_to_channel(self, number, channel):
        """Combine what a piece has come to with what others of its channel have."""
        fold, found = self.graph.values[number], self._folded(number)
        k = Builder(self.ir, self.dtype)
        for i, (result, _, dtype) in enumerate(self.graph.results):
            if result == number:
                where = k.offset(self.outputs[i], channel, dtype)
                combine = getattr(k, REDUCTIONS[fold.combine][0])
                k.store(combine(k.load(where, dtype, 1), k.convert(found, dtype)), where)

    def _folded(self, number):
        """What a reduction has come to."""
        fold, k = self.graph.values[number], Builder(self.ir, self.dtype)
        found = self.ir.load(self.sums[number], typ=type_of(fold.dtype, self.lanes))
        return k.reduce(getattr(k, REDUCTIONS[fold.combine][0]), found)

    def _apply(self, k, call, values):
        node, op = call.node, call.node.op
        operands = [self._operand(k, argument, values) for argument in call.arguments]
        if op.name == "astype" or op.name in IDENTITIES:
            wanted = [node.dtype.name]
            (value,) = self._converted(k, operands, wanted)
            return value
        operands = self._converted(k, operands, operand_dtypes(node, operands))
        write = op.emit or getattr(type(k), op.name, None) or library_function(op.name)
        return write(k, *operands)

    def _converted(self, k, operands, dtypes):
        typed = [self._typed(k, x, dtype) for x, dtype in zip(operands, dtypes, strict=True)]
        return [None if x is None else k.convert(x, dtype) for x, dtype in zip(typed, dtypes, strict=True)]

    def _operand(self, k, argument, values):
        kind, found = argument
        if kind == "value":
            return values[found]
        if kind == "number":
            return found
        number = self.ir.add(self.length if found.is_length else self.size["rows"], _INDEX(found.more))
        number = self.ir.sitofp(number, ir.DoubleType())
        return self.ir.fdiv(k.constant(1.0, "float64", 1), number) if found.is_inverse else number

    def _typed(self, k, x, dtype):
        if x is None or isinstance(x, ir.Value):
            return x
        return k.constant(bool(x) if dtype == "bool" else x, dtype, 1)


def _store(k, value, where, mask):
    if mask is None:
        k.store(value, where)
    else:
        k.store_masked(value, where, mask)


def _stages(graph):
    """How many passes must be over before each value can be computed; of a reduction, before it is there."""
    found = []
    for value in graph.values:
        if isinstance(value, Leaf):
            found.append(0)
        elif isinstance(value, Fold):
            found.append(found[value.argument] + 1)
        else:
            found.append(max([found[number] for kind, number in value.arguments if kind == "value"], default=0))
    return found


def _needed(graph, numbers):
    """The numbers of all values that are needed by element for `numbers`, in order."""
    found, stack = set(), list(numbers)
    while stack:
        number = stack.pop()
        value = graph.values[number]
        if number in found or value.space in (ROW, CHANNEL):
            continue
        found.add(number)
        if isinstance(value, Call):
            stack += [n for kind, n in value.arguments if kind == "value"]
    return sorted(found)

"""Assembling: the steps of a schedule as launches of compiled units, with library calls where an op has no lowering."""

from dataclasses import replace
from functools import partial
from math import prod

import numpy as np
from llvmlite import ir

from ..dtypes import name_of
from ..shapes import row_major
from . import threads
from .boxes import Boxes
from .codegen.loop_plan import Rows, plan_loops
from .codegen.loops import write_loops
from .codegen.matmul import Problem, choose, generate
from .codegen.scatter import ScatterPlan, write_scatter
from .codegen.target import host
from .codegen.vecmath.elements import ELEMENTS
from .convolutions import convolution
from .expression import Expression, Load
from .kinds import scattered
from .launches import Launch
from .library_call import LibraryCall
from .loop_call import LoopCall
from .pools import pooling
from .repeat import Body, Repeat
from .repetition import Loop
from .sliding import is_convolution
from .table import FLAG, Scratch
from .units import unit_of

_POINTER, _INDEX = ir.PointerType(), ir.IntType(64)
#: A matrix product of more floating point operations than this is worth sharing.
_SHARED_FLOPS = 1_000_000
#: What one thread takes for one element of an entry of a loop, and for one operation of a matrix product; rough.
_ENTRY_SECONDS, _FLOP_SECONDS = 1e-10, 1.5e-11


def assemble(schedule, boxes, homes):
    """The steps of a schedule in order: launches and library calls.

    boxes    the loops of its steps
    homes    for nodes that live in another buffer's memory, that buffer
    """
    assembler = _Assembler(schedule, boxes, homes)
    return [part for step in schedule.steps for part in assembler.parts(step)]


class _Assembler:
    def __init__(self, schedule, boxes, homes):
        self._schedule, self._boxes, self._homes, self._constants = schedule, boxes, homes, {}

    def parts(self, step):
        """What a step becomes."""
        if step.kind == "call":
            return [self._repeat(step) if isinstance(step.roots[0].op, Loop) else LibraryCall(step.roots[0])]
        if step.nest is not None:
            return [self._nest(step.nest)] if step is step.nest.steps[0] else []
        return getattr(self, f"_{step.kind}")(step)

    def _sliding(self, step):
        launches = convolution if is_convolution(step.roots[0]) else pooling
        return launches(step, partial(self._layout, step), self._home, self._lasts(step))

    def _repeat(self, step):
        """A loop as a native step; from Python if something in its body has no lowering."""
        body = Body(step, self._home)
        parts = assemble(body.schedule, Boxes(body.schedule), {})
        is_native = all([isinstance(part, (Launch, Repeat)) for part in parts])
        return Repeat(body, parts) if is_native else LoopCall(step)

    def _lasts(self, step):
        return any(root in self._homes for root in step.roots)

    def _nest(self, nest):
        """All passes of a nest as one launch."""
        local = {node: node.size // nest.rows * node.dtype.itemsize * nest.block for node in nest.local}
        memory = {id(node): Scratch(nbytes * nest.chunks) for node, nbytes in local.items()}
        rows = Rows(nest.axes, nest.block, nest.chunk_blocks, {id(node): nbytes for node, nbytes in local.items()})
        passes = []
        for step in nest.steps:
            launch = self._loop(step, rows)[0]
            passes.append(replace(launch, buffers=tuple([memory.get(id(b), b) for b in launch.buffers])))
        buffers = tuple([b for launch in passes for b in launch.buffers])
        return replace(
            passes[0], unit=None, entry="", buffers=buffers, words=(), chunks=nest.chunks, lasts=any([p.lasts for p in passes]),
            seconds=sum([p.seconds for p in passes]), passes=tuple(passes))

    def _loop(self, step, rows=None):
        plan = plan_loops(self._box(step), host(), rows)
        unit = unit_of(plan.key(), lambda module, name: write_loops(module, name, plan))
        scratch = {id(p): Scratch(p.nbytes) for p in plan.partials}
        if plan.tape is not None:
            scratch[id(plan.tape)] = Scratch(plan.tape.nbytes * plan.chunks)
        buffers = tuple(scratch.get(id(b), b) for b in plan.buffers)
        seconds = plan.box.size * len(plan.box.entries) * _ENTRY_SECONDS
        launch = Launch(step, unit, unit.name, buffers, tuple(plan.words), plan.chunks, self._lasts(step), seconds)
        return [launch, replace(launch, entry=f"{unit.name}_finish", chunks=1, seconds=0.0)] if plan.partials else [launch]

    def _scatter(self, step):
        node = step.roots[0]
        x, positions, axis = scattered(node)
        buffers = [self._layout(step, a)[0] for a in (x, positions)]
        plan = ScatterPlan(
            name_of(node.dtype), name_of(positions.dtype), host().lanes(name_of(node.dtype)), prod(node.shape[:axis]),
            prod(positions.shape), node.shape[axis], prod(node.shape[axis + 1 :]))
        unit = unit_of(plan.key, lambda module, name: write_scatter(module, name, plan))
        slots, seconds = (*buffers, self._home(node), FLAG), (x.size + node.size) * _ENTRY_SECONDS
        return [Launch(step, unit, unit.name, slots, plan.words, plan.chunks, self._lasts(step), seconds)]

    def _matmul(self, step):
        node = step.roots[0]
        buffers, starts, steps = zip(*[self._layout(step, x) for x in node.args], strict=True)
        problem = _problem(node, *steps)
        plan = choose(host(), problem)
        chunks = threads.get_num_threads() if 2 * node.size * problem.k > _SHARED_FLOPS else 1
        size = -(-plan.workspace_bytes // 64) * 64
        unit = unit_of(("product", repr(plan.spec)), lambda module, name: _write_product(module, name, plan.spec), is_final=True)
        words = (*starts, 0, size, *plan.descriptor(chunks))
        slots = (*buffers, self._home(node), Scratch(chunks * size))
        seconds = 2 * node.size * problem.k * _FLOP_SECONDS
        return [Launch(step, unit, unit.name, slots, words, chunks, self._lasts(step), seconds)]

    def _layout(self, step, node):
        """(buffer, first element, steps per axis) of a node that is a view of memory which a step reads."""
        if isinstance(node, np.ndarray):
            array = self._constants.setdefault(id(node), np.ascontiguousarray(node))
            return array, 0, row_major(array.shape)
        memory = set(self._schedule.read_by(step))
        expression = Expression(node.shape, self._schedule.facts, memory.__contains__)
        load = expression.entries[expression.add(node)]
        return self._home(load.buffer), load.start, load.steps

    def _box(self, step):
        """The loops of a step, with the memory where its buffers live."""
        box = self._boxes[step]
        entries = tuple([replace(e, buffer=self._home(e.buffer)) if isinstance(e, Load) else e for e in box.entries])
        return replace(box, entries=entries, stores=tuple([replace(s, buffer=self._home(s.buffer)) for s in box.stores]))

    def _home(self, buffer):
        return buffer if isinstance(buffer, np.ndarray) else self._homes.get(buffer, buffer)


def _write_product(module, name, spec):
    """The entry of a matrix product; its slots are A, B, C, workspace, where they start, and the descriptor."""
    product = generate(spec, f"{name}_product", module)
    product.linkage = "internal"
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [_POINTER, _POINTER, _INDEX]), name)
    table, slots, chunk = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))

    def word(place):
        return b.load(b.gep(slots, [_INDEX(place)], source_etype=_INDEX), typ=_INDEX)

    bases = [b.load(b.gep(table, [word(i)], source_etype=_POINTER), typ=_POINTER) for i in range(4)]
    pointers = [b.gep(base, [word(4 + i)], source_etype=ELEMENTS[spec.dtype]) for i, base in enumerate(bases[:3])]
    room = b.gep(bases[3], [b.mul(chunk, word(7))], source_etype=ir.IntType(8))
    descriptor = b.gep(slots, [_INDEX(8)], source_etype=_INDEX)
    b.call(product, [chunk, descriptor, *pointers, ir.Constant(_POINTER, None), room])
    b.ret_void()


def _problem(node, a, b):
    """The matrix product `node` of operands with steps `a` and `b`, with its batch dimensions."""
    shape, rank = node.shape, node.ndim
    c = row_major(shape)
    x, y = node.args

    def step(steps, argument, axis):
        at = axis - (rank - argument.ndim)
        return 0 if at < 0 or argument.shape[at] == 1 else steps[at]

    batch = tuple((shape[i], step(a, x, i), step(b, y, i), c[i]) for i in range(rank - 2))
    problem = Problem(name_of(node.dtype), shape[-2], shape[-1], x.shape[-1], a[-2:], b[-2:], c[-2:], batch)
    return problem.with_tall_rows()


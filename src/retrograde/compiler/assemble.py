"""Assembling: the steps of a schedule as launches of compiled units, with library calls where an op has no lowering."""

from dataclasses import replace

import numpy as np
from llvmlite import ir

from ..dtypes import name_of
from ..shapes import row_major
from . import threads
from .codegen.box import Box, Store
from .codegen.loop_plan import plan_loops
from .codegen.loops import write_loops
from .codegen.matmul import Problem, choose, generate
from .codegen.target import host
from .codegen.vecmath.elements import ELEMENTS
from .convolutions import convolution
from .expression import Expression, Load
from .launches import Launch, Scratch
from .library_call import LibraryCall
from .pools import pooling
from .sliding import is_convolution
from .units import unit_of

_POINTER, _INDEX = ir.PointerType(), ir.IntType(64)
#: A matrix product of more floating point operations than this is worth sharing.
_SHARED_FLOPS = 1_000_000
#: What one thread takes for one element of an entry of a loop, and for one operation of a matrix product; rough.
_ENTRY_SECONDS, _FLOP_SECONDS = 1e-10, 1.5e-11


def assemble(schedule, homes):
    """The steps of a schedule in order: launches and library calls.

    homes    for nodes that live in another buffer's memory, that buffer
    """
    assembler = _Assembler(schedule, homes)
    return [part for step in schedule.steps for part in assembler.parts(step)]


class _Assembler:
    def __init__(self, schedule, homes):
        self._schedule, self._homes, self._constants = schedule, homes, {}

    def parts(self, step):
        """What a step becomes."""
        if step.kind == "call":
            return [LibraryCall(step.roots[0])]
        if step.kind == "sliding":
            launches = convolution if is_convolution(step.roots[0]) else pooling
            return launches(step, self._layout, self._home, self._lasts(step))
        return self._loops(step) if step.kind == "loop" else [self._product(step)]

    def _lasts(self, step):
        return any(root in self._homes for root in step.roots)

    def _loops(self, step):
        plan = plan_loops(self._box(step), host())
        unit = unit_of(plan.key(), lambda module, name: write_loops(module, name, plan))
        scratch = {id(p): Scratch(p.nbytes) for p in plan.partials}
        if plan.tape is not None:
            scratch[id(plan.tape)] = Scratch(plan.tape.nbytes * plan.chunks)
        buffers = tuple(scratch.get(id(b), b) for b in plan.buffers)
        seconds = plan.box.size * len(plan.box.entries) * _ENTRY_SECONDS
        launch = Launch(step, unit, unit.name, buffers, tuple(plan.words), plan.chunks, self._lasts(step), seconds)
        return [launch, replace(launch, entry=f"{unit.name}_finish", chunks=1, seconds=0.0)] if plan.partials else [launch]

    def _product(self, step):
        node = step.roots[0]
        buffers, starts, steps = zip(*[self._layout(x) for x in node.args], strict=True)
        problem = _problem(node, *steps)
        plan = choose(host(), problem)
        chunks = threads.get_num_threads() if 2 * node.size * problem.k > _SHARED_FLOPS else 1
        size = -(-plan.workspace_bytes // 64) * 64
        unit = unit_of(("product", repr(plan.spec)), lambda module, name: _write_product(module, name, plan.spec), is_final=True)
        words = (*starts, 0, size, *plan.descriptor(chunks))
        slots = (*buffers, self._home(node), Scratch(chunks * size))
        seconds = 2 * node.size * problem.k * _FLOP_SECONDS
        return Launch(step, unit, unit.name, slots, words, chunks, self._lasts(step), seconds)

    def _layout(self, node):
        """(buffer, first element, steps per axis) of a node that is a view of memory."""
        if isinstance(node, np.ndarray):
            array = self._constants.setdefault(id(node), np.ascontiguousarray(node))
            return array, 0, row_major(array.shape)
        expression = Expression(node.shape, self._schedule.facts, lambda n: n in self._schedule.stored)
        load = expression.entries[expression.add(node)]
        return self._home(load.buffer), load.start, load.steps

    def _box(self, step):
        """The loops of a step, what they compute and what they store."""
        schedule = self._schedule
        expression = Expression(step.domain, schedule.facts, lambda node: schedule.is_loaded(node, step.stage))
        stores = []
        for root in step.roots:
            is_reduction = schedule.facts.kind(root) == "reduction"
            value = expression.add(root.args[0] if is_reduction else root)
            shape = tuple(1 if i in step.reduced else n for i, n in enumerate(step.domain)) if is_reduction else root.shape
            combine = root.op.name if is_reduction else None
            stores.append(Store(self._home(root), value, 0, _strides(shape), name_of(root.dtype), combine))
        entries = [replace(e, buffer=self._home(e.buffer)) if isinstance(e, Load) else e for e in expression.entries]
        is_reduced = tuple(i in step.reduced for i in range(len(step.domain)))
        return Box(step.domain, is_reduced, tuple(entries), tuple(stores))

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
    return Problem(name_of(node.dtype), shape[-2], shape[-1], x.shape[-1], a[-2:], b[-2:], c[-2:], batch)


def _strides(shape):
    return tuple(0 if n == 1 else step for n, step in zip(shape, row_major(shape), strict=True))

"""Assembling: the steps of a schedule as native code, with library calls between where an op has no lowering."""

from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from llvmlite import ir

from ..shapes import row_major
from . import threads
from .codegen.box import Box, Store
from .codegen.loops import FLAG, write_kernel
from .codegen.matmul import Problem, choose, generate
from .codegen.target import host
from .codegen.vecmath.elements import ELEMENTS
from .engine import engine, entry
from .expression import Expression, Load
from .lower import replaced
from .trace import PICK

_POINTER, _INDEX = ir.PointerType(), ir.IntType(64)
#: The first place of every table of pointers: the record of the threads that share parallel regions.
POOL = "pool"
#: A matrix product of more floating point operations than this is worth sharing.
_SHARED_FLOPS = 1_000_000


def assemble(schedule, homes, slot, scratch):
    """(segments, whether any is parallel, the LLVM module) of a schedule.

    homes    for nodes that live in another buffer's memory, that buffer
    slot     the place of a buffer in the table of pointers that native code is handed
    scratch  reserves memory for a buffer of the code's own
    """
    return _Assembler(schedule, homes, slot, scratch).assembled()


class _Assembler:
    def __init__(self, schedule, homes, slot, scratch):
        self._schedule, self._homes, self._slot, self._scratch = schedule, homes, slot, scratch
        self._number = engine().number()
        self._module = ir.Module(f"retrograde{self._number}")
        self._is_parallel, self.has_checks, self._products = False, False, {}

    def assembled(self):
        """All steps: runs of native ones as one function each."""
        parts, native = [], []
        for step in self._schedule.steps:
            if step.kind != "call":
                native.append(step)
                continue
            parts += [self._run(native, len(parts))] if native else []
            parts.append(LibraryCall(step.roots[0]))
            native = []
        parts += [self._run(native, len(parts))] if native else []
        if any(isinstance(part, str) for part in parts):
            if self._is_parallel:
                threads.pool()  # loads the functions that the module calls
            address = engine().compile(self._module)
            parts = [NativeRun(address(part)) if isinstance(part, str) else part for part in parts]
        return parts, self._is_parallel, self._module

    def _run(self, steps, place):
        """The name of a function that runs native steps in order."""
        name = f"retrograde_{self._number}_{place}"
        function = ir.Function(self._module, ir.FunctionType(ir.VoidType(), [_POINTER]), name)
        b = ir.IRBuilder(function.append_basic_block("entry"))
        was_parallel, self._is_parallel = self._is_parallel, False
        end = function.append_basic_block("end")
        for i, step in enumerate(steps):
            if self.has_checks and any(root in self._homes for root in step.roots):
                self._stop_if_flagged(b, function.args[0], end)
            write = self._loop if step.kind == "loop" else self._product
            write(b, function.args[0], step, f"kernel_{place}_{i}")
        b.branch(end)
        b.position_at_end(end)
        if self._is_parallel:
            b.call(self._declared("retrograde_rest", [_POINTER]), [self._pointer(b, function.args[0], POOL)])
        self._is_parallel = self._is_parallel or was_parallel
        b.ret_void()
        return name

    def _stop_if_flagged(self, b, table, end):
        """Write nothing that lasts once a check has failed."""
        flag = b.load(self._pointer(b, table, FLAG), typ=_INDEX)
        following = b.append_basic_block("following")
        b.cbranch(b.icmp_signed("==", flag, _INDEX(0)), following, end)
        b.position_at_end(following)

    def _loop(self, b, table, step, name):
        """Call the kernel of a step: at once, or chunk by chunk on all threads."""
        box = self._box(step)
        self.has_checks = self.has_checks or box.has_checks
        kernel = write_kernel(self._module, name, box, host())
        for partial in kernel.partials:
            self._scratch(partial, partial.nbytes)
        if kernel.chunks == 1:
            b.call(kernel.function, [*self._pointers(b, table, kernel), _INDEX(0)])
            return
        with self._shared(b, table, name, kernel.chunks) as (inner, inner_table, number):
            inner.call(kernel.function, [*self._pointers(inner, inner_table, kernel), number])
        if kernel.finish is not None:
            b.call(kernel.finish, self._pointers(b, table, kernel))

    @contextmanager
    def _shared(self, b, table, name, chunks):
        """What is written within it, with (builder, table, chunk number), runs for all chunks on all threads."""
        self._is_parallel = True
        chunk = ir.Function(self._module, ir.FunctionType(ir.VoidType(), [_POINTER, _INDEX]), f"{name}_chunk")
        chunk.linkage = "internal"
        inner = ir.IRBuilder(chunk.append_basic_block("entry"))
        yield inner, *chunk.args
        inner.ret_void()
        share = self._declared("retrograde_parallel", [_POINTER, _POINTER, _POINTER, _INDEX])
        b.call(share, [self._pointer(b, table, POOL), chunk, table, _INDEX(chunks)])

    def _product(self, b, table, step, name):
        """Call the matrix product of a step."""
        node = step.roots[0]
        operands = [self._layout(a) for a in node.args]
        problem = _problem(node, operands)
        plan = choose(host(), problem)
        if plan.spec not in self._products:
            self._products[plan.spec] = generate(plan.spec, name, self._module)
        entry_point = self._products[plan.spec]
        chunks = threads.get_num_threads() if 2 * node.size * problem.k > _SHARED_FLOPS else 1
        words = plan.descriptor(chunks)
        kind = ir.ArrayType(_INDEX, len(words))
        descriptor = ir.GlobalVariable(self._module, kind, f"{name}_descriptor")
        descriptor.initializer, descriptor.global_constant, descriptor.linkage = ir.Constant(kind, list(words)), True, "internal"
        space, size = _Workspace(), -(-plan.workspace_bytes // 64) * 64
        self._scratch(space, chunks * size)

        def call(b, table, number):
            pointers = [
                b.gep(self._pointer(b, table, base), [_INDEX(start)], source_etype=ELEMENTS[node.dtype.name])
                for base, start, _ in (*operands, (self._home(node), 0, None))
            ]
            room = b.gep(self._pointer(b, table, space), [b.mul(number, _INDEX(size))], source_etype=ir.IntType(8))
            b.call(entry_point, [number, descriptor, *pointers, ir.Constant(_POINTER, None), room])

        if chunks == 1:
            call(b, table, _INDEX(0))
        else:
            with self._shared(b, table, name, chunks) as (inner, inner_table, number):
                call(inner, inner_table, number)

    def _layout(self, node):
        """(buffer, first element, steps per axis) of a node that is a view of memory."""
        expression = Expression(node.shape, self._schedule.facts, lambda n: n in self._schedule.stored)
        load = expression.entries[expression.add(node)]
        return self._home(load.buffer), load.start, load.steps

    def _pointers(self, b, table, kernel):
        return [self._pointer(b, table, buffer) for buffer in kernel.buffers]

    def _pointer(self, b, table, buffer):
        where = b.gep(table, [_INDEX(self._slot(buffer))], source_etype=_POINTER)
        return b.load(where, typ=_POINTER)

    def _declared(self, name, arguments):
        """A function of another module that returns nothing."""
        found = self._module.globals.get(name)
        return found or ir.Function(self._module, ir.FunctionType(ir.VoidType(), arguments), name)

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
            stores.append(Store(self._home(root), value, 0, _strides(shape), root.dtype.name, combine))
        entries = [replace(e, buffer=self._home(e.buffer)) if isinstance(e, Load) else e for e in expression.entries]
        is_reduced = tuple(i in step.reduced for i in range(len(step.domain)))
        return Box(step.domain, is_reduced, tuple(entries), tuple(stores))

    def _home(self, buffer):
        return buffer if isinstance(buffer, np.ndarray) else self._homes.get(buffer, buffer)


class _Workspace:
    """Room for the panels of one matrix product."""


def _problem(node, operands):
    """The matrix product `node` of laid out operands, with its batch dimensions."""
    (_, _, a), (_, _, b) = operands
    shape, rank = node.shape, node.ndim
    c = row_major(shape)
    x, y = node.args

    def step(steps, argument, axis):
        at = axis - (rank - argument.ndim)
        return 0 if at < 0 or argument.shape[at] == 1 else steps[at]

    batch = tuple((shape[i], step(a, x, i), step(b, y, i), c[i]) for i in range(rank - 2))
    return Problem(node.dtype.name, shape[-2], shape[-1], x.shape[-1], a[-2:], b[-2:], c[-2:], batch)


class NativeRun:
    """Consecutive native steps, as one call."""

    def __init__(self, address):
        self._run = entry(address)

    def __call__(self, table, _):
        self._run(table)


class LibraryCall:
    """A step that has no lowering: the op's own kernel, on arrays."""

    def __init__(self, node):
        self.node = node

    def __call__(self, _, arrays):
        node = self.node
        args = replaced(node.args, lambda a: self._array(a, arrays))
        result = args[0][args[1]] if node.op is PICK else node.op.kernel(*args)
        if node.shape is None:
            arrays[node] = result
        else:
            np.copyto(arrays[node], result)

    def _array(self, node, arrays):
        """The array of a node: in memory, or a view of what is."""
        return arrays[node] if node in arrays else node.op.kernel(self._array(node.args[0], arrays), *node.args[1:])


def _strides(shape):
    return tuple(0 if n == 1 else step for n, step in zip(shape, row_major(shape), strict=True))

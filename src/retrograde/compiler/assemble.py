"""Assembling: the steps of a schedule as launches of compiled units, with library calls where an op has no lowering."""

from functools import partial
from importlib import import_module
from math import prod

import numpy as np

from ..core.dispatch import operands_of
from ..dtypes import name_of, parts_dtype
from . import threads
from .codegen.loop_plan import Rows, plan_loops
from .codegen.loops import write_loops
from .codegen.target import host
from .expression import Load
from .kinds import RUNNING, scattered
from .launches import Launch
from .library_call import LibraryCall
from .loop_call import LoopCall
from .pipeline import planned_body
from .random_plan import plan_of
from .repeat import Repeat
from .repetition import Loop
from .sliding import is_convolution
from .strands import Strands
from .table import FLAG, Scratch
from .units import unit_of

#: What one thread takes for one cheap entry of a loop; rough.
_ENTRY_SECONDS = 1e-10
#: Frames are bits of a word.
_MOST_FRAMES = 62


def assemble(draft):
    """The steps of a draft in order: launches and library calls."""
    return _Assembler(draft).all_parts()


class _Assembler:
    """Of the steps of the body of a loop, `before` are launches to run before its first iteration."""

    def __init__(self, draft):
        self._schedule, self._accesses, self._home = draft.schedule, draft.accesses, draft.home
        self._homes, self._body, self.before = draft.homes, draft.body, []

    def all_parts(self):
        """What the steps become, in order."""
        return [part for step in self._schedule.steps for part in self.parts(step)]

    def parts(self, step):
        """What a step becomes."""
        if step.kind == "call":
            return self._repeat(step) if isinstance(step.roots[0].op, Loop) else [LibraryCall(step.roots[0])]
        if step.nest is not None:
            return self._nest(step.nest) if step is step.nest.steps[0] else []
        return getattr(self, f"_{step.kind}")(step)

    def _sliding(self, step):
        make = _loaded("convolutions").convolution if is_convolution(step.roots[0]) else _loaded("pools").pooling
        return make(step, partial(self._layout, step), self._home, self._lasts(step))

    def _attention(self, step):
        return _loaded("attention").attention(step, partial(self._layout, step), self._home, self._lasts(step))

    def _solver(self, step):
        return _loaded("solving").solver(step, partial(self._layout, step), self._home, self._lasts(step))

    def _repeat(self, step):
        """A loop as a native step; from Python if something in its body has no lowering."""
        draft = planned_body(step, self._home)
        inner = _Assembler(draft)
        parts = inner.all_parts()
        if not all([isinstance(part, (Launch, Repeat)) for part in parts]):
            return [LoopCall(step)]
        return [*inner.before, (Strands if draft.is_in_strands else Repeat)(draft, parts)]

    def _lasts(self, step):
        return any(root in self._homes for root in step.roots)

    def _nest(self, nest):
        """All passes of a nest as one launch, after those that pack what its products share."""
        nest.frames = min(threads.get_num_threads(), nest.chunks, _MOST_FRAMES)
        local = {id(node): (nest.block_bytes(node), place) for node, place in nest.local.items()}
        frames, panels, launches = Scratch(nest.frame * nest.frames), {}, []
        for step in nest.steps:
            if step.kind == "matmul":
                product = self._accesses.product(step)
                launches += _loaded("products").rows_launches(step, product, nest, self._home, self._lasts(step), panels)
            elif step.kind == "random":
                launches += self._random(step, nest, local)
            else:
                launches += self._loop(step, Rows(nest.rows, nest.block, nest.frame, local))
        launches = [
            launch._replace(buffers=tuple([frames if id(b) in local else b for b in launch.buffers])) for launch in launches
        ]
        return [
            *self._once([launch for launch in launches if launch.role == "pack"]),
            _turns([launch for launch in launches if not launch.role], nest),
            *[launch for launch in launches if launch.role == "finish"]]

    def _once(self, packing):
        """What packs the matrices of a nest: before the loop in whose body it is, where a matrix is the same in each iteration."""
        body, here = self._body, []
        for launch in packing:
            matrix, _, panels, _ = launch.buffers
            fixed = None if body is None else matrix if isinstance(matrix, np.ndarray) else body.fixed(matrix)
            if fixed is None:
                here.append(launch)
                continue
            self.before.append(launch._replace(step=body.step, buffers=(fixed, fixed, panels, panels)))
            body.keep(panels)
        return here

    def _loop(self, step, rows=None):
        plan = plan_loops(self._box(step), host(), rows)
        unit = unit_of(plan.key(), lambda module, name: write_loops(module, name, plan))
        scratch = {id(p): Scratch(p.nbytes) for p in plan.partials}
        if plan.tape is not None:
            scratch[id(plan.tape)] = Scratch(plan.tape.nbytes * plan.chunks)
        buffers = tuple(scratch.get(id(b), b) for b in plan.buffers)
        seconds = plan.work * _ENTRY_SECONDS
        launch = Launch(step, unit, unit.name, buffers, tuple(plan.words), plan.chunks, self._lasts(step), seconds)
        if not plan.partials:
            return [launch]
        return [launch, launch._replace(entry=f"{unit.name}_finish", chunks=1, seconds=0.0, role="finish")]

    def _scatter(self, step):
        scatter, node = _loaded("codegen.scatter"), step.roots[0]
        x, positions, axis = scattered(node)
        buffers = [self._layout(step, a)[0] for a in (x, positions)]
        plan = scatter.ScatterPlan(
            name_of(node.dtype), name_of(positions.dtype), host().lanes(name_of(node.dtype)), prod(node.shape[:axis]),
            prod(positions.shape), node.shape[axis], prod(node.shape[axis + 1 :]))
        return self._launched(
            step, plan, scatter.write_scatter, (*buffers, self._home(node), FLAG), (x.size + node.size) * _ENTRY_SECONDS)

    def _running(self, step):
        running, node = _loaded("codegen.running"), step.roots[0]
        read = operands_of(node.op, node.args)
        buffers = [self._layout(step, x)[0] for x in read]
        axis, dtype, width = node.args[len(read)] % node.ndim, name_of(parts_dtype(node.dtype)), 2 if node.dtype.kind == "c" else 1
        sizes = prod(node.shape[:axis]), node.shape[axis], prod(node.shape[axis + 1 :]) * width
        plan = running.RunningPlan(dtype, host().lanes(dtype), *RUNNING[node.op.name], *sizes, width)
        return self._launched(step, plan, running.write_running, (*buffers, self._home(node)), node.size * 10 * _ENTRY_SECONDS)

    def _transform(self, step):
        return _loaded("transforms").transform(step, partial(self._layout, step), self._home, self._lasts(step))

    def _ranking(self, step):
        ranking, node = _loaded("codegen.ranking"), step.roots[0]
        x, ranked, _, is_greatest = node.args
        dtype = name_of(x.dtype)
        plan = ranking.RankingPlan(dtype, host().lanes(dtype), bool(is_greatest), prod(x.shape[:-1]), x.shape[-1], ranked)
        slots = self._layout(step, x)[0], self._home(node)
        return self._launched(step, plan, ranking.write_ranking, slots, x.size * 10 * _ENTRY_SECONDS)

    def _selection(self, step):
        selection, node = _loaded("codegen.selection"), step.roots[0]
        (x, ranks), dtype = node.args, name_of(node.args[0].dtype)
        apart = ranks.shape[-1] if len(ranks.shape) > 1 else 0
        plan = selection.SelectionPlan(dtype, host().lanes(dtype), prod(x.shape[:-1]), x.shape[-1], ranks.shape[-1], apart)
        slots = (*[self._layout(step, a)[0] for a in (x, ranks)], self._home(node))
        return self._launched(step, plan, selection.write_selection, slots, x.size * 40 * plan.ranks * _ENTRY_SECONDS)

    def _launched(self, step, plan, write, slots, seconds):
        """The launch of a pass by its plan, whose code `write(module, name, plan)` writes."""
        unit = unit_of(plan.key, lambda module, name: write(module, name, plan))
        return [Launch(step, unit, unit.name, slots, plan.words, plan.chunks, self._lasts(step), seconds)]

    def _random(self, step, nest=None, local=()):
        node = step.roots[0]
        plan, (state, _, _) = plan_of(node), self._layout(step, node.args[0])
        if nest is not None:
            moves = (nest.frame, *local[id(node)]) if id(node) in local else (0, 0, 0)
            plan = plan._replace(block=node.size // nest.rows * nest.block, moves=moves)
        return [plan.launch(step, state, self._home(node), self._lasts(step))]

    def _matmul(self, step):
        products, product, body = _loaded("products"), self._accesses.product(step), self._body
        matrix = None if body is None else body.fixed(product.b[0])
        if matrix is None or not products.packs_matrix(product.problem):
            return [products.product_launch(step, product, self._home, self._lasts(step))]
        packing, launch = products.packed_launches(step, product, self._home, body.step, matrix)
        self.before.append(packing)
        body.keep(packing.buffers[-1])
        return [launch]

    def _layout(self, step, node):
        """(where the memory is, first element, steps per axis) of a node that is a view of memory which a step reads."""
        buffer, start, steps = self._accesses.layout(step, node)
        return self._home(buffer), start, steps

    def _box(self, step):
        """The loops of a step, with the memory where its buffers live."""
        box = self._accesses.box(step)
        entries = tuple([e._replace(buffer=self._home(e.buffer)) if isinstance(e, Load) else e for e in box.entries])
        return box._replace(entries=entries, stores=tuple([s._replace(buffer=self._home(s.buffer)) for s in box.stores]))


def _loaded(module):
    """What makes the launches of a kind of pass that few programs have. It is loaded where there is one: loading all takes longer
    than planning a small program.
    """
    return import_module(f"{__package__}.{module}")


def _turns(passes, nest):
    """One launch in which passes take turns."""
    buffers = tuple([b for launch in passes for b in launch.buffers])
    return passes[0]._replace(
        unit=None, entry="", buffers=buffers, words=(), chunks=nest.chunks, lasts=any([p.lasts for p in passes]),
        seconds=sum([p.seconds for p in passes]), passes=tuple(passes))

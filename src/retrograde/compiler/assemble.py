"""Assembling: the steps of a schedule as launches of compiled units, with library calls where an op has no kernel."""

import numpy as np

from . import threads
from .expression import Load
from .launches import Launch
from .loop_call import LoopCall
from .passes import Passes
from .repeat import Body, Repeat
from .strands import Strands, form_strands
from .table import Scratch

#: Frames are bits of a word.
_MOST_FRAMES = 62


def assemble(schedule, passes, homes, target):
    """The steps of a schedule in order: launches of code for a target, and library calls.

    passes  what its steps do to memory
    homes   for nodes that live in another buffer's memory, that buffer
    """
    assembler = Assembler(schedule, passes, homes, target)
    return [part for step in schedule.steps for part in assembler.parts(step)]


class Assembler:
    """What kernels ask for their launches: where buffers are, in what loop, and for which `target`. `body` is the body of the loop
    whose steps these are, None outside of loops; `before` are launches to run before its first iteration.
    """

    def __init__(self, schedule, passes, homes, target, body=None):
        self._schedule, self._passes, self._homes = schedule, passes, homes
        self.target, self.body, self.before = target, body, []

    def parts(self, step):
        """What a step becomes."""
        if step.nest is not None:
            return self._nest(step.nest) if step is step.nest.steps[0] else []
        return step.kernel.launches(step, self)

    def home(self, buffer):
        """Where a buffer lives."""
        return buffer if isinstance(buffer, np.ndarray) else self._homes.get(buffer, buffer)

    def lasts(self, step):
        """Whether a step writes what outlives the program."""
        return any(root in self._homes for root in step.roots)

    def layout(self, step, node):
        """(where the memory is, first element, steps per axis) of a node that is a view of memory which a step reads."""
        buffer, start, steps = self._passes.layout(step, node)
        return self.home(buffer), start, steps

    def product(self, step):
        """The matrix product of a step."""
        return self._passes.product(step)

    def box(self, step):
        """The loops of a step, with the memory where its buffers live."""
        box = self._passes.box(step)
        entries = tuple([e._replace(buffer=self.home(e.buffer)) if isinstance(e, Load) else e for e in box.entries])
        return box._replace(entries=entries, stores=tuple([s._replace(buffer=self.home(s.buffer)) for s in box.stores]))

    def repeated(self, step):
        """A loop as a native step; from Python if something in its body has no kernel."""
        body = Body(step, self.home)
        passes = Passes(body.schedule)
        is_in_strands = form_strands(body, passes)
        inner = Assembler(body.schedule, passes, {}, self.target, body)
        parts = [part for step in body.schedule.steps for part in inner.parts(step)]
        if not all([isinstance(part, (Launch, Repeat)) for part in parts]):
            return [LoopCall(step)]
        return [*inner.before, (Strands if is_in_strands else Repeat)(body, parts, self.target)]

    def _nest(self, nest):
        """All passes of a nest as one launch, after those that pack what its products share."""
        nest.frames = min(threads.get_num_threads(), nest.chunks, _MOST_FRAMES)
        frames, panels = Scratch(nest.frame * nest.frames), {}
        local = {id(node) for node in nest.local}
        launches = [launch for step in nest.steps for launch in step.kernel.rows_launches(step, nest, self, panels)]
        launches = [
            launch._replace(buffers=tuple([frames if id(b) in local else b for b in launch.buffers])) for launch in launches
        ]
        return [
            *self._once([launch for launch in launches if launch.role == "pack"]),
            _in_turns([launch for launch in launches if not launch.role], nest),
            *[launch for launch in launches if launch.role == "finish"]]

    def _once(self, packing):
        """What packs the matrices of a nest: in the body of a loop, where they are the same in each iteration, before that loop."""
        body = self.body
        if body is None:
            return packing
        for launch in packing:
            matrix, _, panels, _ = launch.buffers
            matrix = matrix if isinstance(matrix, np.ndarray) else body.fixed(matrix)
            self.before.append(launch._replace(step=body.step, buffers=(matrix, matrix, panels, panels)))
            body.keep(panels)
        return []


def _in_turns(passes, nest):
    """One launch in which passes take turns."""
    buffers = tuple([b for launch in passes for b in launch.buffers])
    return passes[0]._replace(
        unit=None, entry="", buffers=buffers, words=(), chunks=nest.chunks, lasts=any([p.lasts for p in passes]),
        seconds=sum([p.seconds for p in passes]), passes=tuple(passes))

"""What the compiler decides about a program, as lines: its graph after the passes, its steps, its launches and their code.

Nothing is compiled and nothing runs, so that a program takes some hundredths of a second, and code for any target can be told of.
"""

import hashlib
import re

import numpy as np

from retrograde.compiler.backends.cpu.backend import BACKEND
from retrograde.compiler.backends.cpu.build import code_of
from retrograde.compiler.backends.cpu.interchanged import InterchangedLoop
from retrograde.compiler.backends.cpu.launches import Launch
from retrograde.compiler.backends.cpu.loop_launch import LoopLaunch
from retrograde.compiler.backends.cpu.units import Unit
from retrograde.compiler.graph.keys import NoKeyError, key_of
from retrograde.compiler.inspection.inspection import Inspected
from retrograde.compiler.inspection.stages import Stages, stages_of
from retrograde.compiler.kernels.kernel import Scratch
from retrograde.compiler.pipeline import PASSES, planned
from retrograde.compiler.run.program import Graph
from retrograde.compiler.trace.trace import Trace
from retrograde.core.mode import changed
from retrograde.core.symbol import Symbol
from retrograde.core.value import Value
from retrograde.ops._arrays import arrays
from retrograde.tensor.shown import shown
from retrograde.transforms.loop_tracing import traced_scan

#: The names of units, which stand for all that they depend on, also the version of the package.
_NAME = re.compile(r"retrograde_[0-9a-f]{32}")
#: Of longer graphs a checksum is told.
_MOST_LINES = 60
_LAST = PASSES[-1].name
_INSTRUCTION = re.compile(r"^  \S", re.MULTILINE)


def graph_of(function, operands):
    """The `Graph` of a function of arrays, or specs of arrays: (shape, dtype)."""
    leaves = [Symbol(None, (), shape, np.dtype(dtype)) for shape, dtype in operands]
    trace = Trace()
    trace.scan, trace.shown = traced_scan, shown
    try:
        with changed(tracer=trace):
            found = function(*[arrays.made(leaf) for leaf in leaves])
            results = [_symbol(value) for value in (found if isinstance(found, (tuple, list)) else [found])]
            held = [trace.symbol(gradient.now) for gradient in trace.outer_gradients() if gradient.now is not None]
        state = [capture.start for capture in trace.captured()]
        return Graph(leaves, state, results, [(capture.start, capture.now) for capture in trace.changed()], held)
    finally:
        trace.fail()
        trace.restore()


def _symbol(value):
    return value.raw if isinstance(value, Value) else value


def told(graph, target):
    """The lines of a graph's program for a target."""
    lines = []
    for stage in stages_of(graph):
        # What a pass leaves is seen in what the last one leaves.
        if stage.name.endswith(_LAST):
            passed = [line[2:] for line in stage.lines]
            lines.append(f"{stage.name.removesuffix(_LAST)}passes:")
            lines += passed if len(passed) <= _MOST_LINES else [f"{len(passed)} lines, {checksum(chr(10).join(passed))}"]
    draft = planned(graph)
    parts = BACKEND.written(draft, target)
    launches = [part for part in parts if isinstance(part, (Launch, LoopLaunch))]
    units = {unit.name: unit for part in launches for unit in part.units}
    code, numbers = code_of(graph, draft, parts, units), {name: f"unit {number}" for number, name in enumerate(units)}
    segments = ", ".join(["{}+{}".format(*found) if found.__class__ is tuple else "a call of Python" for found in code.segments])
    lines.append(f"memory: {code.layout.arena_bytes} bytes, {'parallel' if code.is_parallel else 'one thread'}, steps {segments}")
    lines += [line for part in parts for line in _of_part(part, numbers)]
    # A unit may have several functions, whose names begin with its own.
    functions = {place: _NAME.sub(lambda unit: numbers[unit.group()], name) for place, name in code.words.functions.items()}
    words = (code.words.numbers, code.words.places, sorted(functions.items()), code.steps)
    lines.append(f"tables: {len(code.words.numbers)} words, {checksum(str(words))}")
    lines += [f"{numbers[name]}: {of_code(unit)}" for name, unit in units.items()]
    lines.append(f"key: {_key(graph)}")
    return lines + str(_Planned(graph, draft, parts, code.layout.arena_bytes).explain()).splitlines()


def passes_of(draft):
    """The graph and the steps of a draft."""
    found = []
    Stages("", found)("", draft)
    return [line[2:] for line in found[0].lines]


class _Planned(Inspected):
    """What `explain` tells of, before anything is compiled."""

    def __init__(self, graph, draft, parts, arena_bytes):
        self.graph, self.draft, self.parts, self.arena_bytes = graph, draft, parts, arena_bytes


def _key(graph):
    try:
        text, constants = key_of(graph)
    except NoKeyError:
        return "none"
    return f"{checksum(text)}, {len(constants)} constants"


def checksum(text):
    """Some digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def _of_part(part, numbers, indent=""):
    """What launches part of a program."""
    if isinstance(part, LoopLaunch):
        yield f"{indent}{'interchanged ' if isinstance(part, InterchangedLoop) else ''}loop: {part.row_chunks} chunks, {part.shared_seconds:.2e} s"
        for launch in part.launches:
            yield from _of_part(launch, numbers, f"{indent}  ")
    elif not isinstance(part, Launch):
        yield f"{indent}{part.__class__.__name__} of {(part.node if part.step is None else part.step.roots[0]).op.name}"
    else:
        role, lasts = f", {part.role}" if part.role else "", ", lasts" if part.lasts else ""
        facts = f"{part.chunks} chunks, {part.seconds:.2e} s{role}{lasts}"
        if part.passes:
            nest = part.step.nest
            yield f"{indent}nest: {facts}, {nest.blocks} blocks, {nest.chunk_blocks} a chunk, {nest.frames} frames of {nest.frame} bytes"
            for launch in part.passes:
                yield from _of_part(launch, numbers, f"{indent}  ")
        else:
            words = ", ".join([numbers[word.name] if word.__class__ is Unit else str(word) for word in part.words])
            sizes = ", ".join([str(buffer.nbytes) for buffer in part.buffers if isinstance(buffer, Scratch)])
            yield f"{indent}{numbers[part.unit.name]}: {facts}, words ({words}){f', scratch ({sizes})' if sizes else ''}"


def of_code(unit):
    """How much code a unit is, and what stands for it."""
    text = _NAME.sub("unit", unit.text)
    return f"{len(_INSTRUCTION.findall(text))} instructions{' as they are' if unit.is_final else ''}, {checksum(text)}"

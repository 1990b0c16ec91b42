"""Looking at compiled code: which kernels there are, what was fused into each, what each moves, computes and takes."""

import time
from math import prod
from typing import NamedTuple

from ...core.symbol import Symbol


class Kernel(NamedTuple):
    """One kernel of a program: a loop nest, passes that run block by block over the same rows, a matrix product, sliding windows,
    attention, a solver of linear algebra, a library call, a loop that repeats kernels; or what packs an operand of another kernel
    or finishes its sums.

    ops      what is computed in it, in order
    domain   the lengths of its loops
    results  (op, shape, dtype) of what it writes
    nbytes   bytes that it reads and writes at least
    flops    floating point operations; an elementwise function counts as one
    chunks   how many pieces may run at the same time
    seconds  the shortest time that was seen, None if it was not measured
    inside   of a loop, the kernels that run in each iteration
    """

    number: int
    kind: str
    ops: tuple
    domain: tuple
    results: tuple
    nbytes: int
    flops: int
    chunks: int
    units: tuple
    seconds: float | None = None
    inside: tuple = ()

    @property
    def llvm(self):
        """The LLVM code."""
        return "\n".join([unit.text for unit in self.units])

    @property
    def assembly(self):
        """The machine code, as text."""
        return "\n".join([unit.assembly for unit in self.units])

    def __str__(self):
        made = ", ".join(f"{op} {dtype}{list(shape)}" for op, shape, dtype in self.results)
        made = made or ("several results" if self.kind == "library" else "")
        counts = {}
        for op in self.ops:
            counts[op] = counts.get(op, 0) + 1
        fused = " ".join(f"{op}×{n}" if n > 1 else op for op, n in counts.items())
        loops = "×".join(map(str, self.domain)) or "1"
        line = f"{self.number:3} {self.kind:7} {loops:14} {_short(self.nbytes):>7}B {_short(self.flops):>7}flop"
        if self.seconds:
            speed, flow = self.flops / self.seconds / 1e9, self.nbytes / self.seconds / 1e9
            line += f" {self.seconds * 1e6:9.1f} µs {speed:7.1f} Gflop/s {flow:6.1f} GB/s"
        return "\n    ".join([f"{line}  {fused}" + (f"  → {made}" if made else ""), *map(str, self.inside)])


class Report(NamedTuple):
    """The kernels of a program in order, the bytes of memory that it keeps to itself, and what `passes` left if that was asked."""

    kernels: tuple
    arena_bytes: int
    passes: tuple = ()

    def __str__(self):
        total = sum(k.seconds for k in self.kernels if k.seconds is not None)
        end = f"{len(self.kernels)} kernels, {_short(self.arena_bytes)}B of memory between them"
        return "\n".join([*map(str, (*self.passes, *self.kernels)), end + (f", {total * 1e6:.1f} µs" if total else "")])


def explained_program(program, seconds=None):
    """The report of a program; `seconds` holds a time for each of its parts."""
    kernels = []
    for i, part in enumerate(program.parts):
        kernels.append(_kernel(i, part, program.schedule, None if seconds is None else seconds[i]))
    return Report(tuple(kernels), program.arena_bytes)


def measured(runs, repeats):
    """The shortest time of each of the functions `runs` over `repeats` runs of all."""
    best = [float("inf")] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.perf_counter()
            run()
            # The shortest of several: whatever else the machine does only adds to it.
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def _kernel(number, part, schedule, seconds):
    if part.step is None:
        read = [a for a in part.node.inputs if a.shape is not None]
        made = [part.node]
        # What NumPy does inside is not known, so that no work is claimed.
        return Kernel(number, "library", (part.node.op.name,), (), _results(made), _bytes([*read, *made]), 0, 1, (), seconds)
    if part.chunks == 0:
        return _repeat(number, part, seconds)
    return _launched(number, part, schedule, seconds)


def _launched(number, part, schedule, seconds):
    """A launch: one step, or the passes of a nest."""
    steps = [launch.step for launch in part.passes] or [part.step]
    computed = [n for step in steps for n in _computed(schedule, step)]
    ops = tuple(n.op.name for n in computed if schedule.facts.kind(n).index_map(n, schedule.facts) is None)
    domain, units = max([step.kernel.loops(step) for step in steps], key=prod), tuple(part.units)
    if part.role:
        # What packs or finishes belongs to another kernel, which counts the work and the bytes.
        return Kernel(number, part.role, ops, domain, (), 0, 0, part.chunks, units, seconds)
    local = steps[0].nest.local if part.passes else ()
    made = [root for step in steps for root in step.roots if root not in local]
    # Steps of a nest hand results to each other in frames: these are read from memory by nobody.
    read = {n for step in steps for n in _read(schedule, step)} - {root for step in steps for root in step.roots}
    kind, flops = "rows" if part.passes else part.step.kernel.name, _flops(schedule, computed)
    return Kernel(number, kind, ops, domain, _results(made), _bytes([*read, *made]), flops, part.chunks, units, seconds)


def _results(nodes):
    return tuple((node.op.name, node.shape, str(node.dtype)) for node in nodes if node.shape is not None)


def _repeat(number, part, seconds):
    """A loop: its kernels are those of its body, in each iteration."""
    schedule, iterations = part.draft.schedule, part.body.loop.length or 1
    inside = [_kernel(i, launch, schedule, None) for i, launch in enumerate(part.launches)]
    nbytes, flops = (iterations * sum(getattr(kernel, name) for kernel in inside) for name in ("nbytes", "flops"))
    ops = tuple(name for kernel in inside for name in kernel.ops)
    made = _results(part.step.roots[1:])
    chunks = part.row_chunks
    return Kernel(number, "repeat", ops, (iterations,), made, nbytes, flops, chunks, tuple(part.units), seconds, tuple(inside))


def _computed(schedule, step):
    return step.kernel.computed(step, schedule)


def _read(schedule, step):
    found, inside, facts = set(), set(_computed(schedule, step)), schedule.facts
    for node in inside:
        memory = facts.kind(node).memory(node, facts)
        found.update(node.inputs if memory is None else memory)
    return [n for n in found if n not in inside and n.shape is not None]


def _flops(schedule, nodes):
    total, makers = 0, set()
    for node in nodes:
        kind = schedule.facts.kind(node)
        maker = kind.maker(node) if kind.kernel is kind else None
        if maker is None or maker not in makers:  # a kernel of several results does its work once
            total += kind.flops(node)
            makers.add(maker)
    return total


def _bytes(nodes):
    return sum(n.size * n.dtype.itemsize for n in nodes if isinstance(n, Symbol) and n.shape is not None)


def _short(number):
    for scale, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            return f"{number / scale:.3g} {unit}"
    return f"{number} "

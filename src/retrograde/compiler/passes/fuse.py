"""Fuse: which nodes are computed together by one kernel, and which results are written to memory at all.

Takes  a graph of primitive nodes.
Gives  a `Schedule`: steps in order, each a loop over a domain, or one kernel of another kind; nodes that are stored.
Keeps  each stored node has one step that makes it, after those that make what it reads; what the graph gives is stored.

Every node has a stage: how many passes over memory must be over before it can be computed. Elementwise ops and views cost no stage;
a reduction, a matrix product and a library call end one. Nodes of one stage over one domain become one kernel. A value that is
cheap to compute again is computed again by each kernel that needs it; an expensive one is kept.
"""

from dataclasses import dataclass, field
from functools import cached_property

from ...core.symbol import Symbol
from .. import cost
from ..index.rounded import rounded_values
from ..kinds import Facts
from .loops import Loops
from .parted import parted
from .recomputed import met_at_several_places


@dataclass(eq=False)
class Step:
    """One pass of a kernel: its stored results, the domain of its loops and which of its axes are reduced, if it has loops, and the
    `nest` that it is part of.
    """

    kernel: object
    stage: int
    roots: list = field(default_factory=list)
    domain: tuple = ()
    reduced: tuple = ()
    nest: object = None


class Schedule:
    """The steps that compute `Outputs`, in order; nodes that are `stored` have memory.

    facts    what is known of nodes, some of which may have been in another schedule
    stored   nodes that are to be stored whether or not they need be
    unmoved  those among them that are not to be computed at other places than their own, but read there
    is_short  whether layers are left out of the graph (see `graph.shortened`)
    """

    def __init__(self, outputs, facts=None, stored=frozenset(), unmoved=frozenset(), is_short=False):
        self.outputs, self.facts, self._is_short = outputs, facts or Facts(), is_short
        self.nodes = outputs.nodes
        self.stored = {n for n in outputs if isinstance(n, Symbol)} | self._needed_in_memory() | stored
        self.steps, self._read, self._computed = [], {}, {}
        #: The products that are not fused with sums in any kernel, and results of half precision that are rounded in all.
        self.rounded = rounded_values(self.nodes, self.facts)
        self._unmoved = set(unmoved)
        while True:
            # What is stored changes stages, and stages what several steps compute: again until nothing is added. Nodes are only
            # ever added, so it ends.
            self._stages = self._staged()
            self._available = self._available_from()
            self.steps, self._computed = self._grouped(), {}
            self.loops = Loops(self.nodes, self.steps, self._available)
            expensive = self._expensive_and_shared()
            if not expensive:
                # Asked last, since it follows all views of all loops: most graphs are done by then.
                expensive = met_at_several_places(self, self._is_expensive) - self._unmoved
                self._unmoved |= expensive
            if not expensive:
                break
            self.stored |= expensive

    def remade(self, outputs, made):
        """The schedule of `outputs` whose nodes are those of this one, but that some are `made` anew. What was worth storing here
        is stored there at once: to find that out again takes as long as all else.
        """
        self.facts.hand_on(made)
        stored, unmoved = ({made[node] for node in nodes if node in made} for nodes in (self.stored, self._unmoved))
        return Schedule(outputs, self.facts, stored, unmoved, self._is_short)

    @cached_property
    def places(self):
        """The place of each node in an order that has arguments first."""
        return {node: place for place, node in enumerate(self.nodes)}

    def _needed_in_memory(self):
        """Results of passes, and what matrix products, calls and inexpressible views read."""
        found = set()
        for node in self.nodes:
            kind = self.facts.kind(node)
            if kind.is_work:  # most nodes
                continue
            if kind.is_always_stored(node, self.facts):
                found.add(node)
            if (memory := kind.memory(node, self.facts)) is not None:
                found.update(memory)
            elif (shown := kind.shown(node, self.facts)) is not None:
                found.add(shown)
        return found

    def _staged(self):
        """The stage of each node: of its kernel if it is stored, of its value if it is computed where it is needed."""
        stages, usable = {}, {}  # usable: from which stage on others can use a node, where it is and at other places
        # One dictionary serves both while nothing is kept from being moved, as in nearly all graphs.
        moved = {} if self._unmoved else usable
        for node in self.nodes:
            kind = self.facts.kind(node)
            if kind.is_work and not self._unmoved:  # most nodes: nothing but the operands, which the loop computes
                stage = 0
                for a in node.inputs:
                    if usable[a] > stage:  # noqa: PLR1730 - to call `max` takes twice as long
                        stage = usable[a]
                stages[node] = usable[node] = stage
                continue
            if (memory := kind.memory(node, self.facts)) is not None:
                read = [self._in_memory(a, stages) for a in memory]
            else:
                known = moved if kind.is_moving else usable
                read = [known[a] for a in node.inputs]
                if (shown := kind.shown(node, self.facts)) is not None:
                    read.append(self._in_memory(shown, stages))
            stages[node] = stage = max(read, default=0)
            # A loop hands a value on within itself, so its user may have the same stage; what ends a pass is read by a later one.
            usable[node] = stage + self._is_apart(node, kind)
            if self._unmoved:
                moved[node] = self._moved(node, kind, stage, moved) + self._is_apart(node, kind)
        return stages

    def _moved(self, node, kind, stage, moved):
        """From which stage on a node can be read at other places: what is not to be computed there must be in memory."""
        if node in self._unmoved:
            return stage + 1
        return max([moved[a] for a in node.inputs], default=0) if kind.is_work else stage

    def _is_apart(self, node, kind):
        """Whether a node of a kind is found in memory only, once the pass that makes it is over."""
        return kind.is_apart or (node in self.stored and kind.tiles(node, self.facts) is not None)

    @staticmethod
    def _in_memory(node, stages):
        return 0 if node.op is None else stages[node] + 1

    def _grouped(self):
        groups = {}
        for node in self.nodes:
            if node not in self.stored or node.op is None:
                continue
            kind, stage = self.facts.kind(node), self._stages[node]
            # Steps in the order of their first results, so that equal graphs have equal schedules, and equal code.
            domain, reduced = kind.domain(node, self.facts)
            key = kind.kernel.group(node, stage, domain, reduced)
            groups.setdefault(key, Step(kind.kernel, stage, [], domain, reduced)).roots.append(node)
        steps = parted(_with_shared_passes(groups.values()), self.is_loaded, self._is_short)
        return sorted(steps, key=lambda step: step.stage)

    def _available_from(self):
        """For each stored node the stage after which kernels read it from memory; -1 where all do."""
        kind, stages = self.facts.kind, self._stages
        return {n: -1 if n.op is None or self._is_apart(n, kind(n)) else stages[n] for n in self.stored}

    def is_loaded(self, node, stage):
        """Whether a kernel of `stage` reads `node` from memory rather than computing it."""
        return self._available.get(node, stage) < stage

    def read_by(self, step):
        """The stored nodes that a step reads."""
        if step not in self._read:
            self._read[step] = step.kernel.read(step, self)
        return self._read[step]

    def below(self, step):
        """The stored nodes that the loops of a step read on their way to its results."""
        found, stack, seen = [], [a for root in step.roots for a in root.inputs], set()
        available, stage = self._available, step.stage
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if available.get(node, stage) < stage:  # `is_loaded`, which is asked for each node of each step
                found.append(node)
            elif node.op is not None:
                stack += node.inputs
        return found

    def _expensive_and_shared(self):
        """Nodes that loops of several stages would compute, and that are too expensive for that; so are tiles, each of which would
        be computed at every place of the whole.
        """
        kind, stored = self.facts.kind, self.stored
        tiled = {
            n for n in self.loops.computed if not (k := kind(n)).is_work and n not in stored and k.tiles(n, self.facts) is not None
            and self._is_expensive(n)
        }
        # What is stored is read; views and the like become addresses, and are no work by themselves.
        shared = [n for n in self.loops.at_several_stages() if n not in stored and kind(n).is_work]
        expensive = {n for n in shared if self._is_expensive(n)}
        # To store all of a chain would write every link; what is stored first makes the rest of the chain cheap.
        return tiled | self.loops.met_first(expensive, self._stages) if expensive else tiled

    def computed_by(self, step):
        """The nodes whose values the kernel of `step` computes itself."""
        if step not in self._computed:
            self._computed[step] = self._inside(step)
        return self._computed[step]

    def _inside(self, step):
        roots, seen = set(step.roots), set()
        stack, available, stage = list(roots), self._available, step.stage
        while stack:
            node = stack.pop()
            if node in seen or (available.get(node, stage) < stage and node not in roots):
                continue
            seen.add(node)
            stack += node.inputs
        return seen

    def _is_expensive(self, node):
        """Whether it takes more than a few ops to compute `node` from memory; a function that is not cheap counts as many."""
        seen, stack, total = set(), [node], 0
        while stack and total <= cost.RECOMPUTED_OPS:
            n = stack.pop()
            # What is stored is one load for whoever computes `node`: the walk ends there, and after a few ops anyhow.
            if n in seen or n.op is None or (n is not node and n in self.stored):
                continue
            seen.add(n)
            total += self.weight(n, node, cost.RECOMPUTED_OPS + 1)
            stack.extend(n.inputs)
        return total > cost.RECOMPUTED_OPS

    def weight(self, node, whole, expensive):
        """What computing `node` adds to each number of `whole`: nothing if far smaller, one for a cheap op, or `expensive`."""
        kind = self.facts.kind(node)
        return 0 if not kind.is_work or node.size * cost.FAR_FEWER <= whole.size else kind.weight(node, expensive)

    def stage(self, node):
        """How many passes must be over before a node can be computed."""
        return self._stages[node]

    def numbered(self):
        """(number, step) in order; the steps of a nest, which run block by block together, have the same number."""
        number, before = -1, None
        for step in self.steps:
            # A buffer of a nest lives as long as the nest: its block is written again for each block of rows.
            number += step.nest is None or step.nest is not before
            before = step.nest
            yield number, step


def _with_shared_passes(steps):
    """`steps` with plain results moved into the pass of a reduction over the same box at the same stage."""
    steps = list(steps)
    plain = {(s.stage, s.domain): s for s in steps if s.kernel.fuses and not s.reduced}
    for step in steps:
        if step.reduced:
            # Popped, since the results go along with one reduction: with a second one they would be computed twice.
            shared = plain.pop((step.stage, step.domain), None)
            if shared is not None:
                step.roots += shared.roots
                shared.roots = []
    return [s for s in steps if s.roots]

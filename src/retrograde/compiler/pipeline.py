"""The pipeline: the passes that make steps of a graph, in their order, which stands here and nowhere else.

Programs, the bodies of loops and branches, lazy graphs and the programs of eager shapes all go through it. What comes out is a
`Draft`, which a backend makes kernels of; then each buffer gets its place in memory, which is the last pass.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..core.symbol import STRAY, Outputs, Symbol
from ..errors import TraceError
from . import verify
from .index.accesses import Accesses
from .passes.alias import computed_in_place
from .passes.carry import Body
from .passes.fuse import Schedule
from .passes.lower import lower
from .passes.memory import placed
from .passes.order import begun_early, risky_steps, updates_last
from .passes.rematerialise import rematerialised
from .passes.rewrite import rewritten
from .passes.tile import tiled
from .run.program import SMALL, Layout


@dataclass(eq=False)
class Draft:
    """A graph on its way to code: what one pass hands to the next.

    outputs   the graph: results, then what state is updated with, then what is held; of a body what it carries and makes
    leaves    the nodes that are handed in
    results   how many of the outputs are results
    leaves_of_state  those that are updated, in the order of their nodes among the outputs
    body      the body of a loop, if the graph is one
    is_short  whether layers are left out of the graph, so that no step may have to do with all of them
    schedule  the steps, from the pass that fuses on
    accesses  what the steps do to memory
    risky     the steps that may fail
    aliases     for nodes that live in another buffer's memory, that buffer
    is_interchanged  whether the rows of a body go through all iterations one chunk after the other
    arena     the place of each buffer in memory, and the `scratch` among them: (buffer, number of the step that needs it); but not
              of what is `framed`
    """

    outputs: Outputs
    leaves: frozenset
    results: int = 0
    leaves_of_state: tuple = ()
    body: Body | None = None
    is_short: bool = False
    schedule: Any = None
    accesses: Any = None
    risky: set = field(default_factory=set)
    aliases: dict = field(default_factory=dict)
    is_interchanged: bool = False
    arena: Any = None
    scratch: list = field(default_factory=list)
    framed: Any = frozenset()
    #: The ops of the calls with an effect, in order.
    effects: list = field(default_factory=list)
    #: The graph that was verified last, and its nodes.
    verified: tuple = (None, frozenset())

    @property
    def updates(self):
        """(leaf of state, the node that it is to hold)."""
        return list(zip(self.leaves_of_state, self.outputs[self.results :], strict=False))

    @property
    def computed_updates(self):
        """The updates that a step makes. What lowering has found to be constant is copied when all steps are over."""
        return [(leaf, node) for leaf, node in self.updates if isinstance(node, Symbol)]

    @property
    def held(self):
        """What stays in memory until the next call."""
        return self.outputs[self.results + len(self.leaves_of_state) :]

    @property
    def kept(self):
        """The nodes that are read when all steps are over."""
        return {node for node in self.outputs if isinstance(node, Symbol)}

    @property
    def local(self):
        """The nodes that live in the frames of nests."""
        return {node for step in self.schedule.steps if step.nest is not None for node in step.nest.local}

    def storage(self, buffer):
        """What a buffer lives in: itself, or what its node is an alias of."""
        return self.aliases.get(buffer, buffer) if isinstance(buffer, Symbol) else buffer

    def room(self, scratch=(), framed=frozenset()):
        """The arena of what is stored and neither handed in nor elsewhere, as the nodes that are `framed` are; see `placed`."""
        if self.body is None:
            kept, elsewhere = self.kept, {*self.fresh, *self.aliases}
        else:
            kept, elsewhere = self.body.read_at_the_end, {n for n in self.schedule.stored if id(n) in self.body.places}
        self.scratch = list(scratch)
        self.framed = framed
        self.arena = placed(self.schedule, kept, {*elsewhere, *framed}, self.scratch)
        verify.after("memory", self)
        return self.arena

    @property
    def fresh(self):
        """The results that are made anew at each call."""
        nodes = [o for o in self.outputs[: self.results] if isinstance(o, Symbol) and o.op is not None and o not in self.aliases]
        return [node for node in dict.fromkeys(nodes) if node.nbytes > SMALL]

    def layout(self, scratch=(), framed=frozenset()):
        """Where all lies that a program stores.

        scratch  (buffer with `nbytes`, number of the step that needs it)
        framed   the nodes that live in the frames of nests, where the backend runs these as such
        """
        arena = self.room(scratch, framed)
        return Layout(self.outputs[: self.results], self.updates, self.held, self.aliases, self.fresh, arena.places, arena.size)


class Pass(NamedTuple):
    """One pass by its name: `run(draft)` changes the draft."""

    name: str
    run: Callable


def _lower(draft):
    draft.outputs = lower(draft.outputs)
    # After lowering, since what nobody needs is gone by then: a stray value that is read nowhere does no harm.
    if any([node.op is None and node not in draft.leaves for node in draft.outputs.nodes]):
        raise TraceError(STRAY)


def _rewrite(draft):
    draft.outputs = rewritten(draft.outputs)


def _fuse(draft):
    draft.schedule = Schedule(draft.outputs, is_short=draft.is_short)


def _rematerialise(draft):
    draft.schedule = rematerialised(draft.schedule)
    # What steps do to memory is asked for by all passes from here on, none of which changes the graph again.
    draft.outputs, draft.accesses = draft.schedule.outputs, Accesses(draft.schedule)


def _carry(draft):
    if draft.body is not None:
        draft.body.carry(draft.outputs)


def _tile(draft):
    draft.is_interchanged = tiled(draft.schedule, draft.accesses, draft.kept, draft.body)


def _order(draft):
    draft.risky = risky_steps(draft.schedule)
    draft.schedule.steps = updates_last(draft.schedule, draft.computed_updates, draft.risky)
    draft.schedule.steps = begun_early(draft.schedule)


def _alias(draft):
    draft.aliases = computed_in_place(draft.schedule, draft.computed_updates, draft.outputs, draft.risky)


#: What the graph is called that the first pass takes.
TRACE = "trace"
PASSES = (
    Pass("lower", _lower),
    Pass("rewrite", _rewrite),
    Pass("fuse", _fuse),
    Pass("rematerialise", _rematerialise),
    Pass("carry", _carry),
    Pass("tile", _tile),
    Pass("order", _order),
    Pass("alias", _alias),
)


def planned(graph, observe=None, is_short=False):
    """The `Draft` of a program; `observe(name, draft)` is called before the first pass, as `TRACE`, and after each. Of a graph that
    `is_short` layers are left out.
    """
    outputs = Outputs([*graph.results, *[node for _, node in graph.updates], *graph.held])
    draft = Draft(outputs, frozenset([*graph.inputs, *graph.state]), len(graph.results), tuple([leaf for leaf, _ in graph.updates]),
                  is_short=is_short)
    return _passed(draft, observe)


def planned_body(step, storage, observe=None):
    """The `Draft` of the body of a loop, the `step` of another draft, in which buffers live where `storage(buffer)` says."""
    body = Body(step, storage)
    return _passed(Draft(Outputs(body.opened.outputs), frozenset(body.opened.leaves), body=body), observe)


def _passed(draft, observe):
    """A draft after all passes."""
    verify.before(draft)
    if observe is not None:
        observe(TRACE, draft)
    for name, run in PASSES:
        run(draft)
        verify.after(name, draft)
        if observe is not None:
            observe(name, draft)
    return draft

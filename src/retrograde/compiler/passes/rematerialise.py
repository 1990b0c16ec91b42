"""Rematerialise: what a product reads soon and another one much later is computed again for the later one, not kept until then.

Takes  a schedule.
Gives  the schedule, or that of a graph in which late products read another copy of what they read.
Keeps  values, since a copy is computed by the same ops from the same arguments, which are kept anyway.

Chen et al., Training deep nets with sublinear memory cost, arXiv 1604.06174, 2016; here where the arguments are kept anyway, and
where the work that is done twice takes less time than to write the result and to read it from memory outside the caches.
"""

from math import prod

from ...core import registry
from ...core.symbol import Outputs, Symbol, remade, renewed, replaced
from .. import cost
from ..graph.infer import called
from ..index.elements import AFTER, PARTNERS
from .memory import lifetimes


def rematerialised(schedule):
    """A schedule, or another one of its graph with what is worth it computed again where it is used late."""
    kind = schedule.facts.kind
    candidates = [n for n in schedule.stored if n.shape is not None and n.size >= cost.REMATERIALISED_NUMBERS and kind(n).is_work]
    # What stays in the cache costs nothing to keep: small programs are left before anything is asked of their graph.
    if sum([node.nbytes for node in candidates]) < cost.REMATERIALISED_BYTES:
        return schedule
    rewriting = _Rewriting(schedule)
    copies = rewriting.copies(candidates)
    return schedule.remade(*rewriting.rebuilt(copies)) if copies else schedule


class _Rewriting:
    """A graph in which some products read another copy of what they read."""

    def __init__(self, draft):
        self._draft, self._outputs = draft, draft.outputs
        self._facts, self._kept = draft.facts, {o for o in draft.outputs if isinstance(o, Symbol)}
        self._last = {node: last for node, (_, last) in lifetimes(draft, self._kept).items()}
        self._users, self._partners = {}, {}
        loops = draft.loops.of([node for node in draft.nodes if node.op is not None and node.op.name in PARTNERS])
        for number, step in draft.numbered():
            for node in draft.read_by(step):
                self._users.setdefault(node, []).append((number, step))
            if step.kernel.fuses and (step.stage, step.domain) in loops and prod(step.domain) >= cost.REMATERIALISED_NUMBERS:
                found = [node for node in draft.computed_by(step) if node.op is not None and node.op.name in PARTNERS]
                self._partners |= {_application(node.op.name, node.args): (number, step) for node in found}

    def copies(self, candidates):
        """By node that reads other copies of some of the `candidates` than are there, these by what they are copies of."""
        copies = {}
        for node in candidates:
            found = self._late_users(node)
            if found is not None:
                late, token = found
                copy = Symbol(registry.get(AFTER), (self._copied(node), _first(token)), node.shape, node.dtype)
                for step in late:
                    for root in step.roots:
                        copies.setdefault(root, {})[node] = copy
        return copies

    def _late_users(self, node):
        """The steps, all of them products, that had better read another copy, and what this waits for; None if keeping the node is
        better.
        """
        users = self._users.get(node, [])
        late = [(number, step) for number, step in users if number > users[0][0] + cost.STEPS_APART]
        if not late or node in self._kept or not all([step.kernel.may_wait for _, step in late]):
            return None
        sources, total, hosts = self._sources(node)
        # The copy is made in the pass that finds its expensive parts anyway: one pass must have all of them, and run late.
        is_early = any([number <= users[0][0] + cost.STEPS_APART for number, _ in hosts])
        if not sources or total > cost.REMATERIALISED_OPS or len(hosts) > 1 or is_early:
            return None
        until = max([number for number, _ in (*hosts, *late)])
        # What the copy is made of must be kept until then anyway, or one array is only kept in place of another.
        is_there = all([self._last.get(s, late[0][0]) >= until or s.op is None for s in sources])
        _, maker = [*hosts, late[0]][0]
        token, late = self._token(node, maker), [step for _, step in late]
        # Without something that is made late, the scheduler would make the copy right beside the first one; and what waits for
        # its own user would be a cycle.
        if not is_there or token is None or (hosts and self._is_before(late, token)):
            return None
        return late, token

    def _sources(self, node):
        """What is read from memory to compute a node, the cost of that for each number, and the (number, step) of loops that find
        its expensive parts on their way.
        """
        found, hosts, total, stack, seen = set(), set(), 0, [node], set()
        while stack:
            n = stack.pop()
            if n in seen:
                continue
            seen.add(n)
            if n is not node and self._is_source(n):
                found.add(self._facts.memory(n))
                continue
            weight = self._draft.weight(n, node, cost.REMATERIALISED_OPS + 1)
            # The slope of gelu, say, is found with gelu for little more: a loop that computes the one has the other.
            host = self._host(n, node) if weight > 1 else None
            hosts |= {host} if host else set()
            total += 1 if host else weight
            stack.extend(n.inputs)
        return found, total, hosts

    def _host(self, node, whole):
        """The loop over the numbers of `whole` that finds the value of `node` on its way to another, as (number, step)."""
        found = self._partners.get(_application(PARTNERS[node.op.name][2], node.args)) if node.op.name in PARTNERS else None
        return found if found and found[1].domain == whole.shape else None

    def _is_source(self, node):
        return node.op is None or node in self._draft.stored or self._facts.kind(node).shown(node, self._facts) is not None

    def _is_view(self, node):
        kind = self._facts.kind(node)
        return kind.viewed(node) is not None or kind.unshaped(node) is not None

    def _token(self, node, step):
        """What else a step reads, and which is made late: the copy waits for it."""
        others = [n for n in self._draft.read_by(step) if n is not node and n.op is not None]
        return max(others, key=self._draft.stage, default=None)

    def _is_before(self, steps, node):
        """Whether a node needs a result of one of some steps."""
        wanted, stage = {root for step in steps for root in step.roots}, self._draft.stage
        first, stack, seen = min([stage(root) for root in wanted]), [node], set()
        while stack:
            n = stack.pop()
            if n in wanted:
                return True
            # What is made earlier than all of them needs none; to go on from there would be to walk the whole graph.
            if n not in seen and stage(n) >= first:
                seen.add(n)
                stack.extend(n.inputs)
        return False

    def _copied(self, node):
        """A node like this one of which no other makes use, nor of what is computed on the way."""
        made, stack = {}, [(node, False)]
        while stack:
            n, is_done = stack.pop()
            if n in made:
                continue
            if n is not node and self._is_source(n):
                made[n] = n
            elif is_done:
                made[n] = Symbol(n.op, replaced(n.args, made.__getitem__), n.shape, n.dtype)
            else:
                stack.append((n, True))
                stack.extend((a, False) for a in n.inputs)
        return made[node]

    def rebuilt(self, copies):
        """The outputs, with the users of copies and all that depends on them made anew; and for each node what it became."""
        made = {}
        for node in self._outputs.nodes:
            here = copies.get(node)
            if here is None:
                made[node] = remade(node, made)
            else:
                made[node] = renewed(node, replaced(node.args, lambda a, here=here: self._shown(a, here, made)))
        return Outputs([made[o] if isinstance(o, Symbol) else o for o in self._outputs]), made

    def _shown(self, argument, here, made):
        """An argument of a user: the same views, of a copy if it is one of what has copies `here`."""
        views = []
        node = argument
        while node not in here and self._is_view(node):
            views.append(node)
            node = node.args[0]
        if node not in here:
            return made[argument]
        found = here[node]
        for view in reversed(views):
            found = Symbol(view.op, (found, *view.args[1:]), view.shape, view.dtype)
        return found


def _application(name, args):
    return name, *map(id, args)


def _first(node):
    """The first element of a node, as a number."""
    return called("reshape", called("shrink", node, [(0, 1)] * node.ndim), ())

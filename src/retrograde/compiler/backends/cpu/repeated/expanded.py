"""Expanding: the launches of a short program, again for the layers that were left out of its graph.

What a launch is in one layer it is in the next, with the buffers of that. This is found in the launches themselves by the rule by
which layers are found in a graph: launches and the buffers that they meet are a sequence of items. Where launches of the layers in
the middle are not alike, nothing is expanded, and the graph has to be planned whole.
"""

from typing import NamedTuple

from .....core.symbol import Symbol
from ....graph.repeats import Label, Repeats, repeats
from ....kernels.kernel import Scratch
from ....passes.memory import Arena
from ....run.program import Layout
from ..build import NATIVE
from .items import Items, Output

#: The fewest layers whose launches must be alike.
LEAST_ALIKE = 3


class Expanded(NamedTuple):
    """The launches of a full program, and its `Layout`."""

    launches: list
    layout: Layout


def expanded(short, draft, parts):
    """The `Expanded` program of the full graph of a `Short` from the draft of its short one and what the steps of that became; None
    if launches of its layers are not alike.
    """
    # Calls of Python find what they read by node.
    if not all([isinstance(part, NATIVE) for part in parts]):
        return None
    items = Items(short, draft, parts)
    # By their neighbours things are told apart that are alike by themselves, as matrices that are packed for several products. Few
    # programs need that.
    for tokens in (lambda: items.tokens, items.tokens_by_neighbours):
        layers = _layers(items, tokens(), short)
        if layers is not None:
            try:
                return _Expansion(short, draft, items, *layers).made()
            except LookupError:  # something stands in fewer layers than others
                continue
    return None


def has_too_few(short, draft, parts):
    """Whether launches that could not be expanded might be if there were more layers. Where more of them are alike than in the
    graph, and one launch has to do with all of these, it would have to do with others as well.
    """
    if not all([isinstance(part, NATIVE) for part in parts]):
        return False
    items = Items(short, draft, parts)
    found = repeats(items.tokens, items.operands, LEAST_ALIKE)
    return found is None or found.high - found.low + 1 <= short.alike or not found.is_met_whole()


def _layers(items, tokens, short):
    """(the `Repeats` of launches, where leaves stand in the graph, the layer after which these are cut apart); None without any."""
    found = repeats(tokens, items.operands, LEAST_ALIKE)
    anchored = None if found is None else _anchored(items, found, short)
    if anchored is None:
        return None
    found, anchors = anchored
    # Who is not like others, at the ends, must have nothing to do with layers at the cut.
    cut = next((cut for cut in range(found.low, found.high) if not found.met_from_outside(cut, cut + 1)), None)
    return None if cut is None else (found, anchors, cut)


def _anchored(items, found, short):
    """(`Repeats` whose layers go up as those of the graph do, how many layers further leaves and what is held stand there, by their
    places in it); None if the two do not go together.
    """
    places = {}
    for number, thing in enumerate(items.things):
        place = _place(items, short, thing)
        if place is not None:
            places[number] = place
    steps = {step for number in places for step in _steps(found, places, number)}
    if steps - {1, -1} or len(steps) > 1:
        return None
    if steps == {-1}:
        found = Repeats(len(items.things), [run._replace(sign=-run.sign, first=-run.first) for run in found.runs], found.references)
    anchors = {}
    for number, (key, layer) in places.items():
        label = found.label(number)
        is_alike = label is not None and found.low <= label.layer <= found.high
        if is_alike and anchors.setdefault(key, layer - label.layer) != layer - label.layer:
            return None
    # Those that stand where the graph is cut apart must be among what is alike.
    near = {key for key, layer in places.values() if layer in (short.cut, short.cut + 1)}
    # Without any, nothing says that these are the layers which were left out: other things may repeat as well.
    return (found, anchors) if anchors and near <= anchors.keys() else None


def _steps(found, places, number):
    """By how many layers of the graph a leaf is apart from that of the next layer, in a list; an empty one if that is not known."""
    label = found.label(number)
    if label is None or not found.low <= label.layer < found.high:
        return []
    key, layer = places[number]
    other = places.get(found.item(label._replace(layer=label.layer + 1)))
    return [0 if other is None or other[0] != key else other[1] - layer]


def _place(items, short, thing):
    """The place of a leaf or of what is held in the graph, and its layer; None of all else."""
    if isinstance(thing, Output):
        return short.place_of_held(thing.number) if thing.kind == "held" else None
    return short.place_of(thing) if items.is_leaf(thing) else None


class _Expansion:
    """The items of a full program from those of a short one, which is cut after layer `cut` of its launches. A LookupError where
    something has no counterpart in a layer.
    """

    def __init__(self, short, draft, items, found, anchors, cut):
        self._short, self._draft, self._items, self._found, self._anchors = short, draft, items, found, anchors
        self._cut, self._count = cut, short.count
        self._made, self._operands, self._copied = {}, {}, {}
        self._launches, self._updates = [], []
        self._results, self._held, self._aliases = {}, {}, {}

    def made(self):
        """The `Expanded` program."""
        for number, layer in self._order():
            self._emit(number, layer)
        full = self._short.full
        results, held = [self._results[n] for n in range(len(full.results))], [self._held[n] for n in range(len(full.held))]
        if {id(leaf) for leaf, _ in self._updates} != {id(leaf) for leaf, _ in full.updates}:
            raise LookupError
        places, size = self._places([*results, *[node for _, node in self._updates], *held])
        return Expanded(self._launches, Layout(results, self._updates, held, self._aliases, self._draft.fresh, places, size))

    def _order(self):
        """(item, its layer in the full program) in the order of that; None as the layer of what belongs to none."""
        at = 0
        for run in self._found.runs:
            yield from [(number, None) for number in range(at, run.start)]
            layers = run.layers.tolist()
            for number, layer in enumerate(layers):
                yield from _copy(run, number, self._expanded(layer))
                # Those left out come between the copies of the layers on both sides of the cut.
                if number + 1 < run.count and {layer, layers[number + 1]} == {self._cut, self._cut + 1}:
                    for added in range(self._cut + 1, self._cut + 1 + self._count)[:: run.sign]:
                        yield from _copy(run, number, added)
            at = run.end
        yield from [(number, None) for number in range(at, len(self._items.things))]

    def _expanded(self, layer):
        """A layer of the short program as one of the full program."""
        return layer if layer <= self._cut else layer + self._count

    def _emit(self, number, layer):
        thing = self._items.things[number]
        if isinstance(thing, NATIVE):
            self._launches.append(thing.with_buffers(self._met(number, layer)))
        elif thing.__class__ is Output:
            self._put(number, thing, layer)

    def _met(self, number, layer):
        """The buffers that an item meets in a layer."""
        found = self._operands.get(number)
        if found is None:
            found = self._operands[number] = self._references(number)
        return [what if run is None else self._buffer((run, place, at if apart is None else layer + apart))
                for run, place, at, apart, what in found]

    def _references(self, number):
        """(run, place, layer, how many layers apart, the thing) of each operand of an item: its layer in the full program where the
        item is not like those of other layers, and the thing itself where it belongs to none.
        """
        found, mine = [], self._found.label(number)
        is_alike = mine is not None and self._found.are_alike(number)
        for operand in self._items.operands[number]:
            label = self._found.label(operand)
            if label is None:
                found.append((None, None, None, None, self._kept(self._items.things[operand])))
            elif is_alike:
                found.append((*label[:2], None, label.layer - mine.layer, None))
            else:
                found.append((*label[:2], self._expanded(label.layer), None, None))
        return found

    def _kept(self, thing):
        """What a thing of the short program is in the full one. The graph may be cut apart at another layer than its launches: then
        a leaf is another one.
        """
        place = _place(self._items, self._short, thing)
        if place is None or place[0] not in self._anchors:
            return thing
        return self._short.leaf(place[0], self._in_graph(*place))

    def _in_graph(self, key, layer):
        """The layer of the full graph in which what stands in a layer of the short one stands in the full program."""
        apart = self._anchors[key]
        return self._expanded(layer - apart) + apart

    def _is_added(self, layer):
        """Whether a layer of the full program was left out."""
        return layer is not None and self._cut < layer <= self._cut + self._count

    def _buffer(self, key):
        """The buffer of a place in a layer of the full program: (run, place, layer)."""
        found = self._made.get(key)
        if found is None:
            run, place, layer = key
            if self._is_added(layer):
                found = self._added(run, place, layer)
            else:
                found = self._kept(self._thing(run, place, layer if layer <= self._cut else layer - self._count))
            self._made[key] = found
        return found

    def _thing(self, run, place, layer):
        """The thing at a place in a layer of the short program."""
        return self._items.things[self._found.item(Label(run, place, layer))]

    def _added(self, run, place, layer):
        """The buffer of a place in a layer that was left out: what it is in the layer before the cut, of this layer."""
        if (run, place) not in self._copied:
            thing = self._thing(run, place, self._cut)
            self._copied[run, place] = thing, _place(self._items, self._short, thing)
        thing, at = self._copied[run, place]
        if at is not None:
            return self._short.leaf(at[0], layer + self._anchors[at[0]])
        return Scratch(thing.nbytes) if isinstance(thing, Scratch) else Symbol(None, (), thing.shape, thing.dtype)

    def _put(self, number, output, layer):
        """Take an output of a layer into the layout."""
        met = self._met(number, layer)
        node = self._node(output.node, met[-1]) if isinstance(output.node, Symbol) else output.node
        if output.kind == "result":
            self._results[output.number] = node
        elif output.kind == "update":
            self._updates.append((met[0], node))
        else:
            self._held[self._held_number(output, layer)] = node

    def _held_number(self, output, layer):
        """The number in the full graph of what is held, in a layer of the full program."""
        place = self._short.place_of_held(output.number)
        if place is None or place[0] not in self._anchors:
            return self._short.held_numbers[output.number]
        key = place[0]
        return self._short.held(key, layer + self._anchors[key] if self._is_added(layer) else self._in_graph(*place))

    def _node(self, node, buffer):
        """The node of an output that lives in a buffer: one that is another buffer's alias, if it was in the draft."""
        if self._draft.storage(node) is node:
            return buffer
        alias = Symbol(None, (), node.shape, node.dtype)
        self._aliases[alias] = buffer
        return alias

    def _places(self, outputs):
        """Where buffers lie in the memory of the program, and its size."""
        leaves = {id(leaf) for leaf in (*self._short.full.inputs, *self._short.full.state)}
        elsewhere = leaves | {id(node) for node in self._draft.fresh}
        lives = {}
        for number, launch in enumerate(self._launches):
            for buffer in launch.buffers:
                if isinstance(buffer, (Symbol, Scratch)) and id(buffer) not in elsewhere:
                    lives.setdefault(id(buffer), [buffer, number, number])[2] = number
        for node in outputs:
            if id(node) in lives:
                lives[id(node)][2] = len(self._launches)
        for buffer in self._aliases.values():
            if id(buffer) in lives:
                lives[id(buffer)][2] = len(self._launches)
        arena = Arena([(buffer, buffer.nbytes, first, last) for buffer, first, last in lives.values()])
        return arena.places, arena.size


def _copy(run, number, layer):
    """The items of a copy of a run, as of a layer."""
    start = run.start + number * run.period
    return [(item, layer) for item in range(start, start + run.period)]

"""Pending: the nodes of lazy graphs, and how they are computed. Graphs of one structure are compiled once in a process."""

import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from ...core import registry, writes
from ...core.anomaly import call_place, told_place
from ...core.garbage import uncollected
from ...core.symbol import Symbol, ordered, replaced
from ...errors import RetrogradeError
from ...once import forkable
from ...ops._arrays import arrays as algebra
from ...precision import is_current
from ..backends import chosen_name, new_program
from ..graph.infer import check_kind
from ..graph.orders import is_alike, orders
from ..run.library_call import computed

#: Held by whoever computes pending nodes, or changes what they read: programs have memory of their own, one call at a time.
LOCK = forkable()


class Pending(Symbol):
    """A node of a lazy graph. Once computed it is a leaf, which holds its array.

    holder    a weak reference to what shows this node to the user, if it is still there
    place     where the op was called
    is_taken  whether its array belongs to a value of the user's
    order     an array that lies in memory as eager ops would have laid out that of a leaf; None where that is not known
    """

    __slots__ = ("array", "holder", "is_taken", "order", "place")

    def __init__(self, op, args, shape, dtype):
        super().__init__(op, args, shape, dtype)
        self.array: Any = None
        self.holder: Any = None
        self.is_taken = False
        self.place = None if op is None else call_place()

    def realized(self):
        """The array of this node, computed if it was not."""
        if self.array is None:
            compute([self])
        return self.array

    def take(self):
        """The array of this node, for a value that may write to it."""
        with LOCK:
            array, order, is_first = self.realized(), self.order, not self.is_taken
            if order is None or is_alike(array, order):
                self.order = array  # from here on it counts where it does lie
                self.is_taken = True
                # The first value gets the array itself; a second one that may be written to needs memory of its own.
                return array if is_first else array.copy(order="K")
        return _laid_out(array, order)

    def become_leaf(self, array, order):
        """Stand for `array` from here on, which eager ops lay out as `order`; whoever writes to its memory must tell."""
        self.op, self.args, self.array, self.order, self.place = None, (), array, order, None
        self.inputs = []
        # By identity, weakly: two values of one array are one leaf, so that no program copies it in twice.
        _LEAVES[id(array)] = self
        _watch(self)

    def keep(self):
        """Take a copy, since the memory of the array is about to be written to."""
        with LOCK:
            _LEAVES.pop(id(self.array), None)
            copied = self.array.copy(order="K")
            self.array, self.order = copied, copied if self.order is self.array else self.order

    def __array__(self, dtype=None, copy=None):
        return np.array(self.realized(), dtype, copy=copy or None)

    def __bool__(self):
        return bool(self.realized())

    def __float__(self):
        return float(self.realized())

    def __int__(self):
        return int(self.realized())

    def __complex__(self):
        return complex(self.realized())

    def __index__(self):
        return self.realized().__index__()

    def item(self, *index):
        """An element as a Python number."""
        return self.realized().item(*index)

    def tolist(self):
        """The elements as nested lists of Python numbers."""
        return self.realized().tolist()


_LEAVES: weakref.WeakValueDictionary = weakref.WeakValueDictionary()
#: Held while the readers of a buffer are noted or forgotten; leaves go away in any thread.
_WATCHING = forkable()


def leaf_of(array):
    """The leaf that reads `array`: the same one for the same array. Nothing is copied."""
    # One number in many places: it is handed in as a number, and programs know that all are equal.
    if array.size > 1 and array.ndim and not any(array.strides):
        number = leaf_of(array[(0,) * array.ndim].copy())
        return Pending(registry.get("broadcast_to"), (number, array.shape), array.shape, array.dtype)
    with LOCK:
        found = _LEAVES.get(id(array))
        if found is None:
            found = Pending(None, (), array.shape, array.dtype)
            found.is_taken = True
            found.become_leaf(array, array)
    return found


def _watch(leaf):
    """Let writers find the leaf by the memory that it reads."""
    key = id(algebra.owner(leaf.array))

    def forget(reference):
        with _WATCHING:
            readers.remove(reference)
            if not readers and writes.READERS.get(key) is readers:
                del writes.READERS[key]

    with _WATCHING:
        readers = writes.READERS.setdefault(key, [])
        readers.append(weakref.ref(leaf, forget))
        writes.READERS[key] = readers  # the collector may have come in between, and the last of the others gone


def compute(nodes):
    """Compute `nodes`, all in one program, with those on the way that somebody can still see; they become leaves."""
    with LOCK:
        wanted = [node for node in dict.fromkeys(nodes) if node.array is None]
        if not wanted:
            return
        found = ordered(wanted)
        seen = {*wanted}
        # What a user still holds is computed along with the rest, or it would be computed again when they look at it.
        wanted += [node for node in found if node not in seen and node.op is not None and _is_seen(node)]
        laid_out = orders(wanted, found)
        for node, array in zip(wanted, _run(found, wanted), strict=True):
            order = laid_out.get(node, array)
            if order is None or is_alike(array, order):
                node.become_leaf(array, None if order is None else array)
            elif _is_seen(node):
                array = _laid_out(array, order)
                node.become_leaf(array, array)
            else:
                node.become_leaf(array, order)


def _laid_out(array, order):
    """A copy of `array` that lies in memory as `order` does."""
    found = np.empty_like(order)
    found[...] = array
    return found


def _is_seen(node):
    holder = node.holder and node.holder()
    return holder is not None and holder.symbol is node


def _run(nodes, wanted):
    """The arrays of `wanted`; `nodes` are all that they depend on, arguments first."""
    leaves = [node for node in nodes if node.op is None]
    program = _PROGRAMS.program(nodes, leaves, wanted)
    inputs = [np.ascontiguousarray(leaf.array).reshape(leaf.shape) for leaf in leaves]
    try:
        found = program(inputs)
    except RetrogradeError:
        raise _located(nodes) from None
    return _apart(found)


def _apart(arrays):
    """Arrays no two of which are one."""
    seen = set()
    return [array.copy() if id(array) in seen or seen.add(id(array)) else array for array in arrays]


def _located(nodes):
    """The error that a computation ends with, from the op that raises it; `nodes` are computed one by one to find it."""
    values = {}
    for node in nodes:
        try:
            values[node] = found = node.array if node.op is None else computed(node, replaced(node.args, values.__getitem__))
            if node.op is not None and node.shape is not None:
                check_kind(node, found)
        except RetrogradeError as error:
            found = type(error)(f"{error} (the op was called from {told_place(*node.place)})")
            # The error is complete: who catches it further up must not add an op to it.
            found.names_op = True
            return found
    return RetrogradeError("a lazy computation failed, and does not when its ops run one by one: a fault of ours, worth a report")


class _Programs:
    """The programs of this process, by the structure of their graphs; those used last stay."""

    #: How many are kept, and how many bytes they may have for their own memory.
    most, most_bytes = 256, 256 * 1024 * 1024

    def __init__(self):
        self._found, self._bytes = OrderedDict(), 0
        self.built = 0

    def program(self, nodes, leaves, wanted):
        """The program that computes `wanted` from `leaves`."""
        key = structure(nodes, wanted)
        found = self._found.get(key)
        if found is not None and not is_current(found.precision):
            self._bytes -= self._found.pop(key).arena_bytes
            found = None
        if found is None:
            found = self._found[key] = _built(nodes, leaves, wanted)
            self.built += 1
            self._bytes += found.arena_bytes
            while len(self._found) > self.most or (self._bytes > self.most_bytes and len(self._found) > 1):
                self._bytes -= self._found.popitem(last=False)[1].arena_bytes
        else:
            # Those used last are at the end, and the first one is dropped.
            self._found.move_to_end(key)
        return found


_PROGRAMS = _Programs()


@uncollected()
def _built(nodes, leaves, wanted):
    # Symbols of its own: a program that is kept must not keep the arrays of the first call.
    copies = {}
    for node in nodes:
        copies[node] = Symbol(node.op, replaced(node.args, copies.__getitem__), node.shape, node.dtype)
    return new_program([copies[leaf] for leaf in leaves], [], [copies[node] for node in wanted], [])


def structure(nodes, wanted):
    """What two graphs have in common that differ in nothing but the values of their leaves; hashable.

    `nodes` are in an order that depends on the structure alone.
    """
    numbers = {node: i for i, node in enumerate(nodes)}
    parts = [
        (node.shape, node.dtype) if node.op is None else (node.op, *[_argument_key(a, numbers) for a in node.args])
        for node in nodes
    ]
    return chosen_name(), tuple(parts), tuple([numbers[node] for node in wanted])


def _argument_key(argument, numbers):
    if isinstance(argument, Symbol):
        return "node", numbers[argument]
    if argument.__class__ in (tuple, list):
        return (argument.__class__, *[_argument_key(a, numbers) for a in argument])
    if isinstance(argument, (np.ndarray, np.generic)):
        return argument.__class__, argument.dtype, argument.shape, argument.tobytes()
    if argument.__class__ in _PLAIN:
        return argument.__class__, repr(argument)
    try:
        hash(argument)
    except TypeError:
        return object()  # equal to nothing: compiled each time
    return argument.__class__, argument


_PLAIN = frozenset([bool, int, float, complex, str, type(None), slice, type(Ellipsis)])

"""Nodes: a captured graph in the ops that ONNX has a counterpart for; other ops are replaced by what they are made of."""

from typing import Any

from ..compiler.graph.loop_op import Loop
from ..compiler.graph.recorder import PICK
from ..compiler.trace.outcome import outcome_of
from ..core.symbol import Symbol, complete
from ..errors import UnsupportedOnnxError

#: The name of a node that is one of several results of another one.
RESULT = "result"


class Node:
    """One value: the name of its op, its arguments (nodes, arrays, numbers), its shape and dtype, and the bodies of a loop."""

    __slots__ = ("args", "body", "dtype", "name", "shape")

    def __init__(self, name, args, shape, dtype, body: Any = None):
        self.name, self.args, self.shape, self.dtype, self.body = name, args, shape, dtype, body

    @property
    def inputs(self):
        """The nodes among the arguments."""
        return nodes_in(self.args)


class LoopBody:
    """What a loop does in each iteration.

    leaves    nodes: what is carried, the rows, what is captured
    outputs   nodes or arrays: what is carried next, what is stacked, the condition if there is one
    counts    how many are carried, are rows, are stacked
    starts    of the rows: the first row of each stack
    results   what the loop leaves, as (kind, number)
    length, reverse, has_condition   as of the loop
    """

    def __init__(self, leaves, outputs, counts, starts, results, length, reverse, has_condition):
        self.leaves, self.outputs, self.counts, self.starts, self.results = leaves, outputs, counts, starts, results
        self.length, self.reverse, self.has_condition = length, reverse, has_condition


def nodes_in(args):
    """The nodes among arguments, also inside tuples and lists."""
    found = []
    for a in args:
        if isinstance(a, Node):
            found.append(a)
        elif isinstance(a, (tuple, list)):
            found += nodes_in(a)
    return found


def ordered(outputs):
    """All nodes that outputs depend on, arguments first. Iterative."""
    found, seen, stack = [], set(), [(o, False) for o in reversed(outputs) if isinstance(o, Node)]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            found.append(node)
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack += [(a, False) for a in reversed(node.inputs) if a not in seen]
    return found


def changed_args(args, change):
    """`args` with `change` applied to all in them that is no tuple or list."""
    return tuple([changed_args(a, change) if isinstance(a, (tuple, list)) else change(a) for a in args])


class Lowering:
    """Makes nodes of symbols. `known` are names of ops that stay as they are."""

    def __init__(self, known):
        self._known, self._made = known, {}

    def leaf(self, symbol, name, number):
        """The node of an input, or of a tensor from outside."""
        self._made[symbol] = Node(name, (number,), tuple(symbol.shape), symbol.dtype)
        return self._made[symbol]

    def constant(self, symbol, array):
        """Let a symbol stand for an array that is known."""
        self._made[symbol] = array

    def nodes(self, outputs):
        """The nodes of symbols; what is an array stays one."""
        complete(self._made, [o for o in outputs if isinstance(o, Symbol)], self._node)
        return [self._made[o] if isinstance(o, Symbol) else o for o in outputs]

    def _node(self, symbol):
        op = symbol.op
        if op is None:
            raise UnsupportedOnnxError("a value from outside of the function was made while another one was traced; pass it as an "
                                       "argument")
        if op is PICK:
            source, number = self._made[symbol.args[0]], symbol.args[1]
            if isinstance(source, tuple):
                return source[number]
            return Node(RESULT, (source, number), tuple(symbol.shape), symbol.dtype)
        args = changed_args(symbol.args, lambda a: self._made[a] if isinstance(a, Symbol) else a)
        if isinstance(op, Loop):
            return Node("loop", args, None, None, self._body(op))
        shape = None if symbol.shape is None else tuple(symbol.shape)
        if op.name in self._known:
            return Node(op.name, args, shape, symbol.dtype)
        if op.expansion is None:
            raise UnsupportedOnnxError(f"the op {op.name} has no counterpart in ONNX here, and is not made of others that have one")
        return self._expanded(op, symbol)

    def _expanded(self, op, symbol):
        """What an op is made of, on the nodes of its operands."""
        found = outcome_of(op.expansion, symbol.args)
        if found is NotImplemented:
            raise UnsupportedOnnxError(f"the op {op.name} has no counterpart in ONNX here, called in this way")
        parts = list(found) if isinstance(found, tuple) else [found]
        if any(isinstance(p, Symbol) and p.op is op and p.args == symbol.args for p in parts):
            raise UnsupportedOnnxError(f"the op {op.name} has no counterpart in ONNX here")
        nodes = self.nodes(parts)
        return tuple(nodes) if isinstance(found, tuple) else nodes[0]

    def _body(self, loop):
        """The body of a loop, with the nodes outside of it as leaves of its own."""
        made = [key for kind, key in loop.results if kind == "stack"]
        opened = loop.opened(list(loop.captured), made)
        # All that is captured is handed in, also where it is a number.
        inner = Lowering(self._known)
        leaves = [inner.leaf(s, "leaf", i) for i, s in enumerate([*opened.carried, *opened.rows, *opened.captured])
                  if isinstance(s, Symbol)]
        outputs = inner.nodes(opened.outputs)
        results = [(kind, made.index(key) if kind == "stack" else key) for kind, key in loop.results]
        return LoopBody(leaves, outputs, (len(opened.carried), len(opened.rows), len(made)),
                        [rows.first for _, rows in loop.stacks],
                        results, loop.length, loop.reverse, loop.condition is not None)

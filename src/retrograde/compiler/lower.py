"""Lowering: a traced graph in few kinds of node, each once, with nothing that no result needs.

Composites are expanded into the ops that they are made of, equal nodes become one, and what depends on constants alone
is computed here.
"""

import numpy as np

from ..core.mode import changed
from ..core.symbol import Outputs, Symbol, replaced, symbols_in
from ..core.value import Value
from .constants import constant_key
from .laid_together import laid_together
from .simplify import folded, simplified
from .trace import PICK, Trace


def lower(outputs, known=None):
    """The `outputs` (symbols or arrays) as `Outputs` of a graph of primitive nodes.

    known  by the identity of a node, (that node, what stands for it); nothing below it is looked at
    """
    lowering = _Lowering(known or {})
    return laid_together(Outputs([lowering.lowered(output) for output in outputs]))


class _Lowering:
    def __init__(self, known):
        self._done, self._equal = dict(known.values()), {}
        #: What `_done` has made: the nodes below which all are known to be unlike each other.
        self._standing = {made for made in self._done.values() if isinstance(made, Symbol)}
        self._trace = Trace()

    def lowered(self, root):
        """The node for `root`; iterative, since graphs may be deep."""
        if not isinstance(root, Symbol):
            return root
        done, stack = self._done, [root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            waiting = [a for a in node.inputs if a not in done]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            done[node] = made = self._made(node)
            self._standing.update([part for part in (made if made.__class__ is tuple else (made,)) if isinstance(part, Symbol)])
        return done[root]

    def _made(self, node):
        if node.op is None:
            return node
        args = replaced(node.args, self._done.__getitem__)
        if node.op.expansion is not None and (expanded := self._expanded(node, args)) is not NotImplemented:
            return tuple([self.lowered(part) for part in expanded]) if node.op.is_multiple else self.lowered(expanded)
        if node.op is PICK and args[0].__class__ is tuple:
            return args[0][args[1]]
        if node.shape is not None and node.op is not PICK and not (args and isinstance(args[0], Symbol)) and not symbols_in(args):
            known = folded(node.op, args, node.shape, node.dtype)
            if known is not None:
                return known
        op = node.op
        if node.shape is not None and op is not PICK:
            simple = simplified(op, args, node.shape, node.dtype)
            if isinstance(simple, Symbol):
                return simple
            if simple[1] is not args:
                simple = simple[0], replaced(simple[1], self._interned)
            op, args = simple
        key = _key(op, args)
        found = self._equal.get(key)
        if found is None:
            found = Symbol(op, args, node.shape, node.dtype)
            self._equal[key] = found
        return found

    def _interned(self, node):
        """The node equal to one that simplifying may have made, which is a few nodes deep."""
        if node.op is None or node in self._standing:
            return node
        key = _key(node.op, node.args)
        found = self._equal.get(key)
        if found is None:
            args = replaced(node.args, self._interned)
            key = _key(node.op, args)
            found = self._equal.setdefault(key, Symbol(node.op, args, node.shape, node.dtype))
        return found

    def _expanded(self, node, args):
        """The graph of a composite's body on `args`; of one with several results, a tuple of graphs. NotImplemented where the body
        says that these arguments have none.
        """
        kind = node.op.algebra.kind
        with changed(tracer=self._trace, records=False):
            result = node.op.expansion(*replaced(args, kind))
            if node.op.is_multiple and result is not NotImplemented:
                return tuple([part.data if isinstance(part, Value) else part for part in result])
            if isinstance(result, Value) and result.dtype != node.dtype and node.dtype is not None:
                result = result.astype(node.dtype)
        return result.data if isinstance(result, Value) else result


def _key(op, args):
    return (op, *[a if isinstance(a, Symbol) else _argument_key(a) for a in args])


def _argument_key(a):
    if isinstance(a, Symbol):
        return a
    if isinstance(a, (tuple, list)):
        return (type(a).__name__, *[_argument_key(b) for b in a])
    if isinstance(a, np.ndarray):
        return constant_key(a)
    if isinstance(a, slice):
        return ("slice", a.start, a.stop, a.step)
    return (type(a), repr(a))

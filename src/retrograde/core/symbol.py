"""Symbol, what a value holds in place of data while it is not computed: the op that will make it, and its spec."""

from functools import cached_property

from ..errors import TraceError
from .mode import current

_TRACED = ("this value is being traced by jit and has no number yet; keep the computation in retrograde's ops (rg.where instead of "
           "`if`), move the reading of the value out of the jitted function, or name an argument that decides something, such as a "
           "rate, in static_argnums or static_argnames")
_NO_INDEX = ("this value is being traced by jit and has no number yet, where Python needs an integer: name an argument that "
             "decides a shape or a count in static_argnums or static_argnames, repeat by rg.fori_loop, and take elements from a "
             "computed place on by x.take(start + np.arange(size), axis)")
_NO_DATA = ("this is the data of a value that is traced, which has none yet; compute with the tensor itself, or x.detach(), and "
            "write to it by x[...] = y, or x += y")
#: What is said of a value that outlives its trace.
STRAY = ("this value was traced by jit in a call that is over, and never had a number; return it from the jitted function "
         "instead of storing it outside, or write it to a tensor from outside, as in `state[...] = new`")


class Symbol:
    """A node of a traced or lazy graph. `args` are the op's arguments, with symbols where values stood; `inputs` are those
    symbols, in order, also those inside tuples and lists. `over` is set where a value was written in place: the nodes in whose
    memory eager ops would have it, and whether it is nobody else's. `pattern` is the node that it is a copy of, or None.
    """

    __slots__ = ("__weakref__", "args", "dtype", "inputs", "op", "over", "pattern", "shape")

    def __init__(self, op, args, shape, dtype, pattern=None):
        self.op, self.args, self.shape, self.dtype, self.pattern = op, args, shape, dtype, pattern
        self.inputs = symbols_in(args) if args else []

    @property
    def ndim(self):
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self):
        """Number of elements."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def named(self):
        """The arguments by name."""
        return dict(zip(self.op.arguments, self.args, strict=True))

    @property
    def nbytes(self):
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    def __repr__(self):
        spec = "of several results" if self.shape is None else f"{self.dtype}{list(self.shape)}"
        return f"<{self.op.name if self.op else 'input'} {spec}>"

    def _refuse(self, *_, told=_TRACED, **__):
        mode = current()
        raise TraceError(STRAY if mode is None or mode.tracer is None or mode.tracer.is_lazy else told)

    def _refuse_as_index(self):
        self._refuse(told=_NO_INDEX)

    def _refuse_as_data(self, *_):
        raise TraceError(_NO_DATA)

    def __getattr__(self, name):
        raise AttributeError(f"no attribute {name!r}: {_NO_DATA}")

    __array__ = __bool__ = __float__ = __int__ = __complex__ = item = tolist = _refuse
    __index__ = _refuse_as_index
    __getitem__ = __setitem__ = __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_as_data
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _refuse_as_data
    __iter__ = None


def symbols_in(args):
    """The symbols among arguments, also inside tuples and lists."""
    found = []
    for a in args:
        if isinstance(a, Symbol):
            found.append(a)
        elif a.__class__ in _NESTED:
            found += symbols_in(a)
    return found


_NESTED = frozenset([tuple, list])


def replaced(args, change):
    """`args` with `change` applied to each symbol."""
    return tuple([
        change(a) if isinstance(a, Symbol) else a.__class__(replaced(a, change)) if a.__class__ in _NESTED else a
        for a in args
    ])


def renewed(node, args):
    """`node` with other arguments: itself if these are the same symbols."""
    return node if symbols_in(args) == node.inputs else Symbol(node.op, args, node.shape, node.dtype)


def remade(node, made):
    """`node` with what `made` has in the place of its arguments: itself where these stand for themselves, as most do."""
    for a in node.inputs:
        if made[a] is not a:
            return Symbol(node.op, replaced(node.args, made.__getitem__), node.shape, node.dtype)
    return node


def substituted(outputs, stand_ins):
    """`outputs` with others in the place of some nodes, below which nothing is looked at. Iterative."""
    made, roots = dict(stand_ins), [o for o in outputs if isinstance(o, Symbol)]
    complete(made, roots, lambda node: remade(node, made))
    return [made[o] if isinstance(o, Symbol) else o for o in outputs]


def complete(known, roots, compute):
    """Let `known` have all nodes that `roots` depend on: `compute(node)` for each that it lacks, whose arguments are there then.
    Nothing is looked at below a node that is known. Iterative, since graphs may be deep.
    """
    stack = [*roots]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        # A node is looked at twice, before its arguments and after them, instead of a call for each level: graphs of loops that
        # Python unrolled are many thousand nodes deep.
        waiting = [a for a in node.inputs if a not in known]
        if waiting:
            stack += waiting
        else:
            stack.pop()
            known[node] = compute(node)


class Outputs(list):
    """What a graph computes: symbols, or plain data."""

    @cached_property
    def nodes(self):
        """All nodes that they depend on, arguments first, found once."""
        return ordered(self)


def ordered(outputs):
    """All nodes that `outputs` depend on, arguments first. Iterative."""
    found, seen = [], set()
    stack: list = [o for o in reversed(outputs) if isinstance(o, Symbol)]
    while stack:
        node = stack.pop()
        # A marker below which the node itself waits, in place of a second visit with a test of all arguments: traces have many
        # thousand nodes.
        if node is None:  # the arguments of the node below are there
            found.append(stack.pop())
        elif node not in seen:
            seen.add(node)
            waiting = [a for a in node.inputs if a not in seen]
            if waiting:
                stack += (node, None, *waiting)
            else:
                found.append(node)
    return found


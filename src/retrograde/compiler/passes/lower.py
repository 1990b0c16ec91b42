"""Lower: a traced graph in few kinds of node, each once, with nothing that no result needs.

Takes  a graph of any ops.
Gives  a graph of primitive nodes: composites are expanded into the ops that they are made of, complex numbers into their parts as
       far as that can be, half precision is computed in float32, equal nodes are one (common subexpressions), and constants
       are folded.
Keeps  what each result is, its shape and its dtype; leaves stay themselves.
"""

import numpy as np

from ...core.mode import changed
from ...core.symbol import Outputs, Symbol, complete, ordered, replaced, symbols_in
from ...core.value import Value
from ...dtypes import float32, parts_dtype
from ...ops._arrays import arrays
from ...ops.manipulation.movements import broadcast_to
from ..graph.constants import constant_key
from ..lowering.complex_parts import Parts, known_parts
from ..lowering.complexes import COMPLEX, IMAG, REAL, in_parts, involves_complex, is_shown_as_it_is
from ..lowering.half_precision import NARROW, ROUNDED, in_float32, is_computed_wide, is_widened
from ..lowering.own_kernel import is_own, traced_kernel
from ..rules.simplify import folded, simplified
from ..trace.trace import PICK, Trace


def lower(outputs):
    """The `outputs` (symbols or arrays) as `Outputs` of a graph of primitive nodes."""
    lowering = _Lowering()
    for node in ordered(outputs):
        lowering.lower(node)
    return Outputs([lowering.output(output) for output in outputs])


class _Lowering:
    def __init__(self):
        self._done, self._equal = {}, {}
        #: What `_done` has made: the nodes below which all are known to be unlike each other.
        self._standing = set()
        self._trace, self._constants = Trace(), {}
        #: Ops of several results that are computed in float32 where half precision was asked for.
        self._wide = set()

    def output(self, root):
        """The node for `root`, which has memory of its own."""
        return self._in_memory(self.lowered(root))

    def lower(self, node):
        """Find what stands for a node, whose arguments are lowered."""
        self._done[node] = self._standing_for(node)

    def lowered(self, root):
        """The node for `root`."""
        if not isinstance(root, Symbol):
            return root
        complete(self._done, [root], self._standing_for)
        return self._done[root]

    def _standing_for(self, node):
        """What stands for a node, whose arguments are lowered; noted as such."""
        made = self._made(node)
        if made.__class__ is Symbol:  # mostly
            self._standing.add(made)
        elif made.__class__ is tuple:
            self._standing.update([part for part in made if isinstance(part, Symbol)])
        return made

    def _made(self, node):
        if node.op is None:
            return node
        args = replaced(node.args, self._done.__getitem__)
        # Expanded before anything else, so that the rules below see primitives alone.
        if node.op.expansion is not None or getattr(node.op, "is_foreign", False):
            simpler = self._in_simpler_ops(node, args)
            if simpler is not NotImplemented:
                return tuple([self.lowered(part) for part in simpler]) if node.op.is_multiple else self.lowered(simpler)
        if node.op is PICK:
            # Of an op that was expanded the results are there, one by one.
            return args[0][args[1]] if args[0].__class__ is tuple else self._picked(node, args)
        if node.shape is None:  # an op of several results, or of none: a kernel of its own, which reads memory
            if is_computed_wide(node, args):
                return self._several_in_float32(node, args)
            return self._equal_to(node.op, replaced(args, self._in_memory), None, node.dtype)
        # The first argument alone says it nearly always; to look at all of them takes longer.
        if not (args and isinstance(args[0], Symbol)) and not symbols_in(args):
            known = folded(node.op, args, node.shape, node.dtype)
            if known is not None:
                return known
        if _is_ordinary(node):
            return self._simplified(node, args)
        if involves_complex(node):
            return self._in_parts(node, args)
        return self._in_float32(node, args) if is_computed_wide(node, args) else self._simplified(node, args)

    def _in_simpler_ops(self, node, args):
        """What the op of a node is made of: its expansion, or of an op of a user's its kernel; NotImplemented where it stays."""
        if node.op.expansion is not None and (expanded := self._expanded(node, args)) is not NotImplemented:
            return expanded
        return traced_kernel(node, args, self._trace) if is_own(node.op) and symbols_in(args) else NotImplemented

    def _simplified(self, node, args):
        """A node by the rules of algebra, merged with what is equal to it."""
        simple = simplified(node.op, args, node.shape, node.dtype)
        if isinstance(simple, Symbol):
            return simple
        op, simple_args = simple
        if simple_args is not args:
            simple_args = replaced(simple_args, self._interned)
        return self._equal_to(op, simple_args, node.shape, node.dtype)

    def _equal_to(self, op, args, shape, dtype):
        """The node of an op on these arguments, the same for equal ones."""
        key = _key(op, args)
        found = self._equal.get(key)
        if found is None:
            found = self._equal[key] = Symbol(op, args, shape, dtype)
        return found

    def _interned(self, node):
        """The node for one that simplifying may have made, which is a few nodes deep."""
        if node.op is None or node in self._standing:
            return node
        key = _key(node.op, node.args)
        found = self._equal.get(key)
        if found is None:
            # As simple as all others are, or what is equal would not be the same node.
            args = replaced(node.args, self._interned)
            found = self._simplified(Symbol(node.op, args, node.shape, node.dtype), args)
        return found

    # Half precision

    def _in_float32(self, node, args):
        """The node for one of half precision: the result of the op in float32, rounded."""
        found = in_float32(node, args, self._equal_to)
        if found is None:
            return self._simplified(node, args)
        args, dtype = found
        return self._rounded(self._simplified(Symbol(node.op, args, node.shape, dtype), args), node.dtype)

    def _several_in_float32(self, node, args):
        """As `_in_float32`, for an op of several results, which are rounded one by one."""
        args, _ = in_float32(node, args, self._equal_to)
        made = self._equal_to(node.op, args, None, node.dtype)
        self._wide.add(made)
        return made

    def _picked(self, node, args):
        """One result of an op of several, which may be computed in float32 where it was asked for in half precision."""
        dtype = float32 if node.dtype in NARROW and args[0] in self._wide else node.dtype
        return self._rounded(self._equal_to(PICK, args, node.shape, dtype), node.dtype)

    def _rounded(self, node, dtype):
        if is_widened(node, dtype):
            return node.args[0]
        return node if node.dtype == dtype else self._equal_to(ROUNDED, (node, dtype), node.shape, dtype)

    # Complex numbers

    def _in_parts(self, node, args):
        """The node for one that makes complex numbers or reads them, made of their parts as far as that can be."""
        # Complex numbers in memory, in another shape: no part of them needs to be taken out.
        if is_shown_as_it_is(node, args):
            source = args[0].args[0] if is_shown_as_it_is(args[0], args[0].args) else args[0]
            return source if source.shape == node.shape else self._equal_to(node.op, (source, node.shape), node.shape, node.dtype)
        with changed(tracer=self._trace, records=False):
            found = in_parts(node, replaced(args, _value_of_real), self._parts_of)
            if found is NotImplemented:
                return self._equal_to(node.op, replaced(args, self._in_memory), node.shape, node.dtype)
            dtype = parts_dtype(node.dtype)
            parts = [_fitted(part, node.shape, dtype) for part in (found if isinstance(found, Parts) else (found,))]
        parts = [self.lowered(part) for part in parts]
        return parts[0] if len(parts) == 1 else self._whole(*parts, node.dtype)

    def _parts_of(self, argument):
        """The parts of an argument of an op: values, arrays or numbers."""
        # By identity, with the array beside it: while it is kept, no other one can get its address.
        if isinstance(argument, np.ndarray):  # each is taken apart once
            if id(argument) not in self._constants:
                self._constants[id(argument)] = argument, known_parts(argument)
            return self._constants[id(argument)][1]
        if not isinstance(argument, Symbol):
            return known_parts(argument)
        if argument.op is COMPLEX:
            return Parts(*[_value_of(part) for part in argument.args])
        return Parts(*[arrays.made(self._part(argument, op)) for op in (REAL, IMAG)])

    def _part(self, node, op):
        """The node of a part of complex numbers in memory, with which lowering is over."""
        part = self._equal_to(op, (node,), node.shape, parts_dtype(node.dtype))
        # Lowering it again would find complex numbers among its arguments, and take them apart once more.
        self._done[part] = part
        return part

    def _whole(self, real, imag, dtype):
        """The node of complex numbers with these parts: what they are parts of, if they are."""
        sources = [part.args[0] for part, op in ((real, REAL), (imag, IMAG)) if isinstance(part, Symbol) and part.op is op]
        if len(sources) == 2 and sources[0] is sources[1]:
            return sources[0]
        if not isinstance(real, Symbol) and not isinstance(imag, Symbol):
            return COMPLEX.kernel(real, imag).astype(dtype)
        return self._equal_to(COMPLEX, (real, imag), real.shape, dtype)

    def _in_memory(self, node):
        """A node, or for complex numbers that are shown in another shape those in memory of their own."""
        if not isinstance(node, Symbol) or node.dtype is None or node.dtype.kind != "c" or not is_shown_as_it_is(node, node.args):
            return node
        return self._equal_to(COMPLEX, tuple([self._part(node, op) for op in (REAL, IMAG)]), node.shape, node.dtype)

    def _expanded(self, node, args):
        """The graph of a composite's body on `args`; of one with several results, a tuple of graphs. NotImplemented where the body
        says that these arguments have none.
        """
        made = node.op.algebra.made
        with changed(tracer=self._trace, records=False):
            result = node.op.expansion(*replaced(args, made))
            if node.op.is_multiple and result is not NotImplemented:
                return tuple([part.raw if isinstance(part, Value) else part for part in result])
            if isinstance(result, Value) and result.dtype != node.dtype and node.dtype is not None:
                result = result.astype(node.dtype)
        return result.raw if isinstance(result, Value) else result


#: The characters of NumPy's for dtypes that are computed as they are; the classes of arguments that have no dtype; and of those
#: that are equal where they print alike.
_ORDINARY = frozenset("?bBhHiIlLqQfd")
_EXACT = frozenset([int, bool, str, type(None)])
_HARMLESS = frozenset([Symbol, float, *_EXACT])


def _is_ordinary(node):
    """Whether a node meets neither complex numbers nor half precision, as is quickly seen of most."""
    if node.dtype.char not in _ORDINARY:
        return False
    for a in node.inputs:
        if a.dtype is None or a.dtype.char not in _ORDINARY:
            return False
    for a in node.args:
        if a.__class__ not in _HARMLESS and not (a.__class__ is tuple and _EXACT.issuperset(map(type, a))):
            return False
    return True


def _value_of_real(node):
    """A node of real numbers as a value; complex ones are taken apart first."""
    return node if node.dtype.kind == "c" else arrays.made(node)


def _value_of(part):
    """A part as ops read it: a value, or a constant."""
    return arrays.made(part) if isinstance(part, Symbol) else known_parts(part).real


def _fitted(part, shape, dtype):
    """A part as a node or an array of a shape and a dtype."""
    if not isinstance(part, Value):
        return np.broadcast_to(np.asarray(part, dtype), shape)
    part = part if part.dtype == dtype else part.astype(dtype)
    return (part if part.shape == shape else broadcast_to(part, shape)).raw


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
    # Text is for floats: it tells zeros of different sign apart, and NaN is equal to itself.
    return (a.__class__, a if a.__class__ in _EXACT else repr(a))

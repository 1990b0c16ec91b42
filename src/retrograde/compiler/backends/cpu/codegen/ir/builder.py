"""The builder: one method for each instruction, which it writes at the end of a block."""

from contextlib import contextmanager

from .module import Function
from .types import FunctionType, IntType, PointerType, VectorType
from .values import Phi, Slot, Value, aligned

_BIT, _POINTER = IntType(1), PointerType()
_EQUAL, _ORDERS = {"==": "eq", "!=": "ne"}, {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_SIGNED = _EQUAL | {relation: f"s{name}" for relation, name in _ORDERS.items()}
_UNSIGNED = _EQUAL | {relation: f"u{name}" for relation, name in _ORDERS.items()}
_ORDERED = {relation: f"o{name}" for relation, name in (_EQUAL | _ORDERS).items()}
_UNORDERED = {relation: f"u{name}" for relation, name in (_EQUAL | _ORDERS).items()} | {"uno": "uno"}


def _binary(name):
    """The instruction `name` on two values of one type."""

    def write(self, x, y, flags=()):
        words = " ".join((name, *flags)) if flags else name
        return self._value(x.type, f"{words} {x.type.text} {x.text}, {y.text}")

    return write


def _conversion(name):
    """The instruction `name` from a value to another type; nothing if it has that type."""

    def write(self, x, kind):
        # As llvmlite does: callers convert without asking.
        return x if x.type == kind else self._value(kind, f"{name} {x.type.text} {x.text} to {kind.text}")

    return write


class IRBuilder:
    """Writes instructions at the end of its `block`."""

    def __init__(self, block):
        self.block = block

    @property
    def function(self):
        """The function that is written."""
        return self.block.function

    @property
    def module(self):
        """The module that it is part of."""
        return self.block.function.module

    def _value(self, kind, line):
        """A new value that an instruction gives."""
        block = self.block
        # Numbered in the order of writing: equal kernels have equal text, and so one entry of the cache.
        text = block.function.new_name()
        block.instructions.append(f"  {text} = {line}")
        return Value(kind, text)

    # Numbers

    add, sub, mul, sdiv, srem, udiv, urem = map(_binary, ("add", "sub", "mul", "sdiv", "srem", "udiv", "urem"))
    fadd, fsub, fmul, fdiv, frem = map(_binary, ("fadd", "fsub", "fmul", "fdiv", "frem"))
    and_, or_, xor, shl, lshr, ashr = map(_binary, ("and", "or", "xor", "shl", "lshr", "ashr"))
    trunc, zext, sext, bitcast = map(_conversion, ("trunc", "zext", "sext", "bitcast"))
    fptrunc, fpext, fptosi, sitofp, uitofp = map(_conversion, ("fptrunc", "fpext", "fptosi", "sitofp", "uitofp"))
    inttoptr, ptrtoint = map(_conversion, ("inttoptr", "ptrtoint"))

    def fneg(self, x):
        """The number with its sign flipped."""
        return self._value(x.type, f"fneg {x}")

    def icmp_signed(self, relation, x, y):
        """Whether a relation, such as "<", holds between integers with a sign."""
        return self._compared("icmp", _SIGNED[relation], x, y)

    def icmp_unsigned(self, relation, x, y):
        """Whether a relation holds between integers without sign."""
        return self._compared("icmp", _UNSIGNED[relation], x, y)

    def fcmp_ordered(self, relation, x, y):
        """Whether a relation holds between floats neither of which is NaN."""
        return self._compared("fcmp", _ORDERED[relation], x, y)

    def fcmp_unordered(self, relation, x, y):
        """Whether a relation holds between floats, or one of them is NaN; for "uno" whether one is."""
        return self._compared("fcmp", _UNORDERED[relation], x, y)

    def _compared(self, name, relation, x, y):
        kind = VectorType(_BIT, x.type.count) if isinstance(x.type, VectorType) else _BIT
        return self._value(kind, f"{name} {relation} {x}, {y.text}")

    def select(self, condition, x, y):
        """`x` where a condition holds, else `y`."""
        return self._value(x.type, f"select {condition}, {x}, {y}")

    # Vectors, and several values in one

    def extract_element(self, vector, index):
        """One element of a vector."""
        return self._value(vector.type.element, f"extractelement {vector}, {index}")

    def insert_element(self, vector, x, index):
        """A vector with another element at a place."""
        return self._value(vector.type, f"insertelement {vector}, {x}, {index}")

    def shuffle_vector(self, x, y, mask):
        """Elements of two vectors, those that a constant numbers."""
        return self._value(VectorType(x.type.element, mask.type.count), f"shufflevector {x}, {y}, {mask}")

    def extract_value(self, x, number):
        """One of several values in one."""
        return self._value(x.type.elements[number], f"extractvalue {x}, {number}")

    def insert_value(self, x, value, number):
        """Several values in one, with another one at a place."""
        return self._value(x.type, f"insertvalue {x}, {value}, {number}")

    # Memory

    def alloca(self, kind):
        """Memory on the stack for one value of a type."""
        slot = Slot(_POINTER, self.function.new_name(), kind)
        self.block.instructions.append(slot)
        return slot

    def load(self, pointer, typ, align=None):
        """What is in memory."""
        return self._value(typ, f"load {typ.text}, {pointer}{aligned(align)}")

    def store(self, x, pointer, align=None):
        """Write to memory."""
        self.block.instructions.append(f"  store {x}, {pointer}{aligned(align)}")

    def freeze(self, x):
        """The same value, of which LLVM does not know how it was computed."""
        return self._value(x.type, f"freeze {x.type.text} {x.text}")

    def gep(self, pointer, indices, source_etype):
        """The address of an element of what lies at a pointer."""
        return self._value(_POINTER, f"getelementptr {source_etype.text}, {pointer}, {', '.join(map(str, indices))}")

    # Calls and branches

    def call(self, function, arguments, attrs=(), kind=None):
        """Call a function, or what is of `kind` at a pointer; its result, if there is one."""
        result = (kind or function.kind).result
        attributes = "".join([f" {attribute}" for attribute in attrs])
        line = f"call {result.text} {function.text}({', '.join(map(str, arguments))}){attributes}"
        if result.text != "void":
            return self._value(result, line)
        self.block.instructions.append(f"  {line}")
        return None

    def call_external(self, name, result, arguments):
        """Call a function by its linker name, or an intrinsic; it is declared on first use."""
        function = self.module.globals.get(name)
        if function is None:
            function = Function(self.module, FunctionType(result, [x.type for x in arguments]), name)
        return self.call(function, arguments)

    def phi(self, kind):
        """What a value is at the start of this block."""
        phi = Phi(kind, self.function.new_name())
        self.block.instructions.append(phi)
        return phi

    def ret(self, x):
        """Return a value."""
        self._end(f"ret {x}")

    def ret_void(self):
        """Return."""
        self._end("ret void")

    def branch(self, block):
        """Go on with a block."""
        self._end(f"br label {block.text}")

    def cbranch(self, condition, block, other, weights=()):
        """Go on with a block where a condition holds, else with another; `weights` say how often that is."""
        numbers = ", ".join([f"i32 {weight}" for weight in weights])
        hint = f', !prof !{{!"branch_weights", {numbers}}}' if weights else ""
        self._end(f"br {condition}, label {block.text}, label {other.text}{hint}")

    def _end(self, line):
        self.block.terminator = f"  {line}"

    # Blocks

    def append_basic_block(self, label="block"):
        """A new block of the function, after all others."""
        return self.function.append_basic_block(label)

    def position_at_end(self, block):
        """Write at the end of a block from now on."""
        self.block = block

    @contextmanager
    def goto_entry_block(self):
        """What is written within it belongs to the first block, before that ends."""
        # A block's end is kept apart from its instructions, so that more can be written before it.
        before, self.block = self.block, self.function.blocks[0]
        yield
        self.block = before

    @contextmanager
    def if_then(self, condition, likely=True):
        """What is written within it runs where a condition holds."""
        then, after = self.append_basic_block("then"), self.append_basic_block("after")
        # Weights only where a branch is hardly ever taken: LLVM moves it out of the way of the code around it.
        self.cbranch(condition, then, after, () if likely else (1, 99))
        with self._joined(then, after):
            yield
        self.block = after

    @contextmanager
    def if_else(self, condition):
        """Two context managers: what is written within them runs where a condition holds, and where it does not."""
        then, otherwise, after = [self.append_basic_block(label) for label in ("then", "otherwise", "after")]
        self.cbranch(condition, then, otherwise)
        yield self._joined(then, after), self._joined(otherwise, after)
        self.block = after

    @contextmanager
    def _joined(self, block, after):
        """What is written within it goes to a block, which another one follows."""
        self.block = block
        yield
        # What was written may have returned already.
        if self.block.terminator is None:
            self.branch(after)

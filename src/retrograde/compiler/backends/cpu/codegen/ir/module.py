"""Modules of LLVM code: functions, their blocks, and constant tables."""

from .types import PointerType
from .values import Value

_POINTER = PointerType()


class Module:
    """Functions and tables for a `target`, by name in `globals`; as text, what LLVM reads."""

    def __init__(self, name, target):
        self.name, self.target, self.triple, self.globals = name, target, "unknown-unknown-unknown", {}

    def add(self, item):
        """Enter a function or a table under its name, which must be new."""
        if item.name in self.globals:
            raise ValueError(f"each name of a module must be new, got {item.name!r} twice")
        self.globals[item.name] = item

    def __str__(self):
        head = f'; ModuleID = "{self.name}"\ntarget triple = "{self.triple}"\ntarget datalayout = ""\n'
        return "\n".join([head, *[item.definition for item in self.globals.values()], ""])


class Function(Value):
    """A function of a module of a `kind`, as a pointer to it: declared, and defined once it has a block."""

    def __init__(self, module, kind, name):
        super().__init__(_POINTER, f'@"{name}"')
        self.module, self.kind, self.name = module, kind, name
        self.linkage, self.attributes, self.blocks, self._names = "", set(), [], 0
        self.args = [Value(argument, self.new_name()) for argument in kind.arguments]
        module.add(self)

    def new_name(self, label="v"):
        """A name for a value or a block that is new in this function."""
        self._names += 1
        return f"%{label}.{self._names}"

    def append_basic_block(self, label="block"):
        """A new block, after all others."""
        self.blocks.append(Block(self, self.new_name(label)))
        return self.blocks[-1]

    @property
    def definition(self):
        """The function as text."""
        state = "define" if self.blocks else "declare"
        words = [word for word in (state, self.linkage, self.kind.result.text) if word]
        arguments, attributes = ", ".join(map(str, self.args)), "".join([f" {attribute}" for attribute in sorted(self.attributes)])
        head = f"{' '.join(words)} {self.text}({arguments}){attributes}"
        return "\n".join([head, "{", *map(str, self.blocks), "}"]) if self.blocks else head


class Block:
    """Instructions that run one after the other: lines, or what has a `line` in the end; the last one is the `terminator`."""

    def __init__(self, function, text):
        self.function, self.text, self.instructions, self.terminator = function, text, [], None

    def __str__(self):
        lines = [entry if isinstance(entry, str) else entry.line for entry in self.instructions]
        return "\n".join([f"{self.text[1:]}:", *lines, *([] if self.terminator is None else [self.terminator])])


class Table(Value):
    """A constant in the memory of a module, as a pointer to it. LLVM does not look into one that `is_hidden`, and reads it where
    it is.
    """

    def __init__(self, module, name, constant, *, is_hidden=False):
        super().__init__(_POINTER, f'@"{name}"')
        self.name, self._constant = name, constant
        self._linkage = "internal externally_initialized" if is_hidden else "internal"
        module.add(self)

    @property
    def definition(self):
        """The table as text."""
        return f"{self.text} = {self._linkage} constant {self._constant}"

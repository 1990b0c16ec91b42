"""Values of LLVM code: what instructions read, with a type and with the text that stands for them."""

#: The constant of which any value will do.
Undefined = object()


class Value:
    """What an instruction can read."""

    def __init__(self, kind, text):
        self.type, self.text = kind, text

    def __str__(self):
        return f"{self.type.text} {self.text}"


class Constant(Value):
    """A number, or a number for each element."""

    def __init__(self, kind, constant):
        super().__init__(kind, "undef" if constant is Undefined else kind.written(constant))
        self.constant = constant


class Written(Constant):
    """A constant by its text, which is short where all elements are alike."""

    def __init__(self, kind, text):
        Value.__init__(self, kind, text)
        self.constant = None


class Phi(Value):
    """What a value is at the start of a block, by the block before it; those may be told later."""

    def __init__(self, kind, text):
        super().__init__(kind, text)
        self._incomings = []

    def add_incoming(self, value, block):
        """Say what the value is after a block."""
        self._incomings.append((value, block))

    @property
    def line(self):
        """The instruction."""
        # Written when the function is, since a loop tells its last value after the code that reads it.
        incomings = ", ".join([f"[{value.text}, {block.text}]" for value, block in self._incomings])
        return f"  {self.text} = phi {self.type.text} {incomings}"


class Slot(Value):
    """Memory on the stack for one value of a type, as a pointer; its `align` in bytes may be told later."""

    def __init__(self, pointer, text, kind):
        super().__init__(pointer, text)
        self.align, self._kind = None, kind

    @property
    def line(self):
        """The instruction."""
        return f"  {self.text} = alloca {self._kind.text}{aligned(self.align)}"


def aligned(align):
    """How an alignment is written, where there is one."""
    return "" if align is None else f", align {align}"

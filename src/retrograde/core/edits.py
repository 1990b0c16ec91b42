"""Edits: a clock of what modules consist of, so that compiled code need not look each time whether they still do."""

#: How often attributes of modules were set in this process.
CLOCK = [0]


def edited():
    """Note that an attribute of a module was set."""
    CLOCK[0] += 1

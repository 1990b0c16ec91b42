"""Edits: a clock of what modules consist of, so that compiled code need not look each time whether they still do."""

_EDITS = [0]


def edited():
    """Note that an attribute of a module was set."""
    _EDITS[0] += 1


def edits():
    """How often attributes of modules were set in this process."""
    return _EDITS[0]

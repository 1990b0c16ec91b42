"""Edits: a clock of what modules consist of, and of which tensors require gradients, so that compiled code need not look at
them each time.
"""

#: How often attributes of modules, or whether a tensor requires gradients, were set in this process.
CLOCK = [0]


def edited():
    """Note that one was set."""
    CLOCK[0] += 1

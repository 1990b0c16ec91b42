"""What is handed to a backend to be exported, and what it gives."""

from typing import Any, NamedTuple


class Exported(NamedTuple):
    """A function as it is exported.

    graph    the `Graph` of one call
    state    the arrays of its leaves of state, as they are now
    inputs   the names of the inputs of the graph, and `results` those of its results
    """

    name: str
    graph: Any
    state: list
    inputs: list
    results: list


class ExportedFile(NamedTuple):
    """A file of machine code: its bytes, the name of the target, and (name, inputs, outputs) of each function, as
    `retrograde.runtime` describes them.
    """

    content: bytes
    target: str
    functions: list

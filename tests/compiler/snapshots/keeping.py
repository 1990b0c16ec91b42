"""The files of snapshots: reading them, and making them of what the compiler decides now."""

from pathlib import Path

import retrograde as rg
from retrograde.compiler.target import named

from .programs import PROGRAMS
from .telling import checksum, graph_of, told

_FOLDER = Path(__file__).parent / "kept"
#: The target of which all is kept, and those of which a checksum is.
TARGET = "x86-64-v3"
OTHER_TARGETS = ("x86-64-v2", "x86-64-v4", "aarch64")
_THREADS, _HEAD = 4, "## "


def lines_of(group, name, target):
    """What the compiler decides now about a program for a target."""
    function, operands = PROGRAMS[group][name]
    before = rg.get_num_threads()
    rg.set_num_threads(_THREADS)
    try:
        prepared = function.prepared() if hasattr(function, "prepared") else function
        return told(graph_of(prepared, operands), named(target))
    finally:
        rg.set_num_threads(before)


def checksums_of(group, name):
    """By target a checksum of what it decides for others."""
    return [f"{target} {checksum(chr(10).join(lines_of(group, name, target)))}" for target in OTHER_TARGETS]


def kept(group):
    """The lines of each program of a group by its name."""
    found = {}
    for line in (_FOLDER / f"{group}.txt").read_text().splitlines():
        if line.startswith(_HEAD):
            found[line.removeprefix(_HEAD)] = lines = []
        else:
            lines.append(line)
    return found


def keep(group):
    """Write the file of a group anew."""
    lines = []
    for name in PROGRAMS[group]:
        lines += [f"{_HEAD}{name}", *lines_of(group, name, TARGET), *checksums_of(group, name)]
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / f"{group}.txt").write_text("\n".join([*lines, ""]))

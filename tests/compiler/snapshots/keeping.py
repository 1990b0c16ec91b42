"""The files of snapshots: reading them, and making them of what the compiler decides now."""

from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde.compiler.target import named
from retrograde.errors import RetrogradeError

from . import eager, forms, sizes
from .programs import PROGRAMS, of_each_op, of_seed
from .telling import checksum, graph_of, told

_FOLDER = Path(__file__).parent / "kept"
#: The target of which all is kept, and those of which a checksum is.
TARGET = "x86-64-v3"
OTHER_TARGETS = {name: named(name) for name in ("x86-64-v2", "x86-64-v4", "aarch64")} | {
    "small caches": named(TARGET, caches=(4096, 32768, 131072)), "large caches": named(TARGET, caches=(1 << 17, 1 << 21, 1 << 26))}
_THREADS, _HEAD = 4, "## "


#: The files of the ops, of their forms, of eager ops, of programs that the fuzzer draws, and of those of many sizes.
_OPS, _FORMS, _EAGER, _DRAWN, _SIZES = "ops", "forms", "eager", "drawn", "sizes"
#: Seeds of such programs: chance comes to conditions that nobody has thought of a program for.
SEEDS = range(500)


def lines_of(program, target=None):
    """What the compiler decides now about a program for a target."""
    function, operands = program
    before = rg.get_num_threads()
    rg.set_num_threads(_THREADS)
    try:
        prepared = function.prepared() if hasattr(function, "prepared") else function
        return told(graph_of(prepared, operands), target or named(TARGET))
    finally:
        rg.set_num_threads(before)


def checksums_of(program):
    """What it decides for other targets, in short."""
    return [f"{name}: {_short(lines_of(program, target))}" for name, target in OTHER_TARGETS.items()]


def op_lines(programs):
    """What it decides about the programs of an op, in short."""
    return [f"{name} {_short(lines_of(program))}" for name, program in programs.items()]


@np.errstate(all="ignore")
def seed_lines(seed):
    """What it decides about what the fuzzer draws from a seed, in short."""
    found = []
    for name, program in of_seed(seed).items():
        try:
            found.append(f"{name}: {_short(lines_of(program))}")
        except (RetrogradeError, ArithmeticError, TypeError, ValueError) as error:  # as of a derivative that there is not
            found.append(f"{name}: {type(error).__name__}")
    return found


def size_lines(number, program):
    """What it decides about one of the programs of many sizes, for one of the targets, in short."""
    name, target = list({TARGET: named(TARGET), **OTHER_TARGETS}.items())[number % (1 + len(OTHER_TARGETS))]
    return [f"{name}: {_short(lines_of(program, target))}"]


def _short(lines):
    return f"{len(lines)} lines, {checksum(chr(10).join(lines))}"


def kept(group):
    """The lines of each program of a group by its name."""
    found = {}
    for line in (_FOLDER / f"{group}.txt").read_text().splitlines():
        if line.startswith(_HEAD):
            found[line.removeprefix(_HEAD)] = lines = []
        else:
            lines.append(line)
    return found


def keep():
    """Write all files anew."""
    _FOLDER.mkdir(exist_ok=True)
    for group, programs in PROGRAMS.items():
        _write(group, {name: [*lines_of(program), *checksums_of(program)] for name, program in programs.items()})
    _write(_OPS, {name: op_lines(programs) for name, programs in of_each_op().items()})
    _write(_FORMS, {name: form_lines(cases) for name, cases in forms.of_ops().items()})
    _write(_EAGER, {name: eager_lines(name) for name in eager.names()})
    _write(_DRAWN, {str(seed): seed_lines(seed) for seed in SEEDS})
    _write(_SIZES, {name: size_lines(number, program) for number, (name, program) in enumerate(sizes.of_sizes().items())})


def form_lines(cases):
    """What the forms of an op become."""
    return [line for case in cases for line in forms.lines_of(case)]


def eager_lines(name):
    """What an eager op asks for."""
    return eager.lines_of(name, named(TARGET))


def _write(group, found):
    lines = [line for name, below in found.items() for line in (f"{_HEAD}{name}", *below)]
    (_FOLDER / f"{group}.txt").write_text("\n".join([*lines, ""]))

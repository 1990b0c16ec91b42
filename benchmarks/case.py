"""Case, one comparison, and the ways to measure one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType

OURS = "retrograde"


@dataclass(frozen=True)
class Case:
    """One comparison: what is measured, who takes part, and what ratio is aimed at.

    rivals  by name, functions that run in a process of their own; the kind of case says what they return. A rival
            whose library is not installed, which fails or which takes too long is left out with a note.
    goals   by name, what is good enough: the least ratio of that rival's figure to ours, or, for our own figure and wherever
            `compares` is False, the greatest figure in `unit`
    """

    name: str
    title: str
    rivals: dict[str, Callable]
    goals: dict[str, float] = field(default_factory=dict)
    compares = True
    unit = ""
    scale = 1.0
    #: How many of the first results are compared, how far they may differ, how many seconds an answer may take (None: as usual for
    #: each), and the rivals that compute something else because that is asked of them.
    compared, tolerance, patience, apart = None, None, None, ()
    #: By rival, a package that it needs beside its library: `--python` may name an interpreter for that.
    packages = MappingProxyType({})


class Timed(Case):
    """Rivals prepare and return a function, which is called many times; the figure is the time of one call.

    What its first calls return must be what the others' return, or the rival is refused.
    """

    unit, scale = "ms", 1e3


class Quick(Timed):
    """A `Timed` case of calls so short that they are given in microseconds."""

    unit, scale = "µs", 1e6


class FirstCall(Case):
    """Rivals return a function; the figure is the time of its first call, in a process that has compiled nothing yet.

    Twice each round: "cold", with an empty folder for compiled code, and "warm", in another process with what the first
    one left there. The goals name both: "retrograde, cold".
    """

    unit, scale = "ms", 1e3
    compares = False
    turns = ("cold", "warm")


@dataclass(frozen=True)
class Compilation(FirstCall):
    """A `FirstCall`, cold only, of functions with ever more ops: `operations` has their number by rival."""

    operations: dict[str, int] = field(default_factory=dict)
    turns = ("",)


class Peak(Case):
    """Rivals return a small and a large step; the figure is the memory that the large one takes at its peak.

    The small one runs first, so that code is loaded and lasting state is made, then the large one, so that it is
    compiled; its next call counts. Every round is a fresh process.
    """

    unit, scale = "MB", 1e-6


class Launch(Case):
    """Rivals return Python source; the figure is the time of a fresh process that runs it, above that of `baseline`."""

    unit, scale = "ms", 1e3
    compares = False
    baseline = "baseline"


class Figures(Case):
    """Our own process alone: the function returns figures by name each time it is called."""

    unit, scale = "µs", 1e6
    compares = False


class Durations(Figures):
    """`Figures` so long that they are given in milliseconds."""

    unit, scale = "ms", 1e3


class Counts(Figures):
    """`Figures` that are numbers of things."""

    unit, scale = "count", 1.0


@dataclass(frozen=True)
class Tuning(Case):
    """Rivals tune a prompt by calls of one model; the figure is the score of what they found, on items they have not seen.

    Nobody may be significantly better than we are: see `tuning`.

    host   prepares the process that serves the model. It answers {"begin": calls} with what a rival is given ("url", "task"),
           and {"prompt": what a rival returned} with its "score", its "hits", 0 or 1 for each item, and the "calls" that it made
    calls  how many calls the model answers a rival in a round; a rival is asked with them, the host's answer and a seed
    """

    host: Callable = lambda: None
    calls: int = 0
    unit, scale = "%", 100.0


@dataclass(frozen=True)
class Curve(Case):
    """Rivals take a size and a number of threads, and return a function; the figures are the time of a call and its CPU time.

    There must be no cliff: at no size may more threads be slower than one. The worst ratio is what is judged.
    """

    sizes: tuple[int, ...] = ()
    threads: tuple[int, ...] = (1, 2)
    compares = False
    unit, scale = "ms", 1e3

    @staticmethod
    def names(rival, size, threads):
        """What the two figures are called: time and CPU time."""
        name = f"{rival}, width {size}, {threads} thread{'s' * (threads > 1)}"
        return name, f"{name}, CPU"


@dataclass(frozen=True)
class Steps(Case):
    """Rivals take a number of threads and return a step; the figures are the time of a call and its CPU time, for each number.

    What the first calls return, or what the step's `outputs()` gives if it has that, must be what the others' is, as for `Timed`.
    On one thread CPU time is judged, which other work on the machine disturbs least, on several the time that passes. A goal may
    name two: "torch / retrograde, F(4×4)" is the time of the first over that of the second.

    `parts` is how many of what is told are in a call, such as tokens.
    """

    threads: tuple[int, ...] = (1, 2)
    parts: int = 1
    compared: int | None = 3
    tolerance: float | None = None
    patience: float | None = 900
    apart: tuple[str, ...] = ()
    packages: dict[str, str] = field(default_factory=dict)
    unit, scale = "ms", 1e3

    @staticmethod
    def names(rival, threads):
        """What the two figures are called: time and CPU time."""
        name = f"{rival}, {threads} thread{'s' * (threads > 1)}"
        return name, f"{name}, CPU"

    def judged(self, rival, threads):
        """What the figure is called that ratios are made of."""
        return self.names(rival, threads)[threads == 1]


class Bytes(Case):
    """Rivals return a function; the figure is the number of bytes that it gives, asked once."""

    unit, scale = "MB", 1e-6
    patience = 900
    request = "figures"


class Growth(Bytes):
    """`Bytes` by which the memory of a new process grows at most while the function runs."""

    request = "growth"


class Difference(Case):
    """Rivals return a function that gives arrays; the figure is the greatest difference of theirs from ours, asked once."""

    compares = False
    patience = 900

"""Case, one comparison, and the four ways to measure one."""

from collections.abc import Callable
from dataclasses import dataclass, field

OURS = "retrograde"


@dataclass(frozen=True)
class Case:
    """One comparison: what is measured, who takes part, and what ratio is aimed at.

    rivals  by name, functions that run in a process of their own; the kind of case says what they return. A rival
            whose library is not installed is left out with a note.
    goals   by name, what is good enough: the greatest ratio of our figure to that rival's, or, where `compares` is False,
            the greatest figure in `unit`
    """

    name: str
    title: str
    rivals: dict[str, Callable]
    goals: dict[str, float] = field(default_factory=dict)
    compares = True
    unit = ""
    scale = 1.0


class Timed(Case):
    """Rivals prepare and return a function, which is called many times; the figure is the time of one call."""

    unit, scale = "ms", 1e3


class Peak(Case):
    """Rivals return a small and a large step; the figure is the memory that the large one takes at its peak.

    The small one runs first, so that code is loaded and lasting state is made. Every round is a fresh process.
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

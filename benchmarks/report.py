"""Reports: a table in Markdown for people, JSON with every sample for programs."""

import json
import os
import platform
from statistics import median, quantiles

from .case import OURS

# With other work on the machine, whoever uses several threads is slowed down most.
BUSY = 0.3


def machine():
    """What the figures were measured on, in one line."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    busy = "; other work is running, so expect these figures to be off" if load > BUSY else ""
    return f"{platform.machine()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load average {load:.1f}{busy}"


def table(result):
    """The result of one case: medians, their spread, and our ratio to each rival."""
    case = result.case
    rows = [("", case.unit, "quartiles", f"{OURS} / this", "goal")]
    rows += [_row(result, name) for name in result.samples]
    return "\n".join([f"{case.name}: {case.title}", "", *_aligned(rows), *(f"\n{note}" for note in result.notes)])


def as_json(suite, results):
    """All samples, in SI units, with what is drawn from them."""
    cases = {
        r.case.name: {
            "title": r.case.title, "notes": r.notes, "samples": r.samples,
            "medians": {name: median(samples) for name, samples in r.samples.items()},
            "ratios": {name: ratio(r, name) for name in r.samples},
        }
        for r in results
    }
    return json.dumps({"suite": suite, "machine": machine(), "cases": cases}, indent=1)


def ratio(result, name):
    """Our figure over that of `name`: the median over the rounds; None where that says nothing."""
    ours = result.samples.get(OURS)
    if not result.case.compares or ours is None or name == OURS:
        return None
    return median(a / b for a, b in zip(ours, result.samples[name], strict=True))


def _row(result, name):
    case, samples = result.case, result.samples[name]
    low, _, high = quantiles(samples, n=4) if len(samples) > 1 else (samples[0],) * 3
    found, goal = ratio(result, name), case.goals.get(name)
    reached = median(samples) * case.scale if found is None else found
    verdict = "" if goal is None else f"{goal:g} {'met' if round(reached, 2) <= goal else 'missed'}"
    figures = [_short(value * case.scale) for value in (median(samples), low, high)]
    return name, figures[0], f"{figures[1]} to {figures[2]}", "" if found is None else f"{found:.2f}", verdict


def _short(value):
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def _aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
    rule = "| " + " | ".join("-" * max(3, width) for width in widths) + " |"
    return [lines[0], rule, *lines[1:]]

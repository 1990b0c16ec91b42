"""Reports: a table in Markdown for people, JSON with every sample for programs."""

import json
import os
import platform
from statistics import geometric_mean, median, quantiles

from . import processor, tuning
from .case import OURS, Curve, Steps, Timed, Tuning

# With other work on the machine, whoever uses several threads is slowed down most.
BUSY = 0.3
# What is equal differs by so much from one measurement to the next.
NOISE = 1.05


def machine():
    """What the figures were measured on, in one line."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    busy = "; other work is running, so expect these figures to be off" if load > BUSY else ""
    return f"{processor.name()}, {os.cpu_count()} CPUs, Python {platform.python_version()}, load average {load:.1f}{busy}"


def table(result):
    """The result of one case: medians, their spread, and the ratio of each rival to us."""
    rows, notes = next((make for kind, make in _TABLES.items() if isinstance(result.case, kind)), _rows)(result)
    notes = [*notes, *result.notes]
    return "\n".join([f"{result.case.name}: {result.case.title}", "", *_aligned(rows), *(f"\n{note}" for note in notes)])


def overall(results, goals):
    """How fast we are beside the rivals that `goals` name: geometric means over all cases of times in which both take part."""
    lines = []
    for name, goal in goals.items():
        judged = [r for r in results if isinstance(r.case, Timed) and not goals.keys().isdisjoint(r.case.goals)]
        found = [ratio(r, name) for r in judged if name in r.samples]
        found = [x for x in found if x is not None]
        if found:
            mean = geometric_mean(found)
            verdict = f"at least {goal:g}: {_judged(round(mean, 2) >= goal)}"
            lines.append(f"{name} / {OURS}, the geometric mean over {len(found)} cases: {mean:.2f}, {verdict}")
    return "\n".join(lines)


def as_json(suite, results):
    """All samples, in SI units, with what is drawn from them."""
    cases = {
        r.case.name: {
            "title": r.case.title, "goals": r.case.goals, "notes": r.notes, "samples": r.samples,
            "medians": {name: median(samples) for name, samples in r.samples.items()},
            "ratios": _ratios(r), **({"prompts": r.prompts} if r.prompts else {}),
        }
        for r in results
    }
    return json.dumps({"suite": suite, "machine": machine(), "cases": cases}, indent=1)


def _ratios(result):
    if not isinstance(result.case, Steps):
        return {name: ratio(result, name) for name in result.samples}
    pairs = dict.fromkeys([*result.case.goals, *[rival for rival in result.case.rivals if rival != OURS]])
    return {f"{pair}, {n} thread{'s' * (n > 1)}": found for n in result.case.threads for pair in pairs
            if (found := ratio_of_steps(result, pair, n)) is not None}


def ratio_of_steps(result, pair, threads):
    """The figure of one rival over another's, "A / B", or of one over ours, "A", on a number of threads; None without both."""
    above, _, below = pair.partition(" / ")
    found = [result.samples.get(result.case.judged(name, threads)) for name in (above, below or OURS)]
    return _ratio(*found) if all(found) else None


def ratio(result, name):
    """The figure of `name` over ours: the median over the rounds; None where that says nothing."""
    ours = result.samples.get(OURS)
    if not result.case.compares or ours is None or name == OURS:
        return None
    return _ratio(result.samples[name], ours)


def _ratio(above, below):
    return median(a / b for a, b in zip(above, below, strict=True))


def _rows(result):
    rows = [("", result.case.unit, "quartiles", f"this / {OURS}", "goal")]
    return [*rows, *[_row(result, name) for name in result.samples]], []


def _tuned(result):
    return tuning.rows(result), []


def _row(result, name):
    case, samples = result.case, result.samples[name]
    low, _, high = quantiles(samples, n=4) if len(samples) > 1 else (samples[0],) * 3
    found, goal = ratio(result, name), case.goals.get(name)
    figures = [short(value * case.scale) for value in (median(samples), low, high)]
    verdict = _verdict(median(samples) * case.scale, found, goal) if _is_judged(result, name) else ""
    return name, figures[0], f"{figures[1]} to {figures[2]}", "" if found is None else f"{found:.2f}", verdict


def _is_judged(result, name):
    """Whether there is a goal, and what it compares with."""
    case = result.case
    return name in case.goals and (not case.compares or OURS in result.samples)


def _verdict(figure, found, goal):
    if found is None:
        return f"at most {goal:g}: {_judged(float(short(figure)) <= goal)}"
    return f"at least {goal:g}: {_judged(round(found, 2) >= goal)}"


def _judged(is_met):
    return "met" if is_met else "missed"


def _curve(result):
    """A line for each size: time and CPU time by rival and number of threads, and how the last number does against one."""
    case, few, many = result.case, result.case.threads[0], result.case.threads[-1]
    heads = [f"{rival}, {n} thr., {what}" for rival in case.rivals for n in case.threads for what in (case.unit, "CPU")]
    rows, worst = [("width", *heads, *(f"{rival}, {many} / {few} thr." for rival in case.rivals))], None
    for size in case.sizes:
        names = [name for rival in case.rivals for n in case.threads for name in case.names(rival, size, n)]
        figures = [short(median(samples) * case.scale) if (samples := result.samples.get(name)) else "" for name in names]
        slower = {rival: _ratio_of_threads(result, rival, size, few, many) for rival in case.rivals}
        worst = max((found for found in (worst, slower.get(OURS)) if found is not None), default=None)
        rows.append((str(size), *figures, *("" if found is None else f"{found:.2f}" for found in slower.values())))
    if worst is None:
        return rows, []
    return rows, [f"at no width are {many} threads slower than {few}: {_judged(worst <= NOISE)} (at worst {worst:.2f})"]


def _steps(result):
    """A line for each rival with both figures for each number of threads, and for each goal a note that judges it."""
    case = result.case
    rows = [("", *[f"{n} thr., {what}" for n in case.threads for what in (case.unit, "CPU")],
             *[f"this / {OURS}, {n} thr." for n in case.threads])]
    for rival in case.rivals:
        names = [name for n in case.threads for name in case.names(rival, n)]
        figures = [short(median(samples) * case.scale) if (samples := result.samples.get(name)) else "" for name in names]
        found = [ratio_of_steps(result, rival, n) if rival != OURS else None for n in case.threads]
        rows.append((rival, *figures, *("" if x is None else f"{x:.2f}" for x in found)))
    notes = []
    for pair, goal in case.goals.items():
        found = [(n, x) for n in case.threads if (x := ratio_of_steps(result, pair, n)) is not None]
        told = [f"{x:.2f} on {n} thread{'s' * (n > 1)}, {_judged(round(x, 2) >= goal)}" for n, x in found]
        if told:
            notes.append(f"{pair if ' / ' in pair else f'{pair} / {OURS}'}, at least {goal:g}: {'; '.join(told)}")
    return rows, notes


def _ratio_of_threads(result, rival, size, few, many):
    """The time with many threads over the time with few; None where the rival took no part."""
    samples = [result.samples.get(result.case.names(rival, size, n)[0]) for n in (many, few)]
    return _ratio(*samples) if all(samples) else None


def short(value):
    """Three digits, or all before the point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:#.3g}"


def _aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows]
    rule = "| " + " | ".join("-" * max(3, width) for width in widths) + " |"
    return [lines[0], rule, *lines[1:]]


_TABLES = {Curve: _curve, Tuning: _tuned, Steps: _steps}

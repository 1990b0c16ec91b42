"""The figures of the page *Real models*: `python -m benchmarks.models_page [FILE...]` writes its tables and its chart.

They are made of `docs/benchmarks/models.json`, in which the cases of the files that are named take the place of those that were
there for the same machine; `python -m benchmarks models --json FILE` writes such files. The chart is that of the first machine.
"""

import importlib
import json
import sys
from pathlib import Path

from . import models, report
from .case import OURS, Difference, Steps
from .charts import OUR_COLOR, SETTINGS, THEIR_COLORS

DOCS = Path(__file__).parents[1] / "docs"
FIGURES, PAGE, CHART = DOCS / "benchmarks" / "models.json", DOCS / "real_models.md", DOCS / "benchmarks" / "models.svg"
#: What stands between these lines of the page is written here.
BEGIN, END = "<!-- python -m benchmarks.models_page -->\n", "<!-- end -->\n"
#: What stands between a machine and how busy it was.
_LOAD = ", load average "
_TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 8, 12, 20)
_HEAD = ("", "retrograde", "beside", "its figure", "1 thread", "2 threads", "goal", "met")


def table(found):
    """The table of a machine, from its cases by name."""
    lines = [_HEAD, ("---",) * len(_HEAD)]
    for case in models.CASES:
        if case.name in found:
            rows = (_rows_of_steps if isinstance(case, Steps) else _rows_of_numbers)(case, found[case.name])
            lines += [rows[0], *[("" if row[0] == case.title else row[0], *row[1:]) for row in rows[1:]]]
    notes = [f"* {case.title}: {note}" for case in models.CASES for note in found.get(case.name, {}).get("notes", [])]
    text = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
    return "\n\n".join([f"Measured on {_machines(found)}.", text, *(["\n".join(notes)] if notes else [])]) + "\n"


def pairs(case, found):
    """(goal or None, the rival, what it is compared with) of all that a case compares, with the goals that it had when measured."""
    named = [(goal, *pair.partition(" / ")[::2]) for pair, goal in found["goals"].items()]
    told = {OURS, *[name for pair in named for name in pair[1:]]}
    named += [(None, rival, "") for rival in case.rivals if rival not in told]
    return [(goal, rival, ours or OURS) for goal, rival, ours in named]


def ratio(found, rival, ours, threads):
    """A ratio of a case as JSON has it."""
    pair = rival if ours == OURS else f"{rival} / {ours}"
    return found["ratios"].get(f"{pair}, {threads} thread{'s' * (threads > 1)}")


def _rows_of_steps(case, found):
    rows = []
    for goal, rival, ours in pairs(case, found):
        figures = [found["medians"].get(case.judged(name, 1)) for name in (ours, rival)]
        ratios = [ratio(found, rival, ours, threads) for threads in (1, 2)]
        label = case.title if ours == OURS else f"the same with {ours.partition(', ')[2]}"
        rows.append((label, _told(figures[0], case), rival, _told(figures[1], case), *map(_share, ratios),
                     "" if goal is None else f"≥ {goal:g}", "" if goal is None else _met([x >= goal for x in _known(ratios)])))
    return rows


def _share(found):
    return "" if found is None else f"{found:.2f}"


def _known(ratios):
    """Ratios as they are shown, without those that were not measured."""
    return [round(x, 2) for x in ratios if x is not None]


def _met(judged):
    if not judged:
        return ""
    return "yes" if all(judged) else "no" if not any(judged) else "with one thread" if judged[0] else "with two threads"


def _rows_of_numbers(case, found):
    """Bytes, with what is most where a goal names ours, and differences, which are judged themselves."""
    medians, goals = found["medians"], found["goals"]
    if isinstance(case, Difference):
        return [(case.title, "", name, _told(figure, case), "", "", f"≤ {goals[name]:g}",
                 _met([float(report.short(figure)) <= goals[name]])) for name, figure in medians.items()]
    rows, most = [], goals.get(OURS)
    for name in case.rivals:
        if name != OURS:
            share, goal = found["ratios"].get(name), goals.get(name)
            asked = f"≥ {goal:g}" if goal is not None else f"ours ≤ {most:g} {case.unit}" if most is not None else ""
            rows.append((case.title, _told(medians.get(OURS), case), name, _told(medians.get(name), case), _share(share), "", asked,
                         _met([share >= goal] if goal is not None and share is not None else
                              [medians[OURS] * case.scale <= most] if most is not None and OURS in medians else [])))
    return rows


def _told(figure, case):
    return "" if figure is None else f"{report.short(figure * case.scale)} {case.unit}".rstrip()


def _machines(found):
    """What was measured on, and whether other work ran there."""
    named = {}
    for case in found.values():
        machine, _, load = case["machine"].partition(_LOAD)
        named[machine] = named.get(machine, False) or "other work" in load
    return "; ".join(f"{machine}{', busy with other work' * busy}" for machine, busy in named.items())


def draw(found, path):
    """How many times as long as ours the steps of others take, with the goals, on one thread and on two."""
    rows = [(f"{case.title.partition(': ')[0]} / {rival}", goal, [ratio(found[case.name], rival, ours, n) for n in (1, 2)])
            for case in models.CASES if isinstance(case, Steps) and case.name in found
            for goal, rival, ours in pairs(case, found[case.name]) if not rival.startswith(OURS) and ours == OURS]
    rows = [row for row in rows if _known(row[2])]
    with importlib.import_module("matplotlib").rc_context(SETTINGS):
        figure = importlib.import_module("matplotlib.figure").Figure(figsize=(8, 0.8 + 0.34 * len(rows)), layout="constrained")
        axes = figure.add_subplot(xscale="log", xlabel="their time over ours")
        axes.axvline(1, color="#bbbbbb", linewidth=1)
        for place, (_, goal, ratios) in enumerate(rows):
            _draw_row(axes, place, goal, ratios)
        most = max([1.5, *[x for _, _, ratios in rows for x in _known(ratios)]])
        ticks = [tick for tick in _TICKS if tick <= most]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
        axes.set_yticks(range(len(rows)), [label for label, _, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        keys = {"one thread": OUR_COLOR, "two threads": THEIR_COLORS[0], "aimed at": "black"}
        figure.legend([axes.barh(0, 0, color=color) for color in keys.values()], [*keys], loc="outside upper right", ncols=3,
                      frameon=False)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


def _draw_row(axes, place, goal, ratios):
    for shift, found, color in zip((-0.18, 0.18), ratios, (OUR_COLOR, THEIR_COLORS[0]), strict=True):
        if found is not None:
            axes.barh(place + shift, found - 1, left=1, height=0.3, color=color)
    if goal is not None:
        axes.plot([goal, goal], [place - 0.4, place + 0.4], color="black", linewidth=1.5)


def page(text, machines):
    """The text of the page with new tables."""
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    tables = "\n".join([table(found) for found in machines.values()])
    return f"{before}{BEGIN}\n{tables}\n{END}{after}"


def main():
    """Merge files, and write the figures, the chart and the page."""
    machines = json.loads(FIGURES.read_text(encoding="utf-8"))["machines"] if FIGURES.exists() else {}
    for name in sys.argv[1:]:
        measured = json.loads(Path(name).read_text(encoding="utf-8"))
        found = machines.setdefault(measured["machine"].partition(_LOAD)[0], {})
        found.update({case: {"machine": measured["machine"], **facts} for case, facts in measured["cases"].items()})
    order = [case.name for case in models.CASES]
    machines = {machine: {name: found[name] for name in order if name in found} for machine, found in machines.items()}
    FIGURES.write_text(json.dumps({"suite": "models", "machines": machines}, indent=1) + "\n", encoding="utf-8")
    draw(next(iter(machines.values())), CHART)
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), machines), encoding="utf-8")


if __name__ == "__main__":
    main()

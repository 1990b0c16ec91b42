"""Charts: one SVG for each result, drawn with matplotlib, which is needed for nothing else here."""

import importlib
from statistics import median, quantiles

from . import report
from .case import OURS, Curve, Steps

OUR_COLOR, THEIR_COLORS = "#d1495b", ("#30638e", "#7a9cb8", "#555555")
# Pictures of equal figures are equal files.
SETTINGS = {"svg.hashsalt": "retrograde", "svg.fonttype": "none", "font.size": 9, "axes.spines.top": False,
            "axes.spines.right": False}


def write(results, folder):
    """Draw the chart of each result that has samples into `folder`, as NAME.svg."""
    plots = importlib.import_module("matplotlib.figure")
    folder.mkdir(parents=True, exist_ok=True)
    with importlib.import_module("matplotlib").rc_context(SETTINGS):
        for result in results:
            if not result.samples:
                continue
            figure = plots.Figure(figsize=(7, 3.2), layout="constrained")
            (_curve if isinstance(result.case, Curve) else _bars)(figure, result)
            figure.suptitle(f"{result.case.name}: {result.case.title}", fontsize=9)
            figure.savefig(folder / f"{result.case.name}.svg", metadata={"Date": None, "Creator": None})


def _bars(figure, result):
    """Medians with their quartiles, fastest on top, on a logarithmic scale: the ratios are what counts."""
    axes, scale = figure.add_subplot(), result.case.scale
    names = sorted(_shown(result), key=lambda name: median(result.samples[name]))
    for row, name in enumerate(names):
        samples = [value * scale for value in result.samples[name]]
        low, middle, high = quantiles(samples, n=4) if len(samples) > 1 else samples * 3
        color = OUR_COLOR if name.startswith(OURS) else THEIR_COLORS[0]
        axes.errorbar(middle, row, xerr=[[max(0.0, middle - low)], [max(0.0, high - middle)]], fmt="o", color=color, capsize=3)
        axes.annotate(report.short(middle), (middle, row), (0, 6), textcoords="offset points", ha="center", color=color)
    axes.set_xscale("log")
    axes.margins(x=0.1)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.set_xlabel(result.case.unit)


def _shown(result):
    """The names of the figures: of steps on several threads those that are judged."""
    case = result.case
    if not isinstance(case, Steps):
        return [*result.samples]
    return [name for rival in case.rivals for n in case.threads if (name := case.judged(rival, n)) in result.samples]


def _curve(figure, result):
    """Time and CPU time over the width, a line for each rival and number of threads."""
    case, colors = result.case, {}
    for which, (label, axes) in enumerate(zip(("time", "CPU time"), figure.subplots(1, 2), strict=True)):
        for rival in case.rivals:
            color = colors.setdefault(rival, OUR_COLOR if rival == OURS else THEIR_COLORS[len(colors) % len(THEIR_COLORS)])
            for threads, style in zip(case.threads, ("--", "-", ":"), strict=False):
                points = [(size, median(result.samples[name]) * case.scale) for size in case.sizes
                          if (name := case.names(rival, size, threads)[which]) in result.samples]
                if points:
                    name = f"{rival}, {threads} thread{'s' * (threads > 1)}"
                    axes.plot(*zip(*points, strict=True), style, marker=".", color=color, label=name)
        axes.set(xscale="log", yscale="log", xlabel="width", ylabel=f"{label}, {case.unit}")
        axes.set_xticks(case.sizes, case.sizes, rotation=60)
        axes.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    figure.axes[0].legend(frameon=False)

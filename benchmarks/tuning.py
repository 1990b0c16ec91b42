"""What tuned prompts reach, with intervals, and who is better: `python -m benchmarks.tuning FILE...` makes the tables of a page.

A test item that is answered under the prompts of several seeds counts once, with the mean of its scores: so the intervals say how
far an accuracy may lie off on other items, for the prompts that were found.
"""

import json
import sys
from pathlib import Path

import numpy as np

from retrograde.text.evidence.intervals import bootstrap, wilson

from .case import OURS

#: What the page calls those who take part, in its order.
NAMES = {"plain prompt": "plain prompt", OURS: "retrograde, `text.tune`'s search",
         f"{OURS}, few-shot": "retrograde, few-shot search", "textgrad": "TextGrad",
         "dspy": "DSPy, `BootstrapFewShotWithRandomSearch`", "gepa": "GEPA"}


def accuracy(rounds):
    """Wilson's interval of the accuracy that the prompts of some rounds have in the mean."""
    scores = _by_item(rounds)
    return wilson(float(scores.sum()), len(scores))


def lead(ours, theirs):
    """The interval of their accuracy minus ours, paired by item: a bootstrap over items. Above 0 they are significantly better."""
    return bootstrap(_by_item(theirs) - _by_item(ours))


def rows(result):
    """The table of a `Tuning` case: each rival's accuracy and its lead over ours, with intervals."""
    found, lines = result.prompts, [("", "accuracy", f"this - {OURS}", f"better than {OURS}")]
    for name, rounds in found.items():
        ahead = None if name == OURS or OURS not in found else lead(found[OURS], rounds)
        lines.append((name, str(accuracy(rounds)), *(("", "") if ahead is None else (_signed(ahead), _verdict(ahead)))))
    return lines


def page(cases):
    """The tables of a page, from the cases of a suite as JSON has them: accuracies, leads of ours, and calls."""
    tasks = {name.removeprefix("tune-"): case["prompts"] for name, case in cases.items() if case.get("prompts")}
    systems = [name for name in NAMES if any(name in found for found in tasks.values())]
    table = lambda cell, shown: ["| | " + " | ".join(tasks) + " |", "| --- |" + " --- |" * len(tasks),
                                 *(f"| {told} | " + " | ".join(cell(found, name) for found in tasks.values()) + " |"
                                   for name, told in shown)]
    pairs = [((ours, other), f"{NAMES[ours].partition(',')[2].strip()}, minus {NAMES[other].partition(',')[0]}")
             for ours in (OURS, f"{OURS}, few-shot") for other in systems if not other.startswith(OURS)]
    return "\n".join([*table(lambda found, name: _percent(accuracy(found[name])), [(name, NAMES[name]) for name in systems]), "",
                      *table(_gap, pairs)])


def _gap(found, pair):
    ours, other = pair
    ahead = lead(found[other], found[ours])
    return _signed(ahead, 100) + (" *" if ahead.low > 0 or ahead.high < 0 else "")


def _by_item(rounds):
    """The mean score of each item over the rounds."""
    return np.mean([[int(hit) for hit in found["hits"]] for found in rounds], axis=0)


def _percent(interval):
    value, low, high = (100 * x for x in interval)
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def _signed(interval, scale=1):
    value, low, high = (f"{scale * x:+.1f}" if scale > 1 else f"{x:+.3f}" for x in interval)
    return f"{value} [{low}, {high}]"


def _verdict(ahead):
    return "yes" if ahead.low > 0 else "no; worse" if ahead.high < 0 else "no"


def main():
    """Print the tables of the files that the command line names; of a case in several, the last counts."""
    cases = {}
    for file in sys.argv[1:]:
        cases.update(json.loads(Path(file).read_text(encoding="utf-8"))["cases"])
    print(page(cases))


if __name__ == "__main__":
    main()

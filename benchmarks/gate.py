"""How often the gate is wrong, and how much it sees: `python -m benchmarks.gate`.

Runs the optimizers of text on prompts whose scores are drawn, so that it is known which is better. Null runs: nothing is, and
every acceptance is false. Power: one candidate of one step is truly better. The rivals are an oracle, which is told which candidate
it is and compares it once, by itself, at the same level, and the exact sign test with Bonferroni's correction for all candidates.
"""

import argparse
import importlib
import json
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from itertools import product
from math import sqrt
from pathlib import Path

import numpy as np

from retrograde import text
from retrograde.text.evidence.flips import chance

from .charts import OUR_COLOR, SETTINGS, THEIR_COLORS

LEVEL = 0.05
TRAIN = 20
#: Searches among candidates: of texts, of demonstrations, and with training items that thin candidates out.
SEARCHES = ("search", "few shot", "thinned")


@dataclass(frozen=True)
class Setting:
    """What is simulated: an optimizer, how wide and how long it searches, on how many items, and with what scores.

    kind   "binary"; "soft": numbers between 0 and 1; "uneven": a candidate gains a little on nine items of ten and loses as much in
           all on the tenth
    ties   how much of a candidate's scores are those of its parent
    gain   by how much one candidate of one step is better; 0 in a null run
    """

    optimizer: str = "search"
    width: int = 8
    steps: int = 5
    items: int = 100
    kind: str = "binary"
    ties: float = 0.0
    rate: float = 0.7
    gain: float = 0.0

    def __str__(self):
        return (f"{self.optimizer:9} width {self.width:2} steps {self.steps:2} items {self.items:3} {self.kind:6} "
                f"inherited {self.ties:.1f} rate {self.rate:.2f} gain {self.gain:.2f}")


class World:
    """Prompts, by number, and the scores that each has on all items."""

    def __init__(self, setting, seed):
        self.setting, self.rng = setting, np.random.default_rng(seed)
        self.rows = [np.full(TRAIN + setting.items, 0.5) if setting.kind == "uneven" else self._draw(setting.rate)]
        #: Which of the candidates that will be made is the better one.
        places = max(1, setting.steps * (setting.width if setting.optimizer in SEARCHES else 1))
        self.better = int(self.rng.integers(1, places + 1)) if setting.gain else None

    def _draw(self, rate):
        size = TRAIN + self.setting.items
        if self.setting.kind == "binary":
            return (self.rng.random(size) < rate) * 1.0
        if self.setting.kind == "uneven":
            return np.where(self.rng.random(size) < 0.1, 0.05, 0.55)
        return self.rng.beta(4 * rate, 4 * (1 - rate), size)

    def child(self, parent):
        """A new prompt, which keeps some of the scores of the one that it was made from; it knows the training items by heart."""
        is_better = len(self.rows) == self.better
        fresh = self._draw(self.setting.rate + (self.setting.gain if is_better else 0.0))
        kept = self.rng.random(fresh.size) < (0.0 if is_better else self.setting.ties)
        row = np.where(kept, self.rows[parent], fresh)
        row[:TRAIN] = np.maximum(row[:TRAIN], self.rows[parent][:TRAIN])
        self.rows.append(row)
        return len(self.rows) - 1

    def scores(self, prompt, items):
        return self.rows[number(prompt)][list(items)].tolist()


def number(data):
    """The number of a prompt, from the parameter that stands for it."""
    return int(data[0][0] if isinstance(data, list) else str(data).rpartition(" ")[2])


class Space:
    """All prompts, those that are yet to be made included."""

    def __init__(self, world, wrap):
        self.world, self.wrap = world, wrap

    def drawn(self, _):
        return self.wrap(self.world.child(0))

    def changed(self, value, _):
        return self.wrap(self.world.child(number(value)))


def run(setting, seed):
    """Whether a run accepts anything, and whether that is the better candidate."""
    world = World(setting, seed)
    wrap = (lambda i: [[str(i), ""]]) if setting.optimizer == "few shot" else (lambda i: f"prompt {i}")
    prompt = text.Parameter(wrap(0), role="prompt")
    validate = text.Validation(range(TRAIN, TRAIN + setting.items), lambda items: world.scores(prompt.data, items))
    train = text.Validation(range(TRAIN), lambda items: world.scores(prompt.data, items))
    writer = text.ScriptedLM(lambda _: f"<NEW>{wrap(world.child(number(prompt.data)))}</NEW>")
    options = {"validate": validate, "level": LEVEL, "steps": setting.steps}
    closure = lambda: prompt.append_grad(text.Variable("do better", role="feedback"))
    if setting.optimizer in SEARCHES:
        group = {"params": [prompt], "space": Space(world, wrap)}
        thins = {"train": train} if setting.optimizer == "thinned" else {}
        optimizer = text.DiscreteSearch([group], width=setting.width, seed=seed, **thins, **options)
    elif setting.optimizer == "descent":
        optimizer = text.TextualGradientDescent([prompt], writer, **options)
    else:
        optimizer = text.ParetoSearch([prompt], writer, train=train, seed=seed, **options)
    for _ in range(setting.steps):
        optimizer.zero_grad()
        if optimizer.step(closure).is_accepted:
            return True, number(prompt.data) == world.better
    return False, False


def rivals(setting, seed):
    """Whether the oracle and the sign test accept the better candidate, from the same draws."""
    world = World(setting, seed)
    better = world._draw(setting.rate + setting.gain)[TRAIN:]  # noqa: SLF001 - of this file
    p = chance(better - world.rows[0][TRAIN:])
    return p <= LEVEL, p <= LEVEL / (setting.steps * setting.width)


def counted(setting, first, count):
    found = Counter()
    for seed in range(first, first + count):
        accepted, right = run(setting, seed)
        found.update(accepted=accepted, right=right)
        if setting.gain:
            oracle, signs = rivals(setting, seed)
            found.update(oracle=oracle, signs=signs)
    return found


def null_settings():
    """Every optimizer, widths 1 to 32, 1 to 20 steps, binary and soft scores, fresh candidates and such as inherit scores.

    What takes longest comes last, and of the longest runs, two sorts of the four.
    """
    every = list(product(("binary", "soft"), (0.0, 0.9)))
    crossed = [("binary", 0.9), ("soft", 0.0)]
    for steps in (1, 5, 20):
        sorts = every if steps < 20 else crossed
        for optimizer, (kind, ties) in product(("descent", "pareto"), sorts):
            yield Setting(optimizer, 1, steps, 40, kind, ties)
        for width, (kind, ties) in product((1, 2, 8), sorts):
            yield Setting("search", width, steps, 40, kind, ties)
    for optimizer, width, items in (("few shot", 8, 24), ("thinned", 32, 40), ("search", 32, 40)):
        for kind, ties in crossed:
            yield Setting(optimizer, width, 5, items, kind, ties)
    # Scores that are low or high by chance, and so few of another kind that a run sees none of them.
    for optimizer, width, steps, items, kind, rate in (
            ("search", 8, 5, 20, "binary", 0.1), ("search", 8, 5, 40, "binary", 0.1), ("descent", 1, 20, 40, "binary", 0.1),
            ("descent", 1, 20, 40, "binary", 0.95), ("search", 8, 5, 40, "binary", 0.95), ("search", 8, 5, 40, "uneven", 0.5),
            ("descent", 1, 20, 40, "uneven", 0.5)):
        yield Setting(optimizer, width, steps, items, kind, 0.0, rate)
    yield Setting("search", 32, 20, 40, "soft", 0.9)


def power_settings():
    """What is seen of a gain on 100 items, with width 8 and 5 steps."""
    return [Setting(gain=gain, rate=0.7) for gain in (0.2, 0.3, 0.1, 0.15, 0.25)]


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gate", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("what", nargs="?", choices=("null", "power", "all"), default="all")
    parser.add_argument("--runs", type=int, default=2000, help="runs of each setting (default: %(default)s)")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    parser.add_argument("--chart", type=Path, metavar="FILE", help="draw the power there, as SVG (needs matplotlib)")
    options = parser.parse_args()
    settings = [*(power_settings() if options.what != "null" else ()), *(null_settings() if options.what != "power" else ())]
    allowed, rows = LEVEL + 2 * sqrt(LEVEL * (1 - LEVEL) / options.runs), []
    with ProcessPoolExecutor(options.processes) as pool:
        for setting in settings:
            part = -(-options.runs // (4 * options.processes))
            parts = [(first, min(part, options.runs - first)) for first in range(0, options.runs, part)]
            found = sum(pool.map(counted, [setting] * len(parts), *zip(*parts, strict=True)), Counter())
            shares = {name: found[name] / options.runs for name in ("accepted", "right", "oracle", "signs")}
            rows.append({**asdict(setting), **shares})
            print(setting, told(rows[-1], allowed), flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    if options.chart:
        draw(sorted((row for row in rows if row["gain"]), key=lambda row: row["gain"]), options.chart)
    return int(any(row["accepted"] > allowed for row in rows if not row["gain"]))


def told(row, allowed):
    if row["gain"]:
        return f"better one accepted {row['right']:.3f}, oracle {row['oracle']:.3f}, sign test {row['signs']:.3f}"
    return f"false acceptance {row['accepted']:.4f}, at most {allowed:.4f}{'' if row['accepted'] <= allowed else '  TOO MANY'}"


def draw(rows, path):
    """Power over the gain."""
    with importlib.import_module("matplotlib").rc_context(SETTINGS):
        figure = importlib.import_module("matplotlib.figure").Figure(figsize=(7, 3.2), layout="constrained")
        axes = figure.add_subplot()
        for (name, label), color in zip({"oracle": "oracle", "right": "the gate", "signs": "sign test, Bonferroni"}.items(),
                                        (THEIR_COLORS[1], OUR_COLOR, THEIR_COLORS[2]), strict=True):
            axes.plot([row["gain"] for row in rows], [row[name] for row in rows], marker=".", color=color, label=label)
        axes.set(xlabel="true gain of one candidate of one step", ylabel="accepted, share of runs", ylim=(0, 1.02))
        axes.legend(frameon=False)
        figure.suptitle("100 items, width 8, 5 steps, accuracy 0.7 before", fontsize=9)
        figure.savefig(path, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    sys.exit(main())

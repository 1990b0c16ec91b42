"""Runs of many seeds in processes that are renewed, so that memory stays flat and a crash costs one seed."""

import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

#: Seeds after which a process is replaced: machine code is never unloaded.
ROUND = 600
#: How many seeds of each kind are in a round, where several kinds run by turns.
SHARES = {"programs": 1.0, "stateful": 0.2, "rivals": 0.2}
#: How the rounds of a kind compile, by turns; `worker.begin` says what each is.
CODES = {"programs": ("usual", "quick", "quick", "quick"), "stateful": ("quick", "reference", "reference", "reference"), "rivals": ("usual",) * 4}
KINDS = ("agrees", "refused", "unstable", "different", "crashed", "invalid")
#: What differs between refusals of one cause: numbers, shapes and what is quoted.
_PARTICULAR = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?|\([^()]*\)|\[[^\[\]]*\]|'[^']*'")


@dataclass
class Summary:
    """What came of many seeds: outcomes by form, and those that are defects."""

    outcomes: Counter = field(default_factory=Counter)
    seconds: list = field(default_factory=list)
    defects: list = field(default_factory=list)
    seeds: Counter = field(default_factory=Counter)
    names: Counter = field(default_factory=Counter)
    refusals: Counter = field(default_factory=Counter)
    examples: dict = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def note(self, kind, seed, seconds, found, names=()):
        """Take in what came of a seed."""
        self.seeds[kind] += 1
        self.seconds.append(seconds)
        self.names.update(names)
        for form, what, detail in found:
            self.outcomes[form, what] += 1
            if what in ("different", "crashed"):
                self.defects.append((kind, seed, form, what, detail))
            if what == "refused":
                cause = form, _PARTICULAR.sub("#", detail)[:110]
                self.refusals[cause] += 1
                self.examples.setdefault(cause, seed)

    def __str__(self):
        wall = time.monotonic() - self.began
        count = sum(self.seeds.values())
        lines = [f"{', '.join(f'{n} {kind}' for kind, n in self.seeds.items())} in {wall:.0f} s: {count / max(wall, 1e-9):.1f} a second, "
                 f"{statistics.median(self.seconds or [0]):.3f} s of processor time at the median, {sum(self.seconds):.0f} s in all"]
        lines.append(f"{'':22}" + "".join(f"{kind:>11}" for kind in KINDS))
        forms = sorted({form for form, _ in self.outcomes})
        lines += [f"{form:22}" + "".join(f"{self.outcomes[form, kind]:>11}" for kind in KINDS) for form in forms]
        lines.append(f"{'in all':22}" + "".join(f"{sum(self.outcomes[form, kind] for form in forms):>11}" for kind in KINDS))
        fewest = sorted((n, name) for name, n in self.names.items())
        lines.append(f"{len(fewest)} names were called; fewest times: {', '.join(f'{name} {n}' for n, name in fewest[:12])}")
        lines += [f"  refused {n} times, {form}, as {self.examples[form, cause]}: {cause}" for (form, cause), n in self.refusals.most_common(20)]
        lines += [f"  {kind} {seed}, {form}: {what}, {detail[:150]}" for kind, seed, form, what, detail in self.defects]
        return "\n".join(lines)


class Runner:
    """Hands rounds of seeds to processes until all are done, or time is up."""

    def __init__(self, kinds, first, count=None, minutes=None, form=None, told=print):
        self.rounds = enumerate(self._drawn_rounds(kinds, first, count))
        self.end = None if minutes is None else time.monotonic() + 60 * minutes
        self.form, self.told = form, told
        self.summary, self.lock = Summary(), threading.Lock()

    @staticmethod
    def _drawn_rounds(kinds, first, count):
        """(kind, first seed, number of seeds) of each round."""
        shares = {kind: 1 if len(kinds) == 1 else SHARES[kind] for kind in kinds}
        done = dict.fromkeys(kinds, 0)
        while count is None or any(done[kind] < count for kind in kinds):
            for kind, share in shares.items():
                size = int(ROUND * share)
                size = size if count is None else min(size, count - done[kind])
                if size > 0:
                    yield kind, first + done[kind], size
                    done[kind] += size

    def run(self, processes=1):
        """The summary of all rounds, in so many processes at a time."""
        threads = [threading.Thread(target=self._serve) for _ in range(processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.summary

    def _serve(self):
        while not self._is_over():
            with self.lock:
                number, task = next(self.rounds, (0, None))
            if task is None:
                return
            self._run_round(number, *task)

    def _is_over(self):
        return self.end is not None and time.monotonic() > self.end

    def _run_round(self, number, kind, first, count):
        """Run a round."""
        end, cache = first + count, os.environ.get("RETROGRADE_CACHE_DIR", "")
        while first < end and not self._is_over():
            code = CODES[kind][number % 4]
            words = [sys.executable, "-m", f"{__package__}.worker", kind, str(first), str(end - first), code, *([self.form] if self.form else [])]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "RETROGRADE_CACHE_DIR": f"{cache}/{code}" if cache else ""}
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment) as process:
                for line in process.stdout:
                    record = json.loads(line)
                    if "begun" in record:
                        first = record["begun"]
                        continue
                    self._note(kind, **record)
                    first = record["seed"] + 1
                    if self._is_over():
                        process.terminate()
                        return
            if first < end:
                self._note(kind, first, 0.0, [["process", "crashed", f"the process ended with {process.returncode}"]])
                first += 1

    def _note(self, kind, seed, seconds, found, names=()):
        with self.lock:
            self.summary.note(kind, seed, seconds, found, names)
            for form, what, detail in found:
                if what in ("different", "crashed"):
                    self.told(f"{kind} {seed}, {form}: {what}, {detail[:200]}")

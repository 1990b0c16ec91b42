"""Runs of many seeds in processes that are renewed, so that memory stays flat and a crash costs one seed."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

#: Seeds after which a process is replaced: machine code is never unloaded.
ROUND = 200


@dataclass
class Summary:
    """What came of many seeds: outcomes by form, and those that are defects."""

    outcomes: Counter = field(default_factory=Counter)
    seconds: list = field(default_factory=list)
    defects: list = field(default_factory=list)
    seeds: Counter = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)

    def __str__(self):
        wall = time.monotonic() - self.began
        count = sum(self.seeds.values())
        lines = [f"{', '.join(f'{n} {kind}' for kind, n in self.seeds.items())} in {wall:.0f} s: {count / max(wall, 1e-9):.1f} a second, "
                 f"{statistics.median(self.seconds or [0]):.3f} s of processor time at the median, {sum(self.seconds):.0f} s in all"]
        kinds = ("agrees", "refused", "unstable", "different", "crashed", "invalid")
        lines.append(f"{'':22}" + "".join(f"{kind:>11}" for kind in kinds))
        forms = sorted({form for form, _ in self.outcomes})
        lines += [f"{form:22}" + "".join(f"{self.outcomes[form, kind]:>11}" for kind in kinds) for form in forms]
        lines.append(f"{'in all':22}" + "".join(f"{sum(self.outcomes[form, kind] for form in forms):>11}" for kind in kinds))
        lines += [f"  {kind} {seed}, {form}: {what}, {detail[:150]}" for kind, seed, form, what, detail in self.defects]
        return "\n".join(lines)


class Runner:
    """Hands rounds of seeds to processes until all are done, or time is up."""

    def __init__(self, kinds, first, count=None, minutes=None, form=None, told=print):
        self.rounds = self._drawn_rounds(kinds, first, count)
        self.end = None if minutes is None else time.monotonic() + 60 * minutes
        self.form, self.told = form, told
        self.summary, self.lock = Summary(), threading.Lock()

    @staticmethod
    def _drawn_rounds(kinds, first, count):
        """(kind, first seed, number of seeds) of each round; of several kinds, programs are five times as many."""
        shares = {kind: 1 if len(kinds) == 1 else {"programs": 5, "stateful": 1}[kind] for kind in kinds}
        done = dict.fromkeys(kinds, 0)
        while count is None or any(done[kind] < count for kind in kinds):
            for kind, share in shares.items():
                size = ROUND * share // max(shares.values())
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
                task = next(self.rounds, None)
            if task is None:
                return
            self._run_round(*task)

    def _is_over(self):
        return self.end is not None and time.monotonic() > self.end

    def _run_round(self, kind, first, count):
        end = first + count
        while first < end and not self._is_over():
            words = [sys.executable, "-m", f"{__package__}.worker", kind, str(first), str(end - first), *([self.form] if self.form else [])]
            environment = {"RETROGRADE_CACHE_DIR": "", **os.environ, "OMP_NUM_THREADS": "1"}
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

    def _note(self, kind, seed, seconds, found):
        with self.lock:
            self.summary.seeds[kind] += 1
            self.summary.seconds.append(seconds)
            for form, what, detail in found:
                self.summary.outcomes[form, what] += 1
                if what in ("different", "crashed"):
                    self.summary.defects.append((kind, seed, form, what, detail))
                    self.told(f"{kind} {seed}, {form}: {what}, {detail[:200]}")

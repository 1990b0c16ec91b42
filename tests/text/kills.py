"""Processes that ask a server under a budget are killed at random times: `python -m tests.text.kills --kills 200`.

After each kill the server's own count of what it may charge for is compared with the ledger, which this file reads for itself.
"""

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.workloads.fault_server import drawn, serving
from retrograde.text.models import Budget, Budgeted, Cached, HTTPModel, Retry, complete_all

#: A run asks for so many answers, and may make so many calls: what kills take away, and what failed.
PROMPTS, LIMIT = [f"question {i}" for i in range(80)], 90
AT_ONCE = 4
SHARES = {"500": 0.04, "429": 0.04, "cut": 0.02}
#: A call that the server answers takes so many tokens, and no bound is so low: such a line in the ledger is of an answer.
ANSWER = 15


def work(url, folder, seed):
    """Ask for all answers, in an order of this process's own."""
    prompts = random.Random(seed).sample(PROMPTS, len(PROMPTS))
    with HTTPModel("small", base_url=url, max_concurrency=AT_ONCE, retry=Retry(3, 0.001, 0.01), max_tokens=20) as model:
        budget = Budget(calls=LIMIT, ledger=folder / "ledger.jsonl")
        complete_all(Cached(Budgeted(model, budget), folder / "cache"), prompts)


class Run:
    """One ledger and one cache, whose processes are killed and started again until they come to their end."""

    def __init__(self, draw, server, plan, folder, count, figures):
        self.draw, self.server, self.plan, self.folder, self.figures = draw, server, plan, folder, figures
        self.context, self.processes = _context(), [None] * count
        self.kept: dict[str, int] = {}  # of prompts whose answer was kept at the last look, how often they had been asked

    def killed(self):
        """Let the processes work for a random time, and kill one or all; False if one came to its end instead."""
        before = sum(self.server.attempts.values())
        for i, process in enumerate(self.processes):
            if process is None:
                self.processes[i] = self.context.Process(target=work, args=(self.server.url, self.folder, self.draw.random()))
                self.processes[i].start()
        while sum(self.server.attempts.values()) == before and all(p.is_alive() for p in self.processes):
            time.sleep(0.001)
        time.sleep(self.draw.expovariate(1 / 0.04))
        if not all(p.is_alive() for p in self.processes):
            return False
        chosen = self.processes[:] if self.draw.random() < 0.5 else [self.draw.choice(self.processes)]
        for process in chosen:
            process.kill()
        for i, process in enumerate(self.processes):
            if process in chosen:
                process.join()
                self.processes[i] = None
        self.figures["kills"] += len(chosen)
        # What a process had sent when it was killed, the server reads now.
        time.sleep(0.02)
        self.check()
        return True

    def ended(self):
        """Let the processes that are left come to their end."""
        for process in filter(None, self.processes):
            process.join()
            assert process.exitcode == 0
        self.check()
        asked, settled, opened, answered = self._counts()
        between = self._ledger()
        self.figures.update(runs=1, billed=asked, settled=settled, open=opened, answers=answered,
                            between=len(between["take"].keys() - between["settle"].keys()),
                            repeated=sum(max(0, self._charged(p, n) - 1) for p, n in self.server.attempts.items()))

    def check(self):
        """Compare the server's count with the ledger, and what is asked with what is kept."""
        asked, settled, opened, answered = self._counts()
        assert settled <= asked <= settled + opened <= LIMIT, (settled, asked, opened)
        entries = [json.loads(path.read_text()) for path in self.folder.glob("cache/??/*.json")]
        assert answered <= len(entries), f"{answered} answers are settled, and {len(entries)} are kept"
        for prompt, count in self.kept.items():
            assert self.server.attempts[prompt] == count, f"{prompt} was asked again, though its answer was kept"
        self.kept = {
            prompt: self.server.attempts[prompt] for entry in entries for prompt in [entry["request"]["messages"][-1]["content"]]
        }

    def _counts(self):
        """(attempts that the server may charge for, calls settled, calls open, answers settled).

        Other processes may go on meanwhile: what bounds from below is read first, and what bounds from above last.
        """
        first = self._ledger()
        asked = sum(self._charged(prompt, count) for prompt, count in list(self.server.attempts.items()))
        last = self._ledger()
        settled = sum(amount[0] for amount in first["settle"].values())
        answered = sum(amount[:2] == [1, ANSWER] for amount in first["settle"].values())
        opened = sum(amount[0] for name, amount in last["reserve"].items() if name not in first["settle"])
        return asked, settled, opened, answered

    def _charged(self, prompt, count):
        return sum(self.plan(prompt, attempt) != "429" for attempt in range(count))

    def _ledger(self):
        found = {"reserve": {}, "take": {}, "settle": {}}
        path = self.folder / "ledger.jsonl"
        for text in path.read_bytes().splitlines() if path.exists() else ():
            try:
                line = json.loads(text)
            except ValueError:
                continue  # the line that a kill cut off
            kind = next(kind for kind in found if kind in line)
            found[kind][line["id"]] = line[kind]
        return found


def killed(kills, seed=0, processes=(1, 2)):
    """Kill so many processes in all, in runs of as many processes as `processes` names in turn; returns the figures."""
    draw, figures = random.Random(seed), Counter()
    while figures["kills"] < kills:
        plan = drawn(draw.random(), SHARES)
        with tempfile.TemporaryDirectory() as folder, serving(plan, delay=0.01) as server:
            run = Run(draw, server, plan, Path(folder), processes[figures["runs"] % len(processes)], figures)
            while figures["kills"] < kills and run.killed():
                pass
            run.ended()
    return figures


def _context():
    """Processes that need not import everything anew, where the system has such."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["retrograde.text.models", "benchmarks.workloads.fault_server"])
    return context


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.text.kills", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2], help="of the runs in turn (default: 1 2)")
    options = parser.parse_args()
    found = killed(options.kills, options.seed, options.processes)
    print(
        f"{found['kills']} kills in {found['runs']} runs of {' or '.join(map(str, options.processes))} processes: "
        f"{found['billed']} attempts that the server may charge for, of {found['runs'] * LIMIT} allowed; {found['settled']} calls "
        f"are settled, {found['answers']} of them answers, and {found['open']} stayed open; {found['repeated']} prompts were asked "
        f"again, none of them settled; {found['between']} had been answered and were not settled when a kill came"
    )


if __name__ == "__main__":
    sys.exit(main())

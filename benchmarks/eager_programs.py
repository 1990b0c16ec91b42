"""Programs in PyTorch's words, on PyTorch and on `retrograde.torch`, both eager: PyTorch's CPU time of a training step over ours.

Run `python -m benchmarks.eager_programs` (options: --only, --rounds, --python, --markdown). As in `eager_ops`, each library has one
thread and a process of its own, they take turns, and a figure is the least CPU time of its turns. Models are drawn, so that losses
are alike but not equal; that programs compute the same is what `python -m tests.suites.torch_programs` shows.
"""

import importlib
import time
from functools import partial
from types import SimpleNamespace

from . import eager_ops
from .workloads import torch_programs

RIVALS = {"retrograde": "retrograde.torch", "torch": "torch"}
LEAST = 1.0


def prepared(library):
    """What a worker answers with: the CPU seconds of a step of a program."""
    torch = importlib.import_module(library)
    parts = [importlib.import_module(f"{library}.{name}") for name in ("nn", "nn.functional")]
    torch.set_num_threads(1)
    known = {}

    def answer(request):
        name, count = request
        if name not in known:
            known.clear()
            torch.manual_seed(0)
            known[name] = torch_programs.PROGRAMS[name](torch, *parts)
        return _seconds(known[name], count)

    return answer


def _seconds(step, count):
    start = time.process_time()
    for _ in range(count):
        step()
    return (time.process_time() - start) / count


#: What `benchmarks.worker` looks for.
CASES = [SimpleNamespace(name="all", rivals={name: partial(prepared, module) for name, module in RIVALS.items()})]


def measured(workers, name, rounds):
    """The least CPU seconds of a step of both, ours first."""
    for worker in workers:
        worker.ask("figures", [name, 3])
    times = ([], [])
    for _ in range(rounds):
        for worker, found in zip(workers, times, strict=True):
            found.append(worker.ask("figures", [name, 3]))
    return min(times[0]), min(times[1])


if __name__ == "__main__":
    eager_ops.run("benchmarks.eager_programs", "program", list(torch_programs.PROGRAMS), measured, (1e3, "ms"), LEAST, LEAST)

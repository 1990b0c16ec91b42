"""Fine-tuning a language model beside PyTorch with transformers and peft: `python -m benchmarks.finetune FILE.gguf`.

A training step of 4×128 tokens with AdamW on one thread: all weights, LoRA on float32, and LoRA on the quantised blocks of the
file, which PyTorch has as float32. Each side is a process of its own; they take turns, and a figure is the median of the processor
time of their rounds. `--torch PYTHON` names the interpreter that has torch, transformers, peft and gguf.
"""

import argparse
import importlib
import os
import statistics
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np

import retrograde as rg

from .case import Timed
from .process import AbsentRivalError, Worker

#: The variables that tell workers the file, and how many of its layers are used.
_FILE, _LAYERS = "RETROGRADE_BENCHMARK_MODEL", "RETROGRADE_BENCHMARK_LAYERS"
_BATCH, _LENGTH, _RANK, _ALPHA = 4, 128, 8, 16
#: How far the losses of the first steps may differ: the adapters of later ones are drawn by each library.
_TOLERANCE = 1e-3
_PATIENCE = 1800


def _tokens(size):
    """Texts of (batch, length + 1) tokens."""
    return np.random.default_rng(0).integers(0, size, (_BATCH, _LENGTH + 1))


def _ours(is_adapted, dtype):
    """A compiled step of retrograde's; the facts of its memory are the attribute `nbytes`."""
    rg.set_num_threads(1)
    model = rg.models.load(os.environ[_FILE], dtype=dtype)
    model.network.model.layers = rg.nn.ModuleList(list(model.network.model.layers)[: int(os.environ[_LAYERS])])
    learned = rg.models.LoRA(model, rank=_RANK, alpha=_ALPHA) if is_adapted else model.network.train()
    optimizer = rg.optim.AdamW(learned.parameters(), lr=1e-4)
    tokens = rg.tensor(_tokens(model.network.config.vocab_size))

    @rg.jit
    def step(tokens):
        optimizer.zero_grad()
        loss = rg.models.next_token_loss(model, tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        return loss

    # A head that is the table of embeddings is in memory once.
    weights = {np.asarray(x.detach()).ctypes.data: x.nbytes for x in model.network.state_dict(keep_vars=True).values()}
    # A gradient and two moments of each number that is learned.
    nbytes = sum(weights.values()) + 3 * sum([p.nbytes for p in learned.parameters()])
    return _Run(lambda: step(tokens), nbytes)


class _Run:
    """A step, and the bytes of weights, gradients and moments."""

    def __init__(self, step, nbytes):
        self._step, self.nbytes = step, nbytes

    def __call__(self, *count):
        return {"nbytes": self.nbytes} if count else self._step()


def _theirs(is_adapted):
    """A step of PyTorch's."""
    peft, torch, transformers = [importlib.import_module(name) for name in ("peft", "torch", "transformers")]
    torch.set_num_threads(1)
    path = Path(os.environ[_FILE])
    model = transformers.AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    model.model.layers = model.model.layers[: int(os.environ[_LAYERS])]
    if is_adapted:
        model = peft.get_peft_model(model, peft.LoraConfig(r=_RANK, lora_alpha=_ALPHA, target_modules="all-linear"))
    model.train()
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=1e-4, fused=True)
    tokens = torch.tensor(_tokens(model.config.vocab_size))

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return _Run(step, sum([p.nbytes for p in model.parameters()]) + 3 * sum([p.nbytes for p in learned]))


CASES = [
    Timed("whole", "all weights, float32", {"retrograde": lambda: _ours(False, "float32"), "torch": lambda: _theirs(False)}),
    Timed("lora", "LoRA, float32", {"retrograde": lambda: _ours(True, "float32"), "torch": lambda: _theirs(True)}),
    Timed("qlora", "LoRA on the blocks of the file", {"retrograde": lambda: _ours(True, None), "torch": lambda: _theirs(True)}),
]


def main():
    """Print the time of each step, and the memory of what is learned and what is not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--torch", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--cases", nargs="+", choices=[case.name for case in CASES], default=[case.name for case in CASES])
    parser.add_argument("--layers", type=int, default=1000, help="how many of the model's layers are used (default: all)")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for case in CASES:
        if case.name in options.cases:
            print(_line(case, options), flush=True)


def _line(case, options):
    environment = {_FILE: str(options.path.resolve()), _LAYERS: str(options.layers), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    pythons = {"retrograde": sys.executable, "torch": options.torch}
    with ExitStack() as stack:
        workers, notes = {}, []
        for rival, python in pythons.items():
            try:
                command = (__spec__.name, case.name, rival)
                workers[rival] = stack.enter_context(Worker(command, python, environment, _PATIENCE))
            except AbsentRivalError as error:
                notes.append(f"without {rival}: {error}")
        losses = {rival: worker.ask("trail", 1, _PATIENCE)[0][0] for rival, worker in workers.items()}
        if max(losses.values()) - min(losses.values()) > _TOLERANCE:
            return f"{case.title}: the losses of the first step differ: {losses}"
        found = {rival: [] for rival in workers}
        for _ in range(options.rounds):
            for rival, worker in workers.items():
                found[rival].append(worker.ask("cost", 1, _PATIENCE)[1])
        seconds = {rival: statistics.median(times) for rival, times in found.items()}
        memory = {rival: worker.ask("figures", 1)["nbytes"] / 1e6 for rival, worker in workers.items()}
    parts = [f"{rival} {seconds[rival]:.2f} s, {memory[rival]:.0f} MB" for rival in seconds]
    if len(seconds) == len(pythons):
        parts.append(f"{seconds['torch'] / seconds['retrograde']:.2f} times as fast")
    return f"{case.title}: {'; '.join([*parts, *notes])}"


if __name__ == "__main__":
    main()

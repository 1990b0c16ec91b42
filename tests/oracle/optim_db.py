"""PyTorch's samples of optimizers (its optim_db) run through ours, in float64, eager and jitted; `python -m tests.oracle.optim_db`
prints the table of docs/agreement.md.
"""

import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import RetrogradeError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_optimizers import optim_db

#: Steps of each sample, and how far parameters may lie apart, relative and absolute.
STEPS, TOLERANCE = 6, 1e-7
SHAPES = ((4, 3), (5, 2))  # matrices, which all optimizers take
#: What is asked of in each sample: eager or compiled steps.
FORMS = ("eager", "jit")


@dataclass(frozen=True)
class Library:
    """Whose optimizers are asked: how a tensor is made of an array, its modules, its optimizers, and how a step is compiled."""

    tensor: Any
    nn: Any
    optim: Any
    compiled: Any


OURS = Library(rg.tensor, nn, optim, rg.jit)


def samples():
    """(name of the optimizer, description, arguments) of every sample."""
    for info in optim_db:
        for sample in info.optim_inputs_func(device="cpu"):
            yield info.optim_cls.__name__, sample.desc, sample.kwargs


def outcome(name, options, form, library=OURS):
    """Whether ours agrees with PyTorch's after each step: "agrees", "refused: why" or "differs by so much"."""
    starts = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(SHAPES)]
    theirs = _run_theirs(name, options, starts)
    try:
        ours = _run_ours(name, options, starts, form, library)
    except RetrogradeError as error:
        return f"refused: {error}"
    gap = max(np.max(np.abs(a - b) / np.maximum(1, np.abs(b))) for a, b in zip(ours, theirs, strict=True))
    return "agrees" if gap <= TOLERANCE else f"differs by {gap:.1e}"


def _targets():
    return [np.random.default_rng(10 + i).normal(size=shape) for i, shape in enumerate(SHAPES)]


@contextmanager
def _in_float64():
    """Let PyTorch keep step sizes in float64, and not round Muon's matrices to bfloat16, which differs from ours on purpose."""
    rounded = torch.Tensor.bfloat16
    torch.set_default_dtype(torch.float64)
    torch.Tensor.bfloat16 = lambda x: x
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.Tensor.bfloat16 = rounded
        torch.set_default_dtype(torch.float32)


@_in_float64()
def _run_theirs(name, options, starts):
    members = [torch.nn.Parameter(torch.tensor(x)) for x in starts]
    optimizer = getattr(torch.optim, name)(members, **{key: _copied(value) for key, value in options.items()})
    targets, found = list(map(torch.tensor, _targets())), []

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - t) ** 4 + (p * t).sin()).sum() for p, t in zip(members, targets, strict=True))
        loss.backward()
        if name == "SparseAdam":
            for p in members:
                p.grad = p.grad.to_sparse()
        return loss

    for _ in range(STEPS):
        optimizer.step(closure)
        found += [p.detach().numpy().copy() for p in members]
    return found


def _run_ours(name, options, starts, form, library):
    kind = getattr(library.optim, name, None)
    if kind is None:
        raise rg.errors.ArgumentError(f"optim has no {name}")
    members = [library.nn.Parameter(library.tensor(x)) for x in starts]
    optimizer = kind(members, **{key: _converted(value, library) for key, value in options.items()})
    targets, found = list(map(library.tensor, _targets())), []

    def closure():
        optimizer.zero_grad()
        loss = sum(((p - t) ** 4 + (p * t).sin()).sum() for p, t in zip(members, targets, strict=True))
        loss.backward()
        return loss

    def step():
        return optimizer.step(closure)

    step = library.compiled(step) if form == "jit" else step
    for _ in range(STEPS):
        step()
        found += [p.detach().numpy().copy() for p in members]
    return found


def _copied(value):
    return value.clone() if isinstance(value, torch.Tensor) else value


def _converted(value, library):
    if isinstance(value, torch.Tensor):
        return library.tensor(value.numpy())
    return tuple(_converted(v, library) for v in value) if isinstance(value, tuple) else value


def table(library=OURS):
    """(lines of a table: an optimizer, how many samples agree and how many are refused in each form; counts by form and word)."""
    counts, total = {}, Counter()
    for name, _, options in samples():
        for form in FORMS:
            key = form, outcome(name, options, form, library).partition(" ")[0].strip(":")
            counts.setdefault(name, Counter())[key] += 1
            total[key] += 1
    lines = ["| optimizer | agree, eager | agree, jitted | refused | differ |", "| --- | --- | --- | --- | --- |"]
    for name, row in counts.items():
        cells = [row[form, "agrees"] for form in FORMS]
        cells += [" + ".join(str(row[form, word]) for form in FORMS) for word in ("refused", "differs")]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return lines, total


if __name__ == "__main__":
    print("\n".join(table()[0]))

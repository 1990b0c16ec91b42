"""A recommender: rows of a large table and a small perceptron, one training step; PyTorch's with sparse gradients.

A call makes a step on each of some batches, so that rows come from memory as they do in training.
"""

from functools import partial

import numpy as np

from . import libraries

WIDTH, HIDDEN, BATCH, BATCHES = 64, 64, 1024, 32
ROWS = (20_000, 200_000, 400_000)
_RATE = 0.01
#: Ours with the smallest table, beside which that with a larger one should take the same time.
SMALL = "retrograde, 20,000 rows"


def retrograde(optimizer, rows, threads):
    """Each step compiled."""
    lib = libraries.modules("retrograde")
    return _epoch(lib, optimizer, rows, threads, lib.library.jit)


def torch(optimizer, rows, threads):
    """Op by op."""
    return _epoch(libraries.modules("torch"), optimizer, rows, threads, lambda step: step)


def _epoch(lib, optimizer, rows, threads, compiled):
    """A run of one step on each batch, which returns the losses; `optimizer` is the name of that of the table."""
    lib.library.set_num_threads(threads)
    rng = np.random.default_rng(0)
    batches = [(lib.tensor(rng.integers(0, rows, (BATCH, 2))), lib.tensor((rng.random((BATCH, 1)) < 0.5).astype(np.float32)))
               for _ in range(BATCHES)]
    step = compiled(partial(_step, lib, *_parts(lib, optimizer, rows)))
    return lambda: [step(*batch) for batch in batches]


def _parts(lib, optimizer, rows):
    """The table, the perceptron, and their optimizers."""
    nn = lib.nn
    table = libraries.load(lib, nn.Embedding(rows, WIDTH, sparse=True))
    perceptron = libraries.load(lib, nn.Sequential(nn.Linear(2 * WIDTH, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 1)))
    of_table = getattr(lib.optim, optimizer)(table.parameters(), lr=_RATE)
    return table, perceptron, (of_table, lib.optim.Adam(perceptron.parameters()))


def _step(lib, table, perceptron, optimizers, pairs, targets):
    """A training step on pairs of positions, such as those of users and items."""
    for optimizer in optimizers:
        optimizer.zero_grad()
    found = perceptron(table(pairs).reshape(BATCH, 2 * WIDTH))
    loss = lib.functional.binary_cross_entropy_with_logits(found, targets)
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return loss.detach()


def rivals(optimizer, rows):
    """Both libraries, and ours with the smallest table if that is another."""
    small = {SMALL: partial(retrograde, optimizer, ROWS[0])} if rows != ROWS[0] else {}
    return {"retrograde": partial(retrograde, optimizer, rows), **small, "torch": partial(torch, optimizer, rows)}

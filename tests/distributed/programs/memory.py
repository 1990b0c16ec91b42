"""The bytes that an optimizer keeps on each process, beside those of its share of the parameters; of all under shard="none"."""

import sys

import numpy as np

import retrograde as rg
from retrograde import distributed
from retrograde.distributed.sharing import dealt

RANK, SIZE = distributed.rank(), distributed.size()


def kept(optimizer):
    """The bytes of all arrays of the optimizer's state."""
    return sum([np.asarray(x).nbytes for state in optimizer.state.values() for x in state.values()])


def trained(shard, is_compiled):
    """What the optimizer keeps after some steps, and how many bytes the parameters have."""
    rg.manual_seed(0)
    layers = [rg.nn.Linear(64, 256), rg.nn.ReLU(), rg.nn.Linear(256, 256), rg.nn.ReLU(), rg.nn.Linear(256, 10)]
    model = distributed.DataParallel(rg.nn.Sequential(*layers), shard=shard)
    optimizer = rg.optim.AdamW(model.parameters(), lr=0.01)

    def step(x):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()

    run = rg.jit(step) if is_compiled else step
    for _ in range(3):
        run(rg.ones(8, 64))
    return kept(optimizer), [p.nbytes for p in model.parameters()]


def main():
    for is_compiled in (False, True):
        whole, sizes = trained("none", is_compiled)
        mine, _ = trained("optimizer", is_compiled)
        # Two moments of each number, and a count of steps.
        held = dealt(sizes, SIZE)[1][RANK]
        np.testing.assert_allclose(whole, 2 * sum(sizes), rtol=0.05)
        np.testing.assert_allclose(mine, 2 * held, rtol=0.05)
    print(f"process {RANK} keeps {mine} of {whole} bytes and is done", flush=True)


if __name__ == "__main__":
    sys.exit(main())

"""A worker of benchmarks.distributed: PyTorch's eager step, with DistributedDataParallel on gloo for several processes."""

import json
import os
import sys

import torch  # pyright: ignore[reportMissingImports] - a rival, in a process with an interpreter of its own

from .distributed_networks import network, timed


def training(kind, seconds):
    """Rows per second of a step."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    size = int(os.environ["WORLD_SIZE"])
    model, x, y = network(torch.nn, kind)
    if size > 1:
        torch.distributed.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model)

    def agreed(here):
        found = torch.tensor(float(here))
        if size > 1:
            torch.distributed.all_reduce(found, torch.distributed.ReduceOp.MAX)
        return bool(found)

    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x, y = torch.from_numpy(x), torch.from_numpy(y)

    def step():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x).reshape(len(y), -1), y)
        loss.backward()
        optimizer.step()
        return loss.item()

    rate, share = timed(step, seconds, agreed)
    return {"rows": rate * len(x) * size, "share": share}


if __name__ == "__main__":
    print(json.dumps(training(sys.argv[1], float(sys.argv[2]))), flush=True)

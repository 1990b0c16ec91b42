"""A run whose optimizer is shared out: saved, restored into another model, and gone on with."""

import sys

import numpy as np

import retrograde as rg
from retrograde import distributed


def made(seed):
    rg.manual_seed(seed)
    model = distributed.DataParallel(rg.nn.Linear(3, 2), shard="optimizer")
    return model, rg.optim.Adam(model.parameters(), lr=0.1)


def stepped(model, optimizer):
    for i in range(2):
        optimizer.zero_grad()
        (model(rg.ones(4, 3) * (i + 1)) ** 2).mean().backward()
        optimizer.step()


model, optimizer = made(0)
stepped(model, optimizer)
distributed.save_run(sys.argv[1], model=model, parts=[optimizer])
other, its = made(1)
rg.load_run(sys.argv[1], model=other, parts=[its])
for net, opt in ((model, optimizer), (other, its)):
    stepped(net, opt)
for a, b in zip(model.parameters(), other.parameters(), strict=True):
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
print(f"the same, {len(its.state)} kept at process {distributed.rank()}")

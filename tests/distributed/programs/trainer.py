"""A Trainer on several processes; process 0 compares with one process on the whole batches. With a folder it goes on from there."""

import sys
import time

import numpy as np

import retrograde as rg
from retrograde import distributed, nn

VALIDATION = np.random.default_rng(2).normal(size=(30, 4)), np.arange(30) % 3
RANK, SIZE = distributed.rank(), distributed.size()


def made(together, folder=None, shard="optimizer", **options):
    rg.manual_seed(5)
    model = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 3)).double()
    model = distributed.DataParallel(model, shard=shard) if together else model
    optimizer = rg.optim.Adam(model.parameters(), lr=0.01)
    return rg.train.Trainer(model, optimizer, nn.functional.cross_entropy, metrics=[rg.train.Accuracy(), rg.train.AUC()][:1],
                            clip_norm=0.5, ema=0.9, progress=False, checkpoint=folder, distributed="data" if together else None,
                            schedule=rg.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20), **options)


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4))
    return rg.data.Loader((x, (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)), 24, shuffle=True, seed=1, drop_last=True)


def compared(found, wanted):
    for key, value in wanted.model.state_dict().items():
        np.testing.assert_allclose(found.model.state_dict()[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-8, err_msg=key)
    for mine, one in zip(found.history, wanted.history, strict=True):
        for name in one.keys() - {"seconds"}:
            np.testing.assert_allclose(mine[name], one[name], rtol=1e-8, err_msg=name)


def main(folder, epochs, steps=None):
    if folder == "-":
        for options in ({}, {"accumulate": 2}, {"compiled": False}):
            found, wanted = made(True, shard="none" if options else "optimizer", **options), made(False, **options)
            found.fit(data(), epochs=2, validation=VALIDATION)
            wanted.fit(data(), epochs=2, validation=VALIDATION)
            compared(found, wanted)
    else:
        class Slow(rg.train.Callback):
            def after_step(self, trainer):
                time.sleep(0.05)  # so that there are many moments to be killed in

        found = made(True, folder, save_every=3, callbacks=[Slow()])
        found.fit(data(), epochs=epochs if steps is None else None, steps=steps)
        if epochs == 4 and steps is None:
            wanted = made(False)
            wanted.fit(data(), epochs=4)
            compared(found, wanted)
    print(f"process {RANK} of {SIZE} is done after step {found.step}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))

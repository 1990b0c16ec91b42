"""A small training with everything that a run has, for the tests of saving it."""

import random

import numpy as np

import retrograde as rg
from retrograde import nn, optim

__all__ = ["Training", "states"]


class Training:
    """A model with dropout and batch norm, an optimizer, two schedules in turn, shuffled data, averages and generators."""

    def __init__(self, seed=0, optimizer=optim.AdamW, width=8, rows=23):
        rg.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        self.model = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.3), nn.Linear(width, 2))
        self.optimizer = optimizer(self.model.parameters(), lr=0.05)
        self.schedule = optim.lr_scheduler.SequentialLR(self.optimizer, [
            optim.lr_scheduler.LinearLR(self.optimizer, total_iters=3), optim.lr_scheduler.MultiStepLR(self.optimizer, [3, 6])], [3])
        self.averaged = optim.swa_utils.AveragedModel(self.model, multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.9))
        x = np.random.default_rng(1).normal(size=(rows, 3)).astype(np.float32)
        self.data = rg.data.Loader((x, (x.sum(1) > 0).astype(np.int64)), 5, shuffle=True, seed=seed)
        self.generator, self.noise, self.coin = rg.Generator(seed), np.random.default_rng(seed), random.Random(seed)
        self._batches = iter(())

    def parts(self):
        names = ("model", "optimizer", "schedule", "averaged", "data", "generator", "noise", "coin")
        return {name: getattr(self, name) for name in names}

    def train(self, steps):
        """Go on by so many steps."""
        for _ in range(steps):
            while (batch := next(self._batches, None)) is None:
                self._batches = iter(self.data)
            self._step(*batch)
        return self

    def _step(self, x, y):
        x = x + 0.1 * rg.randn(3, generator=self.generator) + np.float32(self.noise.normal() * self.coin.random())
        x = x + np.float32(0.01 * np.random.random() * random.random())
        self.optimizer.zero_grad()
        nn.functional.cross_entropy(self.model(x), y).backward()
        self.optimizer.step()
        self.schedule.step()
        self.averaged.update_parameters(self.model)

    def load(self, path):
        """Go on from a checkpoint; what else there was."""
        self._batches = iter(())
        return rg.load_run(path, **self.parts())


def states(training):
    """All that a training consists of, as text that shows each bit."""
    found = {name: part.state_dict() for name, part in training.parts().items() if hasattr(part, "state_dict")}
    found["generators"] = (training.generator.get_state().tolist(), training.noise.bit_generator.state, training.coin.getstate(),
                           rg.get_rng_state().tolist(), random.getstate(), [np.asarray(x).tolist() for x in np.random.get_state()])
    return repr(rg.tree.map(lambda leaf: np.asarray(leaf.detach()).tobytes() if isinstance(leaf, rg.Tensor) else leaf, found))

"""`DistributedSampler`: the rows of one of several processes."""

from ....errors import ArgumentError
from ...creation import randperm
from ...modes import Generator
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """The rows of process `rank` of `num_replicas`, equally many for each: some are given twice, or with `drop_last` left out.

    All processes draw one order, of `seed` and of the epoch that `set_epoch` sets.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise ArgumentError("DistributedSampler needs num_replicas= and rank=: there is no process group to ask for them")
        if not 0 <= rank < num_replicas:
            raise ArgumentError(f"rank must be from 0 to {num_replicas - 1}, got {rank}")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = randperm(count, generator=Generator().manual_seed(self.seed + self.epoch)).tolist()
        while len(order) < self.total_size and count:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Choose the order of an epoch; all processes set the same one."""
        self.epoch = epoch

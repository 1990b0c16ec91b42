"""`torch.utils.data`: data sets, samplers and the loader of `retrograde.data` with PyTorch's names and meaning.

>>> import retrograde.torch as torch
>>> from retrograde.torch.utils.data import DataLoader, TensorDataset
>>> dataset = TensorDataset(torch.arange(5), torch.arange(5) * 10)
>>> [x.tolist() for x, y in DataLoader(dataset, batch_size=2)]
[[0, 1], [2, 3], [4]]
"""

from ....data.sample import worker_info as get_worker_info
from ...absent import absent_from
from . import collating, dataloader, dataset, distributed, sampler
from .collating import default_collate, default_convert
from .dataloader import DataLoader
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "dataloader", "dataset", "default_collate", "default_convert", "distributed", "get_worker_info",
    "random_split", "sampler",
]
__getattr__ = absent_from("torch.utils.data", lambda: __all__)

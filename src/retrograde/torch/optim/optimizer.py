"""`torch.optim.optimizer`: the base of optimizers."""

from ...optim import Optimizer

__all__ = ["Optimizer"]

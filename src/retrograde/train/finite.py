"""Losses and weights that are NaN or infinite: training ends, and says at which step, and what is left of it."""

import math
from typing import Any

import numpy as np

from ..errors import AnomalyError
from ..runs.folder import numbered


class Finite:
    """Watches a training, whose checkpoints `saver` writes, if there is one. It never saves what is not finite."""

    def __init__(self, saver: Any):
        self._saver = saver

    def check_loss(self, trainer):
        """Raise an AnomalyError if the loss of the last step is no finite number."""
        if not math.isfinite(trainer.loss):
            raise self._anomaly(f"the loss is {trainer.loss} at step {trainer.step}, in epoch {trainer.epoch + 1}")

    def check_weights(self, trainer):
        """Raise an AnomalyError if a parameter that is trained is not finite, which the next loss would show."""
        for name, parameter in trainer.model.named_parameters():
            if parameter.requires_grad and not np.isfinite(np.asarray(parameter.detach().to("cpu").raw)).all():
                raise self._anomaly(f"the parameter {name} is NaN or infinite after step {trainer.step}, by its gradient")

    def _anomaly(self, what):
        found = []
        if self._saver is not None:
            self._saver.wait()
            found = numbered(self._saver.path)
        left = f"the last checkpoint, {found[-1][1]}, is from before; " if found else ""
        return AnomalyError(f"{what}; {left}rg.detect_anomaly with compiled=False finds the op; a lower learning rate or clip_norm "
                            "may help; stop_on_nan=False goes on all the same")

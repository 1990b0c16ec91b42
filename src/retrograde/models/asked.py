"""A model of this package as one that text variables, optimizers and judges can ask."""

import os
from hashlib import sha256

import numpy as np

from ..text.models.in_process import InProcess
from .checks import check_model
from .engine import NetworkEngine


class TextModel(InProcess):
    """A `Model` that is loaded as a language model of `retrograde.text`, as `text.LocalModel` is one for a file.

    `rg.text.tune`, `chat` and `logprobs` take it as they take others. Messages are laid out by the model's template, if it has
    one. A `soft_prompt` stands before them, and has its gradient from losses of `rg.text.logprobs`. The model may be trained
    meanwhile: no prompt is kept from one call to the next.
    """

    keeps_prefixes = False
    max_concurrency, has_gradients = NetworkEngine.max_concurrency, NetworkEngine.has_gradients

    def __init__(self, model, name="model", soft_prompt=None):
        check_model(model, "a TextModel")
        self.model, self.name, self.soft_prompt = model, f"retrograde {name}", soft_prompt
        self._opened = None, None

    @property
    def engine(self):
        # A fork may have taken a lock along of a thread that it has not taken along.
        place = self.model, self.soft_prompt, os.getpid()
        if self._opened[0] != place:
            self._opened = place, NetworkEngine(self.model, self.soft_prompt)
        return self._opened[1]

    def __getstate__(self):
        return {**vars(self), "_opened": (None, None)}

    @property
    def has_chat(self):
        return self.model.template is not None

    @property
    def identity(self):
        if self.learned is None:
            return self.name
        # Answers that were kept are of the vectors of their time.
        return f"{self.name} {sha256(np.ascontiguousarray(self.learned.detach())).hexdigest()[:16]}"

    @property
    def learned(self):
        return None if self.soft_prompt is None else self.soft_prompt.vectors

"""Callbacks: what is told of steps and epochs, and may stop a training."""

import math
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .checks import check_callbacks


class Callback:
    """Base of what a trainer tells how far it is. One with `state_dict` and `load_state_dict` is saved with the run.

    >>> class Quick(rg.train.Callback):
    ...     def after_step(self, trainer):
    ...         if trainer.loss < 0.1:
    ...             trainer.stop("it is good enough")
    """

    #: Whether it tells people how training goes, which one of several processes does for all.
    is_report = False

    def begin(self, trainer, data, epochs, steps):
        """Training begins, or goes on; `epochs` or `steps` are how many there are to be, the other is None."""

    def after_step(self, trainer):
        """A step is done: `trainer.step`, `trainer.loss`."""

    def after_epoch(self, trainer, logs):
        """An epoch is done, and `logs` of it are in the history."""

    def end(self, trainer):
        """Training ends, also by an error."""


class EarlyStopping(Callback):
    """Stops when `monitor` has not become better by at least `min_delta` for `patience` epochs; `mode` says what is better.

    With `restore_best` the model has the weights of the best epoch when training ends. Of all of a run the best epoch is found by
    `keep_best=1` of the trainer, and `rg.load_run(folder, which="best", model=model)`.
    """

    def __init__(self, monitor="validation_loss", patience=5, min_delta=0.0, mode="min", restore_best=False):
        if mode not in ("min", "max"):
            raise ArgumentError(f'mode must be "min" or "max", got {mode!r}')
        if type(patience) is not int or patience < 1:
            raise ArgumentError(f"patience must be an integer of at least 1, got {patience!r}")
        self.monitor, self.patience, self.min_delta, self.sign = monitor, patience, min_delta, 1 if mode == "min" else -1
        self.best, self.waited, self.restore_best = None, 0, restore_best
        #: The weights of the best epoch, as arrays by name, if they are to be restored.
        self.weights: Any = None
        self._goal: Any = None

    def begin(self, trainer, data, epochs, steps):
        """Note how many epochs or steps there are to be."""
        self._goal = epochs, steps

    def after_epoch(self, trainer, logs):
        """Compare with the best epoch so far."""
        if self.monitor not in logs:
            raise ArgumentError(f"EarlyStopping looks at {self.monitor}, and there are {', '.join(logs)}")
        value = self.sign * logs[self.monitor]
        # NaN is never the best: nothing would be better than it.
        if not math.isnan(value) and (self.best is None or value < self.best - self.min_delta):
            self.best, self.waited = value, 0
            if self.restore_best:
                self.weights = [_copied(module.state_dict()) for module in _evaluated(trainer)]
            return
        self.waited += 1
        if self.waited >= self.patience:
            trainer.stop(f"{self.monitor} has not become better for {self.waited} epochs")

    def end(self, trainer):
        """Give the model the best weights, if that is wanted and training is over: one that was interrupted goes on as it was."""
        epochs, steps = self._goal
        is_over = trainer.stopped is not None or (trainer.step >= steps if epochs is None else trainer.epoch >= epochs)
        if self.weights is not None and is_over:
            for module, weights in zip(_evaluated(trainer), self.weights, strict=True):
                module.load_state_dict(weights)

    def state_dict(self):
        """The best value, and how long ago it was; the weights, if they are kept."""
        kept = {} if self.weights is None else {"weights": self.weights}
        return {"best": self.best, "waited": self.waited, **kept}

    def load_state_dict(self, state):
        """Go on from a state."""
        self.best, self.waited, self.weights = state["best"], state["waited"], state.get("weights")


def _evaluated(trainer):
    """The model, and the averages of its weights if there are some."""
    return [trainer.model] if trainer.averaged is None else [trainer.model, trainer.averaged]


def _copied(state):
    return {name: np.array(value) for name, value in state.items()}


class Callbacks:
    """The callbacks of a trainer, in their order."""

    def __init__(self, callbacks):
        check_callbacks(callbacks)
        self._all = callbacks

    @contextmanager
    def running(self, trainer, data, epochs, steps):
        """Within it training runs; all that were begun are told its end."""
        begun = []
        try:
            for callback in self._all:
                begun.append(callback)
                callback.begin(trainer, data, epochs, steps)
            yield
        finally:
            for callback in reversed(begun):
                callback.end(trainer)

    def after_step(self, trainer):
        """A step is done."""
        for callback in self._all:
            callback.after_step(trainer)

    def after_epoch(self, trainer, logs):
        """An epoch is done."""
        for callback in self._all:
            callback.after_epoch(trainer, logs)

    def _with_state(self):
        named: dict[str, Any] = {}
        for callback in self._all:
            if hasattr(callback, "state_dict"):
                same = sum([name.startswith(f"{type(callback).__name__} ") for name in named])
                named[f"{type(callback).__name__} {same + 1}"] = callback
        return named

    def state_dict(self):
        """The states of those that have one."""
        return {name: callback.state_dict() for name, callback in self._with_state().items()}

    def load_state_dict(self, state):
        """Go on from states; one that was not there then begins anew."""
        for name, callback in self._with_state().items():
            if name in state:
                callback.load_state_dict(state[name])

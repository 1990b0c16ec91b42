"""Trainer, the loop: steps, epochs, validation, checkpoints. What a step computes is in steps.py."""

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from .. import tree
from ..errors import ArgumentError
from ..optim.plateau import ReduceLROnPlateau
from ..optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from ..runs.folder import numbered
from ..runs.loading import load_run
from ..runs.saving import RunSaver
from ..transforms.autocast import autocast as autocast_to
from .callbacks import Callbacks
from .checks import (
    check_callbacks,
    check_count,
    check_in_order,
    check_left_out,
    check_monitor,
    check_numbers,
    check_parts,
    no_batches,
)
from .feeding import batches_of, check_place, groups, is_new, rows_of, same_rows, whole
from .finite import Finite
from .interrupts import Interrupts
from .metrics import Totals, named
from .progress import shown
from .steps import Steps, of_pair
from .together import Together


class Trainer:
    """Trains a model; small, and optional: a loop of one's own can do all that it does.

    loss        `loss(outputs, targets)`, for batches (inputs, targets); inputs that are a tuple or a dictionary are arguments of
                the model. For batches of another form give `forward` in its place
    forward     `forward(model, batch)`, which returns (loss, outputs, targets); the last two may be None without metrics
    metrics     by name or in a list: of `rg.train`, or functions of (outputs, targets)
    schedule    of `rg.optim.lr_scheduler`; `schedule_each` says whether it goes on after each "step" or "epoch"
    accumulate  how many batches make one step, whose gradients are averaged
    clip_norm   the greatest norm of all gradients together
    ema         how much of the averages stays at each step, such as 0.999; they are what is evaluated, as `trainer.averaged`
    checkpoint  the folder in which the run is saved, and from which `fit` goes on
    save_every  how many steps lie between checkpoints; None: each epoch ends with one, as also with `keep_best`
    monitor     the result by which `keep_best` checkpoints are chosen; `mode` says whether "min" or "max" is best
    callbacks   such as `rg.train.EarlyStopping(...)` and logs
    progress    whether to show how far it is: a bar in a terminal, lines elsewhere
    compiled    whether steps are compiled
    stop_on_nan whether a loss, or a weight that would be saved, that is NaN or infinite is an AnomalyError; it names the step and
                the last checkpoint
    autocast    "bfloat16" or "float16": what `rg.autocast` computes the products of the model in; None computes as it is
    distributed "data": each process that was started together takes its part of each batch (`rg.distributed`), and gradients
                are means over all. A model that is a `DataParallel` already stays it

    >>> x = np.random.default_rng(0).normal(size=(256, 2)).astype(np.float32)
    >>> data = rg.data.Loader((x, (x[:, 0] > x[:, 1]).astype(np.int64)), 32, shuffle=True)
    >>> model = rg.nn.Linear(2, 2)
    >>> trainer = rg.train.Trainer(model, rg.optim.Adam(model.parameters(), lr=0.1), rg.nn.functional.cross_entropy,
    ...                            metrics=[rg.train.Accuracy()], progress=False)
    >>> history = trainer.fit(data, epochs=5)
    >>> trainer.evaluate(data)["accuracy"] > 0.95
    True
    """

    def __init__(self, model, optimizer, loss=None, *, forward: Any = None, metrics=(), schedule: Any = None, schedule_each="step",
                 accumulate=1, clip_norm=None, ema=None, checkpoint=None, save_every=None, keep_last=3, keep_best=0,
                 monitor="validation_loss", mode="min", callbacks=(), progress=True, compiled=True, stop_on_nan=True,
                 autocast: Any = None, distributed: Any = None):
        if (loss is None) == (forward is None):
            raise ArgumentError("a Trainer takes a loss, for batches (inputs, targets), or a forward for others; give one of them")
        if schedule_each not in ("step", "epoch"):
            raise ArgumentError(f'schedule_each must be "step" or "epoch", got {schedule_each!r}')
        for name, value in (("accumulate", accumulate), ("save_every", 1 if save_every is None else save_every)):
            if type(value) is not int or value < 1:
                raise ArgumentError(f"{name} must be an integer of at least 1, got {value!r}")
        self._together = Together(distributed)
        model = self._together.parallel(model)
        check_parts(model, optimizer, loss, schedule, schedule_each)
        check_numbers(clip_norm, ema)
        check_callbacks(callbacks)
        self.model, self.optimizer, self.schedule, self.schedule_each = model, optimizer, schedule, schedule_each
        self.averaged = None if ema is None else AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(ema), use_buffers=False)
        self.accumulate, self.save_every, self.keep_best, self.monitor = accumulate, save_every, keep_best, monitor
        self.metrics = named(metrics)
        self._steps = Steps(forward or of_pair(loss), model, optimizer, self.metrics, clip_norm, self.averaged, compiled,
                            self._together, None if autocast is None else autocast_to(autocast))
        self._folder = None if checkpoint is None else Path(checkpoint)
        self._saver: Any = None if checkpoint is None else RunSaver(checkpoint, keep_last, keep_best, mode)
        self._finite = Finite(self._saver) if stop_on_nan else None
        self._callbacks = Callbacks(self._together.told_here([*callbacks, *shown(progress)]))
        #: How many steps and epochs are done, why training was stopped early, the loss of the last step, the logs of each epoch.
        self.step, self.epoch, self.stopped = 0, 0, None
        self.loss, self.history = None, []
        self._totals, self._is_begun, self._seconds = Totals(self.metrics), False, 0.0
        #: After which step and epoch the run was saved last; what was trained with last.
        self._saved: Any = None
        self._data: Any = None

    # Training.
    def fit(self, data, epochs: Any = None, *, steps: Any = None, validation=None):
        """Train until so many epochs, or steps, are done in all, and return what was logged of each epoch, as dictionaries.

        data        a loader, or arrays (inputs, targets), of which a shuffled one is made; `validation` likewise, not shuffled

        With a `checkpoint` folder it goes on from what that holds; a CheckpointError says which process trains into it already.
        Ctrl-C, or SIGTERM, ends the step, saves, and then raises KeyboardInterrupt; a second Ctrl-C does so at once.
        """
        if (epochs is None) == (steps is None):
            raise ArgumentError("fit takes epochs or steps, how many there are to be in all")
        check_count(*(("steps", steps) if epochs is None else ("epochs", epochs)))
        data, validation = self._together.shared(self._batches(data)), batches_of(validation)
        if self._saver is not None:
            check_place(data)
        is_over = lambda: self.stopped is not None or (self.step >= steps if epochs is None else self.epoch >= epochs)
        with self._together.alone(self._saver, self._is_begun):
            self._begin(data, validation)
            with Interrupts() as interrupts, self._callbacks.running(self, data, epochs, steps):
                came = lambda: self._together.any(interrupts.came)
                while not is_over() and not came():
                    self._epoch(data, validation, lambda: is_over() or came())
                self._end(data, validation)
                interrupts.raise_if_any("" if self._folder is None else f", saved in {self._folder}; fit goes on from there")
        return self.history

    def _epoch(self, data, validation, is_over):
        """Train to the end of an epoch, or until it is over."""
        start = time.perf_counter()
        self.model.train()
        for group, is_last in groups(data, self.accumulate):
            self._step(group)
            self._callbacks.after_step(self)
            if is_last:
                break  # what is saved from here on is of the next epoch, so this one has to be over
            if self._is_due():
                self._save(data, validation)
            if is_over():
                self._seconds += time.perf_counter() - start
                return
        if not self._totals.rows:
            raise no_batches("train with")
        self._seconds += time.perf_counter() - start
        self._end_epoch(validation)
        if self.save_every is None or self._is_due() or self.keep_best:
            self._save(data, validation, self.history[-1].get(self.monitor))

    def _is_due(self):
        return self.save_every is not None and self.step % self.save_every == 0

    def _step(self, group):
        losses, results = self._steps.train(group)
        for batch, loss, result in zip(group, losses, results, strict=True):
            self._totals.add(rows_of(batch), loss, result)
        self.loss = float(np.mean([np.asarray(loss) for loss in losses]))
        self.step += 1
        if self.schedule is not None and self.schedule_each == "step":
            self.schedule.step()
        if self._finite is not None:
            self._finite.check_loss(self)

    def _end_epoch(self, validation):
        self.epoch += 1
        logs = {"epoch": self.epoch, "step": self.step, **self._together.totals(self._totals, self.metrics).results()}
        self._totals = Totals(self.metrics)
        if validation is not None:
            logs |= {f"validation_{name}": value for name, value in self.evaluate(validation).items()}
        logs |= {"learning_rate": float(self.optimizer.param_groups[0]["lr"]), "seconds": self._seconds}
        self._seconds = 0.0
        self.history.append(logs)
        if self.schedule is not None and self.schedule_each == "epoch":
            if isinstance(self.schedule, ReduceLROnPlateau):
                self.schedule.step(logs.get(self.monitor, logs["loss"]))
            else:
                self.schedule.step()
        self._callbacks.after_epoch(self, logs)

    def _end(self, data, validation):
        """Save what is not saved yet, and wait until it is on the disk."""
        if self._saver is not None:
            if self._saved != (self.step, self.epoch):
                self._save(data, validation)
            self._together.wait(self._saver.wait)
        elif self._finite is not None:
            self._finite.check_weights(self)

    def stop(self, reason):
        """End training after this epoch or step; `reason` is kept as `trainer.stopped`. Set that to None to go on."""
        self.stopped = reason

    # Use.
    def evaluate(self, data):
        """The loss and the metrics of the model, or of its averages, on data; by name. A loader stays at the place where it is."""
        totals, data = Totals(self.metrics), batches_of(data)
        with self._evaluated(), whole(data):
            for batch in data:
                loss, result = self._steps.evaluate(batch)
                totals.add(rows_of(batch), loss, result)
        if not totals.rows:
            raise no_batches("evaluate")
        return totals.results()

    def predict(self, data):
        """What the model, or its averages, make of data, as arrays in the order of the rows; targets beside inputs are left out."""
        data = batches_of(data)
        check_in_order(data)
        with self._evaluated(), whole(data):
            found = [self._steps.predict(batch) for batch in data]
        if not found:
            raise no_batches("predict from")
        return tree.map(lambda *parts: np.concatenate([np.asarray(part) for part in parts]), *found)

    def _evaluated(self):
        return self._steps.evaluated()

    # Checkpoints.
    def _begin(self, data, validation):
        """Go on from the newest checkpoint, if there is one and this trainer has done nothing yet."""
        if self._saver is not None:
            if self.keep_best:
                check_monitor(self.monitor, self.metrics, validation)
            if not self._is_begun and numbered(self._folder):
                parts = self._parts(data, validation)
                check_left_out(self._folder, parts)
                load_run(self._folder, **parts)
                self._saved = self.step, self.epoch
        if self._is_begun and hasattr(data, "load_state_dict"):
            data.load_state_dict(data.state_dict())  # an epoch that was left goes on
        self._is_begun = True

    def _batches(self, data):
        """Batches of what `fit` is handed. Arrays that come again, or a loader that is made anew, go on where those before were."""
        batches, before = batches_of(data, shuffle=True), self._data
        if before is not batches and is_new(batches) and same_rows(before, batches):
            batches.load_state_dict(before.state_dict())
        self._data = batches
        return batches

    def _parts(self, data, validation):
        parts = {"model": self.model, "optimizer": self.optimizer, "schedule": self.schedule, "averaged": self.averaged,
                 "data": data, "validation": validation if hasattr(validation, "state_dict") else None, "trainer": self,
                 "callbacks": self._callbacks}
        return {name: part for name, part in parts.items() if part is not None}

    def _save(self, data, validation, metric=None):
        if self._saver is not None:
            if self._finite is not None:
                self._finite.check_weights(self)
            self._saved = self.step, self.epoch
            # Those of all processes, since more or fewer may go on. All give theirs here, and one alone is asked for its state.
            mine, self._totals = self._totals, self._together.totals(self._totals, self.metrics)
            try:
                self._together.save(partial(self._saver.save, step=self.step, metric=metric), self._parts(data, validation))
            finally:
                self._totals = mine

    def state_dict(self):
        """How far training has come."""
        return {"step": self.step, "epoch": self.epoch, "stopped": self.stopped, "history": [dict(logs) for logs in self.history],
                "totals": self._totals.state_dict(), "seconds": self._seconds, "accumulate": self.accumulate,
                "schedule_each": self.schedule_each}

    def load_state_dict(self, state):
        """Be as far as `state_dict` said."""
        if state["accumulate"] != self.accumulate:
            raise ArgumentError(f"the run was trained with accumulate={state['accumulate']}, this trainer has {self.accumulate}")
        # Runs of before did not say.
        if self.schedule is not None and (each := state.get("schedule_each", self.schedule_each)) != self.schedule_each:
            raise ArgumentError(f"the run was trained with schedule_each={each!r}, this trainer has {self.schedule_each!r}")
        self._totals = Totals(self.metrics)
        if self._together.is_first:
            self._totals.load_state_dict(state["totals"])
        self.step, self.epoch, self.stopped, self._seconds = (state[name] for name in ("step", "epoch", "stopped", "seconds"))
        self.history = [dict(logs) for logs in state["history"]]

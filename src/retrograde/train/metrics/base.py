"""Metric, the base of all; the mean of a function; and the totals of several metrics over some batches."""

import math
from typing import Any

import numpy as np

from ... import tree
from ...dtypes import float64
from ...errors import ArgumentError, DTypeError, ShapeError
from ...ops.axes.reductions import sum as total_of
from ...tensor.creation import asarray


class Metric:
    """Base: `batch` makes sums of a batch, in ops; `merge` adds them up, and `result` makes a number of all of them.

    >>> metric = rg.train.Accuracy()
    >>> metric.update(rg.tensor([[2.0, 1.0], [0.0, 3.0], [1.0, 0.0]]), rg.tensor([0, 1, 1]))
    >>> round(metric.compute(), 4)
    0.6667
    """

    name = "metric"
    _total: Any = None

    def batch(self, outputs, targets):
        """What the result needs of a batch: a tree of tensors."""
        raise NotImplementedError(f"{type(self).__name__} needs a method batch")

    def merge(self, total, more):
        """What the result needs of all batches so far and one more: their sums."""
        return tree.map(lambda a, b: a + b, total, more)

    def result(self, total):
        """The number that is asked for."""
        raise NotImplementedError(f"{type(self).__name__} needs a method result")

    def update(self, outputs, targets):
        """Take in a batch, outside of a trainer."""
        self._total = merged(self, self._total, self.batch(asarray(outputs), asarray(targets)))

    def compute(self):
        """The result for all batches since the last `reset`; NaN if there was none."""
        return math.nan if self._total is None else float(self.result(self._total))

    def reset(self):
        """Begin anew."""
        self._total = None


def merged(metric, total, more):
    """What a metric needs of all batches, as arrays."""
    more = tree.map(np.asarray, more)
    return more if total is None else metric.merge(total, more)


class Mean(Metric):
    """The mean over all rows of what a function makes of outputs and targets: one number for a batch, or one for each row."""

    def __init__(self, function, name=None):
        self.function, self.name = function, name or getattr(function, "__name__", "mean")

    def batch(self, outputs, targets):
        """The sum of the numbers, and their count."""
        values = asarray(self.function(outputs, targets)).astype(float64)
        count = outputs.shape[0] if values.shape == () else values.size
        return total_of(values) * (count if values.shape == () else 1), asarray(count)

    def result(self, total):
        """Their mean."""
        return total[0] / total[1]


def named(metrics):
    """Metrics by name, of a dictionary or a list of metrics and functions."""
    if isinstance(metrics, Metric) or not isinstance(metrics, (dict, list, tuple)):
        raise ArgumentError(f"metrics are a list or a dictionary of them, got {type(metrics).__name__}; write metrics=[...]")
    pairs = metrics.items() if isinstance(metrics, dict) else [(None, metric) for metric in metrics]
    found = {}
    for name, metric in pairs:
        if isinstance(metric, type):
            raise ArgumentError(f"{metric.__name__} is a class, and a metric is an object: write {metric.__name__}()")
        if not isinstance(metric, Metric):
            if not callable(metric):
                raise DTypeError(f"a metric is one of rg.train, or a function of (outputs, targets), got {type(metric).__name__}")
            metric = Mean(metric)
        name = name or metric.name
        if name in found or name == "loss":
            raise ArgumentError(f"there are two metrics called {name!r}; give them as a dictionary by name")
        found[name] = metric
    return found


class Totals:
    """The loss and the metrics over some batches."""

    def __init__(self, metrics):
        self._metrics, self._loss, self.rows, self._found = metrics, 0.0, 0, {}

    def add(self, rows, loss, found):
        """Take in a batch of so many rows: its loss, and by name what metrics need of it."""
        self._loss, self.rows = self._loss + float(loss) * rows, self.rows + rows
        for name, more in found.items():
            self._found[name] = merged(self._metrics[name], self._found.get(name), more)

    def merge(self, state):
        """Take in what `state_dict` gave of other batches."""
        self._loss, self.rows = self._loss + state["loss"], self.rows + state["rows"]
        for name, more in state["found"].items():
            self._found[name] = merged(self._metrics[name], self._found.get(name), more)

    def results(self):
        """By name; NaN if there was no batch."""
        found = {"loss": ratio(self._loss, self.rows)}
        for name, metric in self._metrics.items():
            found[name] = float(metric.result(self._found[name])) if name in self._found else math.nan
        return found

    def state_dict(self):
        """What `load_state_dict` takes."""
        return {"loss": self._loss, "rows": self.rows, "found": dict(self._found)}

    def load_state_dict(self, state):
        """Go on from a state; metrics that were not there then begin now."""
        self._loss, self.rows = state["loss"], state["rows"]
        self._found = {name: value for name, value in state["found"].items() if name in self._metrics}


def check_scores(outputs, targets):
    """Raise a ShapeError unless outputs have one score for each class, along axis 1, for each target."""
    if outputs.ndim != targets.ndim + 1 or (*outputs.shape[:1], *outputs.shape[2:]) != targets.shape:
        raise ShapeError(f"outputs need the shape of the targets, or an axis of classes more at place 1; got {outputs.shape} and "
                         f"{targets.shape}")
    if outputs.shape[1] == 1:
        raise ShapeError(f"one score is the largest of one whatever it is; for two classes give targets the shape of the outputs, "
                         f"{outputs.shape}, or outputs a score for each class; got targets of shape {targets.shape}")


def ratio(part, whole):
    """One number by another, NaN if that is 0."""
    return float(part) / float(whole) if whole else math.nan

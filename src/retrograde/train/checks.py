"""What a Trainer is handed: checked before anything is trained, so that an error says what to hand over instead."""

import math
from numbers import Real

import numpy as np

from ..errors import ArgumentError, CheckpointError
from ..nn.module import Module
from ..optim.plateau import ReduceLROnPlateau
from ..runs.files import described
from ..runs.folder import chosen

#: The parts of a run without which it would go on as another one, and the arguments that they are.
_NEEDED = {"schedule": "schedule", "averaged": "ema"}
_TOLD = ("begin", "after_step", "after_epoch", "end")


def check_parts(model, optimizer, loss, schedule, schedule_each):
    """Raise an ArgumentError unless these can be trained together."""
    for name, part in (("model", model), ("optimizer", optimizer), ("loss", loss), ("schedule", schedule)):
        if isinstance(part, type):
            raise ArgumentError(f"{name} is the class {part.__name__}, and a Trainer needs an object: write {part.__name__}(...)")
    for name, part, is_one, what in (("model", model, isinstance(model, Module), "an nn.Module"),
                                     ("optimizer", optimizer, hasattr(optimizer, "param_groups"), "an optimizer of rg.optim"),
                                     ("loss", loss, loss is None or callable(loss), "a function of (outputs, targets)")):
        if not is_one:
            raise ArgumentError(f"{name} must be {what}, got {part!r}" if isinstance(part, str) else
                                f"{name} must be {what}, got {type(part).__name__}")
    own = {id(parameter) for parameter in model.parameters()}
    if own and own.isdisjoint(id(parameter) for group in optimizer.param_groups for parameter in group["params"]):
        raise ArgumentError("the optimizer has no parameter of the model, which would never change; make it of model.parameters()")
    if schedule is not None and getattr(schedule, "optimizer", optimizer) is not optimizer:
        raise ArgumentError("the schedule is of another optimizer than the trainer's, whose learning rate would never change")
    if schedule_each == "step" and isinstance(schedule, ReduceLROnPlateau):
        raise ArgumentError('ReduceLROnPlateau looks at the results of epochs; give schedule_each="epoch"')


def check_numbers(clip_norm, ema=None):
    """Raise an ArgumentError unless gradients are clipped, and weights averaged, by numbers that can be meant."""
    # A negative norm would turn gradients round, and averages that keep all of themselves would never move.
    if clip_norm is not None and not (_is_number(clip_norm) and clip_norm > 0):
        raise ArgumentError(f"clip_norm must be a number greater than 0, or None, got {clip_norm!r}")
    if ema is not None and not (_is_number(ema) and 0 <= ema < 1):
        raise ArgumentError(f"ema must be a number from 0 on and below 1, such as 0.999, how much of the averages stays at each "
                            f"step; got {ema!r}")


def _is_number(value):
    return isinstance(value, (Real, np.number)) and not isinstance(value, bool)


def check_callbacks(callbacks):
    """Raise an ArgumentError unless they are several, each of which can be told of steps and epochs."""
    if not hasattr(callbacks, "__iter__"):
        raise ArgumentError(f"callbacks are a list of them, got {type(callbacks).__name__}; write callbacks=[...]")
    for callback in callbacks:
        if isinstance(callback, type):
            raise ArgumentError(f"{callback.__name__} is a class, and callbacks are objects: write {callback.__name__}(...)")
        missing = [name for name in _TOLD if not hasattr(callback, name)]
        if missing:
            raise ArgumentError(f"a callback has {', '.join(_TOLD)}, and {type(callback).__name__} lacks {', '.join(missing)}; "
                                f"derive it from rg.train.Callback")


def check_count(name, value):
    """Raise an ArgumentError unless `value` says how many `name` there are to be."""
    is_integer = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_integer and value >= 0 or isinstance(value, float) and value == math.inf:
        return
    hint = "; inputs and targets are one argument, fit((inputs, targets), epochs=...)" if hasattr(value, "shape") else ""
    got = type(value).__name__ if hasattr(value, "shape") else repr(value)
    raise ArgumentError(f"{name} must be an integer of at least 0, got {got}{hint}")


def check_monitor(monitor, metrics, validation):
    """Raise an ArgumentError unless `monitor` is among what an epoch will have."""
    results = ["loss", *metrics]
    names = [*results, *([] if validation is None else [f"validation_{name}" for name in results]), "learning_rate", "seconds"]
    if monitor not in names:
        hint = "; hand validation data to fit" if monitor.startswith("validation_") and validation is None else ""
        raise ArgumentError(f"keep_best chooses by monitor={monitor!r}, and there will be {', '.join(names)}{hint}")


def check_left_out(folder, parts):
    """Raise a CheckpointError if the run in a folder has something that decides how it goes on, and that `parts` lack."""
    saved = described(chosen(folder, "last", None))["parts"]
    for name, argument in _NEEDED.items():
        if name in saved and name not in parts:
            raise CheckpointError(f"the run in {folder} was trained with {argument}=, which this trainer has not, so that it would "
                                  f"go on otherwise; give {argument}=, or load its model by rg.load_run and train into another "
                                  "folder")


def check_result(found):
    """What a `forward` returned, if that is (loss, outputs, targets); else an ArgumentError."""
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        got = f"{type(found).__name__} of {len(found)} parts" if isinstance(found, (tuple, list)) else type(found).__name__
        raise ArgumentError(f"forward(model, batch) must return (loss, outputs, targets), of which the last two may be None; got "
                            f"{got}")
    if not hasattr(found[0], "backward"):
        raise ArgumentError(f"the loss must be a tensor that is made of what the model gives, got {type(found[0]).__name__}")
    return found


def check_in_order(data):
    """Raise an ArgumentError if a loader gives rows in another order than that of the data, or not all of them."""
    if not getattr(data, "keeps_rows", True):
        raise ArgumentError("predictions come in the order of the data, a row for each, and this loader shuffles or leaves rows "
                            "out; hand over a loader without shuffle, order and drop_last, or the arrays")


def pair_of(batch):
    """(inputs, targets) of a batch that is these two; else an ArgumentError."""
    if isinstance(batch, (tuple, list)) and len(batch) == 2:
        return batch
    got = f"{type(batch).__name__} of {len(batch)} parts" if isinstance(batch, (tuple, list, dict)) else type(batch).__name__
    raise ArgumentError(f"a loss is for batches (inputs, targets), got a {got}; hand arrays over as a tuple (inputs, targets), and "
                        f"for batches of another form give the Trainer forward= in place of the loss")


def no_batches(what):
    """What is raised where data gave no batch."""
    return ArgumentError(f"there are no data to {what}: they are empty, drop_last left all of them out, or they are a generator, "
                         f"which gives its batches once; a list or a Loader gives them in each epoch")

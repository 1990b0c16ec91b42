"""What a step computes: the loss and its gradients, the update of the weights and their averages; compiled as two functions."""

from contextlib import contextmanager
from typing import Any

import numpy as np

from ..core.mode import no_grad
from ..errors import OutOfRangeError
from ..nn.utils import clip_grad_norm_
from ..transforms.jit import jit
from .checks import check_result, pair_of


def of_pair(loss):
    """A `forward` for batches (inputs, targets)."""

    def forward(model, batch):
        inputs, targets = pair_of(batch)
        outputs = called(model, inputs)
        return loss(outputs, targets), outputs, targets

    return forward


def called(model, inputs):
    """What a model makes of inputs: of one, of several as a tuple, or of several by name."""
    if isinstance(inputs, dict):
        return model(**inputs)
    return model(*inputs) if isinstance(inputs, (tuple, list)) else model(inputs)


class Steps:
    """The functions of one trainer. They know the model and the optimizer, and nothing of the trainer."""

    def __init__(self, forward, model, optimizer, metrics, clip_norm, averaged, compiled, together, autocasts):
        prepared: Any = _compiled if compiled else (lambda function: function)
        self.model, self._averaged = model, averaged
        # On the way back each op is under the autocast that it was made in.
        forward, outputs_of = (forward, called) if autocasts is None else (autocasts(forward), autocasts(called))

        def results(outputs, targets):
            return {name: metric.batch(outputs, targets) for name, metric in metrics.items()}

        def gradients(batch, share):
            loss, outputs, targets = check_result(forward(model, batch))
            (loss * share.astype(loss.dtype)).backward()
            with no_grad():
                return together.mean(loss.detach()), results(outputs, targets)

        def update():
            if clip_norm is not None:
                clip_grad_norm_(model.parameters(), clip_norm)
            optimizer.step()
            optimizer.zero_grad()
            if averaged is not None:
                averaged.update_parameters(model)

        def whole(batch):
            loss, outputs, targets = check_result(forward(model, batch))
            loss.backward()
            update()
            with no_grad():
                return together.mean(loss.detach()), results(outputs, targets)

        shown = model if averaged is None else averaged

        def evaluated(batch):
            with no_grad():
                loss, outputs, targets = check_result(forward(shown, batch))
                return loss, results(outputs, targets)

        def predicted(inputs):
            with no_grad():
                return outputs_of(shown, inputs)

        self._gradients, self._update, self._whole = prepared(gradients), prepared(update), prepared(whole)
        self.evaluate, self._predicted = prepared(evaluated), prepared(predicted)
        self._forget, self._accumulated = optimizer.zero_grad, together.accumulated(model)

    def train(self, batches):
        """Make one step of several batches; the loss of each, and what metrics need of it."""
        self._forget()
        if len(batches) == 1:
            found = [self._whole(batches[0])]
        else:
            share = np.float32(1 / len(batches))
            with self._accumulated():
                found = [self._gradients(batch, share) for batch in batches]
            self._update()
        return [loss for loss, _ in found], [result for _, result in found]

    def predict(self, batch):
        """The outputs for a batch, which may have targets."""
        is_pair = isinstance(batch, (tuple, list)) and len(batch) == 2
        return self._predicted(batch[0] if is_pair else batch)

    @contextmanager
    def evaluated(self):
        """Within it the model, and its averages, are in the mode of evaluation."""
        wholes = [module for module in (self.model, self._averaged) if module is not None]
        # Each has a mode of its own: a layer may be frozen in evaluation within a model that is trained.
        before = [(module, module.training) for whole in wholes for module in whole.modules()]
        for whole in wholes:
            whole.eval()
        try:
            yield
        finally:
            for module, was_training in before:
                module.training = was_training


def _compiled(function):
    """`function` compiled; its errors say what to do in words of a trainer's user."""
    quick = jit(function)

    def called_quickly(*args):
        try:
            return quick(*args)
        except OutOfRangeError as error:
            error.add_note("a Trainer with compiled=False says which; labels of classes must be 0 to the number of scores - 1")
            raise

    return called_quickly

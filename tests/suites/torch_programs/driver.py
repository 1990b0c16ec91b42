"""Runs one script on the library that PROGRAM_RUNS_ON names, and writes down the losses it meets: `python driver.py RECORD LOSSES HOW SCRIPT ...`.

What would differ between two libraries though both are right is made equal: the numbers drawn, and with them the weights a program
begins with. HOW is `eager`, or `compiled`: then each model is compiled before its first step.
"""

import gc
import json
import os
import random
import runpy
import sys
from importlib import import_module
from pathlib import Path

import numpy as np

torch = import_module(os.environ["PROGRAM_RUNS_ON"])
GENERATOR = np.random.default_rng(0)
DRAWS = torch.zeros((), dtype=torch.int64)  # how many tensors were drawn


class Enough(BaseException):
    """As many losses as are compared have been met."""


def tensor(array, dtype=None):
    made = torch.from_numpy(np.array(array))
    return made.to(dtype or (torch.get_default_dtype() if array.dtype.kind == "f" else torch.int64))


def _shape(size, words):
    size = words.get("size", size)
    return tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else tuple(size)


def _chances(shape):
    """Numbers from 0 to 1 in float64: a hash of their positions and of how many draws there were.

    Both libraries compute it of tensors, the second of them also in compiled functions, where each call must draw anew.
    """
    with torch.no_grad():
        DRAWS.add_(1)
        bits = torch.arange(int(np.prod(shape, dtype=int))).reshape(shape) + DRAWS * 7368787
        for factor in (1103515245, 747796405, 1664525):
            bits = (bits * factor + 12345) % 2**31
            bits = bits ^ (bits >> 15)
        return (bits.to(torch.float64) + 0.5) / 2**31


def _normal(shape):
    """Numbers that are normally distributed, by the rule of Box and Muller."""
    return (-2 * _chances(shape).log()).sqrt() * (2 * np.pi * _chances(shape)).cos()


def equal_draws():
    """Replace what draws numbers by a hash and by NumPy's generator, which both libraries then share."""
    def randn(*size, dtype=None, **words):
        return _normal(_shape(size, words)).to(dtype or torch.get_default_dtype())

    def rand(*size, dtype=None, **words):
        return _chances(_shape(size, words)).to(dtype or torch.get_default_dtype())

    def randint(*bounds, size=None, dtype=None, **_):
        *bounds, size = (*bounds, size) if size is not None else bounds
        low, high = (0, *bounds)[-2:]
        return tensor(GENERATOR.integers(low, high, tuple(size)), dtype)

    def dropout(x, p=0.5, training=True, inplace=False):
        return x * _mask(x.shape, p, x.dtype) if training and p else x

    def dropout2d(x, p=0.5, training=True, inplace=False):
        return x * _mask((*x.shape[:2], *[1] * (x.ndim - 2)), p, x.dtype) if training and p else x

    def _mask(shape, p, dtype):
        return (_chances(tuple(shape)) >= p).to(dtype) / (1 - p)

    def sample(self, sample_shape=()):
        chances = self.probs.detach().numpy().cumsum(-1)
        return tensor((GENERATOR.random((*chances.shape[:-1], 1)) > chances[..., :-1]).sum(-1))

    functional = torch.nn.functional
    torch.randn, torch.rand, torch.randint = randn, rand, randint
    torch.randn_like, torch.rand_like = (lambda x, **_: randn(*x.shape, dtype=x.dtype)), (lambda x, **_: rand(*x.shape, dtype=x.dtype))
    torch.randperm = lambda count, **_: tensor(GENERATOR.permutation(count))
    functional.dropout, functional.dropout2d = dropout, dropout2d
    torch.nn.Dropout.forward = lambda self, x: dropout(x, self.p, self.training)
    torch.nn.Dropout2d.forward = lambda self, x: dropout2d(x, self.p, self.training)
    if hasattr(torch, "distributions"):
        torch.distributions.Categorical.sample = sample
    random.seed(0)


def equal_orders():
    """Take samples in their order, in the process itself: the order of a shuffle is each library's own."""
    loader = torch.utils.data.DataLoader
    begin = loader.__init__

    def __init__(self, dataset, *args, shuffle=False, num_workers=0, **words):  # noqa: N807 - it replaces the constructor
        begin(self, dataset, *args, **words)

    loader.__init__ = __init__


def equal_weights(how):
    """Set the weights of a model when its optimizer is made, or, where it has none, before its first gradients."""
    done, kept = set(), []  # what is done is kept, so that no other object gets its id

    def drawn(parameter):
        values = np.asarray(parameter.detach().numpy())
        noise = GENERATOR.standard_normal(values.shape)
        is_constant = values.size and values.flat[0] in {0, 1} and (values == values.flat[0]).all()
        scale = 0.02 if is_constant else 1 / np.sqrt(max(np.prod(values.shape[1:]), 1))
        with torch.no_grad():
            parameter.copy_(tensor((values.flat[0] if is_constant else 0) + scale * noise, parameter.dtype))

    def prepare(parameters):
        for module in [found for found in gc.get_objects() if isinstance(found, torch.nn.MultiheadAttention)]:
            module.dropout = 0.0  # drawn within an op of each library, where neither lets another draw
        for parameter in parameters:
            if id(parameter) not in done:
                done.add(id(parameter))
                kept.append(parameter)
                drawn(parameter)
        if how == "compiled":
            for module in roots():
                if any(id(p) in done for p in module.parameters()) and id(module) not in done:
                    done.add(id(module))
                    kept.append(module)
                    module.compile(fullgraph=True)  # what cannot be traced is an error

    def roots():
        """The modules that stand in no other."""
        modules = [found for found in gc.get_objects() if isinstance(found, module_kind)]
        inner = {id(child) for module in modules for child in module.children()}
        return [module for module in modules if id(module) not in inner]

    module_kind, optimizer_kind = torch.nn.Module, torch.optim.Optimizer
    begin_optimizer, zero_grad = optimizer_kind.__init__, module_kind.zero_grad

    def optimizer_init(self, params, *args, **words):
        params = list(params)
        prepare(params)
        begin_optimizer(self, params, *args, **words)

    def zeroed(self, *args, **words):
        prepare(self.parameters())
        return zero_grad(self, *args, **words)

    optimizer_kind.__init__, module_kind.zero_grad = optimizer_init, zeroed


def record_losses(losses, wanted):
    kind = torch.Tensor
    backward = kind.backward

    def recorded(self, *args, **words):
        losses.append(float(self.detach()))
        backward(self, *args, **words)
        if len(losses) == wanted:
            raise Enough

    kind.backward = recorded


def arrays_are_safe():
    """Let PyTorch read an array of NumPy's in a file, as it did when time_sequence_prediction was written."""
    if torch.__name__ == "torch":
        # NumPy has no public names for what its arrays are pickled with.
        parts = [type(np.dtype("float64")), np.ndarray, np.dtype, import_module("numpy._core.multiarray")._reconstruct]
        torch.serialization.add_safe_globals(parts)


def main(record, wanted, how, script, *arguments):
    losses = []
    arrays_are_safe()
    equal_draws()
    equal_orders()
    equal_weights(how)
    record_losses(losses, int(wanted))
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except Enough:
        pass
    finally:
        Path(record).write_text(json.dumps(losses))


if __name__ == "__main__":
    main(*sys.argv[1:])

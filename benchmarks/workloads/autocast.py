"""Training steps under autocast to bfloat16: a perceptron of width 512 and a small GPT, beside float32 and PyTorch's autocast."""

from functools import partial

from . import gpt, libraries, perceptron

PERCEPTRON = perceptron.Task((512, 512, 512, 512), "ReLU", 512, is_classifier=False)


def _perceptron(name, is_low, threads):
    """A training step of a perceptron of three layers."""
    lib, compiled, wrapped_loss = _library(name, is_low, threads)
    return perceptron.with_modules(lib, PERCEPTRON, lib.optim.SGD, compiled, wrapped_loss)(*PERCEPTRON.data())


def _gpt(name, is_low, threads):
    """A training step of a small GPT."""
    lib, compiled, wrapped_loss = _library(name, is_low, threads)
    optimizer = partial(lib.optim.AdamW, fused=True) if name == "torch" else lib.optim.AdamW
    return gpt.trained(lib, optimizer, gpt.BATCH, wrapped_loss, compiled=compiled)


def _library(name, is_low, threads):
    """(modules of a library, what compiles its step, what computes a loss under its autocast, if `is_low`)."""
    lib = libraries.modules(name)
    lib.library.set_num_threads(threads)
    if name == "torch":
        return lib, lambda step: step, lib.library.autocast("cpu", enabled=is_low)
    return lib, lib.library.jit, lib.library.autocast(enabled=is_low)


def _rivals(step):
    return {"retrograde": partial(step, "retrograde", True), "retrograde, float32": partial(step, "retrograde", False),
            "torch": partial(step, "torch", True)}


PERCEPTRONS, GPTS = _rivals(_perceptron), _rivals(_gpt)

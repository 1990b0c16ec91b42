"""What a small policy network answers to one observation, which comes as a NumPy array; its weights do not change."""

from contextlib import ExitStack

import numpy as np

from . import libraries

SIZES, ACTIVATION = (8, 32, 32, 4), "Tanh"
# What was entered for as long as the process lives.
_MODES = ExitStack()


def retrograde():
    """Compiled, in inference mode."""
    lib = libraries.modules("retrograde")
    answer, observation = lib.library.jit(_answering(lib)), _observation()
    return lambda: answer(observation)


def retrograde_eager():
    """Op by op, in inference mode."""
    lib = libraries.modules("retrograde")
    answer, observation = _answering(lib), _observation()
    return lambda: answer(lib.tensor(observation))


def torch():
    """Op by op, in inference mode."""
    lib = libraries.modules("torch")
    answer, observation = _answering(lib), _observation()
    return lambda: answer(lib.library.from_numpy(observation))


def torch_compile():
    """Compiled, in inference mode."""
    lib = libraries.modules("torch")
    answer, observation = lib.library.compile(_answering(lib)), _observation()
    return lambda: answer(lib.library.from_numpy(observation))


def torch_jit():
    """Traced and frozen: TorchScript, which is older than `torch.compile` and lighter to call."""
    lib = libraries.modules("torch")
    script, observation = lib.library.jit, lib.tensor(_observation())
    traced = script.freeze(script.trace(_answering(lib), observation))
    answer, observation = script.optimize_for_inference(traced), _observation()
    return lambda: answer(lib.library.from_numpy(observation))


def jax():
    """Compiled."""
    lib = libraries.jax()
    parameters = libraries.transposed(SIZES, lib.numpy.asarray)
    answer = lib.jit(lambda x: libraries.layered(parameters, x, lib.numpy.tanh))
    observation = _observation()
    return lambda: answer(observation).block_until_ready()


def tinygrad():
    """Captured."""
    lib = libraries.tinygrad()
    layers = libraries.tinygrad_layers(lib, SIZES)
    answer = lib.TinyJit(lambda x: libraries.tinygrad_apply(layers, x, lib.Tensor.tanh).realize())
    observation = _observation()

    def step():  # A tensor on the array's own memory: copying it in takes four times as long as all the rest.
        found = answer(lib.Tensor.from_blob(observation.ctypes.data, observation.shape, dtype=lib.dtypes.float32, device="CPU"))
        lib.finish()
        return found

    return step


def numpy():
    """By hand."""
    parameters, observation = libraries.transposed(SIZES, np.array), _observation()
    return lambda: libraries.layered(parameters, observation, np.tanh)


def answering(lib, model):
    """A network of retrograde or torch, in a process that from here on only answers."""
    _MODES.enter_context(lib.library.inference_mode())
    return model.eval()


def _answering(lib):
    return answering(lib, libraries.perceptron(lib, SIZES, ACTIVATION))


def _observation():
    return np.random.default_rng(1).standard_normal((1, SIZES[0]), np.float32)


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "torch.jit": torch_jit, "jax": jax, "tinygrad": tinygrad, "numpy": numpy}

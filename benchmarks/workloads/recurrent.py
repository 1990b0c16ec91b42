"""A training step of a recurrent network: an LSTM reads sequences, and a linear layer tells their class from its last output."""

from functools import partial

import numpy as np

from . import libraries, training

STEPS, BATCH, INPUTS, UNITS, CLASSES = 64, 32, 32, 128, 10


def data():
    """Sequences (time, batch, inputs) and labels. Every sequence comes twice, with another label: see `perceptron.Task.data`."""
    rng, half = np.random.default_rng(1), BATCH // 2
    x = np.tile(rng.standard_normal((STEPS, half, INPUTS), np.float32), (1, 2, 1))
    y = rng.integers(0, CLASSES, half)
    return x, np.concatenate([y, (y + 1) % CLASSES])


def retrograde():
    """The whole step compiled."""
    lib = libraries.modules("retrograde")
    return _with_modules(lib, lib.optim.Adam, compiled=lib.library.jit)


def retrograde_eager():
    """Op by op."""
    lib = libraries.modules("retrograde")
    return _with_modules(lib, lib.optim.Adam)


def torch():
    """PyTorch's own LSTM, with the fused optimizer."""
    lib = libraries.modules("torch")
    return _with_modules(lib, partial(lib.optim.Adam, fused=True))


def torch_compile():
    """The loss compiled, forward and backward, with the fused optimizer."""
    lib = libraries.modules("torch")
    return _with_modules(lib, partial(lib.optim.Adam, fused=True), wrapped_loss=lib.library.compile)


def jax():
    """The whole step compiled; the recurrence is a `lax.scan`, and what the inputs add is computed before it."""
    lib = libraries.jax()

    def loss_of(parameters, x, y):
        of_inputs, of_state, input_bias, state_bias, weight, bias = parameters

        def step(carry, row):
            h, c = carry
            i, f, g, o = lib.numpy.split(row + h @ of_state.T, 4, axis=1)
            c = lib.nn.sigmoid(f) * c + lib.nn.sigmoid(i) * lib.numpy.tanh(g)
            return (lib.nn.sigmoid(o) * lib.numpy.tanh(c), c), None

        start = lib.numpy.zeros((BATCH, UNITS), x.dtype)
        (h, _), _ = lib.lax.scan(step, (start, start), x @ of_inputs.T + (input_bias + state_bias))
        z = h @ weight.T + bias
        return (lib.nn.logsumexp(z, axis=1) - lib.numpy.take_along_axis(z, y[:, None], axis=1)[:, 0]).mean()

    rng = np.random.default_rng(0)
    shapes = (4 * UNITS, INPUTS), (4 * UNITS, UNITS), (4 * UNITS,), (4 * UNITS,), (CLASSES, UNITS), (CLASSES,)
    parameters = [lib.numpy.asarray(libraries.drawn(rng, shape)) for shape in shapes]
    return training.with_jax(lib, parameters, loss_of)(*data())


def _with_modules(lib, optimizer, compiled=lambda step: step, wrapped_loss=lambda loss_of: loss_of):
    parts = lib.nn.ModuleDict({"lstm": lib.nn.LSTM(INPUTS, UNITS), "head": lib.nn.Linear(UNITS, CLASSES)})
    libraries.load(lib, parts)

    def loss_of(x, y):
        return lib.functional.cross_entropy(parts["head"](parts["lstm"](x)[0][-1]), y)

    return training.with_modules(lib, parts.parameters(), wrapped_loss(loss_of), optimizer, compiled)(*data())


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax}

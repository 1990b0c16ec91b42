"""Training with Adam or gradient descent, as the users of each library write it: forward, backward and update in one step.

Each function takes parameters and the loss as a function, and returns one that takes data and returns the step, which
returns the loss. Steps on different data train the same parameters.
"""

from functools import partial

import numpy as np

RATE = 1e-3


def with_modules(lib, parameters, loss_of, optimizer, compiled=lambda step: step):
    """The steps of retrograde and torch; `optimizer` makes theirs, `compiled` may compile the whole."""
    optimizer = optimizer(list(parameters), lr=RATE)

    @compiled
    def step(*data):
        optimizer.zero_grad()
        loss = loss_of(*data)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return lambda *data: partial(step, *map(lib.tensor, data))


def with_tinygrad(lib, parameters, loss_of):
    """The steps of tinygrad, captured and replayed by its JIT."""
    optimizer = lib.nn.optim.Adam(parameters, lr=RATE)

    def on(*data):
        data = [lib.Tensor(a).contiguous().realize() for a in data]

        @lib.TinyJit
        def replayed(*data):
            optimizer.zero_grad()
            loss = loss_of(*data).backward()
            return loss.realize(*optimizer.schedule_step())

        def step():
            with lib.Context(TRAINING=1):
                loss = replayed(*data)
            lib.finish()
            return loss

        return step

    return on


def with_jax(lib, parameters, loss_of, decay=0.0):
    """The steps of JAX: one compiled function of parameters and state, whose memory it may reuse.

    The loss is a function of a list of parameters and of the data. `decay` is AdamW's, 0 makes it Adam.
    """
    state = parameters, *([lib.numpy.zeros_like(p) for p in parameters] for _ in range(2)), lib.numpy.zeros(())

    @partial(lib.jit, donate_argnums=0)
    def advanced(state, *data):
        *state, age = state
        loss, gradients = lib.value_and_grad(loss_of)(state[0], *data)
        return (*_adam(state, gradients, age + 1, lib.numpy.sqrt, decay), age + 1), loss

    def step(*data):
        nonlocal state
        state, loss = lib.block_until_ready(advanced(state, *data))
        return loss

    return lambda *data: partial(step, *map(lib.numpy.asarray, data))


def with_jax_sgd(lib, parameters, loss_of, momentum):
    """As `with_jax`, with gradient descent in place of Adam."""
    state = parameters, [lib.numpy.zeros_like(p) for p in parameters]

    @partial(lib.jit, donate_argnums=0)
    def advanced(state, *data):
        parameters, speeds = state
        loss, gradients = lib.value_and_grad(loss_of)(parameters, *data)
        speeds = [momentum * v + g for v, g in zip(speeds, gradients, strict=True)] if momentum else gradients
        return ([p - RATE * v for p, v in zip(parameters, speeds, strict=True)], speeds), loss

    def step(*data):
        nonlocal state
        state, loss = lib.block_until_ready(advanced(state, *data))
        return loss

    return lambda *data: partial(step, *map(lib.numpy.asarray, data))


def with_autograd(lib, parameters, loss_of):
    """The steps of autograd, op by op. The loss is a function of a list of parameters and of the data."""
    both = lib.autograd.value_and_grad(loss_of)
    state = parameters, *([np.zeros_like(p) for p in parameters] for _ in range(2))
    age = 0

    def step(*data):
        nonlocal state, age
        age += 1
        loss, gradients = both(state[0], *data)
        state = _adam(state, gradients, age, np.sqrt)
        return loss

    return lambda *data: partial(step, *data)


def _adam(state, gradients, age, sqrt, decay=0.0):
    """Lists of parameters, mean gradients and mean squares after a step of Adam as PyTorch has it, in any library's arrays."""
    parts = zip(gradients, *state, strict=True)
    updated = [_adam_of_one(p * (1 - RATE * decay), g, mean, square, age, sqrt) for g, p, mean, square in parts]
    return [list(part) for part in zip(*updated, strict=True)]


def _adam_of_one(p, g, mean, square, age, sqrt):
    first, second, epsilon = 0.9, 0.999, 1e-8
    mean = first * mean + (1 - first) * g
    square = second * square + (1 - second) * g * g
    scale = sqrt(square) / (1 - second**age) ** 0.5 + epsilon
    return p - RATE / (1 - first**age) * mean / scale, mean, square

"""Training steps on images: a small network of convolutions and pooling, and a residual block with batch norm."""

from functools import partial

import numpy as np

from . import libraries, training

#: Batch, channels, height and width of the images.
DIGITS, BLOCK = (64, 1, 28, 28), (32, 32, 32, 32)
#: Shapes of the parameters, as `load` draws them: of two convolutions and a linear layer; of two convolutions and two norms.
NETWORK = ((32, 1, 3, 3), (32,), (64, 32, 3, 3), (64,), (10, 3136), (10,))
RESIDUAL = ((32, 32, 3, 3), (32,), (32,), (32, 32, 3, 3), (32,), (32,))
EPSILON, MOMENTUM = 1e-5, 0.9


def digits():
    """Images and labels."""
    rng = np.random.default_rng(1)
    return rng.standard_normal(DIGITS, np.float32), rng.integers(0, 10, DIGITS[0])


def block():
    """Images, and those that are wanted of the block."""
    rng = np.random.default_rng(1)
    return rng.standard_normal(BLOCK, np.float32), rng.standard_normal(BLOCK, np.float32)


def _network(lib):
    """The network of retrograde or torch."""
    nn = lib.nn
    layers = (nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
              nn.MaxPool2d(2), nn.Flatten(), nn.Linear(3136, 10))
    return libraries.load(lib, nn.Sequential(*layers))


def _network_loss(lib, model):
    return lambda x, y: lib.functional.cross_entropy(model(x), y)


def _residual(lib):
    """The parameters of the block, as tensors of retrograde or torch."""
    return [lib.tensor(a).requires_grad_() for a in _drawn(RESIDUAL)]


def _drawn(shapes):
    rng = np.random.default_rng(0)
    return [libraries.drawn(rng, shape) for shape in shapes]


def _residual_loss(lib, parameters):
    relu, convolved = lib.functional.relu, partial(lib.functional.conv2d, padding=1)

    def loss_of(x, y):
        first, scale, shift, second, scale_too, shift_too = parameters
        z = relu(_normal(lib, convolved(x, first), scale, shift))
        z = relu(x + _normal(lib, convolved(z, second), scale_too, shift_too))
        return ((z - y) ** 2).mean()

    return loss_of


def _normal(lib, x, scale, shift):
    """Batch norm of a training step, without running statistics."""
    if hasattr(lib.functional, "batch_norm"):
        return lib.functional.batch_norm(x, None, None, scale, shift, training=True, eps=EPSILON)
    mean = x.mean((0, 2, 3), keepdims=True)
    x = x - mean
    variance = (x * x).mean((0, 2, 3), keepdims=True)
    return x * (scale.reshape(-1, 1, 1) / (variance + EPSILON).sqrt()) + shift.reshape(-1, 1, 1)


def _trained(name, is_block):
    """The step of a rival."""
    return _with_jax(is_block) if name == "jax" else _with_modules(name, is_block)


def _with_modules(name, is_block):
    library = name.partition(".")[0].partition(" ")[0]
    lib = libraries.modules(library)
    parameters = _residual(lib) if is_block else None
    model = None if is_block else _network(lib)
    loss_of = _residual_loss(lib, parameters) if is_block else _network_loss(lib, model)
    if name == "torch.compile":
        loss_of = lib.library.compile(loss_of)
    optimizer = lib.optim.SGD if is_block else partial(lib.optim.SGD, momentum=MOMENTUM)
    compiled = lib.library.jit if name == "retrograde" else (lambda step: step)
    parameters = model.parameters() if model is not None else parameters
    return training.with_modules(lib, parameters, loss_of, optimizer, compiled)(*(block() if is_block else digits()))


def _with_jax(is_block):
    """The whole step compiled."""
    lib = libraries.jax()
    parameters = [lib.numpy.asarray(a) for a in _drawn(RESIDUAL if is_block else NETWORK)]
    loss_of = partial(_jax_block if is_block else _jax_network, lib)
    return training.with_jax_sgd(lib, parameters, loss_of, 0 if is_block else MOMENTUM)(*(block() if is_block else digits()))


def _jax_convolved(lib, x, weight):
    return lib.lax.conv_general_dilated(x, weight, (1, 1), ((1, 1), (1, 1)), dimension_numbers=("NCHW", "OIHW", "NCHW"))


def _jax_network(lib, parameters, x, y):
    first, bias, second, bias_too, weight, last = parameters
    for w, b in ((first, bias), (second, bias_too)):
        x = lib.nn.relu(_jax_convolved(lib, x, w) + b[:, None, None])
        x = lib.lax.reduce_window(x, -np.inf, lib.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    z = x.reshape(x.shape[0], -1) @ weight.T + last
    return (lib.nn.logsumexp(z, axis=1) - lib.numpy.take_along_axis(z, y[:, None], axis=1)[:, 0]).mean()


def _jax_block(lib, parameters, x, y):
    first, scale, shift, second, scale_too, shift_too = parameters
    z = lib.nn.relu(_jax_normal(lib, _jax_convolved(lib, x, first), scale, shift))
    z = lib.nn.relu(x + _jax_normal(lib, _jax_convolved(lib, z, second), scale_too, shift_too))
    return ((z - y) ** 2).mean()


def _jax_normal(lib, x, scale, shift):
    mean, variance = x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    return (x - mean) * (scale[:, None, None] / lib.numpy.sqrt(variance + EPSILON)) + shift[:, None, None]


NAMES = ("retrograde", "torch", "torch.compile", "jax")
NETWORKS = {name: partial(_trained, name, False) for name in NAMES}
BLOCKS = {name: partial(_trained, name, True) for name in NAMES}

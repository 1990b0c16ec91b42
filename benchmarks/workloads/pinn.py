"""A training step of a physics-informed network: how far u(x, t) is from u_t = 0.1 u_xx + source, at 1,024 points.

The source is noise, which no network meets: so the loss stays away from 0 (see `perceptron.Task.data`).
"""

from functools import partial

import numpy as np

from . import libraries, training

SIZES, ACTIVATION = (2, 64, 64, 64, 1), "Tanh"
POINTS, DIFFUSION = 1024, 0.1


def retrograde():
    """The whole step compiled."""
    lib = libraries.modules("retrograde")
    return _retrograde(lib, compiled=lib.library.jit)


def retrograde_eager():
    """Op by op."""
    return _retrograde(libraries.modules("retrograde"))


def _retrograde(lib, **options):
    rg, model = lib.library, libraries.perceptron(lib, SIZES, ACTIVATION)

    def total(x, t):
        return model(rg.stack([x, t], axis=1)).sum()

    def slopes(x, t):
        u_x, u_t = rg.grad(total, (0, 1))(x, t)
        return u_x.sum(), u_t

    def loss_of(x, t, source):
        u_xx, u_t = rg.grad(slopes, has_aux=True)(x, t)
        return _missed(u_t, u_xx, source)

    return training.with_modules(lib, model.parameters(), loss_of, lib.optim.Adam, **options)(*_points())


def torch():
    """Op by op, with the fused optimizer."""
    lib = libraries.modules("torch")
    model, slopes_of = libraries.perceptron(lib, SIZES, ACTIVATION), partial(lib.library.autograd.grad, create_graph=True)

    def loss_of(x, t, source):
        x, t = x.requires_grad_(), t.requires_grad_()
        u_x, u_t = slopes_of(model(lib.library.stack([x, t], dim=1)).sum(), (x, t))
        (u_xx,) = slopes_of(u_x.sum(), x)
        return _missed(u_t, u_xx, source)

    return _torch(lib, model, loss_of)


def torch_compile():
    """The loss compiled, forward and backward; it takes the derivatives by x and t with `torch.func`."""
    lib = libraries.modules("torch")
    library, model = lib.library, libraries.perceptron(lib, SIZES, ACTIVATION)

    def value(x, t):
        return model(library.stack([x, t], dim=1))[:, 0]

    def by(function, x):
        return library.func.jvp(function, (x,), (library.ones_like(x),))[1]

    def loss_of(x, t, source):
        u_t, u_xx = by(lambda t: value(x, t), t), by(lambda x: by(lambda x: value(x, t), x), x)
        return _missed(u_t, u_xx, source)

    return _torch(lib, model, library.compile(loss_of))


def _torch(lib, model, loss_of):
    optimizer = partial(lib.optim.Adam, fused=True)
    return training.with_modules(lib, model.parameters(), loss_of, optimizer)(*_points())


def jax():
    """The whole step compiled; derivatives forward, mapped over the points."""
    lib = libraries.jax()

    def value(parameters, x, t):
        return libraries.layered(parameters, lib.numpy.stack([x, t]), lib.numpy.tanh)[0]

    def slopes(parameters, x, t):
        def u_x(x):
            return lib.jvp(lambda x: value(parameters, x, t), (x,), (1.0,))[1]

        u_xx = lib.jvp(u_x, (x,), (1.0,))[1]
        u_t = lib.jvp(lambda t: value(parameters, x, t), (t,), (1.0,))[1]
        return u_t, u_xx

    def loss_of(parameters, x, t, source):
        u_t, u_xx = lib.vmap(slopes, (None, 0, 0))(parameters, x, t)
        return _missed(u_t, u_xx, source)

    return training.with_jax(lib, libraries.transposed(SIZES, lib.numpy.asarray), loss_of)(*_points())


def tinygrad():
    """The whole step captured."""
    lib = libraries.tinygrad()
    layers = libraries.tinygrad_layers(lib, SIZES)

    def loss_of(x, t, source):
        u = libraries.tinygrad_apply(layers, x.stack(t, dim=1), lib.Tensor.tanh)
        u_x, u_t = u.sum().gradient(x, t)
        (u_xx,) = u_x.sum().gradient(x)
        return _missed(u_t, u_xx, source)

    # The last bias has no gradient, which tinygrad's optimizers do not forgive.
    return training.with_tinygrad(lib, lib.nn.state.get_parameters(layers)[:-1], loss_of)(*_points())


def autograd():
    """Op by op."""
    lib = libraries.autograd()
    anp, slopes = lib.numpy, lib.autograd.elementwise_grad

    def value(parameters, x, t):
        return libraries.layered(parameters, anp.stack([x, t], axis=1), anp.tanh)[:, 0]

    def loss_of(parameters, x, t, source):
        u_x = slopes(value, 1)
        return _missed(slopes(value, 2)(parameters, x, t), slopes(u_x, 1)(parameters, x, t), source)

    return training.with_autograd(lib, libraries.transposed(SIZES, np.array), loss_of)(*_points())


def _missed(u_t, u_xx, source):
    return ((u_t - DIFFUSION * u_xx - source) ** 2).mean()


def _points():
    """x, t and the source at each point."""
    rng = np.random.default_rng(1)
    return *rng.random((2, POINTS), np.float32), rng.standard_normal(POINTS, np.float32)


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax, "tinygrad": tinygrad, "autograd": autograd}

"""Programs in NumPy as users of HIPS autograd write them. Only the library behind `lib` differs.

Each takes a library and returns a function without arguments that computes a value and its gradient.
"""

import importlib
from itertools import pairwise
from types import SimpleNamespace

import numpy as onp


def library(package):
    """The names of autograd that the programs use, from `package`: autograd itself or retrograde."""
    load = lambda name: importlib.import_module(f"{package}.{name}")
    top, extend, stats = importlib.import_module(package), load("extend"), "scipy.stats"
    return SimpleNamespace(
        np=load("numpy"), special=load("scipy.special"), norm=load(f"{stats}.norm"), t=load(f"{stats}.t"),
        mvn=load(f"{stats}.multivariate_normal"), convolve=load("scipy.signal").convolve, odeint=load("scipy.integrate").odeint,
        value_and_grad=top.value_and_grad, grad=top.grad, elementwise_grad=top.elementwise_grad,
        hessian_vector_product=top.hessian_vector_product, primitive=extend.primitive, defvjp=extend.defvjp,
        tuple=load("builtins").tuple, flatten=load("misc").flatten, fixed_point=load("misc.fixed_points").fixed_point)


def rosenbrock(lib):
    """A valley in two dimensions."""
    both = lib.value_and_grad(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)
    start = onp.array([-1.2, 1.0])
    return lambda: both(start)


def slopes(lib):
    """A function of 200 numbers, its slope, and the slope of that, element by element."""
    np = lib.np
    function = lambda x: (1.0 - np.exp(-2 * x)) / (1.0 + np.exp(-(2 * x)))
    first = lib.elementwise_grad(function)
    second, points = lib.elementwise_grad(first), onp.linspace(-3, 3, 200)
    return lambda: (function(points), first(points), second(points))


def regression(lib):
    """Logistic regression on 100 points."""
    np, rng = lib.np, onp.random.default_rng(0)
    inputs, targets = rng.standard_normal((100, 4)), rng.uniform(size=100) < 0.4

    def loss(weights):
        chances = 0.5 * (np.tanh(np.dot(inputs, weights)) + 1)
        return -np.sum(np.log(chances * targets + (1 - chances) * (1 - targets)))

    both, start = lib.value_and_grad(loss), onp.full(4, 0.1)
    return lambda: both(start)


def counts(lib):
    """The likelihood of a negative binomial distribution in its two parameters, and their second derivatives in a direction."""
    np, gammaln = lib.np, lib.special.gammaln
    data = onp.random.default_rng(1).negative_binomial(5, 0.4, 60).astype(float)

    def loss(parameters):
        size, chance = np.exp(parameters[0]), 1 / (1 + np.exp(-parameters[1]))
        return -np.sum(gammaln(data + size) - gammaln(size) - gammaln(data + 1) + size * np.log(chance) + data * np.log(1 - chance))

    both, product, start = lib.value_and_grad(loss), lib.hessian_vector_product(loss), onp.array([0.5, 0.2])
    return lambda: (*both(start), product(start, onp.array([1.0, -2.0])))


def network(lib):
    """A classifier with two hidden layers, its weights in a list of pairs."""
    np, rng = lib.np, onp.random.default_rng(2)
    sizes = (20, 30, 20, 5)
    layers = [(rng.standard_normal((m, n)) * 0.3, rng.standard_normal(n) * 0.1) for m, n in pairwise(sizes)]
    inputs, targets = rng.standard_normal((64, 20)), onp.eye(5)[rng.integers(0, 5, 64)]

    def loss(layers):
        x = inputs
        for weight, bias in layers:
            scores = np.dot(x, weight) + bias
            x = np.tanh(scores)
        normal = scores - lib.special.logsumexp(scores, axis=1, keepdims=True)
        return -np.mean(np.sum(normal * targets, axis=1)) + 0.01 * sum(np.sum(w**2) + np.sum(b**2) for w, b in layers)

    both = lib.value_and_grad(loss)
    return lambda: both(layers)


def recurrent(lib):
    """A recurrent network over 12 steps, its parameters in a dictionary."""
    np, rng = lib.np, onp.random.default_rng(3)
    weights = {"state": rng.standard_normal((1, 16)) * 0.1, "change": rng.standard_normal((16 + 8 + 1, 16)) * 0.3,
               "predict": rng.standard_normal((17, 8)) * 0.3}
    inputs = onp.eye(8)[rng.integers(0, 8, (12, 10))]

    def affine(weight, *parts):
        return np.dot(np.hstack([*parts, np.ones((parts[0].shape[0], 1))]), weight)

    def loss(weights):
        state, total = np.repeat(weights["state"], 10, axis=0), 0.0
        for x in inputs:
            scores = affine(weights["predict"], state)
            total = total + np.sum((scores - lib.special.logsumexp(scores, axis=1, keepdims=True)) * x)
            state = np.tanh(affine(weights["change"], x, state))
        return -total / inputs.size

    both = lib.value_and_grad(loss)
    return lambda: both(weights)


def gated(lib):
    """A network with gates and a memory (LSTM) over 8 steps."""
    np, rng = lib.np, onp.random.default_rng(4)
    names = ("change", "forget", "inward", "outward")
    weights = {name: rng.standard_normal((6 + 10, 10)) * 0.3 for name in names}
    inputs = rng.standard_normal((8, 5, 6))
    gate = lambda x: 0.5 * (np.tanh(x) + 1.0)

    def loss(weights):
        hidden = memory = np.zeros((5, 10))
        for x in inputs:
            both = np.concatenate((x, hidden), axis=1)
            change = np.tanh(np.dot(both, weights["change"]))
            forget, inward, outward = (gate(np.dot(both, weights[name])) for name in names[1:])
            memory = memory * forget + inward * change
            hidden = outward * np.tanh(memory)
        return np.mean(hidden**2)

    both = lib.value_and_grad(loss)
    return lambda: both(weights)


def process(lib):
    """The marginal likelihood of a Gaussian process at 25 points, in the logarithms of its three parameters."""
    np, rng = lib.np, onp.random.default_rng(5)
    x = rng.uniform(-2, 2, (25, 1))
    y = onp.sin(2 * x[:, 0]) + 0.1 * rng.standard_normal(25)

    def loss(parameters):
        size, length, noise = np.exp(parameters)
        apart = np.sum((x[:, None, :] / length - x[None, :, :] / length) ** 2, axis=2)
        covariance = size * np.exp(-0.5 * apart) + noise * np.eye(25)
        return -lib.mvn.logpdf(y, np.zeros(25), covariance)

    both, start = lib.value_and_grad(loss), onp.array([0.1, -0.5, -2.0])
    return lambda: both(start)


def bayesian(lib):
    """The variational bound of a small network whose weights are random, with 10 draws at once."""
    np, rng = lib.np, onp.random.default_rng(6)
    sizes = ((1, 12), (12, 1))
    count = sum((m + 1) * n for m, n in sizes)
    inputs, noise = onp.linspace(-1, 1, 30)[:, None], rng.standard_normal((10, count))
    targets = onp.cos(3 * inputs)

    def predicted(weights):
        x = np.expand_dims(inputs, 0)
        for m, n in sizes:
            matrix = weights[:, : m * n].reshape((10, m, n))
            bias = weights[:, m * n : m * n + n].reshape((10, 1, n))
            scores = np.einsum("mnd,mdo->mno", x, matrix) + bias
            x, weights = np.exp(-(scores**2)), weights[:, (m + 1) * n :]
        return scores

    def loss(parameters):
        mean, log_deviation = parameters[:count], parameters[count:]
        weights = noise * np.exp(log_deviation) + mean
        fit = -np.sum((predicted(weights) - targets) ** 2, axis=1)[:, 0] / 0.05
        return -np.mean(fit - 0.1 * np.sum(weights**2, axis=1)) - np.sum(log_deviation)

    both, start = lib.value_and_grad(loss), onp.concatenate([rng.standard_normal(count), onp.full(count, -3.0)])
    return lambda: both(start)


def variational(lib):
    """Black-box variational inference: the bound of a funnel-shaped density with 100 draws."""
    np, norm, noise = lib.np, lib.norm, onp.random.default_rng(7).standard_normal((100, 2))

    def density(x):
        return norm.logpdf(x[:, 1], 0, 1.35) + norm.logpdf(x[:, 0], 0, np.exp(x[:, 1]))

    def loss(parameters):
        mean, log_deviation = parameters[:2], parameters[2:]
        return -np.mean(density(noise * np.exp(log_deviation) + mean)) - np.sum(log_deviation)

    both, start = lib.value_and_grad(loss), onp.array([-1.0, -1.0, -2.0, -2.0])
    return lambda: both(start)


def mixture(lib):
    """The likelihood of a mixture of four normal distributions in the plane, its parameters in a dictionary."""
    np, rng = lib.np, onp.random.default_rng(8)
    data = rng.standard_normal((80, 2))
    roots = onp.eye(2) + rng.standard_normal((4, 2, 2)) * 0.2
    parameters = {"weights": rng.standard_normal(4), "means": rng.standard_normal((4, 2)), "roots": roots}

    def loss(parameters):
        weights = parameters["weights"] - lib.special.logsumexp(parameters["weights"])
        parts = [
            weight + lib.mvn.logpdf(data, mean, np.dot(root.T, root))
            for weight, mean, root in zip(weights, parameters["means"], parameters["roots"], strict=True)
        ]
        return -np.sum(lib.special.logsumexp(np.vstack(parts), axis=0))

    both = lib.value_and_grad(loss)
    return lambda: both(parameters)


def markov(lib):
    """The likelihood of sequences under a hidden Markov model: its gradient counts what an expectation step counts."""
    logsumexp, rng = lib.special.logsumexp, onp.random.default_rng(9)
    normal = lambda x: onp.log(x / x.sum(-1, keepdims=True))
    parameters = [normal(rng.uniform(size=shape)) for shape in ((6,), (6, 6), (6, 9))]
    sequences = rng.integers(0, 9, (5, 12))

    def likelihood(parameters, sequence):
        start, move, show = parameters
        belief = start
        for symbol in sequence:
            belief = logsumexp(belief[:, None] + move, axis=0) + show[:, symbol]
        return logsumexp(belief)

    both = lib.value_and_grad(lambda parameters: sum(likelihood(parameters, sequence) for sequence in sequences))
    return lambda: both(parameters)


def components(lib):
    """Independent components: the likelihood of a product of two matrices under Student's t distribution."""
    np, rng = lib.np, onp.random.default_rng(10)
    observed = rng.standard_normal((40, 10))

    def loss(parameters):
        weights, latents = np.reshape(parameters[:20], (10, 2)), np.reshape(parameters[20:100], (2, 40))
        return -np.sum(lib.t.logpdf(np.dot(weights, latents).T, 2.4, observed, np.exp(parameters[-1]))) / 40

    both, start = lib.value_and_grad(loss), rng.standard_normal(101)
    return lambda: both(start)


def fluid(lib):
    """Smoke in a velocity field that moves itself: how far it is from a picture after four steps, on a torus of 16 × 16."""
    np, rng = lib.np, onp.random.default_rng(11)
    size = 16
    smoke, wanted = rng.uniform(size=(size, size)), rng.uniform(size=(size, size))

    def balanced(vx, vy):
        pressure, h = np.zeros((size, size)), 1.0 / size
        outflow = -0.5 * h * (np.roll(vx, -1, axis=0) - np.roll(vx, 1, axis=0) + np.roll(vy, -1, axis=1) - np.roll(vy, 1, axis=1))
        for _ in range(6):
            rows = np.roll(pressure, 1, axis=0) + np.roll(pressure, -1, axis=0)
            around = rows + np.roll(pressure, 1, axis=1) + np.roll(pressure, -1, axis=1)
            pressure = (outflow + around) / 4.0
        vx -= 0.5 * (np.roll(pressure, -1, axis=0) - np.roll(pressure, 1, axis=0)) / h
        vy -= 0.5 * (np.roll(pressure, -1, axis=1) - np.roll(pressure, 1, axis=1)) / h
        return vx, vy

    def carried(field, vx, vy):
        ys, xs = np.meshgrid(np.arange(size), np.arange(size))
        from_x, from_y = (xs - vx).ravel(), (ys - vy).ravel()
        left, top = np.floor(from_x).astype(int), np.floor(from_y).astype(int)
        right_part, low_part = from_x - left, from_y - top
        left, top = np.mod(left, size), np.mod(top, size)
        right, low = np.mod(left + 1, size), np.mod(top + 1, size)
        flat = (1 - right_part) * ((1 - low_part) * field[left, top] + low_part * field[left, low]) \
            + right_part * ((1 - low_part) * field[right, top] + low_part * field[right, low])
        return np.reshape(flat, (size, size))

    def loss(parameters):
        vx, vy = (np.reshape(part, (size, size)) for part in (parameters[: size**2], parameters[size**2 :]))
        field = smoke
        for _ in range(4):
            vx, vy = balanced(carried(vx, vx, vy), carried(vy, vx, vy))
            field = carried(field, vx, vy)
        return np.mean((wanted - field) ** 2)

    both, start = lib.value_and_grad(loss), rng.standard_normal(2 * size**2) * 0.3
    return lambda: both(start)


def convolutional(lib):
    """A convolutional classifier of images of 12 × 12, its weights in one vector."""
    np, rng = lib.np, onp.random.default_rng(12)
    images, targets = rng.standard_normal((8, 1, 12, 12)), onp.eye(4)[rng.integers(0, 4, 8)]
    shapes = ((1, 3, 3, 3), (75, 4))
    sizes = [int(onp.prod(shape)) for shape in shapes]

    def loss(vector):
        kernel, weight = vector[: sizes[0]].reshape(shapes[0]), vector[sizes[0] :].reshape(shapes[1])
        maps = lib.convolve(images, kernel, axes=([2, 3], [2, 3]), dot_axes=([1], [0]), mode="valid")
        pooled = np.max(np.max(maps.reshape((8, 3, 5, 2, 5, 2)), axis=3), axis=4)
        scores = np.dot(np.tanh(pooled.reshape((8, 75))), weight)
        return -np.sum((scores - lib.special.logsumexp(scores, axis=1, keepdims=True)) * targets)

    both, start = lib.value_and_grad(loss), rng.standard_normal(sum(sizes)) * 0.2
    return lambda: both(start)


def dynamics(lib):
    """The distance of the path of a differential equation, whose slope is a small network, from a given one."""
    np, rng = lib.np, onp.random.default_rng(13)
    times = onp.linspace(0, 1, 6)
    wanted = onp.stack([onp.cos(times), onp.sin(times)], axis=1)
    layers = [(rng.standard_normal((m, n)) * 0.5, rng.standard_normal(n)) for m, n in ((2, 8), (8, 2))]

    def slope(y, _, layers):
        for weight, bias in layers:
            scores = np.dot(y, weight) + bias
            y = np.tanh(scores)
        return scores

    def loss(layers):
        path = lib.odeint(slope, onp.array([1.0, 0.0]), times, lib.tuple((layers,)), rtol=1e-8, atol=1e-8)
        return np.mean(np.abs(path - wanted))

    both = lib.value_and_grad(loss)
    return lambda: both(layers)


def defined(lib):
    """A function with a gradient of its own, inside another."""
    np = lib.np

    @lib.primitive
    def softest(x):
        top = np.max(x)
        return top + np.log(np.sum(np.exp(x - top)))

    lib.defvjp(softest, lambda answer, x: lambda g: np.full(x.shape, g) * np.exp(x - np.full(x.shape, answer)))
    loss = lambda y: softest(y**2) + softest(np.sin(y))
    both, product, start = lib.value_and_grad(loss), lib.hessian_vector_product(loss), onp.linspace(-1, 2, 10)
    return lambda: (*both(start), product(start, start))


def root(lib):
    """A square root as the fixed point of Newton's iteration, and its derivative."""
    np = lib.np
    iteration = lambda a: lambda x: 0.5 * (x + a / x)
    find = lambda a: lib.fixed_point(iteration, a, 10.0, lambda x, y: np.abs(x - y), 1e-12)
    return lambda: lib.value_and_grad(find)(2.0)


def deep_process(lib):
    """Two Gaussian processes, one after the other: the likelihood of data through what lies hidden between them."""
    np, rng = lib.np, onp.random.default_rng(14)
    x = onp.linspace(-1, 1, 12)
    y = onp.sign(x)

    def covariance(parameters, a, b):
        return np.exp(parameters[0]) * np.exp(-0.5 * ((a[:, None] - b[None, :]) * np.exp(parameters[1])) ** 2)

    def likelihood(parameters, a, b):
        noisy = covariance(parameters, a, a) + np.exp(parameters[3]) * np.eye(len(b))
        return lib.mvn.logpdf(b, parameters[2] * np.ones(len(b)), noisy)

    def loss(parameters):
        hidden = parameters[8:]
        return -likelihood(parameters[:4], x, hidden) - likelihood(parameters[4:8], hidden, y)

    both, start = lib.value_and_grad(loss), onp.concatenate([rng.standard_normal(8) * 0.1 - 0.5, x + 0.1 * rng.standard_normal(12)])
    return lambda: both(start)


PROGRAMS = {program.__name__: program for program in (
    rosenbrock, slopes, regression, counts, network, recurrent, gated, process, bayesian, variational, mixture, markov, components,
    fluid, convolutional, dynamics, defined, root, deep_process)}

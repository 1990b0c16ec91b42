"""Programs of one kernel each, of many sizes: plans choose by sizes, so these lie at powers of two, beside them, and far apart."""

from functools import partial

import numpy as np

import retrograde as rg
from retrograde import nn
from retrograde.ops.networks._quantizing import FORMATS, PLAIN

from .programs import slopes_of

F = nn.functional
#: So many programs of each family.
COUNT = 120
_SIZES = sorted({max(1, (1 << power) + beside) for power in range(12) for beside in (-1, 0, 1)} | {5, 6, 10, 12, 24, 48, 100, 300, 700})
_FLOATS = "float32", "float64"
_FAMILIES = {}


def family(draw):
    """Enter a function that draws a program of its family: (function, specs of its operands)."""
    _FAMILIES[draw.__name__] = draw
    return draw


def of_sizes():
    """By the name of a family and a number its programs."""
    found = {}
    for name, draw in _FAMILIES.items():
        for number in range(COUNT):
            found[f"{name} {number}"] = draw(_Drawn(np.random.default_rng([len(name), ord(name[0]), number])))
    return found


class _Drawn:
    """Sizes and choices of one program."""

    def __init__(self, rng):
        self._rng, self.dtype = rng, _FLOATS[int(rng.integers(2))]

    def size(self, most=4097):
        """A size; each power of two is as likely."""
        return int(self._rng.choice([size for size in _SIZES if size <= most]))

    def one_of(self, *choices):
        """One of some things."""
        return choices[int(self._rng.integers(len(choices)))]

    def spec(self, *shape):
        """The spec of an operand."""
        return tuple(shape), np.dtype(self.dtype)


@family
def products(d):
    m, n, k = d.size(), d.size(), d.size()
    batch = d.one_of((), (), (d.size(17),), (d.size(3), d.size(5)))
    is_left_turned, is_right_turned = d.one_of(False, True), d.one_of(False, True)
    after = d.one_of(lambda z: z, rg.relu, lambda z: z + 1, rg.softmax)

    def function(a, b):
        return after((a.swapaxes(-1, -2) if is_left_turned else a) @ (b.swapaxes(-1, -2) if is_right_turned else b))

    right = d.one_of(batch, ())
    return function, [d.spec(*batch, *((k, m) if is_left_turned else (m, k))), d.spec(*right, *((n, k) if is_right_turned else (k, n)))]


@family
def convolutions(d):
    groups, kernel = d.one_of(1, 1, 1, 2, 4), (d.one_of(1, 2, 3, 5, 7), d.one_of(1, 3, 3, 4))
    inputs, outputs = groups * d.size(65), groups * d.size(65)
    options = {"stride": d.one_of(1, 1, 2, (2, 1)), "padding": d.one_of(0, 1, (1, 2)), "dilation": d.one_of(1, 1, 2), "groups": groups}
    function = partial(F.conv2d, **options)
    function = d.one_of(function, slopes_of(function, (0, 1)))
    return function, [d.spec(d.size(33), inputs, 8 + d.size(65), 8 + d.size(65)), d.spec(outputs, inputs // groups, *kernel)]


@family
def attention(d):
    batch, heads, shared, size, width = d.size(9), d.size(17), d.one_of(True, False), d.size(129), d.size(129)
    queries, keys = d.size(1025), d.size(2049)
    function = partial(F.scaled_dot_product_attention, is_causal=d.one_of(False, True))
    function = d.one_of(function, slopes_of(function, (0, 1, 2)))
    over = (batch, 1) if shared else (batch, heads)
    return function, [d.spec(batch, heads, queries, size), d.spec(*over, keys, size), d.spec(*over, keys, width)]


@family
def reductions(d):
    shape = tuple([d.size(513) for _ in range(d.one_of(1, 2, 3))])
    axis = d.one_of(None, *range(len(shape)), tuple(range(len(shape)))[1:] or None)
    name = d.one_of("sum", "max", "prod", "mean", "var", "logsumexp", "softmax")
    if name == "softmax":
        axis = d.one_of(*range(len(shape)))
    function = partial(getattr(rg, name), axis=axis)
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(*shape)]


@family
def elementwise(d):
    shape, other = (d.size(1025), d.size(1025)), d.one_of((1,), None)
    function = d.one_of(lambda x, y: rg.sin(x) * y + rg.exp(x), lambda x, y: rg.tanh(x.T * 2).T / (1 + y * y),
                        lambda x, y: rg.where(x > 0, x, y)[::-1], lambda x, y: rg.concatenate([x, x * y], 1))
    return d.one_of(function, slopes_of(function, (0, 1))), [d.spec(*shape), d.spec(*(other or shape))]


@family
def heavy(d):
    names = ("sin", "cos", "exp", "tanh", "log1p", "erf", "sqrt", "atan", "sinh", "cbrt", "sigmoid", "softplus", "square", "floor")
    count = d.one_of(3, 9, 14)
    return lambda x: sum([getattr(rg, name)(x * (1.5 + k)) for k, name in enumerate(names[:count])]), [d.spec(d.size(513), d.size(65))]


@family
def quantised(d):
    name, rows, blocks = d.one_of(*[name for name in FORMATS if name != PLAIN]), d.size(33), d.size(17)
    form, outputs, d.dtype = FORMATS[name], d.size(257), "float32"
    weights = (outputs, blocks * form.nbytes), np.dtype(np.uint8)
    back = lambda g, b: rg.ops.get("quantized_linear_input").call(g, b, name)
    return d.one_of((lambda x, b: rg.quantized_linear(x, b, name), [d.spec(rows, blocks * form.size), weights]),
                    (back, [d.spec(rows, outputs), weights]), (lambda b: rg.dequantize(b, name), [weights]))


@family
def matrices(d):
    size, batch = d.size(257), d.one_of((), (d.size(33),), (d.size(3), d.size(9)))
    one = lambda x: rg.linalg.cholesky(x @ x.swapaxes(-1, -2) + size * rg.eye(size))
    function = d.one_of(one, rg.linalg.inv, rg.linalg.det, lambda x: rg.linalg.solve(x, x[..., :1]), lambda x: rg.linalg.solve(x, x))
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(*batch, size, size)]


@family
def rows(d):
    shape, axis = (d.size(257), d.size(2049)), d.one_of(0, 1)
    few = min(shape[axis], d.one_of(1, 3, 8, 17))
    function = d.one_of(
        partial(rg.cumsum, axis=axis), partial(rg.cumprod, axis=axis), partial(rg.sort, axis=axis), partial(rg.median, axis=axis),
        lambda x: rg.topk(x, few, axis=axis)[0], partial(rg.quantile, q=0.3, axis=axis))
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(*shape)]


@family
def pooling(d):
    window, stride, padding = d.one_of(1, 2, 3, 5), d.one_of(1, 2, 3), d.one_of(0, 0, 1)
    function = d.one_of(partial(F.max_pool2d, kernel_size=window, stride=stride, padding=min(padding, window // 2)),
                        partial(F.avg_pool2d, kernel_size=window, stride=stride, padding=min(padding, window // 2)))
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(d.size(9), d.size(33), 5 + d.size(65), 5 + d.size(65))]


@family
def transforms(d):
    shape = (d.size(65), d.size(2049))
    function = d.one_of(lambda x: rg.abs(rg.fft.fft(x)), lambda x: rg.abs(rg.fft.rfft(x, norm="ortho")), lambda x: rg.abs(rg.fft.fft2(x)),
                        lambda x: rg.real(rg.fft.irfft(rg.fft.rfft(x, axis=0), shape[0], axis=0)))
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(*shape)]


@family
def positions(d):
    lines, count, width = d.size(2049), d.size(2049), d.one_of((), (d.size(257),), (d.size(9), d.size(17)))
    at = np.random.default_rng(count).integers(0, lines, count)
    taken = lambda x: rg.take(x, at, axis=0) * 2
    summed = lambda x: rg.segment_sum(x, np.arange(lines) % count, count)
    function = d.one_of(taken, summed, lambda x: F.embedding(rg.asarray(at), x) if len(width) == 1 else taken(x))
    return d.one_of(function, slopes_of(function, (0,))), [d.spec(lines, *width)]

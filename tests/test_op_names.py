"""The ops that users of NumPy, PyTorch and JAX look for are there under the field's names, eager and compiled, with gradients."""

import numpy as np
import pytest

import retrograde as rg

#: By subject; what is called with more than one matrix of numbers between 0.2 and 0.9 stands in CALLS.
NAMES = {
    "comparison and logic": "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor logical_not "
                            "isnan isinf isfinite maximum minimum where",
    "rounding": "floor ceil round trunc sign clip abs",
    "exponential": "exp log log1p expm1 exp2 log2 log10 logaddexp sqrt square reciprocal power",
    "trigonometric": "sin cos tan asin acos atan atan2 arcsin arccos arctan arctan2 hypot",
    "hyperbolic": "sinh cosh tanh asinh acosh atanh arcsinh arccosh arctanh",
    "special": "erf erfc erfinv lgamma digamma",
    "activations": "relu sigmoid softplus silu gelu elu selu leaky_relu hardswish mish log_sigmoid log_softmax softmax",
    "reductions": "sum mean max min prod var std norm logsumexp all any argmax argmin median quantile",
    "running": "cumsum cumprod",
    "sorting": "sort argsort topk",
    "joining": "concatenate concat stack split tile repeat roll",
    "indexing": "gather scatter scatter_add scatter_reduce take take_along_axis masked_fill diag tril triu meshgrid",
    "contraction": "einsum outer tensordot kron matmul",
    "linear algebra": "linalg.inv linalg.solve linalg.cholesky linalg.qr linalg.svd linalg.eigh linalg.det linalg.slogdet "
                      "linalg.norm linalg.pinv linalg.lstsq linalg.matrix_power",
    "fourier": "fft.fft fft.ifft fft.rfft fft.irfft fft.hfft fft.ihfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn "
               "fft.rfftn fft.irfftn fft.fftshift fft.ifftshift",
    "convolution": "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d",
    "pooling": "max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
               "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d interpolate pad",
    "segments": "segment_sum segment_mean segment_max segment_min segment_prod",
    "complex": "complex real imag conj angle",
}
PLACES = np.array([[0, 2, 1], [1, 1, 0], [2, 0, 3]])
OWNERS = np.array([0, 2, 0, 1])


def _square(x):
    return x[:4, :4] + 3 * np.eye(4)


def _symmetric(x):
    return _square(x) + _square(x).T


CALLS = {
    **dict.fromkeys("equal not_equal less less_equal greater greater_equal maximum minimum atan2 arctan2 hypot logaddexp power outer kron".split(),
                    lambda f, x: f(x, x[::-1])),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), lambda f, x: f(x > 0.5, x < 0.7)),
    **dict.fromkeys(("acosh", "arccosh"), lambda f, x: f(x + 1)),
    **dict.fromkeys(("cumsum", "cumprod"), lambda f, x: f(x, axis=0)),
    "where": lambda f, x: f(x > 0.5, x, -x),
    "clip": lambda f, x: f(x, 0.3, 0.8),
    "quantile": lambda f, x: f(x, 0.3, axis=0),
    "median": lambda f, x: f(x, axis=1),
    "topk": lambda f, x: f(x, 2),
    **dict.fromkeys(("concatenate", "concat", "stack"), lambda f, x: f([x, x * 2], axis=1)),
    "split": lambda f, x: f(x, 2),
    "tile": lambda f, x: f(x, (2, 1)),
    "repeat": lambda f, x: f(x, 2, axis=1),
    "roll": lambda f, x: f(x, 1, axis=0),
    "gather": lambda f, x: f(x, PLACES, axis=0),
    "scatter": lambda f, x: f(x, x[:1, :3] * 3, PLACES[:1], axis=0),
    "scatter_reduce": lambda f, x: f(x, x[:3, :3] * 2, PLACES, axis=0, reduce="max"),
    "scatter_add": lambda f, x: f(x, (3, 4), (OWNERS,)),
    "take": lambda f, x: f(x, OWNERS, axis=1),
    "take_along_axis": lambda f, x: f(x, OWNERS[None], axis=0),
    "masked_fill": lambda f, x: f(x, x > 0.5, 0.0),
    "meshgrid": lambda f, x: f(x[0], x[1]),
    "einsum": lambda f, x: f("ij,jk,kl->il", x, x, x),
    "tensordot": lambda f, x: f(x, x, axes=1),
    "matmul": lambda f, x: (f(x[0], x[1]), f(x, x[0]), f(x[0], x), f(x[None], x)),
    **dict.fromkeys(("linalg.inv", "linalg.det", "linalg.slogdet", "linalg.norm"), lambda f, x: f(_square(x))),
    "linalg.solve": lambda f, x: f(_square(x), x),
    **dict.fromkeys(("linalg.cholesky", "linalg.eigh"), lambda f, x: f(_symmetric(x))),
    **dict.fromkeys(("linalg.qr", "linalg.pinv"), lambda f, x: f(x[:, :3])),
    "linalg.svd": lambda f, x: f(x[:, :3], full_matrices=False),
    "linalg.lstsq": lambda f, x: f(x[:, :3], x[:, 3]),
    "linalg.matrix_power": lambda f, x: f(_square(x), 3),
    "complex": lambda f, x: f(x, -x),
    **dict.fromkeys(("real", "imag", "conj", "angle"), lambda f, x: f(x * (1 + 2j))),
    "pad": lambda f, x: [f(x, ((1, 2), (0, 1)), mode=mode) for mode in ("constant", "reflect", "edge", "wrap", "symmetric")],
    "interpolate": lambda f, x: f(x[None, None], scale_factor=2, mode="bilinear"),
    **{f"segment_{way}": lambda f, x: f(x, OWNERS, 3) for way in ("sum", "mean", "max", "min", "prod")},
    **{f"conv{n}d": lambda f, x, n=n: f(_image(x, n), _filter(x, n), padding=1, dilation=1, groups=2) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": lambda f, x, n=n: f(_image(x, n), _filter(x, n, 4), stride=2) for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": lambda f, x, n=n: f(_image(x, n), 2) for n in (1, 2, 3)
       for kind in ("max", "avg", "adaptive_avg", "adaptive_max")},
}


def _image(x, ndim):
    """A batch of 2 images of 4 channels with `ndim` axes."""
    shape = {1: (8,), 2: (4, 4), 3: (2, 4, 4)}[ndim]
    return (x.reshape(-1)[:8, None] * np.linspace(0.1, 1.0, int(np.prod(shape)))).reshape((2, 4, *shape))


def _filter(x, ndim, channels=2):
    """Weights of 4 filters (or for 4 channels) with two taps along each axis."""
    return (x.reshape(-1)[: 2 * channels, None] * np.linspace(1.0, 0.2, 2 * 2**ndim)).reshape((4, channels, *[2] * ndim))


def found(name):
    place = rg
    for part in name.split("."):
        place = getattr(place, part)
    return place


def results(names, x):
    """All results of the ops by these names, as a flat list."""
    return rg.tree.leaves([CALLS.get(name, lambda f, x: f(x))(found(name), x) for name in names])


def total(names, x):
    """One number that depends on all results unevenly."""
    parts = []
    for y in results(names, x):
        if y.dtype.kind in "fc":
            weights = np.cos(np.arange(y.size)).reshape(y.shape)
            parts.append((rg.real(y) * weights).sum() + (rg.imag(y) * weights).sum() / 2 if y.dtype.kind == "c" else (y * weights).sum())
    return sum(parts[1:], start=parts[0])


@pytest.mark.parametrize("subject", NAMES)
def test_an_op_that_users_look_for_is_there_and_computes_the_same_compiled_with_its_gradient(subject):
    names = NAMES[subject].split()
    x = rg.tensor(np.random.default_rng(0).permutation(np.linspace(0.2, 0.9, 16)).reshape(4, 4))
    for compiled, eager in zip(rg.jit(lambda x: results(names, x))(x), results(names, x), strict=True):
        np.testing.assert_allclose(compiled, eager, rtol=1e-9, atol=1e-11)
    gradient = rg.grad(lambda x: total(names, x))
    eager = gradient(x)
    np.testing.assert_allclose(rg.jit(gradient)(x), eager, rtol=1e-8, atol=1e-10)
    direction, step = np.sin(np.arange(16.0)).reshape(4, 4), 1e-6
    slope = (total(names, x + step * direction) - total(names, x - step * direction)).item() / (2 * step)
    np.testing.assert_allclose((eager * direction).sum().item(), slope, rtol=1e-5, atol=1e-6)

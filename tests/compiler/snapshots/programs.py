"""The programs of which snapshots are kept: a name, a function, and the shapes and dtypes of its operands.

They are few of each kind, and so chosen that each decision of the compiler falls one way in one of them and the other way in another:
which kernel, which tile, how many chunks, in one pass or in two. An operand is written as "float32 300×40".
"""


import numpy as np

import retrograde as rg
from retrograde import nn, optim
from tests.fuzz.drawing import drawn
from tests.fuzz.program import NAMES
from tests.sweeping import every_case, results
from tests.training_steps import training_step

F = nn.functional
#: (function, specs of its operands) by the group of a program and its name.
PROGRAMS = {}
_RANDOM = np.random.default_rng(0)
ROWS, FEW, WIDE = _RANDOM.integers(0, 50, 200), _RANDOM.integers(0, 50, (4, 3)), _RANDOM.integers(0, 500, 3000)


def add(name, function, *operands, slopes=None):
    """Add a program, and one that computes its derivatives for the operands that `slopes` counts."""
    specs = [_spec(operand) for operand in operands]
    group = PROGRAMS.setdefault(_groups[-1], {})
    group[name] = function, specs
    if slopes is not None:
        argnums = tuple(range(slopes)) if isinstance(slopes, int) else slopes
        group[f"{name}, derivatives"] = slopes_of(function, argnums), specs


def slopes_of(function, argnums):
    """A function of the derivatives of another one, of the sum of the squares of all its results."""
    return rg.grad(lambda *operands: _weighted(function(*operands)), argnums)


def _weighted(found):
    parts = found if isinstance(found, (tuple, list)) else [found]
    return sum([(rg.abs(part) ** 2 if part.dtype.kind == "c" else part * part).sum() for part in parts if part.dtype.kind in "fc"])


def _spec(operand):
    dtype, _, shape = operand.partition(" ")
    return tuple(map(int, shape.split("×"))) if shape else (), dtype


def elementwise():
    add("one loop", lambda x, y: rg.sin(x) * y + rg.exp(-x * x), "float32 300×40", "float32 40", slopes=2)
    add("one loop of doubles", lambda x, y: rg.log1p(rg.abs(x)) * y, "float64 300×40", "float64 300×1", slopes=2)
    add("a large loop", lambda x: rg.sin(x) * 2 + 1, "float32 1000000")
    add("a large loop of cheap ops", lambda x, y: x + y, "float32 2000×1000", "float32 1000")
    add("a number", lambda x: rg.sin(x) + 1, "float64")
    add("no numbers", lambda x: rg.sin(x).sum(axis=0), "float64 0×3")
    add("transposed", lambda x: rg.permute_dims(x, (2, 0, 1)).reshape(-1, 10) + 1.0, "float32 10×30×7", slopes=1)
    add("transposed and not", lambda x: x + x.T, "float32 130×130", slopes=1)
    add("a large transposed one and one that is not", lambda x, y: rg.exp(x) + y.T, "float64 1000×700", "float64 700×1000")
    add("chosen by truth", lambda x, y: rg.where(x > y, x, y * 2), "float32 100×30", "float32 100×30", slopes=2)
    add("truths", lambda x: ((x > 0) & (x < 1)) | (x == 3), "float32 130")
    add("half precision", lambda x: rg.sum(rg.exp(x) * x, axis=1), "float16 30×20", slopes=1)
    add("bfloat16", lambda x: rg.tanh(x) * 2, "bfloat16 30×20", slopes=1)
    add("integers", lambda x: (x * 3 // 2 + x % 5).sum(axis=0), "int64 30×20")
    add("small integers", lambda x: (x * 3).sum(axis=1), "int8 30×20")
    add("conversions", lambda x: (rg.astype(x, np.int32) + 1, rg.astype(x, np.float16), rg.astype(x, np.uint8), rg.astype(x, np.bool_)), "float32 70")
    add("mixed", lambda x, y: x * y + y, "float32 30", "int32 4×30")
    add("odd powers", lambda x: (x ** 3, x ** 0.5, x ** -2, x ** 7, x ** 2.5), "float64 70", slopes=1)
    add("special functions", lambda x: rg.special.erf(x) + rg.special.gammaln(x), "float64 300", slopes=1)
    add("activations", lambda x: (F.gelu(x), F.silu(x), F.softplus(x), F.elu(x), F.leaky_relu(x), F.hardswish(x)), "float32 70×33", slopes=1)
    add("pieces beside each other", lambda x, y: rg.concat([x, rg.sin(y)], axis=1), "float32 10×30", "float32 10×3", slopes=2)
    add("pieces below each other", lambda x, y: rg.concat([x, rg.sin(y), x[:3]], axis=0), "float32 100×30", "float32 1×30", slopes=2)
    add("stacked", lambda x, y: rg.stack([x[:5], y[:5] * 2, x[5:]]), "float32 10×30", "float32 10×30", slopes=2)
    add("stacked last", lambda x, y: rg.stack([x, y, x * y], axis=-1), "float64 40", "float64 40", slopes=2)
    add("many pieces", lambda x: rg.concat([x[i : i + 3] * i for i in range(40)]), "float64 50", slopes=1)
    add("padded", lambda x: rg.pad(x, ((1, 2), (3, 0))) * 2, "float32 20×30", slopes=1)
    add("rolled and flipped", lambda x: rg.roll(x, 3, axis=1) + rg.flip(x, axis=0), "float32 20×30", slopes=1)
    add("tiled", lambda x: rg.tile(x, (2, 3)) + rg.repeat(x, 2, axis=0).sum(), "float32 4×5", slopes=1)
    add("triangles", lambda x: rg.tril(x) + rg.triu(x, 1).T, "float32 40×40", slopes=1)
    add("a stencil", lambda x: x[:-2] - 2 * x[1:-1] + x[2:], "float64 1000", slopes=1)
    add("a stencil of an expensive value", lambda x: sum([rg.exp(x)[k : 900 + k] for k in range(20)]), "float64 1000", slopes=1)
    add("two dimensions of neighbours", lambda x: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2] - x[1:-1, 2:], "float32 70×90", slopes=1)
    add("broadcast three ways", lambda x, y, z: x * y + z, "float32 8×1×6", "float32 7×1", "float32 8×7×6", slopes=3)


    for name, body in _CHAINS.items():
        add(f"a chain of {name}", lambda x, y, body=body: _chain(body, 22, x, y), "float64 10", "float64 10", slopes=2)
        add(f"a long chain of {name}", lambda x, y, body=body: _chain(body, 41, x, y), "float32 3000", "float32 3000", slopes=2)


_CHAINS = {
    "sines": lambda y, k: y * 0.99 + rg.sin(y) * 0.01, "gelu": lambda y, k: y * 0.9 + F.gelu(y) * 0.1 + k,
    "selections": lambda y, k: rg.where(y > k, y * 0.5, rg.sin(y) + k), "tangents": lambda y, k: rg.tanh(y * k) + y * 0.5,
    "numbers": lambda y, k: y + k[0] * y[::-1],
}


def _chain(body, length, y, k):
    before = y
    for i in range(length):
        y, before = body(y, k) + (before if i % 7 == 3 else 0), y
    return y


def reductions():
    add("softmax", lambda x: rg.softmax(x, axis=1), "float32 2048×512", slopes=1)
    add("softmax of few rows", lambda x: rg.softmax(x, axis=1), "float64 5×7", slopes=1)
    add("softmax of columns", lambda x: rg.softmax(x, axis=0), "float32 512×300", slopes=1)
    add("layer norm", lambda x, w, b: F.layer_norm(x, (64,), w, b), "float32 300×64", "float32 64", "float32 64", slopes=3)
    add("batch norm", lambda x: F.batch_norm(x, None, None, training=True), "float32 8×6×10×10", slopes=1)
    add("logsumexp", lambda x: rg.logsumexp(x, axis=1), "float32 300×500", slopes=1)
    add("variance and maximum", lambda x: rg.var(x, axis=0) + rg.max(x, axis=0), "float32 400×70", slopes=1)
    add("products", lambda x: rg.prod(x, axis=1), "float64 40×7", slopes=1)
    add("a sum of all", lambda x: rg.sum(x), "float32 1000000")
    add("a mean of all", lambda x: rg.mean(x * x), "float64 300×700", slopes=1)
    add("a sum over the first axis", lambda x: rg.sum(x, axis=0), "float32 100000×5")
    add("a sum over the middle", lambda x: rg.sum(x, axis=1), "float32 30×400×20")
    add("sums over two axes", lambda x: rg.sum(rg.exp(x), axis=(0, 2)), "float32 30×40×20", slopes=1)
    add("extremes", lambda x: (rg.min(x, axis=1), rg.max(x, axis=0), rg.max(x)), "float64 70×90", slopes=1)
    add("of truths", lambda x: (rg.any(x > 0, axis=1), rg.all(x > 0, axis=0), rg.sum(x > 0)), "float32 70×90")
    add("where the extremes are", lambda x: (rg.argmax(x, axis=1), rg.argmin(x, axis=0), rg.argmax(x)), "float32 40×700")
    add("norms", lambda x: rg.linalg.norm(x, axis=1), "float64 40×70", slopes=1)
    add("cross entropy", lambda x: F.cross_entropy(x, rg.tensor(ROWS[:128] % 10)), "float32 128×10", slopes=1)
    add("sums of half precision", lambda x: (x.sum(axis=0), x.mean()), "float16 300×40", slopes=1)
    add("a short inner sum", lambda x: rg.sum(x * x, axis=-1), "float32 5000×3", slopes=1)
    add("running sums", lambda x: (rg.cumsum(x, axis=1), rg.cumsum(x, axis=0)), "float64 40×70", slopes=1)
    add("a long running sum", lambda x: rg.cumsum(x), "float32 100000")
    add("running products and maxima", lambda x: (rg.cumprod(x, axis=1), rg.cummax(x, axis=1)[0]), "float64 40×70", slopes=1)


def products():
    for name, operands in {"small": ("float64 3×3", "float64 3×3"), "odd": ("float32 130×70", "float32 70×90"),
                           "square": ("float32 256×256", "float32 256×256"), "large": ("float32 1024×1024", "float32 1024×1024"),
                           "large of doubles": ("float64 1000×800", "float64 800×600"), "tall": ("float32 20000×20", "float32 20×30"),
                           "wide": ("float32 20×30", "float32 30×20000"), "deep": ("float32 10×20000", "float32 20000×12"),
                           "of a row": ("float32 1×300", "float32 300×200"), "of a column": ("float32 300×200", "float32 200×1"),
                           "of many small ones": ("float32 500×4×5", "float32 500×5×3"), "of batches": ("float32 5×30×20", "float32 5×20×10"),
                           "of batches and one": ("float32 5×30×20", "float32 20×10"), "of vectors": ("float64 1000", "float64 1000"),
                           "of a vector": ("float32 300×200", "float32 200"), "by a vector": ("float32 200", "float32 200×300"),
                           "of one column": ("float32 300×1", "float32 1×200")}.items():
        add(f"a product {name}", lambda x, y: x @ y, *operands, slopes=2)
    add("a product transposed", lambda x, w: x.T @ w, "float64 70×130", "float64 70×90", slopes=2)
    add("a product by the transposed", lambda x, w: x @ w.T, "float32 70×130", "float32 90×130", slopes=2)
    add("a product of both transposed", lambda x, w: x.T @ w.T, "float32 130×70", "float32 90×130", slopes=2)
    add("a product of parts", lambda x, w: x[:, 3:50] @ w[::2], "float32 70×130", "float32 94×40", slopes=2)
    add("a product with an epilogue", lambda x, w, b: rg.maximum(x @ w + b, 0.0), "float32 130×70", "float32 70×90", "float32 90", slopes=3)
    add("a product of computed numbers", lambda x, w: rg.sin(x) @ rg.exp(w), "float32 130×70", "float32 70×90", slopes=2)
    add("a product of integers", lambda x, w: x @ w, "int64 13×7", "int64 7×9")
    add("a product of half precision", lambda x, w: x @ w, "float16 33×17", "float16 17×29", slopes=2)
    add("a product of complex numbers", lambda x, w: x @ w, "complex128 13×7", "complex128 7×9")
    add("a chain of products", lambda x, w, v: rg.softmax(rg.sin(x) @ w, axis=1) @ v, "float32 3000×20", "float32 20×30", "float32 30×20", slopes=3)
    add("two layers", lambda x, w, v: rg.tanh(x @ w) @ v, "float32 64×784", "float32 784×256", "float32 256×10", slopes=3)
    add("large layers", lambda x, w, v: F.gelu(x @ w, approximate="tanh") @ v, "float32 8192×512", "float32 512×2048", "float32 2048×512", slopes=3)
    add("many large layers", _layers, "float32 4096×512", "float32 6×512×512", slopes=2)
    add("a product that is late", _late, "float32 4096×512", "float32 512×64", "float32 512×64", slopes=3)
    add("a product with itself", lambda x: x @ x.T, "float64 60×30", slopes=1)
    add("an outer product", lambda x, y: rg.outer(x, y), "float32 300", "float32 200", slopes=2)
    add("einsum", lambda x, y: rg.einsum("bij,bjk->ik", x, y), "float32 4×10×20", "float32 4×20×5", slopes=2)
    add("einsum of heads", lambda x, y: rg.einsum("bqhd,bkhd->bhqk", x, y), "float32 2×30×4×16", "float32 2×40×4×16", slopes=2)
    add("einsum of three", lambda x, y, z: rg.einsum("ij,jk,kl->il", x, y, z), "float64 10×20", "float64 20×30", "float64 30×5", slopes=3)
    add("tensordot", lambda x, y: rg.tensordot(x, y, 2), "float32 4×6×5", "float32 6×5×3", slopes=2)


def _layers(x, w):
    for i in range(6):
        x = x + F.gelu(F.layer_norm(x, (512,)) @ w[i])
    return x


def _late(h, early, late):
    value = rg.relu(h)
    node = value @ early
    for _ in range(12):  # each needs all rows of the one before
        node = node - node.sum(axis=0, keepdims=True)
    return value @ (late + node.sum())


def attention():
    for name, lengths, depth, causal in (("", (64, 64), 32, False), (" with a mask of order", (70, 70), 16, True), (" of one query", (1, 90), 64, False),
                                         (" of few keys", (300, 5), 8, False), (" of long lines", (600, 700), 64, True)):
        query, key = f"float32 2×4×{lengths[0]}×{depth}", f"float32 2×4×{lengths[1]}×{depth}"
        add(f"attention{name}", lambda q, k, v, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal), query, key, key, slopes=3)
    add("attention of doubles", lambda q, k, v: F.scaled_dot_product_attention(q, k, v), *["float64 3×20×9"] * 3, slopes=3)
    add("attention with a mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m), *["float32 2×4×33×16"] * 3, "float32 33×33", slopes=4)
    add("attention of groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), "float32 2×8×33×16", *["float32 2×2×33×16"] * 2, slopes=3)
    add("attention of joined heads", _heads, "float32 2×30×32", "float32 32×96", slopes=2)


def _heads(x, w):
    parts = rg.permute_dims((x @ w).reshape(2, 30, 3, 4, 8), (2, 0, 3, 1, 4))
    return rg.permute_dims(F.scaled_dot_product_attention(parts[0], parts[1], parts[2]), (0, 2, 1, 3)).reshape(2, 30, 32)


def images():
    for name, image, filters, options in (
            ("", "4×8×20×20", "16×8×3×3", {"padding": 1}), (" in depth", "4×8×20×20", "8×1×3×3", {"padding": 1, "groups": 8}),
            (" with steps", "2×3×30×30", "8×3×3×3", {"stride": 2, "dilation": 2}), (" of points", "2×16×14×14", "32×16×1×1", {}),
            (" of groups", "2×8×14×14", "12×4×3×3", {"groups": 2}), (" of large filters", "1×3×64×64", "8×3×11×11", {"stride": 4}),
            (" of many channels", "2×64×14×14", "128×64×3×3", {"padding": 1}), (" of one image", "1×1×28×28", "6×1×5×5", {})):
        add(f"a convolution{name}", lambda x, w, o=options: F.conv2d(x, w, **o), f"float32 {image}", f"float32 {filters}", slopes=2)
    add("a convolution of lines", lambda x, w: F.conv1d(x, w), "float32 4×8×50", "float32 16×8×5", slopes=2)
    add("a convolution of bodies", lambda x, w: F.conv3d(x, w), "float32 2×2×6×7×8", "float32 3×2×2×3×3", slopes=2)
    add("a convolution of doubles", lambda x, w: F.conv2d(x, w), "float64 2×3×12×12", "float64 5×3×3×3", slopes=2)
    add("a convolution with an epilogue", lambda x, w, b: rg.relu(F.conv2d(x, w, b, padding=1)), "float32 2×8×20×20", "float32 16×8×3×3", "float32 16", slopes=3)
    add("a convolution transposed", lambda x, w: F.conv_transpose2d(x, w, stride=2), "float32 2×8×7×7", "float32 8×4×3×3", slopes=2)
    add("pooling", lambda x: F.max_pool2d(rg.relu(x), 2), "float32 4×8×20×20", slopes=1)
    add("pooling that overlaps", lambda x: F.max_pool2d(x, 3, 2, padding=1), "float32 4×8×21×21", slopes=1)
    add("pooling of means", lambda x: F.avg_pool2d(x, 3, 2), "float32 4×8×21×21", slopes=1)
    add("pooling of doubles", lambda x: (F.max_pool2d(x, 2), F.avg_pool2d(x, 2)), "float64 2×3×8×9", slopes=1)
    add("pooling of lines", lambda x: F.max_pool1d(x, 4), "float32 4×8×50", slopes=1)
    add("a network of images", _images, "float32 16×1×28×28", "float32 8×1×3×3", "float32 16×8×3×3", slopes=3)


def _images(x, w, v):
    x = F.max_pool2d(rg.relu(F.conv2d(x, w, padding=1)), 2)
    return F.max_pool2d(rg.relu(F.conv2d(x, v)), 2).reshape(16, -1)


def algebra():
    add("solve", rg.linalg.solve, "float64 20×20", "float64 20×3", slopes=2)
    add("solve many", rg.linalg.solve, "float64 50×4×4", "float64 50×4×1", slopes=2)
    add("solve a large one", rg.linalg.solve, "float32 150×150", "float32 150×7", slopes=2)
    add("cholesky", rg.linalg.cholesky, "float64 30×30", slopes=1)
    add("cholesky of many", rg.linalg.cholesky, "float32 20×7×7", slopes=1)
    add("cholesky of a large one", lambda x: rg.linalg.cholesky(x, upper=True), "float64 200×200", slopes=1)
    add("triangles solved", lambda a, b: rg.linalg.solve_triangular(a, b, upper=False), "float64 30×30", "float64 30×5", slopes=2)
    add("upper triangles solved", lambda a, b: rg.linalg.solve_triangular(a, b, upper=True), "float32 8×30×30", "float32 8×30×5", slopes=2)
    add("inverse and determinant", lambda a: (rg.linalg.inv(a), rg.linalg.det(a)), "float64 7×7", slopes=1)
    add("log determinants", lambda a: rg.linalg.slogdet(a)[1], "float64 5×7×7", slopes=1)
    add("eigenvalues", lambda a: rg.linalg.eigh(a)[0], "float64 10×10", slopes=1)
    add("qr", lambda a: rg.linalg.qr(a)[1], "float64 12×5", slopes=1)
    add("singular values", lambda a: rg.linalg.svd(a, full_matrices=False)[1], "float64 12×5", slopes=1)
    add("powers of a matrix", lambda a: rg.linalg.matrix_power(a, 5), "float64 6×6", slopes=1)
    add("trace and diagonal", lambda a: rg.trace(a) + rg.diagonal(a).sum(), "float64 6×6", slopes=1)


def fourier():
    for count in (4, 8, 15, 17, 60, 97, 128, 1000, 2048):
        add(f"fft of {count}", lambda x: rg.abs(rg.fft.fft(x)), f"float64 6×{count}", slopes=1)
    add("ffts of single precision", lambda x: rg.fft.irfft(rg.fft.rfft(x) * 2.0), "float32 16×128", slopes=1)
    add("real ffts of odd lengths", lambda x: rg.fft.irfft(rg.fft.rfft(x) * 2.0, n=45), "float64 3×45", slopes=1)
    add("complex fft", lambda x: rg.fft.ifft(rg.fft.fft(x)), "complex128 5×64")
    add("fft along the first axis", lambda x: rg.abs(rg.fft.fft(x, axis=0)), "float64 64×10", slopes=1)
    add("fft of two axes", lambda x: rg.abs(rg.fft.fft2(x)), "float32 3×16×20", slopes=1)
    add("real fft of two axes", lambda x: rg.abs(rg.fft.rfft2(x)), "float64 16×20", slopes=1)
    add("fft with padding", lambda x: rg.abs(rg.fft.fft(x, n=64)), "float64 5×50", slopes=1)
    add("fft that is orthogonal", lambda x: rg.abs(rg.fft.fft(x, norm="ortho")), "float64 5×32", slopes=1)
    add("complex numbers", lambda x: rg.abs(rg.exp(1j * x) * (x + 2j)), "float64 100", slopes=1)
    add("functions of complex numbers", lambda x: (rg.exp(x), rg.log(x), rg.sqrt(x), rg.sin(x), x ** 2, x ** 0.5, rg.tanh(x), x / (x + 1)), "complex128 20")
    add("parts of complex numbers", lambda x: (rg.real(x) + rg.imag(x), rg.conj(x), rg.angle(x), rg.where(rg.real(x) > 0, x, 2 * x)), "complex64 20")
    add("sums of complex numbers", lambda x: (x.sum(axis=0), x.mean(), rg.prod(x, axis=1), rg.cumsum(x, axis=0)), "complex128 5×7")


def indexes():
    add("rows", lambda x: x[ROWS], "float32 50×30", slopes=1)
    add("rows of indices that are handed in", lambda x, i: x[i], "float32 50×30", "int64 200", slopes=(0,))
    add("elements", lambda x: x[ROWS, ROWS % 30], "float32 50×30", slopes=1)
    add("columns", lambda x: x[:, ROWS % 30], "float32 50×30", slopes=1)
    add("taken along", lambda x, i: rg.take_along_axis(x, i, axis=1), "float32 50×30", "int64 50×4", slopes=(0,))
    add("a matrix of rows", lambda x: x[FEW], "float64 50×6", slopes=1)
    add("slices", lambda x: x[1:30:2, ::-1] * x[20:35, :], "float32 50×30", slopes=1)
    add("chosen by a mask", lambda x: rg.where(x[:, :1] > 0, x, 0)[:, None, ::2], "float32 50×30", slopes=1)
    add("an embedding", lambda w: F.embedding(rg.tensor(ROWS), w), "float32 50×30", slopes=1)
    add("a large embedding", lambda w, i: F.embedding(i, w).sum(axis=0), "float32 1000×64", "int64 3000", slopes=(0,))
    add("added at known rows", lambda x: rg.segment_sum(x, ROWS, 50), "float32 200×30", slopes=1)
    add("added at rows", lambda x, i: rg.segment_sum(x, i, 500), "float32 3000×16", "int64 3000", slopes=(0,))
    add("added at many rows", lambda x, i: rg.segment_sum(x, i, 5), "float64 3000", "int64 3000", slopes=(0,))
    add("greatest of segments", lambda x: rg.segment_max(x, ROWS, 50), "float32 200×30", slopes=1)
    add("written", lambda x, y: _written(x, slice(3, 7), y), "float32 20×5", "float32 4×5", slopes=2)
    add("written at rows", lambda x, y: _written(x, ROWS[:20], y), "float32 50×5", "float32 20×5", slopes=2)
    add("written far", lambda x, y, i: _written(x, i, y), "float32 50×5", "float32 20×5", "int64 20", slopes=(0, 1))
    add("sorted", lambda x: rg.sort(x, axis=1), "float32 40×70", slopes=1)
    add("sorted along the first axis", lambda x: rg.argsort(x, axis=0), "float32 40×7")
    add("the largest", lambda x: rg.topk(x, 3), "float32 70×33", slopes=1)
    add("the largest of many", lambda x: rg.topk(x, 40)[0], "float64 3×3000", slopes=1)
    add("the median", lambda x: (rg.median(x, axis=1), rg.quantile(x, 0.3, axis=1)), "float64 70×33", slopes=1)
    add("searched", lambda x, y: rg.searchsorted(x, y), "float64 100", "float64 30")
    add("loops of writes", _written_rows, "float64 6×5", slopes=1)
    add("a mask of rows", lambda x: F.one_hot(rg.tensor(ROWS[:9] % 5), 5) @ x, "float64 5×4", slopes=1)


def _written(x, places, y):
    x = x.clone()
    x[places] = y
    return x


def _written_rows(x):
    rows = [x[0]]
    for i in range(1, 6):
        rows.append(rg.sin(rows[-1]) + x[i])
    return rg.stack(rows)


def loops():
    zeros = np.zeros
    add("scan", lambda x, w: rg.scan(lambda c, a: (rg.tanh(c @ w + a), c.sum()), zeros(8), x), "float64 1000×8", "float64 8×8", slopes=2)
    add("scan of few iterations", lambda x: rg.scan(lambda c, a: (c * a, c), zeros(8), x), "float64 3×8", slopes=1)
    add("scan of rows", lambda x: rg.scan(lambda c, a: (rg.softmax(c + a, axis=1), c[0, 0]), zeros((2048, 64)), x)[0], "float64 4×1×64", slopes=1)
    add("scan of many rows", lambda x: rg.scan(lambda c, a: (rg.softmax(c + a, axis=1), None), zeros((2048, 64)), x)[0], "float64 400×1×64", slopes=1)
    add("scan of elements", lambda x: rg.scan(lambda c, a: (rg.sin(c) * 0.9 + a, None), zeros(4096), x)[0], "float64 400×1", slopes=1)
    add("scan of products of rows", lambda x, w: rg.scan(lambda c, a: (rg.tanh(c @ w) + a, None), zeros((512, 16), "f4"), x)[0], "float32 300×1", "float32 16×16", slopes=2)
    add("scan of two", lambda x: rg.scan(lambda c, a: ((c[1] + a, c[0] * 2), c[0]), (zeros(5), zeros(5)), x)[1], "float64 300×5", slopes=1)
    add("a recurrence of gates", _gates, "float32 300×4×8", "float32 8×24", "float32 8×24", slopes=3)
    add("while", lambda x: rg.while_loop(lambda c: c.sum() < 100, lambda c: c * 1.5 + 1, x), "float64 30")
    add("for", lambda x: rg.fori_loop(0, 100, lambda i, c: rg.sin(c) + i, x), "float64 30", slopes=1)
    add("for with writes", lambda x: rg.fori_loop(0, 100, lambda i, c: c * 0.5 + c[i], x), "float64 101×3")
    add("cond", lambda x: rg.cond(x.sum() > 0, lambda x: rg.sin(x), lambda x: x * 2, x), "float64 30", slopes=1)
    add("a loop in a loop", lambda x: rg.fori_loop(0, 50, lambda i, c: rg.fori_loop(0, 60, lambda j, d: d * 0.9 + j, c), x), "float64 30")
    add("vmap", lambda x, y: rg.vmap(lambda a, b: rg.linalg.solve(rg.outer(a, a) + np.eye(5) * 3.0, b))(x, y), "float64 30×5", "float64 30×5", slopes=2)
    add("hessian", rg.hessian(lambda a: (rg.sin(a) * a.sum()).sum()), "float64 6")
    add("jacobian", rg.jacobian(lambda a: rg.cumsum(rg.sin(a))), "float64 6")


def _gates(x, w, v):
    def step(state, row):
        update, reset, new = rg.split(row @ w, 3, axis=1)
        old_update, old_reset, old_new = rg.split(state @ v, 3, axis=1)
        gate = rg.sigmoid(update + old_update)
        state = gate * state + (1 - gate) * rg.tanh(new + rg.sigmoid(reset + old_reset) * old_new)
        return state, state
    return rg.scan(step, np.zeros((4, 8), "f4"), x)[1]


def training():
    for name, model, shape, optimizer in (
            ("Adam", lambda: nn.Sequential(nn.Linear(20, 30), nn.GELU(), nn.Linear(30, 10)), "16×20", lambda p: optim.Adam(p, lr=1e-3)),
            ("AdamW", lambda: nn.Sequential(nn.Linear(20, 30), nn.ReLU(), nn.Linear(30, 10)), "16×20", lambda p: optim.AdamW(p, lr=1e-3)),
            ("momentum", _convolutions, "16×3×14×14", lambda p: optim.SGD(p, lr=1e-2, momentum=0.9)),
            ("dropout", lambda: nn.Sequential(nn.Linear(20, 30), nn.Dropout(0.3), nn.Linear(30, 10)), "16×20", lambda p: optim.RMSprop(p, lr=1e-3)),
            ("large layers", lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)), "128×784", lambda p: optim.SGD(p, lr=1e-3))):
        add(f"training with {name}", _Training(model, optimizer), f"float32 {shape}")


def _convolutions():
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(288, 10))


class _Training:
    """One step of a training, of a model that is made anew at each call."""

    def __init__(self, model, optimizer):
        self._model, self._optimizer = model, optimizer

    def prepared(self):
        """The function of one step."""
        rg.manual_seed(0)
        model = self._model()
        optimizer = self._optimizer(model.parameters())
        return training_step(optimizer, lambda x: F.cross_entropy(model(x), rg.tensor(ROWS[: x.shape[0]] % 10)))


_groups = []
for group in (elementwise, reductions, products, attention, images, algebra, fourier, indexes, loops, training):
    _groups.append(group.__name__)
    group()


def of_each_op():
    """By the name of each op that computes, its programs: of each of its cases, by turns of one precision and the other, and the
    derivatives of those that have some.
    """
    found = {}
    for number, (name, case) in enumerate(every_case()):
        programs = found.setdefault(case.op.name, {})
        args, kwargs = case.drawn(np.dtype(("float64", "float32")[number % 2]))
        operands = case.operands(args)
        specs = [(np.shape(operand), operand.dtype) for operand in operands]
        function = _Case(case, args, kwargs)
        programs[name] = function, specs
        floats = tuple([i for i, operand in enumerate(operands) if operand.dtype.kind == "f"])
        if case.op.is_differentiable and floats:
            programs[f"{name}, derivatives"] = slopes_of(function, floats), specs
    return found


def of_seed(seed):
    """The program that the fuzzer draws from a seed, its derivatives, and what it becomes of two rows of operands by `vmap`."""
    program, names = drawn(seed), dict(NAMES)
    exec(f"{program.text}\n{program.inputs_text}", names)
    function, operands = names["program"], [np.asarray(x) for x in names["inputs"]]
    specs = [(x.shape, x.dtype) for x in operands]
    programs = {"program": (function, specs), "batched": (rg.vmap(function), [((2, *shape), dtype) for shape, dtype in specs])}
    floats = tuple([i for i, x in enumerate(operands) if x.dtype.kind in "fc"])
    if floats:
        programs["derivatives"] = slopes_of(function, floats), specs
    return programs


class _Case:
    """An op as a function of its float operands."""

    def __init__(self, case, args, kwargs):
        self._case, self._args, self._kwargs = case, args, kwargs

    def __call__(self, *operands):
        return tuple(results(self._case.op.call(*self._case.rebuilt(self._args, operands), **self._kwargs)))

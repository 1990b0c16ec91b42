"""Functions whose kernels are written in another way for other processors, with arguments: convolutions by tiles, half precision,
quantised products, updates of rows, scores by chunks, and a step of a small model that writes.
"""

import ml_dtypes
import numpy as np

import retrograde as rg
from retrograde import models, nn, optim
from retrograde.nn import functional
from retrograde.ops.networks._quantizing import FORMATS, packed
from retrograde.ops.networks.quantized import quantized_linear_input

#: Channels, height and width with which tiles pay in a convolution and both gradients, by the level of precision.
LEVELS = {"high": (64, 25, 31), "medium": (32, 31, 31)}
#: Formats whose products take activations of 8 bits; kinds of integers that are multiplied.
ROUNDED, INTEGERS = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"), ("int8", "uint8")
HALVES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}


def functions():
    """By name: the level of precision of convolutions, what makes the jitted function and its arguments, and arguments of that."""
    found = {f"convolution_{level}_{dtype}": (level, _convolution, level, dtype) for level in LEVELS for dtype in ("float32", "float64")}
    found["convolution_groups"] = "medium", _convolution, "medium", "float32", 2
    for name, dtype in HALVES.items():
        found |= {f"loop_{name}": ("high", _loop, dtype), f"product_{name}": ("high", _product, dtype)}
    found |= {f"product_{name.lower()}_{rows}": ("high", _quantised, name, rows) for name in FORMATS for rows in (1, 9)}
    found |= {f"rounded_{name.lower()}_{rows}": ("high", _rounded, name, rows) for name in ROUNDED for rows in (1, 9)}
    found |= {f"integers_{left}_{right}": ("high", _integers, left, right) for left in INTEGERS for right in INTEGERS}
    return found | {"embedding": ("high", _embedding), "cross_entropy": ("high", _cross_entropy), "autocast": ("high", _autocast),
                    "llama": ("high", _llama, None), "llama_q4": ("high", _llama, "q4"), "llama_prompt": ("high", _llama, "int8", 16)}


def _drawn(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def _convolution(level, dtype, groups=1):
    """A convolution with both gradients."""
    def f(x, weight, bias, g):
        result, back = rg.vjp(lambda *a: rg.conv2d(*a, padding=1, groups=groups), x, weight, bias)
        return result, *back(g)

    channels, *sides = LEVELS[level]
    every = channels * groups
    shapes = (1, every, *sides), (every, channels, 3, 3), (every,), (1, every, *sides)
    return rg.jit(f), tuple([_drawn(*shape, seed=seed).astype(dtype) for seed, shape in enumerate(shapes)])


def _loop(dtype):
    """Elementwise, with a sum over rows, and numbers that are no normal ones."""
    x = _drawn(37, 70)
    x[0, :8] = 0, -0.0, np.inf, -np.inf, np.nan, 6e-8, 65504, 1e-40
    f = rg.jit(lambda x, y: (rg.exp(-abs(x)) * y + 0.1, rg.softmax(y, axis=1), (x * 3).astype(np.float32)))
    return f, (x.astype(dtype), _drawn(37, 70, seed=1).astype(dtype))


def _product(dtype):
    x, y = _drawn(70, 130).astype(dtype), _drawn(130, 50).astype(dtype)
    return rg.jit(lambda x, y: (x @ y, y.T @ x.T)), (x, y)


def _quantised(name, rows):
    """Products with blocks, forward and back; of formats that are only read, blocks of random bits with ordinary scales."""
    form, outputs, inputs = FORMATS[name], 37, 512
    if form.pack:
        blocks = packed(_drawn(outputs, inputs), name)
    else:
        rng = np.random.default_rng(0)
        blocks = rng.integers(0, 256, (outputs * inputs // form.size, form.nbytes), dtype=np.uint8)
        for place in ((208,) if name == "Q6_K" else (0, 2)):
            blocks[:, place : place + 2] = rng.uniform(-1e-2, 1e-2, len(blocks)).astype("<f2").view(np.uint8).reshape(-1, 2)
        blocks = blocks.reshape(outputs, -1)

    def f(x, g, b):
        return rg.quantized_linear(x, b, name), quantized_linear_input(g, b, name), rg.dequantize(b, name)

    return rg.jit(f), (_drawn(rows, inputs), _drawn(rows, outputs), blocks)


def _rounded(name, rows):
    """Products with blocks, by integers of 8 bits."""
    f = rg.jit(lambda x, b: rg.quantized_linear(x, b, name, activations="int8"))
    return f, (_drawn(rows, 512), packed(_drawn(37, 512, seed=1), name))


def _integers(left, right):
    """Products of all numbers of 8 bits, which are exact."""
    x, y = [np.random.default_rng(seed).integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape, kind)
            for seed, (kind, shape) in enumerate(((left, (33, 90)), (right, (90, 70))))]
    return rg.jit(rg.integer_matmul), (x, y)


def _embedding():
    """Rows of a table with their moments; a row is read twice."""
    rg.manual_seed(0)
    table, head = nn.Embedding(400, 24, sparse=True), nn.Linear(24, 3)
    of_table, of_head = optim.SparseAdam(table.parameters(), lr=0.1), optim.AdamW(head.parameters(), lr=0.1)

    @rg.jit
    def step(rows, classes):
        of_table.zero_grad()
        of_head.zero_grad()
        loss = functional.cross_entropy(head(table(rows)), classes)
        loss.backward()
        of_table.step()
        of_head.step()
        return loss, table.weight, head.weight

    return step, (np.array([3, 399, 3, 0, 17]), np.array([0, 1, 2, 1, 0]))


def _cross_entropy():
    """Scores of words by chunks, of which the last is shorter."""
    def loss(x, weight, target):
        return functional.linear_cross_entropy(x, weight, target, chunk=48)

    target = np.random.default_rng(0).integers(0, 100, 21)
    return rg.jit(lambda x, w, t: rg.value_and_grad(loss, argnums=(0, 1))(x, w, t)), (_drawn(21, 40), _drawn(100, 40), target)


def _autocast():
    """A step of training in bfloat16, with weights in float32."""
    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 5))
    optimizer = optim.SGD(model.parameters(), lr=0.1)

    @rg.jit
    def step(x, y):
        optimizer.zero_grad()
        with rg.autocast("bfloat16"):
            loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    return step, (_drawn(34, 40), np.random.default_rng(0).integers(0, 5, 34))


def _llama(form, count=1):
    """A step of a model that reads so many tokens of each of two texts, of which some are in the cache."""
    sizes = {"vocab_size": 60, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
             "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 64}
    network = models.Decoder(models.Config("llama", **sizes), models.RandomWeights(seed=0, scale=0.5))
    if form is not None:
        network = rg.quantize(network, form)
    cache = [_drawn(2, 64, 2, 16, seed=seed) for seed in range(4)]

    def step(tokens, lengths, last, *cache):
        with rg.no_grad():
            return network.step(tokens, lengths, last, *cache)

    return rg.jit(step), (np.random.default_rng(0).integers(0, 60, (2, count)), np.array([5, 40]), np.array([0, count - 1]), *cache)

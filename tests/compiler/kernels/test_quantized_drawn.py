"""Products by quantised weights on what chance draws, against products of the weights' numbers in float64."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import retrograde as rg
from retrograde.ops.networks._quantizing import FORMATS, PLAIN, unpacked

QUANTISED = [name for name in FORMATS if name != PLAIN]
#: Where a block has scales.
SCALES = {"Q6_K": (208,), "Q8_0": (0,), "Q4_0": (0,), "Q5_0": (0,), "F16": (0,), "BF16": ()}
#: Special scales by the kind of blocks: tiny ones, those at the ends of 16 bits, and none.
SPECIAL = {"plain": [], "special": [0, 6e-8, -3e-6, 60000, -65504], "no numbers": [np.inf, -np.inf, np.nan]}
#: By what activations are multiplied.
SIZES = {"plain": 1, "tiny": 1e-40, "small": 1e-20, "huge": 1e33}
#: By dtype: the rounding of a result, what is near the largest number, and what is lost among the smallest.
ENDS = {"float32": (2.0**-23, 3e38, 1e-37), "float64": (2.0**-23, 3e38, 1e-37), "bfloat16": (2.0**-8, 3e38, 1e-37), "float16": (2.0**-10, 6e4, 1e-4)}
LAYOUTS = {
    "as it is": lambda x: rg.asarray(x),
    "by columns": lambda x: rg.asarray(np.asfortranarray(x)),
    "reversed": lambda x: rg.asarray(np.ascontiguousarray(x[..., ::-1]))[..., ::-1],
    "every other": lambda x: rg.asarray(np.repeat(x, 2, -1))[..., ::2],
    "a part": lambda x: rg.asarray(np.concatenate([x[..., :1], x, x[..., :1]], -1))[..., 1:-1]}


class Case(NamedTuple):
    """Operands as arrays and as tensors that lie in memory in some way, and what the product is asked for."""

    name: str
    x: Any
    blocks: Any
    g: Any
    tensors: list
    options: dict


def drawn(seed):
    """What a seed draws."""
    rng = np.random.default_rng(seed)
    pick = lambda choices: choices[int(rng.integers(len(choices)))]
    name, dtype = pick(QUANTISED), pick(["float32", "float32", *ENDS])
    form = FORMATS[name]
    count = int(rng.integers(1, 5)) * (form.size if form.size > 1 else int(rng.integers(1, 50)))
    outputs, leading = pick([1, 2, 3, 8, 13, 33, 70]), tuple([pick([1, 2, 3, 5, 9, 17]) for _ in range(rng.integers(0, 3))])
    blocks, x, g = _blocks(rng, name, outputs, count), _activations(rng, (*leading, count)), rng.standard_normal((*leading, outputs))
    with np.errstate(over="ignore"):
        x, g = (array.astype(rg.bfloat16 if dtype == "bfloat16" else dtype) for array in (x, g))
    options = {"activations": pick([None, "int8"]) if form.size > 1 else None}
    if rng.random() < 0.2:
        options |= {"first": 1, "last": outputs}
        g = g[..., 1:]
    tensors = [pick(list(LAYOUTS.values()))(array) if array.ndim and array.size else rg.asarray(array) for array in (x, blocks, g)]
    return Case(name, x, blocks, g, tensors, options)


def _blocks(rng, name, outputs, count):
    """Rows of blocks of random bits, with scales of a kind."""
    form = FORMATS[name]
    made = rng.integers(0, 256, (outputs * count // form.size, form.nbytes), dtype=np.uint8)
    if name == "BF16":
        made = rng.standard_normal(len(made)).astype(rg.bfloat16).view(np.uint8).reshape(-1, 2)
    special = list(SPECIAL.values())[rng.integers(len(SPECIAL))]
    for place in SCALES.get(name, (0, 2)):
        scales = rng.uniform(-1e-2, 1e-2, len(made))
        if special:
            scales = np.where(rng.random(len(made)) < 0.3, rng.choice(special, len(made)), scales)
        made[:, place : place + 2] = scales.astype("<f2").view(np.uint8).reshape(-1, 2)
    return made.reshape(outputs, -1)


def _activations(rng, shape):
    x = rng.standard_normal(shape) * list(SIZES.values())[rng.integers(len(SIZES))]
    if rng.random() < 0.2:
        x[..., : shape[-1] // 2] = 0
    if rng.random() < 0.2:
        x.reshape(-1)[rng.integers(x.size)] = rng.choice([np.inf, -np.inf, np.nan])
    return x


def _rounded(x):
    """Activations as they are rounded, by plain NumPy."""
    blocks = x.astype(np.promote_types(x.dtype, np.float32)).reshape(*x.shape[:-1], -1, 32)
    scale = np.maximum(np.abs(blocks).max(-1, keepdims=True) * np.float32(1 / 127), np.float32(2.0**-126))
    return (np.rint(blocks * (1 / scale)).astype(np.float64) * scale).reshape(x.shape)


def check(found, x, weights, dtype):
    """Compare with `x @ weights.T` in float64: near it where that is safe, and no number where there was none to begin with."""
    assert found.dtype == dtype
    epsilon, most, least = ENDS[np.dtype(dtype).name]
    wanted, size = x @ weights.T, np.abs(x) @ np.abs(weights).T
    found, is_safe = np.asarray(found.detach()).astype(np.float64), size < most / 4
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted) <= (epsilon + 2.0**-19) * size + least)[is_safe].all()
    assert not np.isfinite(found[~np.isfinite(size)]).any()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(200))
@pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")
def test_products_and_their_gradients_are_those_in_float64(seed):
    case = drawn(seed)
    product = lambda x, blocks: rg.quantized_linear(x, blocks, case.name, **case.options)
    slope = lambda x, blocks, g: rg.vjp(lambda x: product(x, blocks), x)[1](g)
    *operands, g = case.tensors
    with np.errstate(all="ignore"):
        weights = unpacked(case.blocks, case.name).astype(np.float64)[case.options.get("first", 0) :]
        x = _rounded(case.x) if case.options["activations"] else case.x.astype(np.float64)
        for f in (product, rg.jit(product)):
            check(f(*operands), x, weights, case.x.dtype)
        for f in (slope, rg.jit(slope)):
            check(rg.tree.leaves(f(*operands, g))[0], case.g.astype(np.float64), weights.T, case.x.dtype)

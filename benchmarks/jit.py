"""The jit suite: whole steps, compiled, beside eager and compiled rivals at their best.

Every rival starts from the same numbers; one whose first 20 results are not those of the others is refused.
"""

import importlib
from dataclasses import replace
from functools import partial

from .case import Compilation, Curve, FirstCall, Peak, Quick, Timed
from .workloads import (
    chain,
    elementwise,
    gpt,
    images,
    langevin,
    nothing,
    perceptron,
    pinn,
    policy,
    recurrent,
    rows,
    solitons,
    waves,
)
from .workloads.perceptron import Task

CLASSIFIER = Task((784, 512, 256, 10), "ReLU", 128)
TINY = Task((2, 16, 16, 1), "Tanh", 32, is_classifier=False)
#: At least so many times as fast as these, in the geometric mean over all cases in which both take part.
OVERALL = {"torch": 4, "torch.compile": 4, "jax": 2.5}
COMPILERS = ("retrograde", "torch", "torch.compile", "jax", "tinygrad")


def small_and_large(name):
    """Steps with a batch of 2 and with one where activations outweigh everything else."""
    on = perceptron.ALL[name](CLASSIFIER)
    return tuple(on(*replace(CLASSIFIER, batch=batch).data()) for batch in (2, 4096))


def curve(name, width, threads):
    """A step of a perceptron of a width, on a number of threads."""
    importlib.import_module(name).set_num_threads(threads)
    task = Task((10, width, width, 10), "ReLU", 128)
    return perceptron.ALL[name](task)(*task.data())


def unrolled():
    """Rivals that compile the chain unrolled ever more often, and the number of ops of each."""
    makers = {"retrograde": (chain.retrograde, (300, 1_500, 7_500)), "jax": (chain.jax, (300, 1_500))}
    rivals, operations = {}, {}
    for library, (maker, lengths) in makers.items():
        for length in lengths:
            name = f"{library}, {length} times"
            rivals[name], operations[name] = partial(maker, length), chain.OPS_A_TURN * length
    return rivals, operations


UNROLLED, OPERATIONS = unrolled()
MS_AN_OP = 0.25

CASES = [
    Timed("a-mlp", "one Adam step of a 784-512-256-10 perceptron, ReLU, cross entropy, batch 128, float32",
          perceptron.rivals(CLASSIFIER), goals={"torch": 1.8, "jax": 1.3, "tinygrad": 1}),
    Quick("b-tiny-mlp", "one Adam step of a 2-16-16-1 perceptron, tanh, mean squared error, batch 32, float32",
          perceptron.rivals(TINY), goals={"torch": 15, "jax": 5, "tinygrad": 1}),
    Timed("d-conv", "one SGD step with momentum of conv 1→32→64, 3×3, ReLU, 2×2 max-pools, linear, 64 images of 28×28, float32",
          images.NETWORKS, goals={"torch": 2.5, "jax": 3}),
    Timed("e-elementwise", "sum(sin x · exp(-x²) + tanh x · log1p(x²)) and its gradient, 1 million float32 numbers",
          elementwise.RIVALS, goals={"torch": 15, "torch.compile": 5, "jax": 15, "tinygrad": 1}),
    Quick("f-chain", "y = y·0.99 + sin(y)·0.01, 300 times, the sum and its gradient, 10 float64 numbers",
          chain.RIVALS, goals={"torch": 150, "jax": 2.5, "tinygrad": 1}),
    Timed("g-lstm", "one Adam step of an LSTM, 32 inputs, 128 units, 64 steps, linear head, cross entropy, batch 32, float32",
          recurrent.RIVALS, goals={"torch": 1.5, "jax": 1.5}),
    Timed("h-residual", "one SGD step of a residual block, two 3×3 convolutions with batch norm, 32 images of 32×32×32, float32",
          images.BLOCKS, goals={"torch": 1.5, "jax": 3}),
    Timed("i-pinn", "one Adam step of a 2-64-64-64-1 tanh network on u_t = 0.1 u_xx + source at 1,024 points, float32",
          pinn.RIVALS, goals={"torch": 4, "jax": 1.5, "tinygrad": 1}),
    Quick("j-policy", "the answer of an 8-32-32-4 tanh network to one observation, a NumPy array, float32",
          policy.RIVALS, goals={"torch": 2, "jax": 6, "tinygrad": 1}),
    Timed("c-gpt", "one AdamW step of a character GPT: 4 layers, 4 heads, width 128, context 64, batch 16, vocabulary 65, float32",
          gpt.RIVALS, goals={"torch": 2, "jax": 3}),
    Quick("k-token", "the logits after one more token of that GPT, with a cache of keys and values", gpt.TOKENS,
          goals={"torch": 4, "jax": 2}),
    Timed("l-rows", "layer norm, softmax and cross entropy of 4,096 rows of 4,096 float32 numbers, value and gradient",
          rows.RIVALS, goals={"torch": 6, "jax": 2, "tinygrad": 1}),
    Timed("m-langevin", "1,000 steps of Langevin's dynamics of 512 particles, noise drawn in each, value and gradient, float32",
          langevin.RIVALS, goals={"torch": 50, "jax": 4}),
    Timed("n-state-space", "an S4D layer, 64 channels of 32 complex states, 8 signals of 512 steps, value and gradients, float32",
          waves.rivals(waves.state_space), goals={"torch": 4, "jax": 1.5}),
    Timed("o-fourier", "a layer of a Fourier neural operator, 12×12 modes, 32 channels, 4 images of 64×64, with gradients, float32",
          waves.rivals(waves.fourier_layer), goals={"torch": 1.3, "jax": 1}),
    Timed("p-solitons", "2,000 steps of Korteweg and de Vries's equation by Fourier transforms of 128 numbers, float64",
          solitons.RIVALS, goals={"numpy": 20, "jax": 2}),
    FirstCall("first-call", "the first call of the step of a-mlp, without and with what an earlier process compiled",
              perceptron.rivals(CLASSIFIER, COMPILERS), goals={"retrograde, cold": 500, "retrograde, warm": 100}),
    Compilation("compile", "the first call of the compiled chain of f-chain, unrolled ever more often",
                UNROLLED, goals={name: MS_AN_OP * count for name, count in OPERATIONS.items() if name.startswith("retrograde")},
                operations=OPERATIONS),
    Peak("memory", "peak memory of the step of a-mlp with batch 4096",
         {name: partial(small_and_large, name) for name in COMPILERS}),
    FirstCall("first-call-gpt", "the first call of the step of c-gpt, without and with what an earlier process compiled",
              {name: gpt.RIVALS[name] for name in COMPILERS if name in gpt.RIVALS}, goals={"retrograde, warm": 300}),
    Peak("memory-gpt", "peak memory of the step of c-gpt",
         {name: partial(gpt.small_and_large, name) for name in COMPILERS if name in gpt.RIVALS}, goals={"torch": 1.43}),
    Quick("empty", "a compiled call that adds 1 to one number", nothing.RIVALS, goals={"retrograde": 5}),
    Curve("width", "one Adam step of a 10-w-w-10 perceptron, ReLU, cross entropy, batch 128, float32",
          {name: partial(curve, name) for name in ("retrograde", "torch")},
          sizes=(8, 16, 32, 46, 64, 128, 256, 512, 1024, 2048, 4096)),
]

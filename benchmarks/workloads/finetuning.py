"""Fine-tuning a language model: a step with AdamW of all weights, or of LoRA's, on float32 or on the quantised blocks of the file.

PyTorch, with transformers and peft, has the numbers of the blocks as float32.
"""

import importlib
from functools import partial

import numpy as np

from .. import model_file
from . import language

_BATCH, _LENGTH, _RANK, _ALPHA, _RATE = 4, 128, 8, 16, 1e-4


def _tokens(size):
    """Texts of (batch, length + 1) tokens."""
    return np.random.default_rng(0).integers(0, size, (_BATCH, _LENGTH + 1))


def _ours(is_adapted, dtype):
    """(the model, what of it is learned)."""
    rg = importlib.import_module("retrograde")
    model = rg.models.load(model_file.path(), dtype=dtype)
    return model, rg.models.LoRA(model, rank=_RANK, alpha=_ALPHA) if is_adapted else model.network.train()


def retrograde(threads, *, is_adapted=False, dtype="float32"):
    """The whole step compiled."""
    rg = importlib.import_module("retrograde")
    rg.set_num_threads(threads)
    model, learned = _ours(is_adapted, dtype)
    optimizer = rg.optim.AdamW(learned.parameters(), lr=_RATE)
    tokens = rg.tensor(_tokens(model.network.config.vocab_size))

    @rg.jit
    def step(tokens):
        optimizer.zero_grad()
        loss = rg.models.next_token_loss(model, tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return partial(step, tokens)


def _theirs(threads, is_adapted):
    """(the model, what of it is learned)."""
    model = language.torch_model(threads)
    if is_adapted:
        peft = importlib.import_module("peft")
        model = peft.get_peft_model(model, peft.LoraConfig(r=_RANK, lora_alpha=_ALPHA, target_modules="all-linear"))
    return model.train(), [p for p in model.parameters() if p.requires_grad]


def torch(threads, *, is_adapted=False):
    """Op by op, with the fused optimizer."""
    library = importlib.import_module("torch")
    model, learned = _theirs(threads, is_adapted)
    optimizer = library.optim.AdamW(learned, lr=_RATE, fused=True)
    tokens = library.tensor(_tokens(model.config.vocab_size))

    def step():
        optimizer.zero_grad()
        logits = model(tokens[:, :-1], use_cache=False).logits
        loss = library.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


ALL = {"retrograde": retrograde, "torch": torch}
LORA = {"retrograde": partial(retrograde, is_adapted=True), "torch": partial(torch, is_adapted=True)}
QLORA = {**LORA, "retrograde": partial(retrograde, is_adapted=True, dtype=None)}


def _our_bytes(dtype):
    model, learned = _ours(True, dtype)
    # A head that is the table of embeddings is in memory once.
    weights = {np.asarray(x.detach()).ctypes.data: x.nbytes for x in model.network.state_dict(keep_vars=True).values()}
    return lambda _: sum(weights.values()) + _of_learning(learned.parameters())


def _their_bytes():
    model, learned = _theirs(1, True)
    return lambda _: sum([p.nbytes for p in model.parameters()]) + _of_learning(learned)


def _of_learning(parameters):
    """A gradient and two moments of each number that is learned."""
    return 3 * sum([p.nbytes for p in parameters])


#: Bytes of weights, gradients and moments.
MEMORY = {"retrograde": partial(_our_bytes, None), "retrograde, LoRA on float32": partial(_our_bytes, "float32"),
          "torch": _their_bytes}

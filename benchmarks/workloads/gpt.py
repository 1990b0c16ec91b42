"""A small GPT on characters: a training step, and one token after the other with kept keys and values.

Karpathy's nanoGPT in small: learned places, norms before attention and network, GELU, no bias in the head.
"""

import math
from functools import partial

import numpy as np

from . import libraries, policy, training

LAYERS, HEADS, WIDTH, CONTEXT, BATCH, VOCABULARY = 4, 4, 128, 64, 16, 65
DEPTH, DECAY = WIDTH // HEADS, 0.01


def build(lib, layers=LAYERS):
    """The network of retrograde or torch, with numbers that others get too."""
    nn, functional = lib.nn, lib.functional

    class Block(nn.Module):
        """Attention and a network, each added to what it read."""

        def __init__(self):
            super().__init__()
            self.norm1, self.qkv, self.out = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.norm2, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def heads(self, x):
            """Queries, keys and values, (batch, heads, length, depth)."""
            found = self.qkv(self.norm1(x)).reshape(*x.shape[:2], 3, HEADS, DEPTH).permute(2, 0, 3, 1, 4)
            return found[0], found[1], found[2]

        def joined(self, x, found):
            """What attention found, and what the network makes of it, added to `x`."""
            x = x + self.out(found.permute(0, 2, 1, 3).reshape(*x.shape))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

        def forward(self, x):
            return self.joined(x, functional.scaled_dot_product_attention(*self.heads(x), is_causal=True))

    class Network(nn.Module):
        """Logits of the next character after each, (batch, length, characters)."""

        def __init__(self):
            super().__init__()
            self.token, self.place = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, characters):
            x = self.token(characters) + self.place.weight
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return libraries.load(lib, Network())


def retrograde(batch=BATCH):
    """The whole step compiled."""
    lib = libraries.modules("retrograde")
    return trained(lib, lib.optim.AdamW, batch, compiled=lib.library.jit)


def retrograde_eager(batch=BATCH):
    """Op by op."""
    lib = libraries.modules("retrograde")
    return trained(lib, lib.optim.AdamW, batch)


def torch(batch=BATCH):
    """Op by op, with the fused optimizer."""
    lib = libraries.modules("torch")
    return trained(lib, partial(lib.optim.AdamW, fused=True), batch)


def torch_compile(batch=BATCH):
    """The loss compiled, forward and backward, with the fused optimizer."""
    lib = libraries.modules("torch")
    return trained(lib, partial(lib.optim.AdamW, fused=True), batch, wrapped_loss=lib.library.compile)


def trained(lib, optimizer, batch, wrapped_loss=lambda loss_of: loss_of, layers=LAYERS, **options):
    """A step of a library with modules. `wrapped_loss` may compile the loss, or compute it in half precision."""
    model = build(lib, layers)

    def loss_of(characters, following):
        return lib.functional.cross_entropy(model(characters).reshape(-1, VOCABULARY), following.reshape(-1))

    optimizer = partial(optimizer, weight_decay=DECAY)
    return training.with_modules(lib, model.parameters(), wrapped_loss(loss_of), optimizer, **options)(*_texts(batch))


def jax(batch=BATCH):
    """The whole step compiled."""
    lib = libraries.jax()
    names, parameters = _jax_parameters(lib)

    def loss_of(parameters, characters, following):
        p = dict(zip(names, parameters, strict=True))
        x = p["token.weight"][characters] + p["place.weight"]
        for i in range(LAYERS):
            block = partial(_of_block, p, i)
            q, k, v = _jax_heads(lib, block, x)
            x = _jax_joined(lib, block, x, _jax_attention(lib, q, k, v, lib.numpy.tril(lib.numpy.ones((CONTEXT, CONTEXT), bool))))
        logits = _jax_norm(lib, x, p["norm.weight"], p["norm.bias"]) @ p["head.weight"].T
        return -lib.numpy.take_along_axis(lib.nn.log_softmax(logits), following[..., None], axis=-1).mean()

    return training.with_jax(lib, parameters, loss_of, DECAY)(*_texts(batch))


def _jax_parameters(lib):
    """The names and numbers of `build`'s parameters: as if the model of retrograde were loaded."""
    state = build(libraries.modules("retrograde")).state_dict()
    return list(state), [lib.numpy.asarray(np.asarray(value)) for value in state.values()]


def _of_block(p, i, name):
    return p[f"blocks.{i}.{name}"]


def _jax_norm(lib, x, weight, bias):
    return lib.nn.standardize(x, axis=-1, epsilon=1e-5) * weight + bias


def _jax_linear(block, name, x):
    return x @ block(f"{name}.weight").T + block(f"{name}.bias")


def _jax_heads(lib, block, x):
    z = _jax_linear(block, "qkv", _jax_norm(lib, x, block("norm1.weight"), block("norm1.bias")))
    return z.reshape(*x.shape[:2], 3, HEADS, DEPTH).transpose(2, 0, 3, 1, 4)


def _jax_attention(lib, q, k, v, mask):
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(DEPTH)
    return lib.nn.softmax(lib.numpy.where(mask, scores, -lib.numpy.inf), axis=-1) @ v


def _jax_joined(lib, block, x, found):
    x = x + _jax_linear(block, "out", found.transpose(0, 2, 1, 3).reshape(x.shape))
    z = _jax_linear(block, "up", _jax_norm(lib, x, block("norm2.weight"), block("norm2.bias")))
    return x + _jax_linear(block, "down", lib.nn.gelu(z, approximate=False))


def _texts(batch):
    """Characters and those that follow them, (batch, context)."""
    text = np.random.default_rng(1).integers(0, VOCABULARY, (batch, CONTEXT + 1))
    return text[:, :-1], text[:, 1:]


def _deep(name, layers, threads):
    """A step of a deeper network of this width, on a number of threads."""
    lib = libraries.modules(name)
    lib.library.set_num_threads(threads)
    if name == "torch":
        return trained(lib, partial(lib.optim.AdamW, fused=True), BATCH, layers=layers)
    return trained(lib, lib.optim.AdamW, BATCH, layers=layers, compiled=lib.library.jit)


def deep(layers):
    """Rivals that train a network of so many layers."""
    return {name: partial(_deep, name, layers) for name in ("retrograde", "torch")}


RIVALS = {"retrograde": retrograde, "retrograde eager": retrograde_eager, "torch": torch, "torch.compile": torch_compile,
          "jax": jax}


def small_and_large(name):
    """Steps with a batch of one text and with the whole one."""
    return RIVALS[name](1), RIVALS[name]()


# One token after the other


def retrograde_tokens():
    """Compiled, in inference mode; places in the cache are chosen by a mask, so that every token runs the same code."""
    lib = libraries.modules("retrograde")
    rg, model = lib.library, policy.answering(lib, build(lib))
    shape = (1, HEADS, CONTEXT, DEPTH)
    caches = [(rg.zeros(shape), rg.zeros(shape)) for _ in range(LAYERS)]
    places = rg.arange(CONTEXT)

    @rg.jit
    def answer(token, at):
        x = model.token(token) + model.place(at)
        is_here, is_past = (places == at).reshape(1, 1, -1, 1), (places <= at).reshape(1, 1, 1, -1)
        for block, (keys, values) in zip(model.blocks, caches, strict=True):
            q, k, v = block.heads(x)
            keys[...], values[...] = rg.where(is_here, k, keys), rg.where(is_here, v, values)
            x = block.joined(x, lib.functional.scaled_dot_product_attention(q, keys, values, attn_mask=is_past))
        return model.head(model.norm(x))[0, 0]

    return _answered(answer, np.array)


def torch_tokens():
    """Op by op, in inference mode; attention sees the part of the cache that is filled."""
    lib = libraries.modules("torch")
    model = policy.answering(lib, build(lib))
    caches = [lib.library.zeros(2, 1, HEADS, CONTEXT, DEPTH) for _ in range(LAYERS)]

    def answer(token, at):
        place = int(at[0, 0])
        x = model.token(token) + model.place(at)
        for block, cache in zip(model.blocks, caches, strict=True):
            q, k, v = block.heads(x)
            cache[0, :, :, place], cache[1, :, :, place] = k[:, :, 0], v[:, :, 0]
            found = lib.functional.scaled_dot_product_attention(q, cache[0, :, :, : place + 1], cache[1, :, :, : place + 1])
            x = block.joined(x, found)
        return model.head(model.norm(x))[0, 0]

    return _answered(answer, lambda numbers: lib.library.from_numpy(np.array(numbers)))


def jax_tokens():
    """Compiled; the cache's memory is used again."""
    lib = libraries.jax()
    jnp, (names, parameters) = lib.numpy, _jax_parameters(lib)
    p = dict(zip(names, parameters, strict=True))

    @partial(lib.jit, donate_argnums=0)
    def advanced(caches, token, at):
        x = p["token.weight"][token] + p["place.weight"][at]
        mask, kept = (jnp.arange(CONTEXT) <= at[0, 0])[None, None, None], []
        for i, (keys, values) in enumerate(caches):
            block = partial(_of_block, p, i)
            q, k, v = _jax_heads(lib, block, x)
            keys, values = (lib.lax.dynamic_update_slice_in_dim(c, new, at[0, 0], 2) for c, new in ((keys, k), (values, v)))
            kept.append((keys, values))
            x = _jax_joined(lib, block, x, _jax_attention(lib, q, keys, values, mask))
        return kept, (_jax_norm(lib, x, p["norm.weight"], p["norm.bias"]) @ p["head.weight"].T)[0, 0]

    shape = (1, HEADS, CONTEXT, DEPTH)
    caches = [(jnp.zeros(shape), jnp.zeros(shape)) for _ in range(LAYERS)]

    def answer(token, at):
        nonlocal caches
        caches, logits = lib.block_until_ready(advanced(caches, token, at))
        return logits

    return _answered(answer, np.array)


def _answered(answer, array):
    """A step that gives the next token of a text, and its place, to `answer`; after the last the text begins again."""
    text, at = _texts(BATCH)[0][0], 0

    def step():
        nonlocal at
        token, place = array([[text[at]]]), array([[at]])
        at = (at + 1) % CONTEXT
        return answer(token, place)

    return step


TOKENS = {"retrograde": retrograde_tokens, "torch": torch_tokens, "jax": jax_tokens}

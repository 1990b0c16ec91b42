"""GPT-2: layers of attention and a perceptron, each with a norm before it, and a learned vector for each position.

Radford et al., "Language models are unsupervised multitask learners" (2019). Attributes are called as the keys of Hugging Face's
files are; matrices, which are (inputs, outputs) in these, are those of `Linear` here.
"""

import numpy as np

from ..errors import ArgumentError
from ..nn.container import ModuleList
from ..nn.module import Module
from ..ops.elementary.comparisons import minimum
from ..ops.manipulation.movements import reshape
from ..ops.manipulation.repetition import split
from ..transforms.checkpoint import checkpoint
from .decoder import ACTIVATIONS, Cached, Causal
from .weights import embedding, head_of, layer_norm, linear


class Attention(Module):
    """Attention whose queries, keys and values come from one product."""

    def __init__(self, config, weights, name):
        super().__init__()
        width = config.hidden_size
        self.heads, self.size = config.num_attention_heads, config.head_dim
        self.scale = config.query_scale or self.size**-0.5
        self.c_attn = linear(weights, f"{name}.c_attn", width, 3 * width, bias=True)
        self.c_proj = linear(weights, f"{name}.c_proj", width, width, bias=True)

    def forward(self, x, attend):
        parts = [reshape(part, (*x.shape[:-1], self.heads, self.size)) for part in split(self.c_attn(x), 3, -1)]
        return self.c_proj(reshape(attend(*parts, self.scale, None), x.shape))


class Perceptron(Module):
    """A projection to a greater width, and one back."""

    def __init__(self, config, weights, name):
        super().__init__()
        self.c_fc = linear(weights, f"{name}.c_fc", config.hidden_size, config.intermediate_size, bias=True)
        self.c_proj = linear(weights, f"{name}.c_proj", config.intermediate_size, config.hidden_size, bias=True)
        self.activation = config.activation

    def forward(self, x):
        return self.c_proj(ACTIVATIONS[self.activation](self.c_fc(x)))


class Layer(Module):
    """Attention and a perceptron; what each makes is added to what it was given."""

    def __init__(self, config, weights, name):
        super().__init__()
        self.ln_1 = layer_norm(weights, f"{name}.ln_1", config.hidden_size, config.norm_eps)
        self.attn = Attention(config, weights, f"{name}.attn")
        self.ln_2 = layer_norm(weights, f"{name}.ln_2", config.hidden_size, config.norm_eps)
        self.mlp = Perceptron(config, weights, f"{name}.mlp")

    def forward(self, x, attend):
        x = x + self.attn(self.ln_1(x), attend)
        return x + self.mlp(self.ln_2(x))


class Layers(Module):
    """The tables of tokens and of positions, the layers, and the last norm."""

    def __init__(self, config, weights, name):
        super().__init__()
        self.wte = embedding(weights, f"{name}.wte", config.vocab_size, config.hidden_size)
        self.wpe = embedding(weights, f"{name}.wpe", config.max_position_embeddings, config.hidden_size)
        self.h = ModuleList([Layer(config, weights, f"{name}.h.{i}") for i in range(config.num_hidden_layers)])
        self.ln_f = layer_norm(weights, f"{name}.ln_f", config.hidden_size, config.norm_eps)
        #: Whether training keeps of each layer what it was given alone, and computes it again on the way back.
        self.is_checkpointed = False

    def forward(self, embeddings, positions, attend):
        x = embeddings + self.wpe(positions)
        for layer in self.h:
            x = checkpoint(layer, x, attend) if self.is_checkpointed else layer(x, attend)
        return self.ln_f(x)


class GPT2(Module):
    """GPT-2 as a language model: for each position of a text the logits of the token that comes next.

    It has the methods of `Decoder`, so that a `Model` writes with it.

    >>> from retrograde.models.config import Config
    >>> from retrograde.models.weights import RandomWeights
    >>> sizes = dict(vocab_size=32, hidden_size=16, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    >>> config = Config("gpt2", **sizes, num_key_value_heads=4, head_dim=4, max_position_embeddings=64, is_tied=True)
    >>> GPT2(config, RandomWeights())(rg.tensor([[1, 2, 3]])).shape
    (1, 3, 32)
    """

    body_path, layers_path, table_path = "transformer", "transformer.h", "transformer.wte"

    def __init__(self, config, weights):
        super().__init__()
        self.config = config
        self.transformer = Layers(config, weights, "transformer")
        if config.is_tied:
            self.lm_head = head_of(self.transformer.wte)
        else:
            self.lm_head = linear(weights, "lm_head", config.hidden_size, config.vocab_size)

    def forward(self, tokens):
        """Logits (batch, length, vocabulary) of `tokens` (batch, length)."""
        return self.logits(self.embedded(tokens))

    def embedded(self, tokens):
        """The vectors of tokens, (batch, length, width), without those of their positions."""
        return self.transformer.wte(tokens)

    def logits(self, embeddings):
        """As `forward`, from the vectors of tokens, which may be learned: soft prompts."""
        return self.lm_head(self.states(embeddings))

    def states(self, embeddings, positions=None, attend=None):
        """What the head makes logits of, (batch, length, width), from the vectors of tokens: see `Decoder.states`."""
        longest = self.config.max_position_embeddings
        if embeddings.ndim != 3 or (positions is None and embeddings.shape[1] > longest):
            raise ArgumentError(f"a model reads texts of shape (batch, length), here of at most {longest} tokens, got "
                                f"{embeddings.shape[:-1]}")
        positions = np.arange(embeddings.shape[1]) if positions is None else positions
        return self.transformer(embeddings, positions, attend or Causal())

    def step(self, tokens, lengths, last, *cache):
        """(logits, new keys, new values) of the next `tokens` of texts of which `lengths` are in a cache: see `Decoder.step`."""
        return self.step_of_vectors(self.embedded(tokens), lengths, last, *cache)

    def step_of_vectors(self, embeddings, lengths, last, *cache):
        """As `step`, from the vectors of tokens, (batch, new, width)."""
        attend = Cached(cache, lengths)
        positions = reshape(lengths, (-1, 1)) + np.arange(embeddings.shape[1])
        # What fills up a piece may lie past the last position; nobody looks at what becomes of it.
        positions = minimum(positions, self.config.max_position_embeddings - 1)
        x = self.transformer(embeddings, positions, attend)
        return (self.lm_head(x[np.arange(x.shape[0]), last]), *attend.stacked())

"""The decoders of Llama, Mistral, Qwen and Gemma: layers of attention and a gated perceptron, each with norms before it.

They differ in small parts, which a Config names. Attributes are called as the keys of Hugging Face's files are.
"""

import numpy as np

from ..core.mode import is_recording
from ..errors import ArgumentError
from ..nn import functional
from ..nn.container import ModuleList
from ..nn.module import Module
from ..nn.parameter import Parameter
from ..ops.elementary.arithmetic import rsqrt
from ..ops.manipulation.joins import stack
from ..ops.manipulation.movements import reshape, transpose
from ..ops.networks.activation import gelu, relu, silu
from ..ops.networks.cached_attention import cached_attention
from ..transforms.checkpoint import checkpoint
from .rotary import Rotary
from .weights import embedding, head_of, linear, row_mean

#: By the name of an activation in a Config what it does.
ACTIVATIONS = {"silu": silu, "relu": relu, "gelu": gelu, "gelu_tanh": lambda x: gelu(x, approximate="tanh")}


class Causal:
    """Attention of whole texts: each position sees those up to its own."""

    def __call__(self, query, key, value, scale, window):
        turned = [transpose(x, 1, 2) for x in (query, key, value)]
        length = query.shape[1]
        if window is None or window >= length:
            found = functional.scaled_dot_product_attention(*turned, is_causal=True, scale=scale, enable_gqa=True)
        else:
            band = np.tri(length, dtype=bool) & ~np.tri(length, k=-window, dtype=bool)
            found = functional.scaled_dot_product_attention(*turned, attn_mask=band, scale=scale, enable_gqa=True)
        return transpose(found, 1, 2)


class Cached:
    """Attention of the next positions of texts: `cache` has for each layer the keys of what came before, filled up to `lengths`,
    and after these for each layer the values.

    The new keys and values of each layer, in order, are left in `made`.
    """

    def __init__(self, cache, lengths):
        layers = len(cache) // 2
        self.keys, self.values, self.lengths, self.made = cache[:layers], cache[layers:], lengths, []

    def __call__(self, query, key, value, scale, window):
        layer = len(self.made)
        self.made.append((key, value))
        return cached_attention(query, key, value, self.keys[layer], self.values[layer], self.lengths, scale, window)

    def stacked(self):
        """The new keys, and the new values, of all layers as one array each."""
        return tuple([stack(list(parts), 0) for parts in zip(*self.made, strict=True)])


class Norm(Module):
    """Division by the root of the mean square, times a weight, which files of Gemma keep less one."""

    def __init__(self, weights, name, size, config):
        super().__init__()
        self.weight = Parameter(weights.array(f"{name}.weight", (size,)))
        self.eps, self.is_from_one = config.norm_eps, config.is_norm_from_one

    def forward(self, x):
        weight = self.weight + 1 if self.is_from_one else self.weight
        if is_recording() or x.dtype != np.float32:
            return functional.rms_norm(x, self.weight.shape, weight, self.eps)
        return x * rsqrt(row_mean(x * x) + np.float32(self.eps)) * weight


class Attention(Module):
    """Attention with rotary positions, of heads that may share keys and values."""

    def __init__(self, config, index, weights, name):
        super().__init__()
        size, width = config.head_dim, config.hidden_size
        self.heads, self.shared, self.size = config.num_attention_heads, config.num_key_value_heads, size
        self.scale = config.query_scale or size**-0.5
        self.window = config.windows[index]
        self.q_proj = linear(weights, f"{name}.q_proj", width, self.heads * size, config.has_qkv_bias)
        self.k_proj = linear(weights, f"{name}.k_proj", width, self.shared * size, config.has_qkv_bias)
        self.v_proj = linear(weights, f"{name}.v_proj", width, self.shared * size, config.has_qkv_bias)
        self.o_proj = linear(weights, f"{name}.o_proj", self.heads * size, width, config.has_output_bias)
        self.q_norm = Norm(weights, f"{name}.q_norm", size, config) if config.has_head_norms else None
        self.k_norm = Norm(weights, f"{name}.k_norm", size, config) if config.has_head_norms else None

    def forward(self, x, rotary, angles, attend):
        lead = x.shape[:-1]
        query = reshape(self.q_proj(x), (*lead, self.heads, self.size))
        key, value = [reshape(project(x), (*lead, self.shared, self.size)) for project in (self.k_proj, self.v_proj)]
        if self.q_norm is not None and self.k_norm is not None:
            query, key = self.q_norm(query), self.k_norm(key)
        found = attend(rotary.turn(query, angles), rotary.turn(key, angles), value, self.scale, self.window)
        return self.o_proj(reshape(found, (*lead, self.heads * self.size)))


class Perceptron(Module):
    """Two projections to a greater width, of which one opens the other, and one back."""

    def __init__(self, config, weights, name):
        super().__init__()
        width, inner, bias = config.hidden_size, config.intermediate_size, config.has_mlp_bias
        self.gate_proj = linear(weights, f"{name}.gate_proj", width, inner, bias)
        self.up_proj = linear(weights, f"{name}.up_proj", width, inner, bias)
        self.down_proj = linear(weights, f"{name}.down_proj", inner, width, bias)
        self.activation = config.activation

    def forward(self, x):
        return self.down_proj(ACTIVATIONS[self.activation](self.gate_proj(x)) * self.up_proj(x))


class Layer(Module):
    """Attention and a perceptron; what each makes is added to what it was given."""

    def __init__(self, config, index, weights, name):
        super().__init__()
        width = config.hidden_size
        self.input_layernorm = Norm(weights, f"{name}.input_layernorm", width, config)
        self.self_attn = Attention(config, index, weights, f"{name}.self_attn")
        self.post_attention_layernorm = Norm(weights, f"{name}.post_attention_layernorm", width, config)
        self.mlp = Perceptron(config, weights, f"{name}.mlp")
        if config.has_post_norms:
            self.pre_feedforward_layernorm = Norm(weights, f"{name}.pre_feedforward_layernorm", width, config)
            self.post_feedforward_layernorm = Norm(weights, f"{name}.post_feedforward_layernorm", width, config)
        self.has_post_norms = config.has_post_norms

    def forward(self, x, rotary, angles, attend):
        mixed = self.self_attn(self.input_layernorm(x), rotary, angles, attend)
        if not self.has_post_norms:
            x = x + mixed
            return x + self.mlp(self.post_attention_layernorm(x))
        x = x + self.post_attention_layernorm(mixed)
        return x + self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x)))


class Layers(Module):
    """The table of embeddings, the layers, and the last norm."""

    def __init__(self, config, weights, name):
        super().__init__()
        self.embed_tokens = embedding(weights, f"{name}.embed_tokens", config.vocab_size, config.hidden_size)
        self.layers = ModuleList([Layer(config, i, weights, f"{name}.layers.{i}") for i in range(config.num_hidden_layers)])
        self.norm = Norm(weights, f"{name}.norm", config.hidden_size, config)
        self.scale = config.embedding_scale
        factors = weights.array("rope_freqs.weight", (config.head_dim // 2,)) if weights.has("rope_freqs.weight") else None
        angles = config.is_rope_in_pairs, config.max_position_embeddings
        self.rotary = Rotary(config.head_dim, config.rope_theta, config.rope_scaling, *angles, factors)
        is_local = config.local_rope_theta is not None
        local = config.local_rope_theta, config.local_rope_scaling
        self.local_rotary = Rotary(config.head_dim, *local, *angles) if is_local else self.rotary
        #: Whether training keeps of each layer what it was given alone, and computes it again on the way back.
        self.is_checkpointed = False

    def forward(self, embeddings, positions, attend):
        rotaries = {id(rotary): (rotary, rotary.angles(positions)) for rotary in (self.rotary, self.local_rotary)}
        x = embeddings
        for layer in self.layers:
            rotary = self.rotary if layer.self_attn.window is None else self.local_rotary
            others = *rotaries[id(rotary)], attend
            x = checkpoint(layer, x, *others) if self.is_checkpointed else layer(x, *others)
        return self.norm(x)


class Decoder(Module):
    """A language model: for each position of a text the logits of the token that comes next.

    >>> from retrograde.models.config import Config
    >>> from retrograde.models.weights import RandomWeights
    >>> sizes = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4)
    >>> config = Config("llama", **sizes, num_key_value_heads=2, head_dim=4, max_position_embeddings=64)
    >>> Decoder(config, RandomWeights())(rg.tensor([[1, 2, 3]])).shape
    (1, 3, 32)
    """

    #: Where what all such networks have is: the part with tables and layers, the list of these, and the table of tokens.
    body_path, layers_path, table_path = "model", "model.layers", "model.embed_tokens"

    def __init__(self, config, weights):
        super().__init__()
        self.config = config
        self.model = Layers(config, weights, "model")
        if config.is_tied:
            self.lm_head = head_of(self.model.embed_tokens)
        else:
            self.lm_head = linear(weights, "lm_head", config.hidden_size, config.vocab_size)

    def forward(self, tokens):
        """Logits (batch, length, vocabulary) of `tokens` (batch, length)."""
        return self.logits(self.embedded(tokens))

    def embedded(self, tokens):
        """The vectors of tokens, (batch, length, width)."""
        found = self.model.embed_tokens(tokens)
        return found if self.model.scale == 1 else found * np.float32(self.model.scale)

    def logits(self, embeddings):
        """As `forward`, from the vectors of tokens, which may be learned: soft prompts."""
        return self.lm_head(self.states(embeddings))

    def states(self, embeddings, positions=None, attend=None):
        """What the head makes logits of, (batch, length, width), from the vectors of tokens.

        `positions` are 0, 1, ... and each token sees those before it, unless others are given.
        """
        if embeddings.ndim != 3:
            raise ArgumentError(f"a model reads texts of shape (batch, length), got {embeddings.shape[:-1]}")
        positions = np.arange(embeddings.shape[1]) if positions is None else positions
        return self.model(embeddings, positions, attend or Causal())

    def step(self, tokens, lengths, last, *cache):
        """(logits, new keys, new values) of the next `tokens`, (batch, new), of texts of which `lengths` are in a cache.

        Logits, (batch, vocabulary), are those after the new token at place `last` (batch,). `cache` has the keys of each layer,
        (batch, longest, shared heads, size), and then the values of each; the new ones have an axis of layers before those. That
        the arguments are plain arrays, and no lists of them, saves a compiled step a millisecond each time.
        """
        return self.step_of_vectors(self.embedded(tokens), lengths, last, *cache)

    def step_of_vectors(self, embeddings, lengths, last, *cache):
        """As `step`, from the vectors of tokens, (batch, new, width): what a soft prompt has instead of tokens."""
        attend = Cached(cache, lengths)
        positions = reshape(lengths, (-1, 1)) + np.arange(embeddings.shape[1])
        x = self.model(embeddings, positions, attend)
        # One row of each text: to multiply all by the table of the vocabulary would take longest of all.
        wanted = x[np.arange(x.shape[0]), last]
        return (self.lm_head(wanted), *attend.stacked())

"""BERT: layers of attention that sees a text whole, each with a norm after its parts, and heads on top.

Devlin et al., "BERT: Pre-training of deep bidirectional transformers for language understanding" (2018). Attributes are called as
the keys of Hugging Face's files are.
"""

import numpy as np

from ..errors import ArgumentError, UnsupportedError
from ..nn import functional
from ..nn.container import ModuleList
from ..nn.module import Module
from ..nn.parameter import Parameter
from ..ops.elementary.trigonometric import tanh
from ..ops.manipulation.movements import reshape, transpose
from .decoder import ACTIVATIONS
from .weights import embedding, head_of, layer_norm, linear

#: The heads that a file may have, by a tensor that tells; the first is part of the network without a head.
HEADS = {"pooler": "bert.pooler.dense.weight", "predictions": "cls.predictions.transform.dense.weight",
         "next": "cls.seq_relationship.weight", "classifier": "classifier.weight"}


class Part(Module):
    """Modules by name, as the keys of files have them; they are called by who holds them."""

    def __init__(self, /, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)


class Layer(Module):
    """Attention and a perceptron; what each makes is added to what it was given, and the sum is normed."""

    def __init__(self, config, weights, name):
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size
        self.heads, self.size, self.activation = config.num_attention_heads, config.head_dim, config.activation
        project = {part: linear(weights, f"{name}.attention.self.{part}", width, width, bias=True)
                   for part in ("query", "key", "value")}
        self.attention = Part(self=Part(**project), output=_after(config, weights, f"{name}.attention.output", width))
        self.intermediate = Part(dense=linear(weights, f"{name}.intermediate.dense", width, inner, bias=True))
        self.output = _after(config, weights, f"{name}.output", inner)

    def forward(self, x, mask):
        project = self.attention.self
        heads = [transpose(reshape(part(x), (*x.shape[:-1], self.heads, self.size)), 1, 2)
                 for part in (project.query, project.key, project.value)]
        mixed = reshape(transpose(functional.scaled_dot_product_attention(*heads, attn_mask=mask), 1, 2), x.shape)
        x = self._added(self.attention.output, mixed, x)
        return self._added(self.output, ACTIVATIONS[self.activation](self.intermediate.dense(x)), x)

    @staticmethod
    def _added(part, made, x):
        return part.LayerNorm(part.dense(made) + x)


def _after(config, weights, name, inputs):
    """The product and the norm that end a part of a layer."""
    width = config.hidden_size
    return Part(dense=linear(weights, f"{name}.dense", inputs, width, bias=True),
                LayerNorm=layer_norm(weights, f"{name}.LayerNorm", width, config.norm_eps))


class Layers(Module):
    """The tables of tokens, positions and parts, and the layers."""

    def __init__(self, config, weights, name, has_pooler):
        super().__init__()
        width = config.hidden_size
        tables = {"word": config.vocab_size, "position": config.max_position_embeddings, "token_type": config.type_count}
        self.embeddings = Part(
            **{f"{part}_embeddings": embedding(weights, f"{name}.embeddings.{part}_embeddings", count, width)
               for part, count in tables.items()},
            LayerNorm=layer_norm(weights, f"{name}.embeddings.LayerNorm", width, config.norm_eps))
        self.encoder = Part(layer=ModuleList([Layer(config, weights, f"{name}.encoder.layer.{i}")
                                              for i in range(config.num_hidden_layers)]))
        self.pooler = Part(dense=linear(weights, f"{name}.pooler.dense", width, width, bias=True)) if has_pooler else None

    def forward(self, vectors, types, mask):
        length = vectors.shape[1]
        x = vectors + self.embeddings.position_embeddings(np.arange(length)) + self.embeddings.token_type_embeddings(types)
        x = self.embeddings.LayerNorm(x)
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return x


class Predictions(Module):
    """The head that says which token stands at a place, by the table of tokens."""

    def __init__(self, config, weights, name, table):
        super().__init__()
        width = config.hidden_size
        self.activation = config.activation
        self.transform = Part(dense=linear(weights, f"{name}.transform.dense", width, width, bias=True),
                              LayerNorm=layer_norm(weights, f"{name}.transform.LayerNorm", width, config.norm_eps))
        self.decoder = head_of(table) if config.is_tied else linear(weights, f"{name}.decoder", width, config.vocab_size)
        # Files have the bias once or twice; where the head is a matrix of its own, the bias beside it is that of the head.
        biases = ["bias", "decoder.bias"] if config.is_tied else ["decoder.bias", "bias"]
        first = next((part for part in biases if weights.has(f"{name}.{part}")), "bias")
        self.bias = Parameter(weights.array(f"{name}.{first}", (config.vocab_size,)))
        for part in ("decoder.weight", *biases):
            if weights.has(f"{name}.{part}"):
                weights.take(f"{name}.{part}")  # a copy of the table of tokens, or of the bias

    def forward(self, x):
        x = self.transform.LayerNorm(ACTIVATIONS[self.activation](self.transform.dense(x)))
        return self.decoder(x) + self.bias


class Bert(Module):
    """BERT: for each position of a text a vector that knows the whole text.

    heads   which of `HEADS` there are besides: "pooler", "predictions" (of tokens), "next" (whether the second part follows the
            first), "classifier"; None for those that the weights have

    >>> from retrograde.models.config import Config
    >>> from retrograde.models.weights import RandomWeights
    >>> sizes = dict(vocab_size=32, hidden_size=16, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4)
    >>> config = Config("bert", **sizes, num_key_value_heads=4, head_dim=4, max_position_embeddings=64, type_count=2)
    >>> Bert(config, RandomWeights())(rg.tensor([[1, 2, 3]])).shape
    (1, 3, 16)
    """

    def __init__(self, config, weights, heads=None):
        super().__init__()
        self.config, width = config, config.hidden_size
        self.heads = tuple([head for head, name in HEADS.items() if weights.has(name)]) if heads is None else tuple(heads)
        self.bert = Layers(config, weights, "bert", "pooler" in self.heads)
        parts = {}
        if "predictions" in self.heads:
            parts["predictions"] = Predictions(config, weights, "cls.predictions", self.bert.embeddings.word_embeddings)
        if "next" in self.heads:
            parts["seq_relationship"] = linear(weights, "cls.seq_relationship", width, 2, bias=True)
        self.cls = Part(**parts) if parts else None
        is_classifier = "classifier" in self.heads
        self.classifier = linear(weights, "classifier", width, len(config.labels), bias=True) if is_classifier else None

    def forward(self, tokens, mask=None, types=None):
        """Vectors (batch, length, width) of `tokens` (batch, length).

        mask    of the same shape: False for what only fills up a text
        types   of the same shape: which part of the text a token is of, 0 for the first
        """
        return self.states(self.embedded(tokens), mask, types)

    def embedded(self, tokens):
        """The vectors of tokens, (batch, length, width), before anything is added."""
        return self.bert.embeddings.word_embeddings(tokens)

    def states(self, vectors, mask=None, types=None):
        """As `forward`, from the vectors of tokens, which may be learned."""
        longest = self.config.max_position_embeddings
        if vectors.ndim != 3 or vectors.shape[1] > longest:
            raise ArgumentError(f"a model reads texts of shape (batch, length), here of at most {longest} tokens, got "
                                f"{vectors.shape[:-1]}")
        types = np.zeros(vectors.shape[:2], np.int64) if types is None else types
        return self.bert(vectors, types, None if mask is None else mask[:, None, None, :])

    def predicted(self, states):
        """Logits (batch, length, vocabulary) of which token stands at each place, of what `forward` gave."""
        return self._head("predictions", self.cls and getattr(self.cls, "predictions", None))(states)

    def pooled(self, states):
        """A vector (batch, width) of each text as a whole, of what `forward` gave."""
        return tanh(self._head("pooler", self.bert.pooler).dense(states[:, 0]))

    def follows(self, states):
        """Logits (batch, 2) of whether the second part of a text follows the first."""
        return self._head("next", self.cls and getattr(self.cls, "seq_relationship", None))(self.pooled(states))

    def classified(self, states):
        """Logits of the classes, (batch, classes), or of those of each token, (batch, length, classes), without a pooler."""
        head = self._head("classifier", self.classifier)
        return head(states if self.bert.pooler is None else self.pooled(states))

    def _head(self, name, found):
        if found is None:
            raise UnsupportedError(f"this BERT has no head for that: it has {', '.join(self.heads) or 'none'}, and not {name}")
        return found

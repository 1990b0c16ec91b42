"""The loss of a language model: the cross entropy of the token that comes next, by chunks of the vocabulary."""

from math import prod

from ...errors import ArgumentError, ShapeError
from ...nn import functional
from ...nn.quantized import QuantizedLinear
from ...tensor.creation import asarray
from ..checks import check_writes
from .packing import IGNORED, Packed

#: So many scores are in memory at a time, if chunks are of a useful size then.
_SCORES, _LEAST, _MOST = 1 << 22, 1024, 8192


def next_token_loss(model, tokens, targets, *, segments=None, positions=None, reduction="mean", chunk=None):
    """How badly a Model, its network, or a `LoRA` of it foresees `targets` (batch, length), after each of `tokens` (batch, length).

    targets    the next tokens, as `tokens[:, 1:]` are of `tokens[:, :-1]`; -100 where nothing is to be learned
    segments   which of several texts in a row each token is of, (batch, length): tokens see those of their own text alone; give its
               `positions` in that text, (batch, length), as well
    reduction  "mean" of all targets that count, "sum", or "none", (batch, length)
    chunk      the scores of so many words of the vocabulary are in memory at a time; None chooses: all, where the table of words is
               learned and its gradient takes more memory than they

    >>> from retrograde.models import Config, Decoder, RandomWeights
    >>> sizes = dict(vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4)
    >>> config = Config("llama", **sizes, num_key_value_heads=2, head_dim=4, max_position_embeddings=64)
    >>> tokens = rg.tensor([[1, 2, 3, 4]])
    >>> float(rg.models.next_token_loss(Decoder(config, RandomWeights()), tokens[:, :-1], tokens[:, 1:])) < 4
    True
    """
    network = getattr(model, "network", model)
    check_writes(network, "next_token_loss")
    if (segments is None) != (positions is None):
        raise ArgumentError("several texts in a row need segments and positions; give both, or none")
    tokens, targets = asarray(tokens), asarray(targets)
    _check_shape("targets", targets, tokens)
    if segments is not None:
        segments, positions = asarray(segments), asarray(positions)
        _check_shape("segments", segments, tokens)
        _check_shape("positions", positions, tokens)
    attend = None if segments is None else Packed(segments)
    states = network.states(network.embedded(tokens), positions, attend)
    head = network.lm_head
    weight, form = (head.blocks, head.format) if isinstance(head, QuantizedLinear) else (head.weight, None)
    if chunk is None:
        chunk = _chosen_chunk(prod(tokens.shape), weight, form)
    return functional.linear_cross_entropy(states, weight, targets, ignore_index=IGNORED, reduction=reduction, chunk=chunk,
                                           format=form)


def _check_shape(name, given, tokens):
    """Raise a ShapeError unless what is given of each token has the shape of the tokens."""
    if given.shape != tokens.shape:
        raise ShapeError(f"{name} must have the shape of tokens, (batch, length), got {tuple(given.shape)} and "
                         f"{tuple(tokens.shape)}")


def _chosen_chunk(count, weight, form):
    """How many words of the vocabulary are scored at a time for so many tokens."""
    # By parts the gradient of the table takes a product more. It has a row of features for each word: scores may be as many.
    if form is None and weight.requires_grad and count <= weight.shape[1]:
        return weight.shape[0]
    return min(max(_SCORES // max(count, 1), _LEAST), _MOST)

"""A small random model whose tokens can write JSON, for tests of schemas and of the server."""

import numpy as np
import reference

from retrograde.models import Model
from retrograde.models.pieces import Pieces
from retrograde.models.tokens import Tokenizer

#: Pieces of JSON of more than one letter, which end where a token of its grammar does not.
WORDS = ["▁", '{"', '":', '",', '"}', "true", "false", "al", "12", "▁a", "[1", "],", "the", "▁the"]
TEMPLATE = "{% for message in messages %}{{ message.role }}:{{ message.content }};{% endfor %}assistant:"


def tokenizer():
    tokens = ["<unk>", "<s>", "</s>", *[f"<0x{i:02X}>" for i in range(256)], *WORDS]
    kinds = [2, 3, 3, *[6] * 256, *[1] * len(WORDS)]
    return Tokenizer(Pieces(tokens, -np.arange(float(len(tokens))), kinds, adds_space=False, unknown=0), start=1, ends=(2,), adds_start=True)


def model(seed=0, context=256, **changes):
    # The network has more tokens than the tokenizer, as files whose tables are filled up.
    network = reference.network_of("llama", seed, **{"vocab_size": 280, "max_position_embeddings": 256, **changes})
    return Model(network, tokenizer(), template=TEMPLATE, context=context)

"""A decoder in NumPy, float64, one position at a time, written from the papers; and small models for tests."""

import numpy as np

from retrograde.models import Config, Decoder, RandomWeights
from retrograde.models.pieces import Pieces
from retrograde.models.tokens import Tokenizer

SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}
#: Parts of the architectures, by name.
KINDS = {
    "llama": {}, "pairs": {"is_rope_in_pairs": True}, "qwen2": {"has_qkv_bias": True, "is_tied": True},
    "qwen3": {"has_head_norms": True, "head_dim": 16}, "mistral": {"windows": (3, 3)},
    "gemma3": {"has_head_norms": True, "has_post_norms": True, "is_norm_from_one": True, "windows": (3, None), "local_rope_theta": 100.0,
               "embedding_scale": 5.5, "query_scale": 0.2, "activation": "gelu_tanh", "is_tied": True},
    "local": {"windows": (3, None), "local_rope_theta": 100.0, "local_rope_scaling": {"rope_type": "linear", "factor": 4.0}},
    "biased": {"has_qkv_bias": True, "has_output_bias": True, "has_mlp_bias": True},
    "stretched": {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}}
TOKENS = ["<unk>", "<s>", "</s>", *[f"<0x{i:02X}>" for i in range(65, 75)], *"▁abcdefghijklmnopqrstuvwxyz.,!?", "▁a", "th", "the", "▁the", "in"]
TOKENS += [f"w{i}" for i in range(64 - len(TOKENS))]
TOKEN_KINDS = np.array([2, 3, 3, *[6] * 10, *[1] * (len(TOKENS) - 13)], np.int32)
SCORES = np.array([0.0] * 44 + [-float(i) for i in range(20)], np.float32)[: len(TOKENS)]


class Spread(RandomWeights):
    """Weights that are all random, norms and biases too."""

    def array(self, name, shape):
        return self.rng.standard_normal(shape).astype(np.float32) * np.float32(0.3) + np.float32(0.5 * (len(shape) == 1))


def config_of(kind="llama", **changes):
    return Config(kind, **{**SIZES, **KINDS[kind], **changes})


def network_of(kind="llama", seed=0, **changes):
    return Decoder(config_of(kind, **changes), Spread(seed)).eval()


def tokenizer():
    return Tokenizer(Pieces(TOKENS, SCORES, TOKEN_KINDS, unknown=0), start=1, ends=(2,), adds_start=True)


def logits_of(network, tokens):
    """Logits (length, vocabulary) of one text, by the state of a network."""
    config = network.config
    state = {name: np.asarray(tensor.detach()).astype(np.float64) for name, tensor in network.state_dict().items()}
    x = [state["model.embed_tokens.weight"][token] * config.embedding_scale for token in tokens]
    for i in range(config.num_hidden_layers):
        part = {name.removeprefix(f"model.layers.{i}."): value for name, value in state.items() if name.startswith(f"model.layers.{i}.")}
        x = _layer(config, config.windows[i], part, x)
    return np.array([state["lm_head.weight"] @ _norm(config, v, state["model.norm.weight"]) for v in x])


def _norm(config, v, weight):
    return v / np.sqrt((v * v).mean() + config.norm_eps) * (weight + config.is_norm_from_one)


def _times(part, name, v):
    return part[f"{name}.weight"] @ v + part.get(f"{name}.bias", 0)


def _layer(config, window, part, x):
    size, group = config.head_dim, config.num_attention_heads // config.num_key_value_heads
    keys, values, after = [], [], []
    for place, v in enumerate(x):
        inner = _norm(config, v, part["input_layernorm.weight"])
        turned = {}
        for which in "qk":
            heads = _times(part, f"self_attn.{which}_proj", inner).reshape(-1, size)
            if config.has_head_norms:
                heads = np.array([_norm(config, head, part[f"self_attn.{which}_norm.weight"]) for head in heads])
            turned[which] = np.array([_turned(config, window, head, place) for head in heads])
        keys.append(turned["k"])
        values.append(_times(part, "self_attn.v_proj", inner).reshape(-1, size))
        first = 0 if window is None else max(0, place + 1 - window)
        found = []
        for h, query in enumerate(turned["q"]):
            scores = np.array([key[h // group] @ query for key in keys[first:]]) * (config.query_scale or size**-0.5)
            weights = np.exp(scores - scores.max())
            found.append(weights / weights.sum() @ np.array([value[h // group] for value in values[first:]]))
        mixed = _times(part, "self_attn.o_proj", np.concatenate(found))
        if config.has_post_norms:
            v = v + _norm(config, mixed, part["post_attention_layernorm.weight"])
            after.append(v + _norm(config, _perceptron(config, part, _norm(config, v, part["pre_feedforward_layernorm.weight"])),
                                   part["post_feedforward_layernorm.weight"]))
        else:
            v = v + mixed
            after.append(v + _perceptron(config, part, _norm(config, v, part["post_attention_layernorm.weight"])))
    return after


def _turned(config, window, head, place):
    """A head as complex numbers, each turned by its angle."""
    is_local = window is not None and config.local_rope_theta
    theta, scaling = (config.local_rope_theta, config.local_rope_scaling) if is_local else (config.rope_theta, config.rope_scaling)
    half = len(head) // 2
    angles = place / (scaling or {"factor": 1})["factor"] * theta ** (-np.arange(half) / half)
    if config.is_rope_in_pairs:
        return ((head[::2] + 1j * head[1::2]) * np.exp(1j * angles)).view(np.float64)
    turned = (head[:half] + 1j * head[half:]) * np.exp(1j * angles)
    return np.concatenate([turned.real, turned.imag])


def _perceptron(config, part, v):
    gate = _times(part, "mlp.gate_proj", v)
    opened = gate / (1 + np.exp(-gate)) if config.activation == "silu" else (
        0.5 * gate * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3))))
    return _times(part, "mlp.down_proj", opened * _times(part, "mlp.up_proj", v))

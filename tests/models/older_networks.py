"""GPT-2 and BERT in NumPy, float64, one position at a time, written from the papers; and small ones for tests."""

import math

import numpy as np
from reference import SIZES, Spread

from retrograde.models.bert import HEADS, Bert
from retrograde.models.config import Config
from retrograde.models.gpt2 import GPT2

CLASSES = ("good", "bad", "neither")


def gpt2_of(seed=0, **changes):
    sizes = {**SIZES, "num_key_value_heads": 4, "norm_eps": 1e-5, "activation": "gelu_tanh", "is_tied": True, **changes}
    return GPT2(Config("gpt2", **sizes), Spread(seed)).eval()


def bert_of(seed=0, heads=tuple(HEADS), **changes):
    sizes = {**SIZES, "num_key_value_heads": 4, "norm_eps": 1e-12, "activation": "gelu", "is_tied": True, "type_count": 2,
             "labels": CLASSES, **changes}
    return Bert(Config("bert", **sizes), Spread(seed), heads).eval()


def state_of(network):
    return {name: np.asarray(tensor.detach()).astype(np.float64) for name, tensor in network.state_dict().items()}


def gpt2_logits(network, tokens):
    """Logits (length, vocabulary) of one text."""
    config, state = network.config, state_of(network)
    x = [state["transformer.wte.weight"][token] + state["transformer.wpe.weight"][place] for place, token in enumerate(tokens)]
    for i in range(config.num_hidden_layers):
        name, keys, values, after = f"transformer.h.{i}", [], [], []
        for v in x:
            query, key, value = np.split(_dense(state, f"{name}.attn.c_attn", _normed(state, f"{name}.ln_1", v, config)), 3)
            keys.append(key)
            values.append(value)
            v = v + _dense(state, f"{name}.attn.c_proj", _mixed(query, keys, values, config))
            inner = _dense(state, f"{name}.mlp.c_fc", _normed(state, f"{name}.ln_2", v, config))
            opened = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
            after.append(v + _dense(state, f"{name}.mlp.c_proj", opened))
        x = after
    return np.array([state["transformer.wte.weight"] @ _normed(state, "transformer.ln_f", v, config) for v in x])


def bert_states(network, tokens, types):
    """Vectors (length, width) of one text."""
    config, state, tables = network.config, state_of(network), "bert.embeddings"
    x = [_normed(state, f"{tables}.LayerNorm", state[f"{tables}.word_embeddings.weight"][token]
                 + state[f"{tables}.position_embeddings.weight"][place] + state[f"{tables}.token_type_embeddings.weight"][kind], config)
         for place, (token, kind) in enumerate(zip(tokens, types, strict=True))]
    for i in range(config.num_hidden_layers):
        name = f"bert.encoder.layer.{i}"
        queries, keys, values = [[_dense(state, f"{name}.attention.self.{part}", v) for v in x] for part in ("query", "key", "value")]
        x = [_normed(state, f"{name}.attention.output.LayerNorm",
                     v + _dense(state, f"{name}.attention.output.dense", _mixed(query, keys, values, config)), config)
             for v, query in zip(x, queries, strict=True)]
        inner = [_exact_gelu(_dense(state, f"{name}.intermediate.dense", v)) for v in x]
        x = [_normed(state, f"{name}.output.LayerNorm", v + _dense(state, f"{name}.output.dense", w), config)
             for v, w in zip(x, inner, strict=True)]
    return np.array(x)


def bert_heads(network, states):
    """What each head makes of the vectors of one text."""
    state, config = state_of(network), network.config
    transformed = [_normed(state, "cls.predictions.transform.LayerNorm",
                           _exact_gelu(_dense(state, "cls.predictions.transform.dense", v)), config) for v in states]
    pooled = np.tanh(_dense(state, "bert.pooler.dense", states[0]))
    return {"predicted": np.array([state["bert.embeddings.word_embeddings.weight"] @ v + state["cls.predictions.bias"]
                                   for v in transformed]),
            "pooled": pooled, "follows": _dense(state, "cls.seq_relationship", pooled), "classified": _dense(state, "classifier", pooled)}


def _dense(state, name, v):
    return state[f"{name}.weight"] @ v + state[f"{name}.bias"]


def _normed(state, name, v, config):
    return (v - v.mean()) / np.sqrt(v.var() + config.norm_eps) * state[f"{name}.weight"] + state[f"{name}.bias"]


def _exact_gelu(v):
    return np.array([0.5 * n * (1 + math.erf(n / math.sqrt(2))) for n in v])


def _mixed(query, keys, values, config):
    """What one position takes of others, head by head."""
    found = []
    for head in range(config.num_attention_heads):
        part = slice(head * config.head_dim, (head + 1) * config.head_dim)
        scores = np.array([key[part] @ query[part] for key in keys]) / np.sqrt(config.head_dim)
        weights = np.exp(scores - scores.max())
        found.append(weights / weights.sum() @ np.array([value[part] for value in values]))
    return np.concatenate(found)

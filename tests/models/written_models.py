"""Writes small models as GGUF files, as the converter of llama.cpp lays them out."""

import json_model
import numpy as np
import reference

import gguf_files
from retrograde.models.files import gguf_name
from retrograde.ops.networks._quantizing import packed

#: The vocabulary of the tests, by the keys of GGUF.
WORDS = {"model": "llama", "tokens": reference.TOKENS, "scores": reference.SCORES, "token_type": reference.TOKEN_KINDS, "bos_token_id": 1,
         "eos_token_id": 2}


def all_bytes(count):
    """A vocabulary that can write all texts, with `count` tokens."""
    pieces = json_model.tokenizer().library
    spare = count - len(pieces.tokens)
    kinds = np.array([2, 3, 3, *[6] * 256, *[1] * len(json_model.WORDS), *[5] * spare], np.int32)
    return {"model": "llama", "tokens": [*pieces.tokens, *[f"<spare{i}>" for i in range(spare)]],
            "scores": -np.arange(float(count)).astype(np.float32), "token_type": kinds, "bos_token_id": 1, "eos_token_id": 2,
            "unknown_token_id": 0, "add_space_prefix": False, "add_bos_token": True}


def write(path, architecture, facts, vocabulary, tensors, form=None, template=None):
    """Write a file: `facts` of the network and the `vocabulary` without the words before their keys."""
    metadata = {"general.architecture": architecture, **{f"{architecture}.{name}": value for name, value in facts.items()},
                **{f"tokenizer.ggml.{name}": value for name, value in vocabulary.items()}}
    if template is not None:
        metadata["tokenizer.chat_template"] = template
    stored = {name: (array.shape, form, packed(array, form)) if form is not None and array.ndim == 2 else array
              for name, array in tensors.items()}
    return gguf_files.write(path, metadata, stored)


def llama(path, network, form=None, is_tied=False, vocabulary=WORDS, template=None):
    """Write a network of Llama's, heads in pairs."""
    config, rename, tensors = network.config, gguf_name("llama"), {}
    facts = {"block_count": config.num_hidden_layers, "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
             "attention.head_count": config.num_attention_heads, "attention.head_count_kv": config.num_key_value_heads,
             "attention.key_length": config.head_dim, "attention.value_length": config.head_dim, "rope.dimension_count": config.head_dim,
             "context_length": config.max_position_embeddings, "attention.layer_norm_rms_epsilon": config.norm_eps,
             "rope.freq_base": config.rope_theta}
    for name, tensor in network.state_dict().items():
        array = np.asarray(tensor.detach())
        if "q_proj" in name or "k_proj" in name:
            # Halves of a head side by side, as the converter lays them.
            array = array.reshape(-1, 2, config.head_dim // 2, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)
        if not (is_tied and name == "lm_head.weight"):
            tensors[rename(name)] = array
    return write(path, "llama", facts, vocabulary, tensors, form, template)

"""Small language models as GGUF files, for tests."""

import numpy as np
import reference

import gguf_files
from retrograde.models.files import gguf_name
from retrograde.ops.networks._quantizing import packed


def gguf_of(path, network, form=None, is_tied=False):
    """Write a network of Llama's as a GGUF file, heads in pairs, with the tokenizer of the tests."""
    config = network.config
    facts = {"block_count": 2, "embedding_length": 32, "feed_forward_length": 64, "attention.head_count": 4, "attention.head_count_kv": 2,
             "attention.key_length": 8, "context_length": 64, "attention.layer_norm_rms_epsilon": 1e-6, "rope.freq_base": 1e4}
    metadata = {"general.architecture": "llama", **{f"llama.{name}": value for name, value in facts.items()},
                "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": reference.TOKENS, "tokenizer.ggml.scores": reference.SCORES,
                "tokenizer.ggml.token_type": reference.TOKEN_KINDS, "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2}
    rename, tensors = gguf_name("llama"), {}
    for name, tensor in network.state_dict().items():
        array = np.asarray(tensor.detach())
        if "q_proj" in name or "k_proj" in name:
            # Halves of a head side by side, as the converter of llama.cpp lays them.
            array = array.reshape(-1, 2, config.head_dim // 2, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)
        is_packed = form is not None and array.ndim == 2
        if not (is_tied and name == "lm_head.weight"):
            tensors[rename(name)] = (array.shape, form, packed(array, form)) if is_packed else array
    return gguf_files.write(path, metadata, tensors)

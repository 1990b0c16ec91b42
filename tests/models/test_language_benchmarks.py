"""What the benchmarks of language models run, on a small random one."""

import numpy as np
import pytest
import reference
import written_models

import retrograde as rg
from benchmarks import model_file
from benchmarks.workloads import finetuning, language

pytest.importorskip("tokenizers", reason="comes with the extra `models`")


@pytest.fixture(autouse=True)
def model(tmp_path):
    """A small model whose file is named, on one thread."""
    before = rg.get_num_threads()
    with model_file.told(written_models.llama(tmp_path / "m.gguf", reference.network_of("llama"), "Q4_1")):
        yield rg.models.load(model_file.path())
    rg.set_num_threads(before)


def test_writing_compares_probabilities_and_tells_tokens_apart(model, monkeypatch):
    asked = []
    monkeypatch.setattr(type(model), "generate", lambda self, prompt, **options: asked.append((len(prompt), options["max_tokens"])))
    step = language.written("file", 6)[language.FLOATS](1)
    step()
    assert asked == [(4, 6)]
    probabilities, points = step.outputs()
    (written,) = model.complete([language.tokens("The quick brown fox", 4)], max_tokens=4, temperature=0.0, ignore_end=True)
    np.testing.assert_allclose(probabilities, np.exp(written.logprobs))
    assert points.shape == (4, 4)
    assert all([(points[i] == points[j]).all() == (a == b) for i, a in enumerate(written.tokens) for j, b in enumerate(written.tokens)])


def test_quantised_weights_multiply_what_llama_cpp_multiplies():
    # The same file, and other numbers: activations are rounded, as its are, unless the row says floats.
    rounded, floats = [language.read("file", 8)[name](1).outputs()[0] for name in ("retrograde", language.FLOATS)]
    assert 0 < np.abs(rounded - floats).max() < 0.01


def test_each_kind_of_weights_reads_the_same_prompt():
    outputs = {kind: language.read(kind, 8)["retrograde"](1).outputs() for kind in language.KINDS}
    for probabilities, points in outputs.values():
        np.testing.assert_allclose(probabilities, outputs["file"][0], rtol=0.05)
        np.testing.assert_array_equal(points, outputs["file"][1])


def test_loading_and_logits_are_of_the_file(model):
    assert language.LOADING["retrograde"]()().network.config == model.network.config
    found = language.LOGITS["retrograde"]()()
    wide = rg.models.load(model_file.path(), dtype="float32").network
    with rg.no_grad():
        expected = wide(rg.tensor([language.tokens(language._TEXT, 100)]))[0, :: language._EVERY]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["LORA", "QLORA"])
def test_a_step_of_fine_tuning_begins_with_the_loss_of_the_model(model, kind, monkeypatch):
    monkeypatch.setattr(finetuning, "_LENGTH", 8)
    loss = float(getattr(finetuning, kind)["retrograde"](1)())
    tokens = rg.tensor(finetuning._tokens(model.network.config.vocab_size))
    assert loss == pytest.approx(float(rg.models.next_token_loss(model, tokens[:, :-1], tokens[:, 1:])), rel=1e-3)


def test_memory_of_learning_counts_each_number_that_is_learned_four_times():
    blocks, wide = [finetuning.MEMORY[name]()(1) for name in ("retrograde", "retrograde, LoRA on float32")]
    model = rg.models.load(model_file.path(), dtype="float32")
    frozen = sum([p.nbytes for p in model.network.parameters()])
    adapters = rg.models.LoRA(model, rank=finetuning._RANK, alpha=finetuning._ALPHA).parameters()
    assert wide == frozen + 4 * sum([p.nbytes for p in adapters])
    assert blocks < wide

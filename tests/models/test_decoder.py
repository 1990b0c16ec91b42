import numpy as np
import pytest
import reference

import retrograde as rg
from retrograde.models import Decoder
from retrograde.models.config import Config, from_gguf, from_json
from retrograde.models.reading import Reader
from retrograde.models.rotary import Rotary

TEXT = np.random.default_rng(0).integers(0, 64, 11)


@pytest.mark.parametrize("kind", reference.KINDS)
def test_logits_are_those_of_the_reference(kind):
    network = reference.network_of(kind)
    np.testing.assert_allclose(network(rg.tensor([TEXT]))[0].detach(), reference.logits_of(network, TEXT), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_a_text_that_is_read_in_pieces_has_the_logits_of_the_whole(kind):
    network = reference.network_of(kind)
    expected = reference.logits_of(network, TEXT)
    reader = Reader(network, 64)
    cache = reader.cache(1)
    np.testing.assert_allclose(reader.read(cache, 0, TEXT[:5]), expected[4], rtol=1e-4, atol=1e-4)
    for place, token in enumerate(TEXT[5:], 5):
        np.testing.assert_allclose(reader.read(cache, 0, [token]), expected[place], rtol=1e-4, atol=1e-4)


def test_a_compiled_training_step_learns_a_text():
    rg.manual_seed(0)
    network = reference.network_of("llama").train()
    optimizer = rg.optim.Adam(network.parameters(), 1e-2)
    tokens = rg.tensor([TEXT])

    @rg.jit
    def step():
        optimizer.zero_grad()
        loss = rg.nn.functional.cross_entropy(network(tokens[:, :-1])[0], tokens[0, 1:])
        loss.backward()
        optimizer.step()
        return loss

    losses = [float(step()) for _ in range(20)]
    assert losses[-1] < 0.2 * losses[0]


def test_gradients_reach_the_embeddings_of_a_prompt_through_quantised_layers():
    network = rg.quantize(reference.network_of("llama"), "int8", skip=("lm_head",))
    vectors = rg.tensor(np.asarray(network.embedded(rg.tensor([TEXT])).detach()), requires_grad=True)
    loss = lambda vectors: network.logits(vectors)[0, -1, 3]
    loss(vectors).backward()
    change = np.random.default_rng(1).standard_normal(vectors.shape).astype(np.float32) * 1e-2
    with rg.no_grad():
        slope = (float(loss(vectors + change)) - float(loss(vectors - change))) / 2
    assert slope == pytest.approx(float((vectors.grad * change).sum()), rel=2e-2)


def test_quantised_networks_are_near_and_tied_tables_are_one():
    network = reference.network_of("qwen2")
    assert network.lm_head.weight is network.model.embed_tokens.weight
    before = network(rg.tensor([TEXT])).detach().numpy()
    after = rg.quantize(network, "int8")(rg.tensor([TEXT])).detach().numpy()
    assert 0 < np.abs(after - before).max() < 0.05 * np.abs(before).max()


@pytest.mark.parametrize(("changes", "message"), [
    ({"num_key_value_heads": 3}, "multiple"), ({"head_dim": 7}, "even"), ({"vocab_size": 0}, "vocab_size"), ({"windows": (3,)}, "2 layers"),
    ({"windows": (3, 0)}, "window of 0"), ({"windows": (-1, None)}, "window of -1"), ({"windows": (2.5, 3)}, r"window of 2\.5")])
def test_sizes_that_make_no_model_are_refused(changes, message):
    with pytest.raises(rg.errors.CheckpointError, match=message):
        reference.config_of(**changes)


def test_a_text_without_a_batch_is_refused():
    with pytest.raises(rg.errors.ArgumentError, match="batch, length"):
        reference.network_of()(rg.tensor(TEXT))


JSON = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 64}


@pytest.mark.parametrize(("change", "message"), [
    ({"model_type": "mamba"}, "knows bert, gemma3_text, gpt2, llama"), ({"hidden_act": "swoosh"}, "swoosh"),
    ({"model_type": "gemma3_text", "final_logit_softcapping": 30.0}, "softcapping"),
    ({"model_type": "gemma3_text", "use_bidirectional_attention": True}, "use_bidirectional_attention"),
    ({"partial_rotary_factor": 0.5}, r"partial_rotary_factor 0\.5"), ({"model_type": "mistral", "sliding_window": 0}, "window of 0"),
    ({"rope_parameters": {"rope_type": "linear", "factor": 2.0, "partial_rotary_factor": 0.25}}, r"partial_rotary_factor 0\.25")])
def test_a_config_that_is_not_understood_is_refused(change, message):
    with pytest.raises(rg.errors.CheckpointError, match=message):
        from_json({**JSON, **change})


@pytest.mark.parametrize("change", [
    {"model_type": ["llama"]}, {"hidden_act": [1]}, {"rope_parameters": "linear"}, {"rope_scaling": 5}, {"num_hidden_layers": None},
    {"num_hidden_layers": 10**12}, {"num_attention_heads": 0}, {"num_attention_heads": "4"}, {"bos_token_id": "x"}, {"eos_token_id": [1, "x"]},
    {"model_type": "gemma3_text", "num_hidden_layers": None}, {"model_type": "gemma3_text", "query_pre_attn_scalar": 0},
    {"model_type": "gemma3_text", "layer_types": 5}, {"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": "x"}])
def test_values_of_another_kind_in_a_config_are_errors_of_ours(change):
    with pytest.raises(rg.errors.CheckpointError):
        from_json({**JSON, **change})


@pytest.mark.parametrize("kind", ["linear", "dynamic", "yarn", "llama3"])
@pytest.mark.parametrize("facts", [
    {}, {"factor": "x"}, {"factor": 0}, {"factor": None}, {"factor": [2]}, {"factor": -1.0},
    {"factor": float("nan")}])
def test_scalings_without_a_factor_are_errors_of_ours(kind, facts):
    rest = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}
    with pytest.raises(rg.errors.CheckpointError, match="cannot be scaled"):
        Rotary(8, 1e4, {**rest, "rope_type": kind, **facts}, context=64)


def test_layers_with_a_window_have_angles_of_their_own_in_files_that_say_so():
    kinds = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
             "sliding_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e3}}
    found = from_json({**JSON, "model_type": "gemma3_text", "sliding_window": 3, "rope_parameters": kinds})
    assert (found.rope_theta, found.rope_scaling) == (1e6, kinds["full_attention"])
    assert (found.local_rope_theta, found.local_rope_scaling) == (1e3, kinds["sliding_attention"])
    plain = from_json({**JSON, "model_type": "gemma3_text", "sliding_window": 3, "rope_scaling": {"rope_type": "linear", "factor": 8.0}})
    assert plain.rope_scaling and plain.local_rope_scaling is None  # as older files mean it


def test_what_a_file_of_gemma_or_mistral_leaves_out_is_what_it_means_in_transformers():
    """Its parts in files of images and texts leave out most, and so did the first ones of Mistral."""
    sizes = {name: value for name, value in JSON.items() if name != "model_type"}
    found = from_json({**sizes, "model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}})
    assert (found.head_dim, found.num_key_value_heads, found.activation, found.rope_theta, found.local_rope_theta) == (
        256, 4, "gelu_tanh", 1e6, 1e4)
    assert (found.query_scale, found.windows, found.is_tied) == (1 / 16, (4096, 4096), True)
    kinds = {"full_attention": {"rope_type": "default"}, "sliding_attention": {"rope_type": "default"}}
    found = from_json({**sizes, "model_type": "gemma3_text", "rope_parameters": kinds})
    assert (found.rope_theta, found.local_rope_theta) == (1e6, 1e4)
    assert from_json({**sizes, "model_type": "mistral"}).windows == (4096, 4096)
    assert from_json({**sizes, "model_type": "mistral", "sliding_window": None}).windows == (None, None)
    assert from_json({**sizes, "model_type": "qwen2", "use_sliding_window": True}).windows == (None, None)  # from layer 28 on


def test_a_gguf_file_that_turns_a_part_of_its_heads_is_refused():
    facts = {"general.architecture": "llama", **{f"llama.{name}": value for name, value in {
        "attention.head_count": 4, "embedding_length": 32, "rope.dimension_count": 4}.items()}}
    with pytest.raises(rg.errors.CheckpointError, match="turns 4 numbers of heads of 8"):
        from_gguf(facts)


def test_a_config_without_a_size_says_which():
    with pytest.raises(rg.errors.CheckpointError, match="lacks hidden_size"):
        from_json({name: value for name, value in JSON.items() if name != "hidden_size"})
    with pytest.raises(rg.errors.CheckpointError, match=r"lacks llama\.attention\.head_count"):
        from_gguf({"general.architecture": "llama"})
    with pytest.raises(rg.errors.CheckpointError, match="knows bert, gemma3, gpt2, llama"):
        from_gguf({"general.architecture": "rwkv"})


def test_a_scaling_of_angles_that_is_not_known_is_refused():
    with pytest.raises(rg.errors.CheckpointError, match="dynamic, linear, llama3, yarn"):
        Decoder(reference.config_of(rope_scaling={"rope_type": "odd", "factor": 2.0}), reference.Spread())


def test_a_text_that_is_longer_than_a_dynamic_model_has_slower_waves():
    rotary = Rotary(8, 1e4, {"rope_type": "dynamic", "factor": 2.0}, context=64)
    plain = Rotary(8, 1e4)
    for length, theta in ((10, 1e4), (64, 1e4), (96, 1e4 * (2 * 96 / 64 - 1) ** (8 / 6))):
        found, expected = rotary.angles(np.arange(length)), Rotary(8, theta).angles(np.arange(length))
        np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-5)
    assert np.abs(np.array(rotary.angles(np.arange(96))) - np.array(plain.angles(np.arange(96)))).max() > 0.1


def test_long_waves_are_stretched_by_the_factor_and_short_ones_are_not():
    scaling = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 64}
    plain, stretched = (Rotary(64, 1e4, s).frequencies for s in (None, scaling))
    np.testing.assert_array_equal(plain[:3], stretched[:3])
    np.testing.assert_allclose(plain[-10:] / stretched[-10:], 8)
    assert isinstance(reference.config_of(), Config)

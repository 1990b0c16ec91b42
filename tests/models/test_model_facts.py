"""Facts of model files that make no model, or one that is not computed: each is an error that names the file."""

import json
import os
import shutil
import tracemalloc

import numpy as np
import older_networks
import pytest
import reference
import written_models
from test_model_files import changed, folder_of, logits

import gguf_files
import retrograde as rg
from retrograde.errors import CheckpointError
from retrograde.models.config import from_json
from retrograde.models.files import network_of_folder, network_of_gguf, template_of
from retrograde.models.generation_settings import settings_of
from retrograde.models.gguf_tokens import tokenizer_of_gguf

library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
SIZES = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 64}
LLAMA3 = {"rope_type": "llama3", "factor": 2.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
HUGE = 10**400


@pytest.mark.parametrize(("name", "value"), [
    ("layer_types", ["chunked_attention", "full_attention"]), ("layer_types", [1, False]), ("layer_types", ["sliding_attention"] * 2),
    *[("tie_word_embeddings", value) for value in ("false", 0, None)], *[("rms_norm_eps", value) for value in (None, -1e-6, True, "x", {}, HUGE)],
    *[("rope_theta", value) for value in (0, -1.0, False, [1], 1e-320, "x", None, {}, HUGE)],
    *[("eos_token_id", value) for value in (-1, -5, 2**32, 10**30, [1, -64], "x")], *[("bos_token_id", value) for value in (-1, "x", 10**30)],
    ("num_hidden_layers", 2**31), ("num_hidden_layers", True), ("head_dim", 8.0), ("attention_bias", "yes"), ("hidden_act", {}),
    *[(f"rope_{part}", {"rope_type": value, "factor": 2.0}) for part in ("scaling", "parameters") for value in (None, 5, ["linear"])]])
def test_a_fact_that_makes_no_model_is_refused_by_its_name(name, value):
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=rf"a/config\.json.*{name}"):
        from_json({"model_type": "llama", **SIZES, name: value}, "a/config.json")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_tokens_of_another_vocabulary_than_that_of_a_small_model_never_come():
    found = from_json({"model_type": "llama", **SIZES, "bos_token_id": 50_256, "eos_token_id": [3, 64, 50_256]})
    assert (found.start_token, found.end_tokens) == (None, (3,))


@pytest.mark.parametrize(("kind", "name", "value"), [
    ("bert", "id2label", [1]), ("bert", "id2label", {"a": "b"}), ("bert", "id2label", {"0": 5}), ("bert", "type_vocab_size", -1),
    ("bert", "is_decoder", "no"), ("gpt2", "scale_attn_weights", "no"), ("gpt2", "n_inner", "x"), ("gpt2", "n_head", 5),
    ("mistral", "layer_types", ["full_attention"] * 2), ("qwen2", "max_window_layers", -1), ("qwen3", "layer_types", ["linear_attention"] * 2),
    ("gemma3_text", "sliding_window_pattern", 0), ("gemma3_text", "query_pre_attn_scalar", "x")])
def test_facts_of_one_kind_of_model_are_checked_too(kind, name, value):
    older = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64} if kind == "gpt2" else {}
    with pytest.raises(CheckpointError, match=r"a/config\.json"):
        from_json({"model_type": kind, **SIZES, **older, name: value}, "a/config.json")


@pytest.mark.parametrize("scaling", [
    {**LLAMA3, "low_freq_factor": 5.0}, {**LLAMA3, "high_freq_factor": -5}, {**LLAMA3, "low_freq_factor": -1}, {"rope_type": "linear", "factor": HUGE},
    {"rope_type": "yarn", "factor": 2.0, "attention_factor": -1}, {"rope_type": "yarn", "factor": 2.0, "attention_factor": HUGE}])
def test_angles_that_cannot_be_scaled_so_are_refused(tmp_path, scaling):
    folder = folder_of(tmp_path, reference.network_of("llama"), rope_scaling=scaling)
    with pytest.raises(CheckpointError, match="cannot be scaled"):
        network_of_folder(folder)


@pytest.mark.parametrize("is_same", [True, False])
def test_a_head_beside_a_table_counts_where_it_is_no_copy(tmp_path, is_same):
    """As in transformers 5, whatever `tie_word_embeddings` says."""
    network = reference.network_of("llama")
    if is_same:
        network.lm_head.weight.data = network.model.embed_tokens.weight.data
    folder = folder_of(tmp_path, network)
    changed(folder, {"tie_word_embeddings": True})
    found = network_of_folder(folder)
    np.testing.assert_array_equal(logits(found), logits(network))
    assert found.config.is_tied is is_same


@pytest.mark.parametrize("dtype", ["int32", "bool", "complex64"])
def test_weights_of_no_floats_are_refused_with_their_names(tmp_path, dtype):
    folder = folder_of(tmp_path, reference.network_of("llama"))
    state = {name: tensor.numpy() for name, tensor in rg.load(folder / "model.safetensors").items()}
    name = "model.layers.1.mlp.up_proj.weight"
    rg.save({**state, name: state[name].astype(dtype)}, folder / "model.safetensors")
    with pytest.raises(CheckpointError, match=rf"{folder}.*{name} is of {dtype}"):
        network_of_folder(folder)


@pytest.mark.parametrize(("name", "value"), [
    ("do_sample", "false"), ("do_sample", 1), ("temperature", True), ("temperature", HUGE), ("repetition_penalty", HUGE), ("top_k", True), ("top_p", "1")])
def test_settings_that_are_none_are_refused(name, value):
    with pytest.raises(CheckpointError, match=rf"a/g\.json has {name}"):
        settings_of({"do_sample": True, name: value}, "a/g.json")


@pytest.mark.parametrize("value", ["\x00", "\ud800", "..", "a" * 5000, "../b"])
def test_names_in_an_index_are_those_of_files_in_its_folder(tmp_path, value):
    folder = folder_of(tmp_path, reference.network_of("llama"), shards=2)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"lm_head.weight": value}}))
    with pytest.raises(CheckpointError, match="not in its folder"):
        network_of_folder(folder)


@pytest.mark.parametrize("path", ["../../etc", "..", "a" * 5000, "\x00", "\ud800", 5, None])
def test_the_pooling_of_an_encoder_lies_in_its_folder(tmp_path, path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", **SIZES}))
    (tmp_path / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.models.Pooling", "path": path}]))
    with pytest.raises(CheckpointError, match=r"modules\.json has a part at"):
        network_of_folder(tmp_path)


@pytest.mark.parametrize("template", [[5], [[]], ["a"], 5, {"a": 1}, [{"name": "default", "template": 5}]])
def test_a_chat_template_of_a_folder_is_a_text(tmp_path, template):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    with pytest.raises(CheckpointError, match=r"tokenizer_config\.json"):
        template_of(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_files_that_are_none_neither_hang_nor_leave_raw_errors(tmp_path):
    for make, message in ((os.mkfifo, "ordinary"), (os.mkdir, "ordinary"), (lambda path: path.write_bytes(b"\xff\xfe"), "UTF-8")):
        place = tmp_path / "chat_template.jinja"
        make(place)
        with pytest.raises(CheckpointError, match=rf"chat_template\.jinja.*{message}"):
            template_of(tmp_path)
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    os.mkfifo(tmp_path / "tokenizer.json")
    with pytest.raises(CheckpointError, match=r"tokenizer\.json.*ordinary"):
        rg.models.folder_tokens.tokenizer_of_folder(tmp_path, None, ())


def with_facts(path, source, change):
    """A file of GGUF with other metadata; None takes some away."""
    content = rg.io.gguf.read(source)
    facts = {name: value for name, value in {**content.metadata, **change}.items() if value is not None}
    return gguf_files.write(path, facts, {name: tensor.array for name, tensor in content.tensors.items()})


@pytest.fixture(scope="module")
def llama_file(tmp_path_factory):
    return written_models.llama(tmp_path_factory.mktemp("llama") / "m.gguf", reference.network_of("pairs"))


@pytest.mark.parametrize(("name", "value"), [
    ("general.architecture", ["llama"]), ("llama.attention.head_count", 0), ("llama.embedding_length", "32"), ("llama.block_count", 2**31),
    *[("llama.attention.layer_norm_rms_epsilon", value) for value in ("x", -1.0, True, float("nan"))],
    *[("llama.rope.freq_base", value) for value in (0.0, -1.0, float("nan"), False, "x")], ("llama.rope.scaling.factor", 2.0),
    ("llama.expert_count", 8), ("llama.attention.sliding_window", 3), ("llama.attention.logit_scale", 3.0), ("llama.embedding_scale", 12.0),
    ("llama.residual_scale", 2.0), ("llama.attention.causal", False), ("llama.attention.value_length", 4), ("tokenizer.ggml.add_eos_token", True),
    *[(f"tokenizer.ggml.{end}_token_id", value) for end in ("bos", "eos") for value in (-1, 64, True, 1.0)],
    ("tokenizer.ggml.add_bos_token", "false"), ("tokenizer.ggml.add_space_prefix", 0), ("tokenizer.ggml.unknown_token_id", 99),
    ("tokenizer.ggml.tokens", 5), ("tokenizer.ggml.tokens", ["<s>", *reference.TOKENS[1:]]), ("tokenizer.ggml.model", ["llama"]),
    ("tokenizer.ggml.token_type", reference.TOKEN_KINDS[:-1]), ("tokenizer.ggml.token_type", 1), ("tokenizer.ggml.scores", reference.SCORES[:-1]),
    ("tokenizer.ggml.scores", "x"), ("tokenizer.ggml.scores", reference.SCORES * np.float32("nan")), ("tokenizer.chat_template", 5),
    ("tokenizer.chat_template", ["x"])])
def test_metadata_that_make_no_model_are_refused_with_their_file(tmp_path, llama_file, name, value):
    path = with_facts(tmp_path / "b.gguf", llama_file, {name: value})
    with pytest.raises(CheckpointError, match=str(path)):
        rg.models.load(path)


@pytest.mark.parametrize("change", [
    {"llama.expert_count": 0, "llama.embedding_scale": 1.0, "llama.residual_scale": 1.0, "llama.attention.logit_scale": 1.0},
    {"llama.attention.sliding_window": 64, "llama.attention.causal": True, "llama.rope.scaling.factor": 1.0, "tokenizer.ggml.add_eos_token": False},
    {"llama.rope.scaling.type": "none", "llama.rope.scaling.factor": 8.0}])
def test_metadata_that_ask_for_nothing_change_nothing(tmp_path, llama_file, change):
    found = [rg.models.load(path) for path in (llama_file, with_facts(tmp_path / "b.gguf", llama_file, change))]
    np.testing.assert_array_equal(*[logits(model.network) for model in found])


@pytest.mark.parametrize(("name", "value"), [
    ("pre", ["gpt-2"]), ("merges", 5), ("merges", ["alone"]), ("tokens", 5), ("token_type", np.ones(3, np.int32)), ("bos_token_id", -1)])
def test_tokenizers_of_pairs_of_bytes_are_checked_too(name, value):
    vocabulary, _ = written_models.pairs_of_bytes(library)
    with pytest.raises(CheckpointError, match=r"a\.gguf"):
        tokenizer_of_gguf({f"tokenizer.ggml.{key}": part for key, part in {**vocabulary, name: value}.items()}, (), "a.gguf")


@pytest.mark.parametrize(("name", "value"), [("pooling_type", [1]), ("attention.causal", 1), ("classifier.output_labels", 3), ("attention.head_count", 3)])
def test_metadata_of_bert_are_checked_too(tmp_path, name, value):
    network = older_networks.bert_of(heads=(), vocab_size=26, labels=())
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[f"w{i}" for i in range(21)]]
    path = written_models.older(tmp_path / "m.gguf", network, written_models.words_and_parts(library, names)[0])
    content = rg.io.gguf.read(path)
    with pytest.raises(CheckpointError, match=str(path)):
        network_of_gguf(path, content._replace(metadata={**content.metadata, f"bert.{name}": value}))

import json
import tracemalloc

import numpy as np
import pytest
import reference
import written_models

import retrograde as rg
from retrograde.models.files import network_of_folder

JSON = {"model_type": "llama", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64, "tie_word_embeddings": False}
TEXT = rg.tensor([[1, 5, 9, 2, 40]])


def folder_of(path, network, dtype=None, shards=1, **changes):
    """Write a network as Hugging Face's libraries would."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps({**JSON, **changes}))
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()}
    if changes.get("tie_word_embeddings"):
        del state["lm_head.weight"]
    state = {name: array if dtype is None else array.astype(dtype) for name, array in state.items()}
    if shards == 1:
        rg.save(state, path / "model.safetensors")
        return path
    places = {name: f"model-{i % shards}.safetensors" for i, name in enumerate(state)}
    for file in {*places.values()}:
        rg.save({name: state[name] for name, place in places.items() if place == file}, path / file)
    (path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return path


def logits(network):
    with rg.no_grad():
        return network(TEXT).numpy()


@pytest.mark.parametrize("options", [{}, {"shards": 3}, {"tie_word_embeddings": True}])
def test_a_folder_comes_back(tmp_path, options):
    network = reference.network_of("llama", is_tied="tie_word_embeddings" in options)
    found = network_of_folder(folder_of(tmp_path, network, **options))
    np.testing.assert_array_equal(logits(found), logits(network))
    assert {name for name, _ in found.named_parameters()} == {name for name, _ in network.named_parameters()}


@pytest.mark.parametrize("dtype", [np.float16, rg.bfloat16])
def test_weights_of_16_bits_stay_as_they_are_unless_a_dtype_is_asked_for(tmp_path, dtype):
    network = reference.network_of("llama")
    folder = folder_of(tmp_path, network, dtype)
    stored, wide = network_of_folder(folder), network_of_folder(folder, "float32")
    assert isinstance(stored.lm_head, rg.nn.QuantizedLinear)
    assert stored.lm_head.blocks.nbytes == 64 * 32 * 2
    assert wide.lm_head.weight.dtype == rg.float32
    np.testing.assert_allclose(logits(stored), logits(wide), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(logits(wide), logits(network), atol=0.5)


def test_weights_are_mapped_and_can_be_learned_without_touching_the_file(tmp_path):
    network = reference.network_of("llama", vocab_size=20000, hidden_size=64)
    folder = folder_of(tmp_path, network, vocab_size=20000, hidden_size=64)
    size, before = (folder / "model.safetensors").stat().st_size, (folder / "model.safetensors").read_bytes()
    tracemalloc.start()
    found = network_of_folder(folder)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 0.05 * size
    optimizer = rg.optim.SGD(found.parameters(), 0.1)
    found(TEXT).sum().backward()
    optimizer.step()
    assert np.abs(logits(found) - logits(network)).max() > 0.1
    assert (folder / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("is_tied", [False, True])
def test_a_gguf_file_is_the_same_network(tmp_path, is_tied):
    network = reference.network_of("llama", is_tied=is_tied)
    model = rg.models.load(written_models.llama(tmp_path / "m.gguf", network, is_tied=is_tied))
    np.testing.assert_allclose(logits(model.network), logits(network), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("form", ["Q8_0", "Q4_1", "F16"])
def test_a_quantised_file_writes_what_its_numbers_do(tmp_path, form):
    path = written_models.llama(tmp_path / "m.gguf", reference.network_of("llama"), form)
    stored, wide = rg.models.load(path), rg.models.load(path, dtype="float32")
    assert isinstance(stored.network.model.embed_tokens, rg.nn.QuantizedEmbedding)
    np.testing.assert_allclose(logits(stored.network), logits(wide.network), rtol=1e-4, atol=1e-4)
    options = {"max_tokens": 10, "ignore_end": True}
    assert stored.generate("the cat", **options) == wide.generate("the cat", **options)


def test_rounded_activations_are_asked_for_and_change_little(tmp_path):
    path = written_models.llama(tmp_path / "m.gguf", reference.network_of("llama"), "Q8_0")
    usual, rounded = rg.models.load(path), rg.models.load(path, activations="int8")
    layers = [layer for layer in rounded.network.modules() if isinstance(layer, rg.nn.QuantizedLinear)]
    assert {layer.activations for layer in layers} == {"int8"}
    assert "activations=int8" in repr(layers[0])
    assert rounded.network.lm_head in layers
    difference, size = np.abs(logits(rounded.network) - logits(usual.network)).max(), np.abs(logits(usual.network)).max()
    assert 0 < difference < 0.06 * size
    prompt = usual.tokenizer.encode("the cat is good")
    for tokens in (prompt, prompt[:1]):  # many rows, and one
        found = [model.reader.read(model.reader.cache(1), 0, tokens) for model in (usual, rounded)]
        assert 0 < np.abs(found[0] - found[1]).max() < 0.06 * np.abs(found[0]).max()
    for what in ({"dtype": "float32", "activations": "int8"}, {"activations": "int4"}):
        with pytest.raises(rg.errors.ArgumentError, match="activations"):
            rg.models.load(path, **what)


def test_files_of_halves_have_no_activations_to_round(tmp_path):
    path = written_models.llama(tmp_path / "m.gguf", reference.network_of("llama"), "F16")
    with pytest.raises(rg.errors.ArgumentError, match="for layers with quantised weights, of which this model has none"):
        rg.models.load(path, activations="int8")


def changed(folder, change):
    facts = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**facts, **change}))


@pytest.mark.parametrize(("damage", "message"), [
    (lambda folder: changed(folder, {"hidden_size": 16}), "shape"), (lambda folder: (folder / "config.json").unlink(), "config.json"),
    (lambda folder: (folder / "config.json").write_text("[]"), "no object"), (lambda folder: (folder / "config.json").write_text("{"), "JSON"),
    (lambda folder: (folder / "model.safetensors").unlink(), "model.safetensors"),
    (lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"), "convert"),
    (lambda folder: changed(folder, {"num_hidden_layers": 1}), "has not"), (lambda folder: changed(folder, {"num_hidden_layers": 3}), "lacks"),
    (lambda folder: (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../b"}}'), "not in its folder"),
    (lambda folder: (folder / "model.safetensors.index.json").write_text('{"weight_map": 3}'), "no weight_map"),
    (lambda folder: (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model.safetensors"}}'), "lacks the tensor a")])
def test_a_folder_that_is_not_right_is_refused(tmp_path, damage, message):
    folder = folder_of(tmp_path, reference.network_of("llama"))
    damage(folder)
    with pytest.raises(rg.errors.CheckpointError, match=message):
        network_of_folder(folder)


def test_a_path_that_is_not_there_is_an_error_of_ours(tmp_path):
    with pytest.raises(rg.errors.StorageError):
        rg.models.load(tmp_path / "none.gguf")


@pytest.mark.parametrize("dtype", ["float12", "int8", "complex64", bool, 5, object()])
def test_weights_are_loaded_as_floats_alone(tmp_path, dtype):
    folder = folder_of(tmp_path, reference.network_of("llama"))
    with pytest.raises(rg.errors.DTypeError, match="loaded as float64, float32, float16, bfloat16, or as they are"):
        rg.models.load(folder, dtype=dtype)


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_tensors_of_integers_are_no_weights(tmp_path, dtype):
    folder = folder_of(tmp_path, reference.network_of("llama"), np.int8)
    with pytest.raises(rg.errors.CheckpointError, match=r"weight is of int8, and weights are of float64, .*or quantised in a GGUF file"):
        network_of_folder(folder, dtype)

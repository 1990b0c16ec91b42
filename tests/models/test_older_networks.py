import json

import numpy as np
import older_networks
import pytest
import reference

import retrograde as rg
from retrograde.models import Model
from retrograde.models.config import from_json
from retrograde.models.files import network_of_folder
from retrograde.models.reading import Reader

TEXT = np.random.default_rng(0).integers(0, 64, 11)
TYPES = np.array([0] * 6 + [1] * 5)
GPT2_JSON = {"model_type": "gpt2", "vocab_size": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64, "n_inner": 64}
BERT_JSON = {"model_type": "bert", "vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
             "intermediate_size": 64, "max_position_embeddings": 64, "type_vocab_size": 2,
             "id2label": {str(i): name for i, name in enumerate(older_networks.CLASSES)}}


def test_logits_of_gpt2_are_those_of_the_reference_whole_and_in_pieces():
    network = older_networks.gpt2_of()
    expected = older_networks.gpt2_logits(network, TEXT)
    np.testing.assert_allclose(network(rg.tensor([TEXT]))[0].detach(), expected, rtol=1e-4, atol=1e-4)
    reader = Reader(network, 64)
    cache = reader.cache(1)
    np.testing.assert_allclose(reader.read(cache, 0, TEXT[:5]), expected[4], rtol=1e-4, atol=1e-4)
    for place, token in enumerate(TEXT[5:], 5):
        np.testing.assert_allclose(reader.read(cache, 0, [token]), expected[place], rtol=1e-4, atol=1e-4)


def test_gpt2_reads_up_to_its_last_position_and_no_further():
    network = older_networks.gpt2_of()
    text = np.random.default_rng(1).integers(0, 64, 64)
    reader = Reader(network, 64)
    cache = reader.cache(1)
    reader.read(cache, 0, text[:50])
    np.testing.assert_allclose(reader.read(cache, 0, text[50:]), older_networks.gpt2_logits(network, text)[-1], rtol=1e-3, atol=1e-3)
    with pytest.raises(rg.errors.ArgumentError, match="does not fit"):
        reader.read(cache, 0, [1])
    with pytest.raises(rg.errors.ArgumentError, match="at most 64"):
        network(rg.tensor([np.zeros(65, int)]))


def test_texts_of_gpt2_are_the_same_whatever_is_written_beside_them():
    model = Model(older_networks.gpt2_of(), reference.tokenizer(), context=48)
    options = {"max_tokens": 10, "temperature": 1.5}
    prompts = ["the cat", "in", "a dog is in the", "what"]
    together = model.complete(prompts, seed=[0, 1, 2, 3], **options)
    for seed, prompt in enumerate(prompts):
        assert model.complete([prompt], seed=seed, **options) == [together[seed]]


def test_vectors_and_heads_of_bert_are_those_of_the_reference():
    network = older_networks.bert_of()
    states = network(rg.tensor([TEXT]), types=rg.tensor([TYPES]))
    expected = older_networks.bert_states(network, TEXT, TYPES)
    np.testing.assert_allclose(states[0].detach(), expected, rtol=1e-4, atol=1e-4)
    for name, value in older_networks.bert_heads(network, expected).items():
        np.testing.assert_allclose(getattr(network, name)(states)[0].detach(), value, rtol=1e-3, atol=1e-4)


def test_what_fills_up_a_text_of_bert_changes_nothing():
    network = older_networks.bert_of()
    filled = np.concatenate([TEXT, [7, 8, 9]])
    mask = np.arange(14) < 11
    found = network(rg.tensor([filled]), rg.tensor([mask]))[0, :11]
    np.testing.assert_allclose(found.detach(), network(rg.tensor([TEXT]))[0].detach(), atol=1e-5)


def test_a_head_that_is_not_there_is_an_error():
    network = older_networks.bert_of(heads=("pooler",))
    with pytest.raises(rg.errors.UnsupportedError, match="it has pooler, and not classifier"):
        network.classified(network(rg.tensor([TEXT])))


def written(path, facts, state):
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(facts))
    rg.save(state, path / "model.safetensors")
    return path


def as_in_files(network):
    """The state of GPT-2 as files have it: matrices of layers the other way round."""
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items() if name != "lm_head.weight"}
    return {name: np.ascontiguousarray(x.T) if ".c_" in name and x.ndim == 2 else x for name, x in state.items()}


@pytest.mark.parametrize("is_bare", [False, True])
def test_a_folder_of_gpt2_comes_back(tmp_path, is_bare):
    network = older_networks.gpt2_of()
    state = as_in_files(network)
    if is_bare:
        mask = np.tri(64, dtype=np.float32)[None, None]
        state = {**{name.removeprefix("transformer."): x for name, x in state.items()}, "h.0.attn.bias": mask, "h.1.attn.bias": mask}
    found = network_of_folder(written(tmp_path / "m", GPT2_JSON, state))
    np.testing.assert_array_equal(found(rg.tensor([TEXT])).detach(), network(rg.tensor([TEXT])).detach())


@pytest.mark.parametrize("is_old", [False, True])
def test_a_folder_of_bert_comes_back_with_its_heads(tmp_path, is_old):
    network = older_networks.bert_of()
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()}
    if is_old:
        state = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x for name, x in state.items()}
    found = network_of_folder(written(tmp_path / "m", BERT_JSON, state))
    assert found.heads == network.heads
    for network_ in (found, network):
        assert network_.config.labels == older_networks.CLASSES
    np.testing.assert_array_equal(found.classified(found(rg.tensor([TEXT]))).detach(), network.classified(network(rg.tensor([TEXT]))).detach())


def encoder_of(tmp_path):
    """BERT in a folder, with a tokenizer of words, as `load` finds it."""
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    names = ["[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "is", "good", "bad"] + [f"w{i}" for i in range(55)]
    words = library.Tokenizer(library.models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    words.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    words.add_special_tokens(["[CLS]", "[SEP]", "[MASK]"])
    words.post_processor = library.processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    network = older_networks.bert_of()
    folder = written(tmp_path / "m", BERT_JSON, {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()})
    words.save(str(folder / "tokenizer.json"))
    return rg.models.load(folder)


def test_an_encoder_of_a_folder_has_the_pooling_that_it_says(tmp_path):
    encoder_of(tmp_path)
    file = tmp_path / "m" / "1_Pooling" / "config.json"
    file.parent.mkdir()
    for modes, of in (({"cls_token": True, "mean_tokens": False}, "first"), ({"mean_tokens": True}, "mean")):
        file.write_text(json.dumps({"word_embedding_dimension": 32, **{f"pooling_mode_{name}": value for name, value in modes.items()}}))
        encoder = rg.models.load(tmp_path / "m")
        states = encoder.states("the cat")
        np.testing.assert_array_equal(encoder(["the cat"])[0], states[0] if of == "first" else states.mean(0))
    file.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(rg.errors.CheckpointError, match="asks for max_tokens"):
        rg.models.load(tmp_path / "m")


def test_parts_behind_the_network_are_those_of_the_files_or_refused(tmp_path):
    plain, texts = encoder_of(tmp_path), ["the cat", "bad"]
    (tmp_path / "m" / "2_Pooling").mkdir()
    (tmp_path / "m" / "2_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))

    def load(*kinds):
        parts = [{"idx": i, "name": str(i), "path": "" if i == 0 else f"{i}_{kind}", "type": f"sentence_transformers.models.{kind}"}
                 for i, kind in enumerate(kinds)]
        (tmp_path / "m" / "modules.json").write_text(json.dumps(parts))
        return rg.models.load(tmp_path / "m")

    means = plain(texts)
    np.testing.assert_allclose(load("Transformer", "Pooling", "Normalize")(texts), means / np.linalg.norm(means, axis=-1, keepdims=True), rtol=1e-6)
    firsts = np.array([plain.states(text)[0] for text in texts])
    np.testing.assert_array_equal(load("Transformer", "Transformer", "Pooling")(texts), firsts)
    assert load("Transformer")([]).shape == (0, 32)
    with pytest.raises(rg.errors.CheckpointError, match="'Dense' behind the network"):
        load("Transformer", "Pooling", "Dense", "Normalize")
    (tmp_path / "m" / "modules.json").write_text('{"a": 1}')
    with pytest.raises(rg.errors.CheckpointError, match="no list of parts"):
        rg.models.load(tmp_path / "m")


def test_an_encoder_makes_vectors_fills_gaps_and_names_classes(tmp_path):
    encoder = encoder_of(tmp_path)
    texts, tokens = ["the cat is good", "bad cat"], [[1, 4, 5, 6, 7, 2], [1, 8, 5, 2]]
    expected = [older_networks.bert_states(encoder.network, found, [0] * len(found)) for found in tokens]
    np.testing.assert_allclose(encoder(texts), [states.mean(0) for states in expected], rtol=1e-4, atol=1e-4)
    classes = np.array([older_networks.bert_heads(encoder.network, states)["classified"] for states in expected])
    assert encoder.classify(texts) == [older_networks.CLASSES[i] for i in classes.argmax(-1)]
    assert encoder.classify(texts[1]) == encoder.classify(texts)[1]
    np.testing.assert_allclose(np.exp(encoder.logprobs(texts)).sum(-1), 1)
    gap = older_networks.bert_states(encoder.network, [1, 4, 3, 2], [0] * 4)
    logits = older_networks.bert_heads(encoder.network, gap)["predicted"][2]
    # Special tokens, which have no text, are told by their names: one is among them.
    names = [encoder.tokenizer.library.id_to_token(int(token)) for token in np.argsort(-logits)[:3]]
    assert "[SEP]" in names
    assert [name for name, _ in encoder.fill("the [MASK]", 3)] == names
    assert rg.text.embed(rg.text.Variable(texts, role="text"), encoder).shape == (2, 32)


def test_two_classes_without_names_are_numbered(tmp_path):
    """As transformers leaves the names out of a file that have not been changed."""
    network = older_networks.bert_of(labels=("a", "b"))
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()}
    facts = {name: value for name, value in BERT_JSON.items() if name != "id2label"}
    found = network_of_folder(written(tmp_path / "m", facts, state))
    assert found.config.labels == ("LABEL_0", "LABEL_1")
    np.testing.assert_array_equal(found.classified(found(rg.tensor([TEXT]))).detach(), network.classified(network(rg.tensor([TEXT]))).detach())


@pytest.mark.parametrize("changes", [{"problem_type": "multi_label_classification"}, {"problem_type": "regression"}, {"id2label": {"0": "score"}}])
def test_classes_that_a_text_need_not_have_are_not_told_as_one_of_them(tmp_path, changes):
    facts = {**BERT_JSON, **changes}
    network = older_networks.bert_of(labels=tuple(facts["id2label"].values()))
    encoder_of(tmp_path)
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()}
    encoder = rg.models.load(written(tmp_path / "m", facts, state))
    for ask in (encoder.classify, encoder.logprobs):
        with pytest.raises(rg.errors.UnsupportedError, match="need not have one"):
            ask("the cat")


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_head_of_tokens_has_the_bias_that_is_its_own(tmp_path, is_tied):
    network = older_networks.bert_of()
    state = {name: np.asarray(tensor.detach()) for name, tensor in network.state_dict().items()}
    key, table = "cls.predictions", state["bert.embeddings.word_embeddings.weight"]
    state[f"{key}.decoder.weight"] = table if is_tied else 2 * table
    state[f"{key}.decoder.bias"] = state[f"{key}.bias"] + 1
    found = network_of_folder(written(tmp_path / "m", {**BERT_JSON, "tie_word_embeddings": is_tied}, state))
    states = network(rg.tensor([TEXT]))
    expected = network.predicted(states) if is_tied else (network.predicted(states) - network.cls.predictions.bias) * 2 + state[f"{key}.decoder.bias"]
    np.testing.assert_allclose(found.predicted(found(rg.tensor([TEXT]))).detach(), expected.detach(), rtol=1e-5, atol=1e-5)


def test_texts_that_an_encoder_cannot_read_are_refused(tmp_path):
    encoder = encoder_of(tmp_path)
    for text, message in (("the cat", "has 0"), ("[MASK] [MASK]", "has 2"), ("cat " * 70, "1 to 64 tokens")):
        with pytest.raises(rg.errors.ArgumentError, match=message):
            encoder.fill(text)
    with pytest.raises(rg.errors.ArgumentError, match="a string"):
        encoder([3])
    for texts in (5, None, b"the cat", {"the cat"}, {"the cat": 1}):
        for ask in (encoder, encoder.logprobs, encoder.classify):
            with pytest.raises(rg.errors.ArgumentError, match="an encoder takes a text or a list of texts, got"):
                ask(texts)
    np.testing.assert_array_equal(encoder(np.array(["the cat", "bad"])), encoder(["the cat", "bad"]))


@pytest.mark.parametrize(("facts", "message"), [
    ({**GPT2_JSON, "scale_attn_by_inverse_layer_idx": True}, "scale_attn_by"), ({**BERT_JSON, "position_embedding_type": "relative_key"}, "relative"),
    ({**BERT_JSON, "is_decoder": True}, "decoder"), ({"model_type": "gpt2", "vocab_size": 64}, "lacks hidden_size")])
def test_what_they_have_not_is_refused(facts, message):
    with pytest.raises(rg.errors.CheckpointError, match=message):
        from_json(facts)

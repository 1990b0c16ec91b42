"""GPT-2 and BERT in GGUF files, with the tokenizers inside."""

import os

import numpy as np
import older_networks
import pytest
import written_models

import gguf_files
import retrograde as rg
from retrograde import text
from retrograde.errors import CheckpointError
from retrograde.models.gguf_names import gguf_name
from retrograde.models.gguf_tokens import tokenizer_of_gguf

library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
VOCABULARY, TRAINED = written_models.pairs_of_bytes(library)
NAMES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "##at", "is", "good", "c", "##a", "un", "##know", "##n", ".", ",",
         "cafe", "中", "-", "!", "1", "##2", "[unused0]", "▁"]
TEXT = "The cats, is GOOD! unknown café 中中 12 zzz cat-a [MASK] \t\x00 ▁"


def gpt2(**changes):
    return older_networks.gpt2_of(vocab_size=len(VOCABULARY["tokens"]), **changes)


def bert(**changes):
    return older_networks.bert_of(heads=(), vocab_size=len(NAMES), labels=(), **changes)


@pytest.mark.parametrize("is_tied", [True, False])
def test_a_file_of_gpt2_is_the_same_network_and_tokenizer(tmp_path, is_tied):
    network = gpt2(is_tied=is_tied)
    model = rg.models.load(written_models.older(tmp_path / "m.gguf", network, VOCABULARY))
    tokens = model.tokenizer.encode("the cat in the hat isn't  12 ünï\n")
    assert tokens == TRAINED.encode("the cat in the hat isn't  12 ünï\n").ids and model.tokenizer.ends == (0,)
    found = model.network(rg.tensor([tokens]))[0].detach()
    np.testing.assert_allclose(found, network(rg.tensor([tokens]))[0].detach(), rtol=1e-5, atol=1e-5)
    if is_tied:
        np.testing.assert_allclose(found, older_networks.gpt2_logits(network, tokens), rtol=1e-4, atol=1e-4)
    assert {name: tensor.shape for name, tensor in model.network.state_dict().items()} == {
        name: tensor.shape for name, tensor in network.state_dict().items()}


@pytest.mark.parametrize("form", ["Q8_0", "F16"])
def test_quantised_files_of_older_networks_stay_quantised(tmp_path, form):
    path = written_models.older(tmp_path / "m.gguf", gpt2(), VOCABULARY, form)
    stored, wide = rg.models.load(path), rg.models.load(path, dtype="float32")
    assert stored.network.transformer.h[0].attn.c_attn.format == form
    options = {"max_tokens": 8, "ignore_end": True}
    assert stored.generate("the cat", **options) == wide.generate("the cat", **options)
    path = written_models.older(tmp_path / "b.gguf", bert(), written_models.words_and_parts(library, NAMES)[0], form)
    stored, wide = rg.models.load(path), rg.models.load(path, dtype="float32")
    assert stored.network.bert.encoder.layer[0].intermediate.dense.format == form
    np.testing.assert_allclose(stored(["the cat"]), wide(["the cat"]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("pooling", "of"), [(None, "mean"), (0, "mean"), (1, "mean"), (2, "first")])
def test_a_file_of_bert_is_an_encoder_with_the_pooling_that_it_says(tmp_path, pooling, of):
    network, (vocabulary, words) = bert(), written_models.words_and_parts(library, NAMES)
    facts = {} if pooling is None else {"pooling_type": pooling}
    encoder = rg.models.load(written_models.older(tmp_path / "m.gguf", network, vocabulary, **facts, **{"attention.causal": False}))
    tokens = words.encode(TEXT).ids
    expected = older_networks.bert_states(network, tokens, [0] * len(tokens))
    np.testing.assert_allclose(encoder.states(TEXT), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(encoder([TEXT])[0], expected[0] if of == "first" else expected.mean(0), rtol=1e-4, atol=1e-4)
    with pytest.raises(rg.errors.UnsupportedError, match="no head"):
        encoder.fill("the [MASK]")
    assert text.embed(text.Variable("the cat", role="text"), encoder).shape == (32,)


@pytest.mark.parametrize("more", [[], ["The", "##É"]])
def test_words_and_parts_are_those_of_the_library(more):
    vocabulary, words = written_models.words_and_parts(library, [*NAMES, *more])
    metadata = {f"tokenizer.ggml.{name}": value for name, value in vocabulary.items()}
    for keys in ((), ("unknown_token_id", "bos_token_id", "seperator_token_id")):  # old files name none
        ours = tokenizer_of_gguf({name: value for name, value in metadata.items() if not name.endswith(keys or ("none",))}, ())
        for content in (TEXT, "", "the", "cats [SEP] the", "CaTs THE café É 中a中", "unknow-n", "x" * 300, "\ud7ff🎉the"):
            assert ours.encode(content) == words.encode(content).ids
            assert ours.encode(content, is_start=False) == words.encode(content, add_special_tokens=False).ids
            assert ours.decode(ours.encode(content)) == words.decode(words.encode(content).ids)
    assert ours.number_of("[MASK]") == 4


@pytest.mark.parametrize("architecture", ["gpt2", "bert"])
def test_names_of_tensors_are_those_of_the_package_gguf(architecture):
    package = pytest.importorskip("gguf", reason="an oracle that is no dependency")
    names = package.get_tensor_name_map({"gpt2": package.MODEL_ARCH.GPT2, "bert": package.MODEL_ARCH.BERT}[architecture], 2)
    for name in (gpt2(is_tied=False) if architecture == "gpt2" else bert()).state_dict():
        assert gguf_name(architecture)(name) == names.get_name(name.removeprefix("bert."), try_suffixes=(".weight", ".bias"))


@pytest.mark.filterwarnings("ignore")
def test_logits_of_a_file_of_gpt2_are_those_that_transformers_reads_of_it(tmp_path):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", reason="an oracle that is no dependency")
    pytest.importorskip("gguf", reason="transformers reads files with it")
    path = written_models.older(tmp_path / "m.gguf", gpt2(intermediate_size=128, max_position_embeddings=1024), VOCABULARY)
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path, gguf_file=path.name).eval()
    model = rg.models.load(path)
    tokens = model.tokenizer.encode("the cat in the hat")
    with torch.no_grad():
        expected = theirs(torch.tensor([tokens])).logits[0].numpy()
    np.testing.assert_allclose(model.network(rg.tensor([tokens]))[0].detach(), expected, atol=1e-4)


def test_gpt2_gives_the_answers_that_llama_cpp_gives(tmp_path):
    pytest.importorskip("xllamacpp", reason="the extra `local` brings the runtime")
    path = written_models.older(tmp_path / "m.gguf", gpt2(), VOCABULARY)
    theirs, ours = (text.LocalModel(path, engine=engine, context=64) for engine in ("llama.cpp", "retrograde"))
    labels = ["the", "hat", "is 12"]
    for prompt in ("the cat in", "that is", "isn't"):
        # Its activations come from a table of half precision.
        np.testing.assert_allclose(ours.label_logprobs(prompt, labels), theirs.label_logprobs(prompt, labels), atol=2e-2)
        assert [*ours.engine.tokens(prompt, False)] == [*theirs.engine.tokens(prompt, False)]


@pytest.mark.filterwarnings("ignore")
def test_vectors_of_a_file_of_bert_are_those_of_transformers(tmp_path):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    transformers = pytest.importorskip("transformers", reason="an oracle that is no dependency")
    network = bert()
    encoder = rg.models.load(written_models.older(tmp_path / "m.gguf", network, written_models.words_and_parts(library, NAMES)[0]))
    theirs = transformers.BertModel(transformers.BertConfig(
        vocab_size=len(NAMES), hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64,
        hidden_act="gelu"), add_pooling_layer=False).eval()
    theirs.load_state_dict({name.removeprefix("bert."): torch.tensor(np.array(tensor.detach())) for name, tensor in network.state_dict().items()})
    with torch.no_grad():
        expected = theirs(torch.tensor([encoder.tokenizer.encode(TEXT)])).last_hidden_state[0].numpy()
    np.testing.assert_allclose(encoder.states(TEXT), expected, atol=1e-4)


def test_vectors_of_bert_are_those_of_llama_cpp(tmp_path):
    runtime = pytest.importorskip("xllamacpp", reason="the extra `local` brings the runtime")
    path = written_models.older(tmp_path / "m.gguf", bert(), written_models.words_and_parts(library, NAMES)[0],
                                **{"attention.causal": False, "pooling_type": 1})
    settings, encoder = runtime.CommonParams(), rg.models.load(path)
    settings.model.path, settings.n_ctx, settings.embedding, settings.n_parallel = str(path), 64, True, 1
    settings.verbosity, settings.fit_params, settings.ui = -1, False, False
    server = runtime.Server(settings)
    for content in ("the cat is good", "The cats, unknow!", "cat-a 中 12", "zzz café"):
        theirs, ours = np.array(server.handle_embeddings({"input": content})["data"][0]["embedding"]), encoder([content])[0]
        # Its activations come from a table of half precision.
        np.testing.assert_allclose(theirs / np.linalg.norm(theirs), ours / np.linalg.norm(ours), atol=1e-3)


@pytest.mark.parametrize(("change", "message"), [
    ({"bert.pooling_type": 3}, "pooling of type 3"), ({"bert.attention.causal": True}, "decoder"), ({"bert.block_count": None}, "lacks bert.block_count"),
    ({"bert.attention.layer_norm_epsilon": None}, "lacks bert.attention.layer_norm_epsilon"), ({"bert.block_count": 3}, "lacks the tensor blk.2"),
    ({"bert.block_count": 1}, "has not: blk.1"), ({"tokenizer.ggml.token_type_count": 3}, "token_types.weight has shape"),
    ({"tokenizer.ggml.token_type": np.ones(3, np.int32)}, "26 tokens and 3 kinds"), ({"tokenizer.ggml.bos_token_id": 99}, r"without a token \[CLS\]"),
    ({"tokenizer.ggml.unknown_token_id": None, "tokenizer.ggml.tokens": [f"▁w{i}" for i in range(26)]}, r"without a token \[UNK\]"),
    ({"tokenizer.ggml.model": "t5"}, "knows llama, gpt2, bert")])
def test_a_file_of_bert_that_is_not_right_is_refused(tmp_path, change, message):
    path = written_models.older(tmp_path / "m.gguf", bert(), written_models.words_and_parts(library, NAMES)[0])
    content = rg.io.gguf.read(path)
    facts = {name: value for name, value in {**content.metadata, **change}.items() if value is not None}
    facts = {name: value.item() if isinstance(value, np.generic) else value for name, value in facts.items()}
    broken = gguf_files.write(tmp_path / "b.gguf", facts, {name: tensor.array for name, tensor in content.tensors.items()})
    with pytest.raises(CheckpointError, match=message):
        rg.models.load(broken)


def with_classes(path, labels, left_out=(), **facts):
    """A file of BERT with a head of classes, and the network in it."""
    network, left_out = older_networks.bert_of(vocab_size=len(NAMES)), ("predictions", "seq_relationship", *left_out)
    facts = facts if labels is None else {**facts, "classifier.output_labels": labels}
    return network, written_models.older(path, network, written_models.words_and_parts(library, NAMES)[0], left_out=left_out, **facts)


@pytest.mark.parametrize("labels", [None, ["bad", "good", "so so"]])
def test_heads_of_classes_are_read_with_their_names(tmp_path, labels):
    network, path = with_classes(tmp_path / "m.gguf", labels, pooling_type=4)
    encoder, texts = rg.models.load(path), ["the cat is good", "unknown"]
    assert encoder.labels == tuple(labels or ["LABEL_0", "LABEL_1", "LABEL_2"])
    for content, found in zip(texts, encoder.logprobs(texts), strict=True):
        tokens = encoder.tokenizer.encode(content)
        states = older_networks.bert_states(network, tokens, [0] * len(tokens))
        wanted = older_networks.bert_heads(network, states)["classified"]
        np.testing.assert_allclose(found, wanted - np.log(np.exp(wanted).sum()), atol=1e-5)


def test_heads_of_classes_whose_pooler_a_file_lacks_are_refused(tmp_path):
    _, path = with_classes(tmp_path / "m.gguf", ["bad", "good", "so so"], left_out=("pooler",))
    with pytest.raises(CheckpointError, match=r"a head of classes, cls\.output\.weight, without the product before it, cls\.weight: llama\.cpp"):
        rg.models.load(path)
    _, path = with_classes(tmp_path / "m.gguf", ["bad", "good"])
    with pytest.raises(CheckpointError, match=r"cls\.output\.weight has shape \(3, 32\), and the model needs \(2, 32\)"):
        rg.models.load(path)

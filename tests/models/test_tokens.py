import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import reference

import retrograde as rg
from retrograde.models.folder_tokens import tokenizer_of_folder
from retrograde.models.gguf_tokens import tokenizer_of_gguf
from retrograde.models.pieces import Pieces
from retrograde.models.templates import laid_out
from retrograde.models.tokens import Growing, Tokenizer

#: Letters of several scripts, marks, and pictures.
ODD = "".join([chr(n) for n in (*range(32, 127), *range(0xA0, 0x180), *range(0x370, 0x3FF), *range(0x4E00, 0x4E40), *range(0x1F600, 0x1F610))]) * 2
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "oh"}, {"role": "user", "content": "the"}]
TEMPLATE = ("{% for message in messages %}<|{{ message.role }}|>{{ message['content'] | trim }}{{ eos_token }}\n{% endfor %}"
            "{% if add_generation_prompt %}<|assistant|>{% endif %}")


def joined_slowly(pieces, text):
    """The tokens of a text: of all neighbours those are joined whose union has the greatest score, the first of equal ones."""
    parts = list(text.replace(" ", "▁"))
    while True:
        pairs = [(-pieces.scores[pieces.numbers[a + b]], i) for i, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in pieces.numbers]
        if not pairs:
            return [pieces.numbers.get(part, pieces.unknown) for part in parts]
        i = min(pairs)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def test_pieces_are_joined_in_the_order_of_their_scores():
    rng = np.random.default_rng(0)
    words = sorted({"".join(rng.choice(list("ab▁"), rng.integers(2, 6))) for _ in range(60)})
    tokens = ["?", *"ab▁", *words]
    pieces = Pieces(tokens, rng.integers(-9, 0, len(tokens)).astype(float), np.ones(len(tokens), int), adds_space=False, unknown=0)
    for _ in range(200):
        text = "".join(rng.choice(list("ab "), rng.integers(0, 30)))
        assert pieces.encode(text) == joined_slowly(pieces, text)
        assert pieces.decode(pieces.encode(text)) == text


def test_pieces_of_a_large_text_are_those_of_the_library():
    """Merges of all pairs whose union is a token, in the order of its score, as transformers converts such vocabularies."""
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    large = "".join([path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parents[2] / "docs").glob("*.md"))])[:150_000] + ODD
    trained = library.Tokenizer(library.models.BPE())
    trained.pre_tokenizer = library.pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    trained.train_from_iterator([line for line in large.split("\n") if len(line) < 200][:800], library.trainers.BpeTrainer(
        vocab_size=1500, limit_alphabet=90, show_progress=False, max_token_length=12))
    facts = json.loads(trained.to_str())["model"]
    names = ["<unk>", *[f"<0x{i:02X}>" for i in range(256)], *sorted(facts["vocab"], key=facts["vocab"].get)]
    numbers = {name: i for i, name in enumerate(names)}
    pairs = sorted([(numbers[name], numbers[name[:i]], name[:i], name[i:]) for name in names[257:] for i in range(1, len(name))
                    if name[:i] in numbers and name[i:] in numbers])
    theirs = library.Tokenizer(library.models.BPE(numbers, [pair[2:] for pair in pairs], unk_token="<unk>", byte_fallback=True))
    theirs.normalizer = library.normalizers.Replace(" ", "▁")
    theirs.decoder = library.decoders.Sequence([library.decoders.Replace("▁", " "), library.decoders.ByteFallback(), library.decoders.Fuse()])
    kinds = [2, *[6] * 256, *[1] * (len(names) - 257)]
    ours = Pieces(names, -np.arange(float(len(names))), kinds, adds_space=False, unknown=0)
    places = [*range(0, len(large), 5000), len(large)]
    for start, end in itertools.pairwise(places):
        found = ours.encode(large[start:end])
        assert found == theirs.encode(large[start:end]).ids
        assert ours.decode(found) == theirs.decode(found) == large[start:end]


def test_names_of_special_tokens_are_text_unless_they_are_looked_for(tmp_path):
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    tokenizer = reference.tokenizer()
    plain = tokenizer.encode("the</s>in", is_start=False, has_names=False)
    assert 2 not in plain and plain[0] == tokenizer.encode("the", is_start=False)[0] and tokenizer.encode("the</s>in")[2] == 2
    pairs = library.Tokenizer(library.models.BPE({name: i for i, name in enumerate(["<s>", "<b>", *"<sb>e"])}, []))
    pairs.add_special_tokens(["<s>"])
    pairs.add_tokens(["<b>"])
    tokenizer = Tokenizer(pairs)
    assert tokenizer.encode("e<s><b>") == [6, 0, 1]
    assert tokenizer.encode("e<s><b>", has_names=False) == [6, 2, 3, 5, 1] and tokenizer.encode("e<s><b>") == [6, 0, 1]


def test_special_tokens_are_read_by_their_names_and_left_out_of_texts():
    tokenizer = reference.tokenizer()
    found = tokenizer.encode("the</s>in")
    number = reference.TOKENS.index
    assert found == [1, number("▁the"), 2, number("▁"), number("in")]
    assert tokenizer.decode(found) == " the in"
    assert tokenizer.encode("the", is_start=False) == [number("▁the")]
    assert [tokenizer.name_of(token) for token in (1, 2, None)] == ["<s>", "</s>", ""]


def test_letters_that_are_no_tokens_are_written_as_bytes():
    pieces = Pieces(["?", *[f"<0x{i:02X}>" for i in range(256)], "a"], np.zeros(258), [2, *[6] * 256, 1], adds_space=False, unknown=0)
    tokens = pieces.encode("aé😀")
    assert tokens == [257, 1 + 0xC3, 1 + 0xA9, 1 + 0xF0, 1 + 0x9F, 1 + 0x98, 1 + 0x80]
    assert pieces.decode(tokens) == "aé😀"
    growing = Growing(Tokenizer(pieces))
    assert [growing.add(token) for token in tokens] == ["a", "", "é", "", "", "", "😀"]
    assert [growing.add(tokens[3]), growing.rest()] == ["", "\ufffd"]


@pytest.mark.parametrize(("change", "message"), [
    ({"tokenizer.ggml.model": "t5"}, "knows llama, gpt2, bert"), ({"tokenizer.ggml.tokens": None}, "lacks tokenizer.ggml.tokens"),
    ({"tokenizer.ggml.scores": None}, "scores"), ({"tokenizer.ggml.scores": np.zeros(3, np.float32)}, "3 scores")])
def test_a_vocabulary_that_is_not_right_is_refused(change, message):
    metadata = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": reference.TOKENS, "tokenizer.ggml.scores": reference.SCORES,
                "tokenizer.ggml.token_type": reference.TOKEN_KINDS, **change}
    with pytest.raises(rg.errors.CheckpointError, match=message):
        tokenizer_of_gguf({name: value for name, value in metadata.items() if value is not None}, ())


def test_pairs_of_bytes_are_those_of_the_library(tmp_path):
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    trained = library.Tokenizer(library.models.BPE())
    trained.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trained.decoder = library.decoders.ByteLevel()
    trained.train_from_iterator(["the cat in the hat", "that is 12 ünïcödé words"] * 5,
                                library.trainers.BpeTrainer(vocab_size=330, special_tokens=["<end>"], show_progress=False,
                                                            initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet()))
    facts = json.loads(trained.to_str())["model"]
    names = sorted(facts["vocab"], key=facts["vocab"].get)
    ours = tokenizer_of_gguf({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "gpt-2", "tokenizer.ggml.tokens": names,
                              "tokenizer.ggml.merges": [" ".join(pair) for pair in facts["merges"]],
                              "tokenizer.ggml.token_type": np.array([3] + [1] * (len(names) - 1))}, (0,))
    trained.save(str(tmp_path / "tokenizer.json"))
    whole = tokenizer_of_folder(tmp_path, None, (0,))
    for text in ("the cat", " that  is\n\n ünï 😀", "the<end>hat", ""):
        assert ours.encode(text) == whole.encode(text) == trained.encode(text).ids
        assert ours.decode(ours.encode(text)) == text.replace("<end>", "")
    with pytest.raises(rg.errors.CheckpointError, match="splits texts as 'odd'"):
        tokenizer_of_gguf({"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "odd", "tokenizer.ggml.tokens": [],
                           "tokenizer.ggml.token_type": []}, ())
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(rg.errors.CheckpointError, match="no tokenizer"):
        tokenizer_of_folder(tmp_path, None, ())


def test_files_that_fill_texts_up_or_cut_them_off_change_no_tokens(tmp_path):
    """As sentence-transformers writes them: what was set for a batch is no part of the tokenizer."""
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    words = library.Tokenizer(library.models.WordLevel({"[PAD]": 0, "the": 1, "cat": 2}, unk_token="[PAD]"))
    words.pre_tokenizer = library.pre_tokenizers.WhitespaceSplit()
    words.enable_padding(length=8, pad_id=0)
    words.enable_truncation(5)
    words.save(str(tmp_path / "tokenizer.json"))
    assert words.encode("the cat").ids == [1, 2, 0, 0, 0, 0, 0, 0] and len(words.encode("cat " * 9).ids) == 8
    found = tokenizer_of_folder(tmp_path, None, ())
    assert found.encode("the cat") == found.encode("the cat", has_names=False) == [1, 2]
    assert found.encode("cat " * 9) == [2] * 9


def test_templates_write_the_special_tokens_that_the_files_name(tmp_path):
    """Not those that the model ends by, of which there may be several."""
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    library.Tokenizer(library.models.WordLevel({"<s>": 0, "</s>": 1, "<eot>": 2}, unk_token="<s>")).save(str(tmp_path / "tokenizer.json"))
    usual = {"bos_token": "<s>", "eos_token": "</s>"}
    found = [tokenizer_of_folder(tmp_path, 0, (1, 2)).names]
    for settings in ({"eos_token": {"content": "<eot>"}, "bos_token": None, "pad_token": "<pad>"}, {"added_tokens_decoder": {}}):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
        found.append(tokenizer_of_folder(tmp_path, 0, (1, 2)).names)
        (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<eot>"}))  # not read beside added_tokens_decoder
    assert found == [usual, {"bos_token": "", "eos_token": "<eot>", "pad_token": "<pad>"}, usual]
    (tmp_path / "tokenizer_config.json").write_text("{}")
    assert tokenizer_of_folder(tmp_path, 0, (1, 2)).names == {"bos_token": "<s>", "eos_token": "<eot>"}
    (tmp_path / "tokenizer_config.json").write_text('{"added_tokens_decoder": {}, "bos_token": 5}')
    with pytest.raises(rg.errors.CheckpointError, match="bos_token that is no text: 5"):
        tokenizer_of_folder(tmp_path, 0, (1, 2))


def test_tokens_that_the_settings_add_are_tokens(tmp_path):
    library = pytest.importorskip("tokenizers", reason="comes with the extra `models`")
    words = library.Tokenizer(library.models.BPE({name: i for i, name in enumerate("<ab>x")}, []))
    words.save(str(tmp_path / "tokenizer.json"))

    def load(added):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": added}))
        return tokenizer_of_folder(tmp_path, None, ())

    assert load({}).encode("<x>a") == [0, 4, 3, 1]
    # Twelve of them, whose numbers are in no order as texts.
    found = load({str(5 + i): {"content": "<x>" if i == 10 else f"<{i}>", "special": True, "rstrip": True} for i in range(12)})
    assert found.encode("<x>  a<1>") == [15, 1, 6] and found.decode([15, 1]) == "a"
    assert found.encode("<x>a", has_names=False) == [0, 4, 3, 1]
    for added, message in (({"9": {"content": "<x>"}}, r"'<x>' as number 9, and tokenizer\.json as 5"), ({"0": {"content": "b"}}, "'b' as number 0"),
                           ([1], "holds no tokens"), ({"0": "a"}, "holds no tokens"), ({"a": {"content": "b"}}, "holds no tokens"),
                           ({"5": {"content": 5}}, "no text")):
        with pytest.raises(rg.errors.CheckpointError, match=message):
            load(added)


@pytest.mark.parametrize("tokens", [[-1], [1.0], 5, "ab", ["the"], [None]])
def test_what_is_no_list_of_tokens_has_no_text(tokens):
    with pytest.raises(rg.errors.ArgumentError, match="integers of at least 0"):
        reference.tokenizer().decode(tokens)


def test_arrays_and_tensors_of_tokens_have_the_text_of_their_numbers():
    tokenizer = reference.tokenizer()
    numbers = [*tokenizer.encode("the cat"), 3, 4]  # bytes too, which are looked up by their numbers
    for tokens in (np.array(numbers), rg.tensor(numbers), tuple(numbers)):
        assert tokenizer.decode(tokens) == tokenizer.decode(numbers)


def test_messages_are_laid_out_by_the_template():
    pytest.importorskip("jinja2", reason="comes with the extra `models`")
    assert laid_out(TEMPLATE, MESSAGES, {"eos_token": "$"}) == "<|user|>hi$\n<|assistant|>oh$\n<|user|>the$\n<|assistant|>"
    model = rg.models.Model(reference.network_of(), reference.tokenizer(), template="{{ bos_token }}{{ messages[0].content }}", context=48)
    assert model.chat_tokens([{"role": "user", "content": "the"}]) == model.tokenizer.encode("the")


@pytest.mark.parametrize(("template", "message"), [
    ("{{ raise_exception('roles must alternate') }}", "refuses.*alternate"), ("{% for %}", "cannot lay out"),
    ("{{ messages.__class__.__mro__ }}", "cannot lay out"), ("{{ ''.__class__.__base__.__subclasses__() }}", "cannot lay out"),
    ("{% for i in range(100000) %}{{ 'x' * 1000 }}{% endfor %}", "more than|cannot lay out"),
    ("{{ messages[0].content + 3 }}", "cannot lay out.*concatenate"), ("{{ 1 / 0 }}", "cannot lay out.*division"),
    ("{{ messages[9].content }}", "cannot lay out"), ("{{ messages[0].content | tojson(indent='x', nothing=1) }}", "cannot lay out")])
def test_a_template_reads_messages_and_nothing_else(template, message):
    pytest.importorskip("jinja2", reason="comes with the extra `models`")
    with pytest.raises(rg.errors.RetrogradeError, match=message):
        laid_out(template, MESSAGES)


@pytest.mark.parametrize(("template", "expected"), [
    ("{% if tools is none and documents is none %}none{% endif %}", "none"),
    ("{{ messages[:1] | tojson(separators=(',', ':'), sort_keys=True) }}", '[{"content":"hi","role":"user"}]'),
    ("{{ {'b': 'é', 'a': 1} | tojson(ensure_ascii=True, indent=1) }}", '{\n "b": "\\u00e9",\n "a": 1\n}'),
    ("{% for m in messages %}{% generation %}{% set x = m.content %}{{ x }}{% endgeneration %}{{ x }};{% endfor %}", "hi;oh;the;"),
    ("{{ pad_token }}{{ nothing }}|", "|")])
def test_templates_have_what_they_have_in_transformers(template, expected):
    pytest.importorskip("jinja2", reason="comes with the extra `models`")
    assert laid_out(template, MESSAGES) == expected


@pytest.mark.parametrize("messages", [["hi"], [{"role": "user"}], [], None, "hi", {"role": "user", "content": "hi"}])
def test_messages_without_a_role_or_a_content_are_refused(messages):
    with pytest.raises(rg.errors.ArgumentError, match="role and content"):
        laid_out(TEMPLATE, messages)

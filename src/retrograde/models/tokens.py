"""Tokenizers: texts as the numbers that a model reads, from `tokenizer.json` or from a GGUF file."""

from functools import cached_property

from ..errors import CheckpointError
from ..extras import optional
from .pieces import Pieces

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
#: How texts are split before tokens are looked for, by the name that GGUF files have for it: digits of a number that stay together,
#: None for GPT-2's own way, and 0 for that way with single digits.
_SPLITS = {"gpt-2": None, "default": None, "smollm": 0, "llama-bpe": 3, "llama3": 3, "qwen2": 1}
_CONTROL, _USER_DEFINED = 3, 4


class Tokenizer:
    """Tokens of texts and texts of tokens. `start` and `ends` are the tokens before and after a text, where a model has such."""

    def __init__(self, library, start=None, ends=(), adds_start=None):
        self.library, self.start, self.ends, self.adds_start = library, start, tuple(ends), adds_start

    def encode(self, text, is_start=True, has_names=True):
        """The tokens of a text; with `is_start` also those that the model wants to see before it.

        With `has_names` the names of special tokens in it stand for these, and else they are text as all others.
        """
        if isinstance(self.library, Pieces):
            found = self.library.encode(text, has_names)
        else:
            library = self.library if has_names else self._plain
            found = library.encode(text, add_special_tokens=is_start and self.adds_start is None).ids
        return [self.start, *found] if is_start and self.adds_start and self.start is not None else found

    @cached_property
    def _plain(self):
        """The library's tokenizer once more, for which names of special tokens are text: that is a setting of the whole."""
        plain = type(self.library).from_str(self.library.to_str())
        plain.encode_special_tokens = True
        return plain

    def decode(self, tokens):
        """The text of tokens, without those that only control the model."""
        return self.library.decode(list(tokens))

    def text_of(self, token):
        """What a token is in the midst of a text; signs of replacement where it is only part of a letter."""
        alone = self.decode([token])
        # Some tokenizers leave a space out where a text begins.
        return self.decode([token, token])[len(alone) :]

    def number_of(self, name):
        """The token that is written so; None where there is none."""
        return self.library.numbers.get(name) if isinstance(self.library, Pieces) else self.library.token_to_id(name)

    def name_of(self, token):
        """How a special token is written; an empty text where there is none."""
        if token is None:
            return ""
        return self.library.tokens[token] if isinstance(self.library, Pieces) else self.library.id_to_token(token) or ""


def tokenizer_of_file(path, start, ends):
    """The tokenizer in a `tokenizer.json`."""
    tokenizers = optional("tokenizers", "models")
    try:
        library = tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # noqa: BLE001 - the library raises no other class
        raise CheckpointError(f"{path} is no tokenizer that the library tokenizers reads: {error}") from None
    return Tokenizer(library, start, ends)


def tokenizer_of_gguf(metadata, ends):
    """The tokenizer in the metadata of a GGUF file."""
    model, start = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.bos_token_id")
    if model not in _MODELS:
        raise CheckpointError(f"the GGUF file has a tokenizer {model!r}, and retrograde knows {', '.join(_MODELS)}")
    missing = [key for key in ("tokens", "token_type") if f"tokenizer.ggml.{key}" not in metadata]
    if missing:
        raise CheckpointError(f"the GGUF file lacks tokenizer.ggml.{missing[0]}")
    library, adds_start = _MODELS[model](metadata)
    return Tokenizer(library, start, ends, bool(metadata.get("tokenizer.ggml.add_bos_token", adds_start)))


def _pieces(metadata):
    tokens, scores, kinds, adds_space, unknown = [metadata.get(f"tokenizer.ggml.{key}") for key in (
        "tokens", "scores", "token_type", "add_space_prefix", "unknown_token_id")]
    if scores is None:
        raise CheckpointError("the GGUF file lacks tokenizer.ggml.scores")
    return Pieces(tokens, scores, kinds, adds_space is not False, unknown), True


def _byte_pairs(metadata):
    """The library's tokenizer of pairs of bytes."""
    tokenizers = optional("tokenizers", "models")
    split = metadata.get("tokenizer.ggml.pre", "default")
    if split not in _SPLITS:
        raise CheckpointError(f"the GGUF file splits texts as {split!r}, and retrograde knows {', '.join(_SPLITS)}")
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in metadata.get("tokenizer.ggml.merges", ())]
    try:
        numbers = {token: number for number, token in enumerate(tokens)}
        model = tokenizers.models.BPE(numbers, merges, ignore_merges=_SPLITS[split] == 3)
    except Exception as error:  # noqa: BLE001 - the library raises no other class
        raise CheckpointError(f"the tokenizer of the GGUF file makes no sense: {error}") from None
    library = tokenizers.Tokenizer(model)
    library.pre_tokenizer, library.decoder = _split(tokenizers, _SPLITS[split]), tokenizers.decoders.ByteLevel()
    if split == "qwen2":
        library.normalizer = tokenizers.normalizers.NFC()
    for kind, add in ((_CONTROL, library.add_special_tokens), (_USER_DEFINED, library.add_tokens)):
        add([tokenizers.AddedToken(token, normalized=False, special=kind == _CONTROL)
             for token, k in zip(tokens, kinds, strict=True) if k == kind])
    return library, _SPLITS[split] == 3


def _split(tokenizers, digits):
    parts = tokenizers.pre_tokenizers
    if digits is None:
        return parts.ByteLevel(add_prefix_space=False)
    if digits == 0:
        return parts.Sequence([parts.Digits(individual_digits=True), parts.ByteLevel(add_prefix_space=False)])
    numbers = r"\p{N}" if digits == 1 else rf"\p{{N}}{{1,{digits}}}"
    pattern = tokenizers.Regex(_WORDS + numbers + _REST)
    return parts.Sequence([parts.Split(pattern, "isolated"), parts.ByteLevel(add_prefix_space=False, use_regex=False)])


_MODELS = {"llama": _pieces, "gpt2": _byte_pairs}


class Growing:
    """The text of tokens that come one by one, as far as it is settled: a letter may take several of them."""

    def __init__(self, tokenizer):
        self.tokenizer, self.tokens, self.text = tokenizer, [], ""

    def add(self, token):
        """What a token adds to the text; nothing while a letter is not whole."""
        self.tokens.append(token)
        text = self.tokenizer.decode(self.tokens)
        if text.endswith("\ufffd"):
            return ""
        added, self.text = text[len(self.text) :], text
        return added

    def rest(self):
        """What is left when no token follows."""
        text = self.tokenizer.decode(self.tokens)
        added, self.text = text[len(self.text) :], text
        return added

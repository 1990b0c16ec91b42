"""The tokenizers of GGUF files, made of their metadata."""

from ..errors import CheckpointError
from ..extras import optional
from .pieces import SPACE, Pieces
from .tokens import Tokenizer

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
#: How texts are split before tokens are looked for, by the name that GGUF files have for it: digits of a number that stay together,
#: None for GPT-2's own way, and 0 for that way with single digits.
_SPLITS = {"gpt-2": None, "default": None, "smollm": 0, "llama-bpe": 3, "llama3": 3, "qwen2": 1}
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4


def tokenizer_of_gguf(metadata, ends):
    """The tokenizer in the metadata of a GGUF file."""
    model, start = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.bos_token_id")
    if model not in _MODELS:
        raise CheckpointError(f"the GGUF file has a tokenizer {model!r}, and retrograde knows {', '.join(_MODELS)}")
    missing = [key for key in ("tokens", "token_type") if f"tokenizer.ggml.{key}" not in metadata]
    if missing:
        raise CheckpointError(f"the GGUF file lacks tokenizer.ggml.{missing[0]}")
    library, adds_start = _MODELS[model](metadata)
    if adds_start is None:  # the library does
        return Tokenizer(library, start, ends)
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


def _words(metadata):
    """The library's tokenizer of words and parts of words, WordPiece, which BERT has."""
    tokenizers = optional("tokenizers", "models")
    kinds, names = metadata["tokenizer.ggml.token_type"], _names_of_words(metadata)
    numbers = {name: number for number, name in enumerate(names)}
    unknown, start, end = [_named(metadata, names, numbers, *keys) for keys in (
        ("[UNK]", "unknown"), ("[CLS]", "cls", "bos"), ("[SEP]", "seperator", "eos"))]
    library = tokenizers.Tokenizer(tokenizers.models.WordPiece(numbers, unk_token=unknown))
    # The file does not say whether letters are made small. They are where no token has a capital one.
    is_small = all([name == name.lower() for name, kind in zip(names, kinds, strict=True) if kind == _NORMAL])
    library.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=is_small)
    library.pre_tokenizer, library.decoder = tokenizers.pre_tokenizers.BertPreTokenizer(), tokenizers.decoders.WordPiece()
    library.add_special_tokens([tokenizers.AddedToken(name, special=True)
                                for name, kind in zip(names, kinds, strict=True) if kind == _CONTROL])
    library.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(name, numbers[name]) for name in (start, end)])
    return library, None


def _names_of_words(metadata):
    """Tokens as BERT's own files write them, "##" before those that begin no word; in GGUF files the others have a mark."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    if len(tokens) != len(kinds):
        raise CheckpointError(f"the vocabulary of the GGUF file has {len(tokens)} tokens and {len(kinds)} kinds")
    return [token if kind in (_CONTROL, _UNKNOWN) else token.removeprefix(SPACE) if token.startswith(SPACE) else f"##{token}"
            for token, kind in zip(tokens, kinds, strict=True)]


def _named(metadata, names, numbers, usual, *keys):
    """How a special token is written: the one that the file names by one of `keys`, or the `usual` one."""
    found = [number for key in keys if (number := metadata.get(f"tokenizer.ggml.{key}_token_id")) is not None]
    if found and type(found[0]) is int and 0 <= found[0] < len(names):
        return names[found[0]]
    if not found and usual in numbers:
        return usual
    raise CheckpointError(f"the GGUF file has a tokenizer of words without a token {usual}, which each text needs")


_MODELS = {"llama": _pieces, "gpt2": _byte_pairs, "bert": _words}

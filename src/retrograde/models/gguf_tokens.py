"""The tokenizers of GGUF files, made of their metadata."""

import numpy as np

from ..errors import CheckpointError
from ..extras import optional
from .facts import Facts
from .pieces import SPACE, Pieces
from .tokens import Tokenizer

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
#: How texts are split before tokens are looked for, by the name that GGUF files have for it: digits of a number that stay together,
#: None for GPT-2's own way, and 0 for that way with single digits.
_SPLITS = {"gpt-2": None, "default": None, "smollm": 0, "llama-bpe": 3, "llama3": 3, "qwen2": 1}
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4


def tokenizer_of_gguf(metadata, ends, where="the GGUF file"):
    """The tokenizer in the metadata of a GGUF file; `where` names it in errors."""
    facts = Facts(where, metadata, "tokenizer.ggml.")
    model = facts.text("model", "")
    if model not in _MODELS:
        raise CheckpointError(f"{where} has a tokenizer {model!r:.80}, and retrograde knows {', '.join(_MODELS)}")
    tokens = facts.texts("tokens")
    if len(names := set(filter(None, tokens))) + tokens.count("") != len(tokens):
        twice = next(name for name in names if tokens.count(name) > 1)
        raise CheckpointError(f"{where} has the token {twice!r:.80} more than once in its vocabulary")
    kinds = _numbers(facts, "token_type", "iu", len(tokens), "kinds")
    library, adds_start = _MODELS[model](facts, tokens, kinds)
    start = facts.integer("bos_token_id", None)
    if adds_start is None:  # the library does
        return Tokenizer(library, start, ends)
    return Tokenizer(library, start, ends, facts.flag("add_bos_token", adds_start))


def _numbers(facts, name, dtypes, count, what):
    """The array of so many numbers, one for each token, of one of the kinds of dtypes."""
    if not facts.has(name):
        raise CheckpointError(f"{facts.where} lacks tokenizer.ggml.{name}")
    found = np.asarray(facts.written[facts.before + name])
    if found.ndim != 1 or (len(found) and found.dtype.kind not in dtypes) or np.isnan(found).any():
        raise CheckpointError(f"{facts.where} has tokenizer.ggml.{name} that is no list of {what}")
    if len(found) != count:
        raise CheckpointError(f"the vocabulary of {facts.where} has {count} tokens and {len(found)} {what}")
    return found


def _pieces(facts, tokens, kinds):
    scores = _numbers(facts, "scores", "f", len(tokens), "scores")
    unknown = facts.integer("unknown_token_id", None, greatest=len(tokens) - 1)
    return Pieces(list(tokens), scores, kinds, facts.flag("add_space_prefix", True), unknown), True


def _byte_pairs(facts, tokens, kinds):
    """The library's tokenizer of pairs of bytes."""
    tokenizers = optional("tokenizers", "models")
    split = facts.text("pre", "default")
    if split not in _SPLITS:
        raise CheckpointError(f"{facts.where} splits texts as {split!r:.80}, and retrograde knows {', '.join(_SPLITS)}")
    merges = [tuple(merge.split(" ", 1)) for merge in facts.texts("merges", ())]
    try:
        numbers = {token: number for number, token in enumerate(tokens)}
        model = tokenizers.models.BPE(numbers, merges, ignore_merges=_SPLITS[split] == 3)
    except Exception as error:  # noqa: BLE001 - the library raises no other class
        raise CheckpointError(f"the tokenizer of {facts.where} makes no sense: {error}") from None
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


def _words(facts, tokens, kinds):
    """The library's tokenizer of words and parts of words, WordPiece, which BERT has."""
    tokenizers = optional("tokenizers", "models")
    names = [token if kind in (_CONTROL, _UNKNOWN) else token.removeprefix(SPACE) if token.startswith(SPACE) else f"##{token}"
             for token, kind in zip(tokens, kinds, strict=True)]  # as BERT's own files write them
    numbers = {name: number for number, name in enumerate(names)}
    unknown, start, end = [_named(facts, names, numbers, *keys) for keys in (
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


def _named(facts, names, numbers, usual, *keys):
    """How a special token is written: the one that the file names by one of `keys`, or the `usual` one."""
    found = [number for key in keys if (number := facts.integer(f"{key}_token_id", None)) is not None]
    if found and found[0] < len(names):
        return names[found[0]]
    if not found and usual in numbers:
        return usual
    raise CheckpointError(f"{facts.where} has a tokenizer of words without a token {usual}, which each text needs")


_MODELS = {"llama": _pieces, "gpt2": _byte_pairs, "bert": _words}

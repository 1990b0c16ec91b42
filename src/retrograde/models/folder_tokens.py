"""The tokenizer of a folder of Hugging Face's: `tokenizer.json`, and what the files beside it say of special tokens."""

from ..errors import CheckpointError
from ..extras import optional
from .files import json_if_there
from .tokens import Tokenizer, library_of_file

#: What templates call special tokens, and the files beside a tokenizer too.
_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
#: How a token is looked for in a text.
_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def tokenizer_of_folder(folder, start, ends):
    """The tokenizer in a folder, for a model whose texts begin with the token `start` and end with one of `ends`."""
    library, settings = library_of_file(folder / "tokenizer.json"), json_if_there(folder / "tokenizer_config.json")
    if "added_tokens_decoder" in settings:
        _add(folder, library, settings["added_tokens_decoder"])
    else:  # older files have their special tokens in a file of its own
        settings |= json_if_there(folder / "special_tokens_map.json")
    names = {name: _written(folder, name, settings[name]) for name in _NAMES if name in settings}
    return Tokenizer(library, start, ends, names=names)


def _add(folder, library, added):
    """Let the library know the tokens, by their numbers, that a file has added to those of `tokenizer.json`."""
    tokenizers, path = optional("tokenizers", "models"), folder / "tokenizer_config.json"
    try:
        tokens = sorted([(int(number), facts["content"], facts) for number, facts in added.items()], key=lambda token: token[0])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} has added_tokens_decoder that holds no tokens: {error}") from None
    for number, name, facts in tokens:
        if not isinstance(name, str):
            raise CheckpointError(f"{path} has a token that is no text: {name!r:.80}")
        if library.token_to_id(name) is None:
            library.add_tokens([tokenizers.AddedToken(name, **{flag: bool(facts.get(flag)) for flag in _FLAGS})])
        if (found := library.token_to_id(name)) != number:
            raise CheckpointError(f"{path} has the token {name!r:.80} as number {number}, and tokenizer.json as {found}")


def _written(folder, name, token):
    """How a special token is written; an empty text where there is none."""
    found = token.get("content") if isinstance(token, dict) else token
    if found is not None and not isinstance(found, str):
        raise CheckpointError(f"the tokenizer of {folder} has a {name} that is no text: {found!r:.80}")
    return found or ""

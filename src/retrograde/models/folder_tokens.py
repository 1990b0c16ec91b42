"""The tokenizer of a folder of Hugging Face's: `tokenizer.json`, and what the files beside it say of special tokens."""

from ..errors import CheckpointError
from .files import json_if_there
from .tokens import Tokenizer, library_of_file

#: What templates call special tokens, and the files beside a tokenizer too.
_NAMES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")


def tokenizer_of_folder(folder, start, ends):
    """The tokenizer in a folder, for a model whose texts begin with the token `start` and end with one of `ends`."""
    library, settings = library_of_file(folder / "tokenizer.json"), json_if_there(folder / "tokenizer_config.json")
    if "added_tokens_decoder" not in settings:  # older files have their special tokens in a file of its own
        settings |= json_if_there(folder / "special_tokens_map.json")
    names = {name: _written(folder, name, settings[name]) for name in _NAMES if name in settings}
    return Tokenizer(library, start, ends, names=names)


def _written(folder, name, token):
    """How a special token is written; an empty text where there is none."""
    found = token.get("content") if isinstance(token, dict) else token
    if found is not None and not isinstance(found, str):
        raise CheckpointError(f"the tokenizer of {folder} has a {name} that is no text: {found!r:.80}")
    return found or ""

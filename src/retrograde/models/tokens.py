"""Tokenizers: texts as the numbers that a model reads, from `tokenizer.json`, and texts that grow by tokens."""

from functools import cached_property
from operator import index

from ..errors import ArgumentError, CheckpointError
from ..extras import optional
from ..io.bounded import opened
from .pieces import Pieces

#: What is asked of a tokenizer of the library's.
_NEEDED = ("encode", "decode", "token_to_id", "id_to_token")


class Tokenizer:
    """Tokens of texts and texts of tokens. `start` and `ends` are the tokens before and after a text, where a model has such.

    `names` says how templates of messages write special tokens: `bos_token` and others, those of `start` and `ends` unless given.
    """

    def __init__(self, library, start=None, ends=(), adds_start=None, names=None):
        self.library, self.start, self.ends, self.adds_start = library, start, tuple(ends), adds_start
        if not isinstance(library, Pieces) and not all([hasattr(library, name) for name in _NEEDED]):
            raise ArgumentError(f"a Tokenizer is made of a Tokenizer of the library tokenizers, or of Pieces, got {library!r:.80}")
        known = {"bos_token": self.name_of(start), "eos_token": self.name_of(next(iter(self.ends), None))}
        self.names = {**known, **(names or {})}

    def encode(self, text, is_start=True, has_names=True):
        """The tokens of a text; with `is_start` also those that the model wants to see before it.

        With `has_names` the names of special tokens in it stand for these, and else they are text as all others.
        """
        try:
            found = self._found(text, is_start, has_names)
        except (TypeError, UnicodeEncodeError):
            raise ArgumentError(f"a text is a string without surrogates by themselves, got {text!r:.80}") from None
        return [self.start, *found] if is_start and self.adds_start and self.start is not None else found

    def _found(self, text, is_start, has_names):
        if isinstance(self.library, Pieces):
            return self.library.encode(text, has_names)
        library = self.library if has_names else self._plain
        return library.encode(text, add_special_tokens=is_start and self.adds_start is None).ids

    @cached_property
    def _plain(self):
        """The library's tokenizer once more, for which names of special tokens are text: that is a setting of the whole."""
        plain = type(self.library).from_str(self.library.to_str())
        plain.encode_special_tokens = True
        return plain

    def decode(self, tokens):
        """The text of tokens, without those that only control the model.

        Raises an ArgumentError if they are no integers of at least 0.
        """
        try:
            numbers = [index(token) for token in tokens]
        except TypeError:
            numbers = [-1]
        if numbers and min(numbers) < 0:
            raise ArgumentError(f"tokens are integers of at least 0 in a list, got {tokens!r:.80}")
        return self.library.decode(numbers)

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
        if isinstance(self.library, Pieces):  # the table of a model may be longer than the vocabulary
            return self.library.tokens[token] if 0 <= token < len(self.library.tokens) else ""
        return self.library.id_to_token(token) or ""


def library_of_file(path):
    """The library's tokenizer in a `tokenizer.json`, which neither fills texts up nor cuts them off."""
    tokenizers = optional("tokenizers", "models")
    with opened(path) as (file, _):
        content = file.read()
    try:
        library = tokenizers.Tokenizer.from_buffer(content)
    except Exception as error:  # noqa: BLE001 - the library raises no other class
        raise CheckpointError(f"{path} is no tokenizer that the library tokenizers reads: {error}") from None
    # Files keep how their texts were last made equally long for a batch, as those of sentence-transformers do.
    library.no_padding()
    library.no_truncation()
    return library


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

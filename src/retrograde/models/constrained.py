"""Texts by a schema: at each step the tokens are known with which a text can still become JSON that fits."""

import json

import numpy as np

from ..errors import ArgumentError, ModelError, UnsupportedError
from ..extras import optional
from .pieces import Pieces

#: What stands before the bytes of a token that is no part of a text.
_SPECIAL = b"\xff"


class Grammars:
    """What makes a `Constraint` of a schema, for the tokens of one tokenizer and logits of `size` tokens."""

    def __init__(self, tokenizer, size):
        self.library, self.size = optional("llguidance", "models"), size
        self.tokens = self._tokens_of(tokenizer)

    def of(self, schema):
        """A Constraint for a schema of JSON: a dictionary, or its text. An ArgumentError if it is none, or not supported."""
        matcher, written = self.library.LLMatcher, _written(schema)
        try:
            # Small models would fill a text with the white space that JSON allows between its parts.
            grammar = matcher.grammar_from_json_schema(written, overrides={"whitespace_flexible": False})
        except ValueError as error:
            raise ArgumentError(f"a schema is an object of JSON Schema, got {schema!r:.200}: {error}") from None
        return self._constraint(grammar, "schema")

    def of_grammar(self, text):
        """A Constraint for a grammar in GBNF, llama.cpp's form, or in Lark, llguidance's."""
        if not isinstance(text, str):
            raise ArgumentError(f"a grammar is a text, got {text!r:.80}")
        translated = optional("llguidance.gbnf_to_lark", "models")
        try:
            lark = translated.any_to_lark(text)
        except Exception as error:  # noqa: BLE001 - of a rule that is not there the library raises no other class
            raise ArgumentError(f"this is no grammar in GBNF, nor in Lark: {error}") from None
        return self._constraint(self.library.LLMatcher.grammar_from_lark(lark), "grammar")

    def _constraint(self, grammar, what):
        matcher = self.library.LLMatcher
        if fault := matcher.validate_grammar(grammar, self.tokens):
            raise ArgumentError(f"no text can be written by this {what}: {fault:.300}")
        return Constraint(matcher(self.tokens, grammar, log_level=0), self.size)

    def _tokens_of(self, tokenizer):
        """The library's own view of the tokens."""
        if isinstance(tokenizer.library, Pieces):
            return self.library.LLTokenizer(self.library.TokenizerWrapper(_Vocabulary(tokenizer)))
        end = list(tokenizer.ends) or None
        try:
            return self.library.LLTokenizer(tokenizer.library.to_str(), n_vocab=self.size, eos_token=end)
        except ValueError as error:
            raise UnsupportedError(f"texts by a schema need a tokenizer of bytes or pieces: {error}") from None


class Constraint:
    """What one text may go on with. It is advanced by each of its tokens; `copy` starts another text."""

    def __init__(self, matcher, size):
        self._matcher, self._size = matcher, size

    def copy(self):
        """The same for another text that is as far."""
        return Constraint(self._matcher.deep_copy(), self._size)

    def kept(self, logits):
        """The logits with minus infinity where a token would make the text unfit."""
        found = np.frombuffer(self._matcher.compute_logit_bias(), np.uint8)[: self._size]
        allowed = np.zeros(self._size, bool)
        allowed[: len(found)] = found != 0
        if not allowed.any():
            raise ModelError(f"no token of the model goes on with this schema: {self._matcher.get_error():.300}")
        return np.where(allowed, logits, -np.inf)

    def take(self, token):
        """Go on by a token; whether the text is whole, so that nothing may follow."""
        if not self._matcher.consume_token(token):
            raise ModelError(f"the schema refuses token {token}: {self._matcher.get_error():.300}")
        return self._matcher.is_stopped()

    @property
    def is_whole(self):
        """Whether the text fits the schema as it is."""
        return self._matcher.is_accepting()


class _Vocabulary:
    """The bytes of the tokens of `Pieces`, as the library asks for them."""

    def __init__(self, tokenizer):
        pieces = tokenizer.library
        self.special_token_ids = sorted({*pieces.control, *tokenizer.ends})
        self.tokens = [_SPECIAL + name.encode() if i in {*self.special_token_ids} else pieces.bytes_of(i)
                       for i, name in enumerate(pieces.tokens)]
        if not tokenizer.ends:  # the library wants one; nobody can choose it
            self.special_token_ids.append(len(self.tokens))
            self.tokens.append(_SPECIAL + b"<end>")
        self.eos_token_id, self.bos_token_id = next(iter(tokenizer.ends), len(self.tokens) - 1), tokenizer.start
        self._encode = pieces.encode_part

    def __call__(self, text):
        """The tokens of a part of a text, or of its bytes: of what must come next no other tokens are allowed than these."""
        return self._encode(text.decode(errors="replace") if isinstance(text, bytes) else text)


def _written(schema):
    """A schema as a text of JSON, for which it must have a form."""
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        raise ArgumentError(f"a schema is a dictionary, or its text in JSON, got {schema!r:.80}")
    try:
        return json.dumps(schema)
    except (TypeError, ValueError, RecursionError) as error:
        raise ArgumentError(f"a schema is a dictionary that can be written as JSON: {error}") from None

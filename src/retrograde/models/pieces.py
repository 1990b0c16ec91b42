"""Pieces: the tokeniser of SentencePiece, as GGUF files of Llama 2, TinyLlama, Mistral and Gemma have it.

Of all neighbours whose union is a token those are joined first whose union has the greatest score; what is left and is no token is
written as bytes.
"""

import heapq
import re

import numpy as np

from ..errors import CheckpointError

SPACE = "\u2581"
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
#: Kinds of tokens in GGUF files.
_CONTROL, _USER_DEFINED, _BYTES = 3, 4, 6


class Pieces:
    """Tokens of texts and texts of tokens by a vocabulary with a score for each token.

    `kinds` are those of GGUF. Unless `adds_space` is False, a space is put before a text, and after each special token in
    it, as llama.cpp does.
    """

    def __init__(self, tokens, scores, kinds, adds_space=True, unknown=None):
        self.tokens, self.scores, self.adds_space, self.unknown = tokens, np.asarray(scores).tolist(), adds_space, unknown
        self.numbers = {token: number for number, token in enumerate(tokens)}
        kinds = np.asarray(kinds)
        if not len(tokens) == len(self.scores) == len(kinds):
            raise CheckpointError(f"a vocabulary has {len(tokens)} tokens, {len(self.scores)} scores and {len(kinds)} kinds")
        self.control = {int(number) for number in np.flatnonzero(kinds == _CONTROL)}
        parts = [tokens[i] for i in np.flatnonzero(kinds == _USER_DEFINED)]
        self._parts, self._marks = _any_of(parts), _any_of([*parts, *[tokens[i] for i in sorted(self.control)]])
        self._bytes = {number: int(match[1], 16) for number in np.flatnonzero(kinds == _BYTES).tolist()
                       if (match := _BYTE.fullmatch(tokens[number]))}
        self._of_bytes = {byte: number for number, byte in self._bytes.items()}

    def encode(self, text, has_names=True):
        """The tokens of a text, in which names of special tokens stand for these if it `has_names`."""
        found, place, marks = [], 0, self._marks if has_names else self._parts
        for match in marks.finditer(text) if marks else ():
            found += self._plain(text[place : match.start()])
            found.append(self.numbers[match[0]])
            place = match.end()
        return found + self._plain(text[place:])

    def encode_part(self, text):
        """The tokens of what stands in the midst of a text: no space is put before it, and no name in it is read."""
        return [token for piece in self._joined(text.replace(" ", SPACE)) for token in self._tokens_of(piece)]

    def decode(self, tokens):
        """The text of tokens, without those that only control the model, or fill up its tables."""
        parts = [self.bytes_of(token) for token in tokens if token not in self.control and token < len(self.tokens)]
        return b"".join(parts).decode(errors="replace")

    def bytes_of(self, token):
        """What a token is in a text."""
        return bytes([self._bytes[token]]) if token in self._bytes else self.tokens[token].replace(SPACE, " ").encode()

    def _plain(self, text):
        """The tokens of a text without special ones."""
        if not text:
            return []
        return self.encode_part((" " if self.adds_space else "") + text)

    def _joined(self, text):
        """The text in pieces, joined as far as that goes."""
        pieces = list(text)
        before, after = list(range(-1, len(pieces) - 1)), [*range(1, len(pieces)), -1]
        queue = []

        def offer(left):
            right = after[left] if left >= 0 else -1
            if right >= 0 and (number := self.numbers.get(pieces[left] + pieces[right])) is not None:
                # Of equal scores the left one comes first. Its length says whether a piece is still the same.
                heapq.heappush(queue, (-self.scores[number], left, right, len(pieces[left]) + len(pieces[right])))

        for left in range(len(pieces)):
            offer(left)
        while queue:
            _, left, right, length = heapq.heappop(queue)
            is_there = after[left] == right and pieces[left] is not None and pieces[right] is not None
            if not is_there or len(pieces[left]) + len(pieces[right]) != length:
                continue
            pieces[left], pieces[right] = pieces[left] + pieces[right], None
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            offer(before[left])
            offer(left)
        return [piece for piece in pieces if piece is not None]

    def _tokens_of(self, piece):
        if (number := self.numbers.get(piece)) is not None:
            return [number]
        found = [self._of_bytes.get(byte, self.unknown) for byte in piece.encode()]
        return [token for token in found if token is not None]


def _any_of(names):
    """What finds names in a text; None where there are none."""
    # Longest first: of several tokens that begin at one place the longest is meant.
    ordered = sorted(filter(None, names), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered))) if ordered else None

"""Scheduler: one thread writes the texts of all requests together, which join and leave between two tokens."""

import threading
from collections import deque
from typing import NamedTuple

from ..errors import ModelError
from ..models.writing import Batch, Text
from ..ops.networks.quantized import FEW_ROWS


class Part(NamedTuple):
    """What is new of a text: its `tokens` with their log-probabilities, and `text` as far as it is settled.

    The last part of a text has a `reason`: "stop", "length", or "error", and then an `error`.
    """

    text: str
    tokens: tuple
    logprobs: tuple
    alternatives: tuple
    reason: str | None = None
    error: Exception | None = None


class FullError(ModelError):
    """More requests wait than the server keeps."""


class Scheduler:
    """Writes texts of a model until it is closed; at most `longest` of them wait for a row while none is free.

    `deliver(part)` of a text is called in the scheduler's own thread. It must not raise.
    """

    def __init__(self, model, longest=128):
        self.model, self.longest = model, longest
        self._changed, self._waiting, self._left, self._is_closed = threading.Condition(), deque(), set(), False
        self._batch, self._taken = Batch(model.reader, FEW_ROWS), 0  # rows of texts that are written, or begun
        self._thread = threading.Thread(target=self._run, name="retrograde serve", daemon=True)
        self._thread.start()

    @property
    def counts(self):
        """How many texts are (written now, waiting)."""
        with self._changed:
            return len(self._batch.active), len(self._waiting)

    def submit(self, wishes, delivers):
        """Have texts written, all of them or none; gives one for each wish, to cancel it by. A FullError if too many wait."""
        texts = [Text(_Owner(deliver), wish, self.model.tokenizer) for wish, deliver in zip(wishes, delivers, strict=True)]
        with self._changed:
            if self._is_closed:
                raise FullError("the server is closed")
            if len(self._waiting) + len(texts) > self._batch.rows - self._taken + self.longest:
                raise FullError(f"{self._taken} texts are written and {len(self._waiting)} wait already, which leaves too few of "
                                f"{self.longest} places to wait for {len(texts)} more; try again later")
            self._waiting.extend(texts)
            self._changed.notify()
        return texts

    def cancel(self, texts):
        """Nobody waits for these texts any more; those that are over already are left alone."""
        with self._changed:
            self._left.update([text for text in texts if text.reason is None])
            self._changed.notify()

    def close(self):
        """Stop writing; who still waits is told an error."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self):
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._waiting or self._batch.active)
                self._drop()
                if self._is_closed:
                    return self._tell(self._batch.end_all(ModelError("the server was closed"), self._waiting))
                joining = self._waiting.popleft() if self._waiting and self._batch.has_room else None
                self._taken = len(self._batch.active) + (joining is not None)
            self._advance(joining)

    def _drop(self):
        """Let go of what was cancelled."""
        for text in self._left:
            if text in self._batch.active:
                self._batch.leave(text)
            elif text in self._waiting:
                self._waiting.remove(text)
        self._left.clear()

    def _advance(self, joining):
        """Read the prompt of one more text, or let all take a token."""
        if joining is not None or self._batch.active:
            found = self._batch.proceed(joining)
            with self._changed:
                # Before anybody is told that a text is over: who then asks for the next one finds its row free.
                self._taken = len(self._batch.active)
            self._tell(found)

    @staticmethod
    def _tell(found):
        for text, piece in found:
            text.owner.tell(text, piece)


class _Owner:
    """Who waits for a text, and how many of its tokens were told."""

    def __init__(self, deliver):
        self.deliver, self.told = deliver, 0

    def tell(self, text, piece):
        """Deliver what is new of a text."""
        new = slice(self.told, len(text.tokens))
        self.told = len(text.tokens)
        self.deliver(Part(piece, tuple(text.tokens[new]), tuple(text.logprobs[new]), tuple(text.alternatives[new]), text.reason,
                          text.error))

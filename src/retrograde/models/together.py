"""Texts of several threads, written together: whoever waits for one takes the next step for all."""

import threading
from collections import deque
from contextvars import Context
from functools import cached_property

from ..errors import ModelError
from ..ops.networks.quantized import FEW_ROWS
from .writing import Batch, Text


class Together:
    """Writes texts of a model, eight at once, by no thread of its own: nothing is left running when nobody waits.

    Whatever reads the model runs in a context of its own: modes of who happens to take a step, such as an autocast, are not those
    of the others.
    """

    def __init__(self, model):
        self.model = model
        self._changed, self._waiting, self._left, self._is_busy = threading.Condition(), deque(), deque(), False

    @cached_property
    def _batch(self):
        return Batch(self.model.reader, FEW_ROWS)

    def write(self, wish):
        """The whole of one text, as `Written`."""
        text = self._begun(wish)
        for _ in self._pieces(text):
            pass
        return text.written

    def stream(self, wish):
        """Yield one text, piece by piece. It is no longer written when the caller stops asking."""
        yield from self._pieces(self._begun(wish))

    def alone(self, function, *args):
        """What a function gives that reads the model for something else, while nothing is written."""
        self._take()
        try:
            return Context().run(function, *args)
        finally:
            self._give_back()

    def _begun(self, wish):
        text = Text(deque(), wish, self.model.tokenizer)
        with self._changed:
            self._waiting.append(text)
        return text

    def _pieces(self, text):
        try:
            while text.owner or text.reason is None:
                if text.owner:
                    yield text.owner.popleft()
                elif self._take(text):
                    try:
                        self._proceed()
                    finally:
                        self._give_back()
        finally:
            if text.reason is None:
                # The collector may end a generator in the midst of a step: who takes the next one lets the text go.
                self._left.append(text)
        if text.error is not None:
            raise text.error

    def _take(self, text=None):
        """Wait for the model; whether it is this caller's now. It need not be if `text` has grown meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_busy or (text is not None and (text.owner or text.reason is not None)))
            if text is not None and (text.owner or text.reason is not None):
                return False
            self._is_busy = True
            return True

    def _give_back(self):
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()

    def _proceed(self):
        """Let go of texts that nobody waits for; then read the prompt of one more, or let all take a token."""
        while self._left:
            self._drop(self._left.popleft())
        with self._changed:
            joining = self._waiting.popleft() if self._waiting and self._batch.has_room else None
        try:
            found = Context().run(self._batch.proceed, joining)
        except BaseException:  # an interrupt: nobody knows how far the step came
            self._batch.end_all(ModelError("writing was interrupted; ask again"), [] if joining is None else [joining])
            raise
        for text, piece in found:
            if piece:
                text.owner.append(piece)

    def _drop(self, text):
        if text in self._waiting:
            self._waiting.remove(text)
        elif text in self._batch.active:
            self._batch.leave(text)

"""A language model in this process: how a request is put to an engine, and an answer taken from it."""

import time
from dataclasses import replace
from typing import Any

from .base import LanguageModel
from .rendering import SEPARATOR, gap, parts_of, plain
from .request import Completion, Message, Price


class InProcess(LanguageModel):
    """A model that an `Engine` runs. A subclass has the `engine`, and knows whether it `has_chat`.

    The answer to a request is the same every time: greedy unless the request has a temperature, and then drawn by its `seed` (0
    where it has none) and `sample`. Without a template messages are joined by blank lines, and the answer ends at the next one
    unless the request has `stop`.
    """

    max_tokens = 128
    keeps_prefixes = tells_logprobs = True
    price = Price(0.0, 0.0)

    #: The weights, loaded: an `Engine`.
    engine: Any
    #: Whether a template lays out messages.
    has_chat: Any

    @property
    def follows_instructions(self):
        return self.has_chat

    def complete(self, request):
        start, engine = time.perf_counter(), self.engine
        if request.labels:
            return self._choose(request, start)
        text, options = self._prompt(request), self._options(request)
        prompt = self._tokens(text)
        answer, reason, count = engine.complete(prompt, **options)
        if not answer.strip() and SEPARATOR in options["stop"]:
            # The blank line that ends an answer came before it.
            answer, reason, more = engine.complete(self._tokens(text + SEPARATOR), **options)
            count += more
        return Completion(self._tidy(answer), len(prompt), count, time.perf_counter() - start, finish_reason=reason)

    def stream(self, request):
        if request.labels:
            yield self.complete(request).text
            return
        engine, text, options = self.engine, self._prompt(request), self._options(request)
        is_empty = yield from self._pieces(engine.stream(self._tokens(text), **options))
        if is_empty and SEPARATOR in options["stop"]:
            yield from self._pieces(engine.stream(self._tokens(text + SEPARATOR), **options))

    def count_tokens(self, text):
        """How many tokens `text` has."""
        return self.engine.count_tokens(text)

    def scored(self, request):
        """(tokens of a prompt, those of the prompt with each of the labels of the request)."""
        text = self._prompt(request)
        space = "" if self.has_chat else gap(text)
        return self._tokens(text), [self._tokens(text + space + label.lstrip(" ") if space else text + label)
                                    for label in request.labels]

    def label_gradient(self, requests, gradient, learned):
        if not self.has_gradients:
            return super().label_gradient(requests, gradient, learned)
        return self.engine.label_gradient([self.scored(request) for request in requests], gradient, learned)

    def attribution(self, request, gradient):
        if not self.has_gradients:
            return super().attribution(request, gradient)
        parts = parts_of(lambda contents: self._prompt(_with_contents(request, contents)), [m.content for m in request.messages])
        return self.engine.attribution(*self.scored(request), gradient, parts)

    def _choose(self, request, start):
        prompt, wholes = self.scored(request)
        logprobs = tuple(self.engine.scores(prompt, wholes))
        best = max(range(len(logprobs)), key=logprobs.__getitem__)
        written = max(len(whole) for whole in wholes) - len(prompt)
        return Completion(request.labels[best], len(prompt), max(written, 1), time.perf_counter() - start, logprobs=logprobs)

    def _prompt(self, request):
        return self.engine.chat_prompt(request.messages) if self.has_chat else plain(request.messages)

    def _tokens(self, text):
        return self.engine.tokens(text, self.has_chat)

    def _pieces(self, pieces):
        """Yield what is new of an answer, tidy; gives back whether that was nothing but white space."""
        is_empty, has_begun = True, False
        for piece in pieces:
            new = piece if has_begun else self._tidy(piece)
            has_begun |= bool(new)
            is_empty &= not new.strip()
            if new:
                yield new
        return is_empty

    def _tidy(self, answer):
        """The answer without the space that parts it from the prompt."""
        return answer if self.has_chat else answer.lstrip(" ")

    def _options(self, request):
        is_free = not (request.stop or self.has_chat or request.grammar or request.json_schema)
        return {"max_tokens": request.max_tokens or self.max_tokens, "temperature": request.temperature or 0.0,
                "top_p": 1.0 if request.top_p is None else request.top_p, "seed": (request.seed or 0) + request.sample,
                "stop": [SEPARATOR] if is_free else list(request.stop), "grammar": request.grammar,
                "json_schema": request.json_schema}


def _with_contents(request, contents):
    """A request whose messages have other contents."""
    return replace(request, messages=tuple([Message(m.role, text) for m, text in zip(request.messages, contents, strict=True)]))

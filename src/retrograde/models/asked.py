"""A model of this package as one that text variables, optimizers and judges can ask."""

import time

from ..errors import UnsupportedError
from ..text.models.base import LanguageModel
from ..text.models.rendering import SEPARATOR, gap, plain
from ..text.models.request import Completion, Price


class TextModel(LanguageModel):
    """A `Model` as a language model of `retrograde.text`: `rg.text.tune`, `chat` and `logprobs` take it as they take others.

    The same request has the same answer: greedy unless it has a temperature, and then drawn by its `seed` and `sample`. Messages
    are laid out by the model's template; without one they are joined by blank lines, and the answer ends at the next one.
    """

    max_tokens = 128
    max_concurrency = 1
    tells_logprobs = True
    price = Price(0.0, 0.0)

    def __init__(self, model, name="model"):
        self.model, self.name = model, f"retrograde {name}"

    @property
    def follows_instructions(self):
        return self.model.template is not None

    def complete(self, request):
        start, prompt = time.perf_counter(), self._tokens(request)
        if request.labels:
            return self._choose(request, prompt, start)
        (written,) = self.model.complete([prompt], **self._options(request))
        return Completion(self._tidy(written.text), len(prompt), len(written.tokens), time.perf_counter() - start,
                          finish_reason=written.finish_reason)

    def stream(self, request):
        if request.labels:
            yield self.complete(request).text
            return
        is_first = True
        for piece in self.model.generate(self._tokens(request), stream=True, **self._options(request)):
            piece = self._tidy(piece) if is_first else piece
            is_first = is_first and not piece
            if piece:
                yield piece

    def count_tokens(self, text):
        """How many tokens `text` has."""
        return len(self.model.tokenizer.encode(text, is_start=False))

    def _choose(self, request, prompt, start):
        if self.follows_instructions:
            wholes = [prompt + self.model.tokenizer.encode(label, is_start=False) for label in request.labels]
        else:
            text = plain(request.messages)
            wholes = [self.model.tokenizer.encode(text + gap(text) + label.lstrip(" ")) for label in request.labels]
        logprobs = tuple(self.model.scores(prompt, wholes))
        best = max(range(len(logprobs)), key=logprobs.__getitem__)
        written = max(max(map(len, wholes)) - len(prompt), 1)
        return Completion(request.labels[best], len(prompt), written, time.perf_counter() - start, logprobs=logprobs)

    def _tokens(self, request):
        if self.follows_instructions:
            return self.model.chat_tokens([{"role": message.role, "content": message.content} for message in request.messages])
        return self.model.tokenizer.encode(plain(request.messages))

    def _tidy(self, answer):
        """The answer without the space that parts it from the prompt."""
        return answer if self.follows_instructions else answer.lstrip(" ")

    def _options(self, request):
        if request.grammar is not None or request.json_schema is not None:
            raise UnsupportedError(f"{self.name} writes by no grammar or schema; a LocalModel does")
        stop = tuple(request.stop) or (() if self.follows_instructions else (SEPARATOR,))
        return {"max_tokens": request.max_tokens or self.max_tokens, "temperature": request.temperature or 0.0, "top_k": 0,
                "min_p": 0.0, "top_p": 1.0 if request.top_p is None else request.top_p, "repetition_penalty": 1.0, "stop": stop,
                "seed": ((request.seed or 0) + request.sample) % 2**64}

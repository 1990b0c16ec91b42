"""A model of this package as one that text variables, optimizers and judges can ask."""

import time
from hashlib import sha256

import numpy as np

from ..core.mode import enable_grad
from ..errors import UnsupportedError
from ..ops.manipulation.joins import concatenate
from ..ops.manipulation.movements import reshape
from ..tensor.tensor import Tensor
from ..text.models.base import LanguageModel
from ..text.models.labels import beginning
from ..text.models.rendering import SEPARATOR, gap, plain
from ..text.models.request import Completion, Price
from .attribution import frozen, label_logprobs, vectors_of


class TextModel(LanguageModel):
    """A `Model` as a language model of `retrograde.text`: `rg.text.tune`, `chat` and `logprobs` take it as they take others.

    The same request has the same answer: greedy unless it has a temperature, and then drawn by its `seed` and `sample`. Messages
    are laid out by the model's template; without one they are joined by blank lines, and the answer ends at the next one. A
    `soft_prompt` stands before them, and has its gradient from losses of `rg.text.logprobs`.
    """

    max_tokens = 128
    max_concurrency = 1
    tells_logprobs = True
    price = Price(0.0, 0.0)

    def __init__(self, model, name="model", soft_prompt=None):
        self.model, self.name, self.soft_prompt = model, f"retrograde {name}", soft_prompt

    @property
    def identity(self):
        if self.learned is None:
            return self.name
        # Answers that were kept are of the vectors of their time.
        return f"{self.name} {sha256(np.ascontiguousarray(self.learned.detach())).hexdigest()[:16]}"

    @property
    def learned(self):
        return None if self.soft_prompt is None else self.soft_prompt.vectors

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

    def label_gradient(self, requests, gradient, learned):
        """The gradient in the vectors of the soft prompt, through the network, which is read anew, as one batch."""
        network, rows = self.model.network, []
        vectors = Tensor(np.array(learned.detach())).requires_grad_(True)
        with frozen(network), enable_grad():
            for request in requests:
                prompt = self._tokens(request)
                wholes = self._wholes(request, prompt)
                # As `score` does: from the first token on that a label changes.
                shared = beginning([prompt, *wholes])
                before = concatenate([vectors, Tensor(vectors_of(network, shared))], 0) if shared else vectors
                rows += [(before, whole[len(shared) :]) for whole in wholes]
            logprobs = reshape(label_logprobs(network, rows), gradient.shape)
            (logprobs * gradient.astype(np.float32)).sum().backward()
        return vectors.grad

    def _wholes(self, request, prompt):
        """The tokens of a prompt with each label."""
        encode = self.model.tokenizer.encode
        if self.follows_instructions:
            return [prompt + encode(label, is_start=False) for label in request.labels]
        text = plain(request.messages)
        return [encode(text + gap(text) + label.lstrip(" ")) for label in request.labels]

    def _choose(self, request, prompt, start):
        wholes = self._wholes(request, prompt)
        logprobs = tuple(self.model.scores(prompt, wholes, self.soft_prompt))
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
        if request.grammar is not None:
            raise UnsupportedError(f"{self.name} writes by no grammar but a json_schema; a LocalModel does")
        is_free = not self.follows_instructions and request.json_schema is None
        stop = tuple(request.stop) or ((SEPARATOR,) if is_free else ())
        return {"schema": request.json_schema, "soft_prompt": self.soft_prompt,
                "max_tokens": request.max_tokens or self.max_tokens,
                "temperature": request.temperature or 0.0, "top_k": 0, "min_p": 0.0,
                "top_p": 1.0 if request.top_p is None else request.top_p, "repetition_penalty": 1.0, "stop": stop,
                "seed": ((request.seed or 0) + request.sample) % 2**64}

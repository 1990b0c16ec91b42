"""A language model in this process, offline."""

import functools
import hashlib
import json
import mmap
import os
import threading
import time
from pathlib import Path
from weakref import WeakValueDictionary

from ...errors import ArgumentError
from .base import LanguageModel
from .engine import Engine
from .labels import score
from .rendering import SEPARATOR, gap, plain
from .request import Completion, Price
from .weights import default_weights

_LOAD = Path("/proc/loadavg")
_ENGINES, _LOCK = WeakValueDictionary(), threading.Lock()


class LocalModel(LanguageModel):
    """The GGUF weights at `path`, run by llama.cpp in this process; without a path, those that the extra `local` installs.

    The weights are loaded by the first call. The answer to a request is the same every time: greedy unless the request has a
    temperature, and then drawn by its `seed` (0 where it has none) and `sample`. A prompt that begins like an earlier one is
    read from where they part, without any change in the answer. `threads` changes the speed alone; where it is not given, the
    processors are taken that are idle when the weights are loaded.

    Messages are laid out by the template in the file. A file without one holds a model that only continues text: then they
    are joined by blank lines, and the answer ends at the next one unless the request has `stop`. `is_chat` decides otherwise.
    """

    max_tokens = 128
    max_concurrency = 1
    keeps_prefixes = tells_logprobs = True
    price = Price(0.0, 0.0)

    def __init__(self, path=None, *, context=4096, threads=None, is_chat=None):
        if context < 16 or (threads is not None and threads < 1):
            raise ArgumentError(f"context must be at least 16 and threads at least 1, got {context} and {threads}")
        self.path, self.context, self.threads, self.is_chat = path and Path(path), context, threads, is_chat
        self._loaded = {}

    @functools.cached_property
    def weights(self):
        """The path of the weights."""
        return self.path or default_weights()

    @property
    def name(self):
        return f"local {Path(self.path).stem if self.path else 'default'}"

    @functools.cached_property
    def identity(self):
        return f"local 2 {self.weights.name} {_fingerprint(self.weights)} chat={self._has_template} {self.max_tokens}"

    @property
    def follows_instructions(self):
        return self._has_template

    def complete(self, request):
        start, engine = time.perf_counter(), self._engine
        text = self._prompt(request)
        prompt = self._tokens(text)
        if request.labels:
            return self._choose(request, text, prompt, start)
        answer, reason, count, _ = engine.complete(prompt, **self._options(request))
        if not answer.strip() and SEPARATOR in self._options(request)["stop"]:
            # The blank line that ends an answer came before it.
            answer, reason, more, _ = engine.complete(self._tokens(text + SEPARATOR), **self._options(request))
            count += more
        return Completion(self._tidy(answer), len(prompt), count, time.perf_counter() - start, finish_reason=reason)

    def stream(self, request):
        if request.labels:
            yield self.complete(request).text
            return
        is_first = True
        for piece in self._engine.stream(self._tokens(self._prompt(request)), **self._options(request)):
            piece = self._tidy(piece) if is_first else piece
            is_first = is_first and not piece
            if piece:
                yield piece

    def count_tokens(self, text):
        """How many tokens `text` has."""
        return len(self._engine.tokens_of(text, False, False))

    def close(self):
        self._loaded.pop(os.getpid(), None)

    def __getstate__(self):
        return {name: vars(self)[name] for name in ("path", "context", "threads", "is_chat")} | {"_loaded": {}}

    @property
    def _engine(self):
        """The engine of this process. That of another one, whose threads a fork has not taken along, is left where it is."""
        process = os.getpid()
        if process not in self._loaded:
            self._loaded[process] = _shared_engine(self.weights, self.context, self.threads, process)
        return self._loaded[process]

    @functools.cached_property
    def _has_template(self):
        return _has_template(self.weights) if self.is_chat is None else self.is_chat

    def _choose(self, request, text, prompt, start):
        space = "" if self._has_template else gap(text)
        wholes = [self._tokens(text + space + label.lstrip(" ") if space else text + label) for label in request.labels]
        logprobs = tuple(score(prompt, wholes, self._engine.next_logprobs))
        best = max(range(len(logprobs)), key=logprobs.__getitem__)
        written = max(len(whole) for whole in wholes) - len(prompt)
        return Completion(request.labels[best], len(prompt), max(written, 1), time.perf_counter() - start, logprobs=logprobs)

    def _prompt(self, request):
        return self._engine.chat_prompt(request.messages) if self._has_template else plain(request.messages)

    def _tokens(self, text):
        """The tokens of a prompt: its last line apart, which is the same in many prompts, and so are the labels after it."""
        cut = text.rfind("\n") + 1
        head, line = text[:cut], text[cut:]
        tokens_of, has_marks = self._engine.tokens_of, self._has_template
        if not head:
            return tokens_of(line, True, has_marks)
        # Some tokenisers begin a text with a space; after a line's end they do so no more.
        after = len(tokens_of("\n", False, False))
        return tokens_of(head, True, has_marks) + (tokens_of("\n" + line, False, has_marks)[after:] if line else ())

    def _tidy(self, answer):
        """The answer without the space that parts it from the prompt."""
        return answer if self._has_template else answer.lstrip(" ")

    def _options(self, request):
        temperature = request.temperature or 0.0
        options = {"max_tokens": request.max_tokens or self.max_tokens, "temperature": temperature, "top_k": 0, "min_p": 0.0,
                   "top_p": 1.0 if request.top_p is None else request.top_p, "seed": ((request.seed or 0) + request.sample) % 2**32,
                   "stop": list(request.stop)}
        if not (request.stop or self._has_template or request.grammar or request.json_schema):
            options["stop"] = [SEPARATOR]
        if request.grammar is not None:
            options["grammar"] = request.grammar
        if request.json_schema is not None:
            # Small models would fill the whole answer with the white space that JSON allows between its parts.
            schema = json.loads(request.json_schema)
            options["json_schema"] = schema | {"x-guidance": {"whitespace_flexible": False}}
        return options


def _shared_engine(*settings):
    """The engine for these settings, which models share; it goes with the last of them."""
    with _LOCK:
        engine = _ENGINES.get(settings)
        if engine is None:
            path, context, threads, _ = settings
            engine = _ENGINES[settings] = Engine(path, context, threads or _idle_cores())
        return engine


def _idle_cores():
    """How many processors this process may use that nobody else keeps busy just now, at least one.

    The threads of a model wait for each other hundreds of times a token, and lose far more on a busy processor than they gain.
    """
    every = os.cpu_count() or 1
    mine = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else every
    return max(1, mine - round(_busy() * mine / every))


def _busy():
    """How many other threads of the machine run now: the least of a few looks. 0 where the system does not tell."""
    counts = []
    for _ in range(5):
        try:
            counts.append(int(_LOAD.read_text().split()[3].partition("/")[0]) - 1)
        except (OSError, ValueError, IndexError):
            return 0
        time.sleep(0.01)
    return max(min(counts), 0)


def _has_template(path):
    """Whether a GGUF file has a chat template among its metadata, which come first."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b"tokenizer.chat_template", 0, 2**26) >= 0


def _fingerprint(path):
    """A short digest of a file of weights: of its size and of what it begins and ends with."""
    size, part = path.stat().st_size, 2**20
    with path.open("rb") as file:
        start = file.read(part)
        file.seek(max(size - part, 0))
        return hashlib.sha256(start + file.read() + str(size).encode()).hexdigest()[:16]

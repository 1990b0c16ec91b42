"""llama.cpp in this process: tokens in, text and log-probabilities out."""

import functools
import http.client
import json
import math
import mmap
import os
import queue
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...errors import ArgumentError, ModelError
from ...extras import optional
from .labels import score

_LOAD = Path("/proc/loadavg")
#: The room for a prompt and an answer where nothing else is said, in tokens.
_USUAL_CONTEXT = 4096
#: How many of the most likely tokens are asked for at once when labels are scored.
_TOP = 128
#: More than any vocabulary has.
_ALL = 2**24


class LlamaCpp:
    """The engine of llama.cpp: the weights at `path`, a GGUF file, loaded, for one call at a time.

    Keys and values are kept in float32 and attention is computed without tiling across keys, so that an answer does not
    depend, to the last bit, on which part of the prompt was read for an earlier call or on the number of threads. These are as
    many as processors are idle when the weights are loaded, unless `threads` says otherwise.
    """

    max_concurrency, has_gradients = 1, False

    def __init__(self, path, context=None, threads=None):
        _check_file(path)
        self._lock, self._key = threading.Lock(), secrets.token_hex(16)
        self._server = _library().Server(self._settings(path, context or _USUAL_CONTEXT, threads or _idle_cores()))
        self._ask = functools.partial(_ask, self._server.listening_address.partition("//")[2], self._key)
        #: The tokens of (text, whether it starts a prompt, whether names of special tokens in it are read as such).
        self.tokens_of = functools.lru_cache(maxsize=4096)(functools.partial(_tokens, self._ask))

    @classmethod
    def opened(cls, path, context, threads, activations):  # noqa: ARG003 - always of 8 bits
        """The engine with the weights at `path`."""
        return cls(path, context, threads)

    @classmethod
    def has_template(cls, path):
        """Whether a GGUF file has a chat template among its metadata, which come first."""
        _check_file(path)
        if not Path(path).stat().st_size:  # nothing that could be mapped; loading it will say what is wrong
            return False
        with Path(path).open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(b"tokenizer.chat_template", 0, 2**26) >= 0

    def tokens(self, text, is_chat):
        """The tokens of a prompt: its last line apart, which is the same in many prompts, and so are the labels after it."""
        cut = text.rfind("\n") + 1
        head, line = text[:cut], text[cut:]
        if not head:
            return self.tokens_of(line, True, is_chat)
        # Some tokenisers begin a text with a space; after a line's end they do so no more.
        after = len(self.tokens_of("\n", False, False))
        return self.tokens_of(head, True, is_chat) + (self.tokens_of("\n" + line, False, is_chat)[after:] if line else ())

    def count_tokens(self, text):
        """How many tokens a text has that is no prompt."""
        return len(self.tokens_of(text, False, False))

    def complete(self, tokens, **options):
        """(text, finish reason, number of tokens) of the continuation of `tokens`."""
        return self.answered(tokens, **_theirs(**options))[:3]

    def answered(self, tokens, **options):
        """As `complete`, by the options of llama.cpp, and the probabilities of each token as the fourth."""
        with self._lock:
            answer = _checked(self._server.handle_completions({"prompt": list(tokens), "cache_prompt": True, **options}))
        choice = answer["choices"][0]
        return choice["text"], choice["finish_reason"], answer["usage"]["completion_tokens"], choice["logprobs"]

    def stream(self, tokens, **options):
        """The text of the continuation, piece by piece. The model stops when the caller no longer asks."""
        pieces, is_left, options = queue.SimpleQueue(), threading.Event(), _theirs(**options)

        def receive(part):
            pieces.put(part)
            return is_left.is_set()

        def work():
            with self._lock:
                return self._server.handle_completions({"prompt": list(tokens), "stream": True, **options}, receive)

        with ThreadPoolExecutor(1) as executor:
            done = executor.submit(work)
            done.add_done_callback(lambda _: pieces.put(None))
            try:
                while (part := pieces.get()) is not None:
                    yield _checked(part)["choices"][0]["text"]
            finally:
                is_left.set()
        _checked(done.result() or {})

    def scores(self, prompt, wholes):
        """The log-probability of each label, by the tokens of a prompt and those of the prompt with each label."""
        return score(prompt, wholes, self.next_logprobs)

    def next_logprobs(self, tokens, wanted):
        """{token: its log-probability after `tokens`} for each of the tokens `wanted`."""
        found = self._likely(tokens, _TOP)
        missing = [token for token in wanted if token not in found]
        if len(missing) > 1:
            found = self._likely(tokens, 16 * _TOP)
        return {token: found[token] if token in found else self._unlikely(tokens, token) for token in wanted}

    def chat_prompt(self, messages):
        """The messages in the form that the model was tuned to, by the template in its file."""
        data = {"messages": [{"role": message.role, "content": message.content} for message in messages]}
        return self._ask("/apply-template", data)["prompt"]

    def _likely(self, tokens, count):
        """{token: log-probability} of the `count` most likely tokens."""
        # It tells nothing where an end is chosen, or a byte that is only part of a letter: so it is made to choose a letter, which
        # leaves the log-probabilities as they are.
        letter = self.tokens_of("a", False, False)[-1]
        options = {"max_tokens": 1, "temperature": 0.0, "logprobs": count, "logit_bias": [[letter, 1e9]]}
        chosen = self.answered(tokens, **options)[3]["content"][0]
        return {entry["id"]: entry["logprob"] for entry in chosen["top_logprobs"]}

    def _unlikely(self, tokens, token):
        """The log-probability of one token, which the model is made to choose."""
        options = {"max_tokens": 1, "temperature": 0.0, "logprobs": 1, "logit_bias": [[token, 1e9]]}
        told = self.answered(tokens, **options)[3]
        if told is None:  # a byte that is only part of a letter
            return self._likely(tokens, _ALL).get(token, -math.inf)
        return told["content"][0]["logprob"] if told["content"][0]["id"] == token else -math.inf

    def _settings(self, path, context, threads):
        library = _library()
        settings = library.CommonParams()
        settings.model.path, settings.n_ctx, settings.n_parallel = str(path), context, 1
        settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = threads
        settings.cache_type_k = settings.cache_type_v = library.ggml_type.GGML_TYPE_F32
        settings.flash_attn_type = library.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
        settings.no_extra_bufts = True
        # All layers remember the whole prompt; prompts that were pushed out are kept in memory, in MiB.
        settings.swa_full, settings.n_ctx_checkpoints, settings.cache_ram_mib = True, 0, 512
        settings.verbosity, settings.fit_params, settings.ui = -1, False, False
        settings.api_keys = [self._key]
        return settings


def _check_file(path):
    """Raise a ModelError unless `path` is a file."""
    if not Path(path).is_file():
        raise ModelError(f"llama.cpp reads one file, and {path} is a folder; engine=\"retrograde\" reads folders")


def _theirs(max_tokens, temperature, top_p, seed, stop, grammar, json_schema):
    """The options of an engine as llama.cpp has them."""
    options = {"max_tokens": max_tokens, "temperature": temperature, "top_k": 0, "min_p": 0.0, "top_p": top_p,
               "seed": seed % 2**32, "stop": list(stop)}
    if grammar is not None:
        options["grammar"] = grammar
    if json_schema is not None:
        # Small models would fill the whole answer with the white space that JSON allows between its parts.
        options["json_schema"] = _object_of(json_schema) | {"x-guidance": {"whitespace_flexible": False}}
    return options


def _object_of(schema):
    """The object in the text of a schema."""
    try:
        found = json.loads(schema)
    except (ValueError, RecursionError) as error:
        raise ArgumentError(f"a schema is an object of JSON Schema, got {schema!r:.200}: {error}") from None
    if not isinstance(found, dict):
        raise ArgumentError(f"a schema is an object of JSON Schema, got {schema!r:.200}")
    return found


def _tokens(ask, text, is_start, has_marks):
    return tuple(ask("/tokenize", {"content": text, "add_special": is_start, "parse_special": has_marks})["tokens"])


def _ask(address, key, path, data):
    """What the library offers only by its address on this machine, which answers to this process's key alone."""
    connection = http.client.HTTPConnection(address)
    try:
        connection.request("POST", path, json.dumps(data), {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        return _checked(json.loads(connection.getresponse().read()))
    except (http.client.HTTPException, OSError) as error:
        raise ModelError(f"the local model's {path} failed: {error}") from None
    finally:
        connection.close()


@functools.cache
def _library():
    """xllamacpp. Its threads wait for each other only briefly before they sleep, or a busy machine would slow them tenfold.

    The variable is read when the library is loaded, and is put back afterwards.
    """
    is_ours = "GOMP_SPINCOUNT" not in os.environ and "OMP_WAIT_POLICY" not in os.environ
    if is_ours:
        os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        return optional("xllamacpp", "local")
    finally:
        if is_ours:
            del os.environ["GOMP_SPINCOUNT"]


def _checked(answer):
    if "error" in answer:
        raise ModelError(f"the local model refused: {answer['error'].get('message', answer['error'])}")
    return answer


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

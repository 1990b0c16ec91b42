"""llama.cpp in this process: tokens in, text and log-probabilities out."""

import functools
import http.client
import json
import math
import os
import queue
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ...errors import ModelError
from ...extras import optional

#: How many of the most likely tokens are asked for at once when labels are scored.
_TOP = 128


class Engine:
    """The weights at `path`, loaded, for one call at a time.

    Keys and values are kept in float32 and attention is computed without tiling across keys, so that an answer does not
    depend, to the last bit, on which part of the prompt was read for an earlier call or on the number of threads.
    """

    def __init__(self, path, context, threads):
        if not Path(path).is_file():
            raise ModelError(f"there are no weights at {path}")
        self._lock, self._key = threading.Lock(), secrets.token_hex(16)
        self._server = _library().Server(self._settings(path, context, threads))
        self._ask = functools.partial(_ask, self._server.listening_address.partition("//")[2], self._key)
        #: The tokens of (text, whether it starts a prompt, whether names of special tokens in it are read as such).
        self.tokens_of = functools.lru_cache(maxsize=4096)(functools.partial(_tokens, self._ask))

    def complete(self, tokens, **options):
        """(text, finish reason, number of tokens, probabilities of each token) of the continuation of `tokens`."""
        with self._lock:
            answer = _checked(self._server.handle_completions({"prompt": list(tokens), "cache_prompt": True, **options}))
        choice = answer["choices"][0]
        return choice["text"], choice["finish_reason"], answer["usage"]["completion_tokens"], choice["logprobs"]

    def stream(self, tokens, **options):
        """The text of the continuation, piece by piece. The model stops when the caller no longer asks."""
        pieces, is_left = queue.SimpleQueue(), threading.Event()

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
        chosen = self.complete(tokens, max_tokens=1, temperature=0.0, logprobs=count)[3]["content"][0]
        return {entry["id"]: entry["logprob"] for entry in chosen["top_logprobs"]}

    def _unlikely(self, tokens, token):
        """The log-probability of one token, which the model is made to choose."""
        options = {"max_tokens": 1, "temperature": 0.0, "logprobs": 1, "logit_bias": [[token, 1e9]]}
        chosen = self.complete(tokens, **options)[3]["content"][0]
        return chosen["logprob"] if chosen["id"] == token else -math.inf

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

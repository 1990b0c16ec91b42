"""A client for servers that speak the OpenAI-compatible protocol."""

import re
import threading
import time
from dataclasses import dataclass, replace
from itertools import count
from urllib.parse import urlencode, urlsplit

from ...errors import ArgumentError, ModelError, TransientModelError
from .base import LanguageModel, adrive, await_, drive, wait
from .budget import charge_again
from .choices import check_kind
from .codec import canonical, digest
from .retry import Retry
from .secret import Secret, hidden, revealed, secret_from, without_secrets
from .trace import note_attempt
from .transport import Transport
from .wire import completion_of, payload

_OPENAI = "https://api.openai.com/v1"
#: The name of a header (RFC 9110, a token).
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


@dataclass(frozen=True, slots=True)
class _Post:
    """A body to send, and headers by which a server can tell a retry from a new call."""

    body: dict
    headers: dict


class HTTPModel(LanguageModel):
    """The model called `name` behind `base_url`, asked for chat completions.

    The key is `api_key`, or the environment's RETROGRADE_API_KEY (OPENAI_API_KEY too, for OpenAI's own server); it is in no
    text, log, pickle or error that this class makes. `timeout` bounds one attempt, in seconds, up to the last byte of the
    answer. Transient faults (rate limits, the server's own faults, broken connections and bodies) are retried by `retry`;
    others are reported at once.

    headers    more headers, such as {"api-key": ...} for Azure; a value whose name speaks of a key or a token is treated as one
    query      what follows the address after a question mark, such as {"api-version": "2024-10-21"}
    extra      added to the body of every request; what is called a key, a secret, a password or an access token, here or in
               `query`, is treated as one
    labels_by  how the server is asked for one of several labels: "json_schema", by an answer that is bound by a schema;
               "logprobs", by the probabilities of the first token, where the server tells them, which also gives `logprobs`;
               "guided_choice", as vLLM takes it

    >>> HTTPModel("small", base_url="http://localhost:8000/v1")
    HTTPModel(small at localhost:8000)
    """

    def __init__(self, name, *, base_url=_OPENAI, api_key=None, price=None, timeout=120.0, retry=None, max_concurrency=16,
                 max_tokens=1024, max_tokens_name="max_tokens", extra=None, headers=None, query=None, labels_by="json_schema"):
        self.model, self.base_url = name, base_url.rstrip("/")
        place = _place(self.base_url)
        if place.username or place.password or place.query:
            raise ArgumentError(f"base_url must hold no key, give it as api_key; got one for {place.hostname}")
        if place.scheme not in {"http", "https"} or not place.hostname:
            raise ArgumentError(f"base_url must be like https://host/v1, got {base_url!r}")
        if not name:
            raise ArgumentError("a model needs a name by which the server knows it, got ''")
        if not timeout > 0 or max_concurrency < 1:
            raise ArgumentError(f"timeout and max_concurrency must be above 0, got {timeout} and {max_concurrency}")
        self.name, self.price, self.timeout, self.retry = f"{name} at {place.netloc}", price, timeout, retry or Retry()
        self.max_concurrency, self.max_tokens = max_concurrency, max_tokens
        check_kind(labels_by)
        self.max_tokens_name, self.labels_by, self.tells_logprobs = max_tokens_name, labels_by, labels_by == "logprobs"
        self.extra, self.query = hidden(extra or {}), hidden(query or {})
        self.headers = {name: value for name, value in (headers or {}).items() if not _is_key(name)}
        self._connect(api_key, headers)

    @property
    def identity(self):
        # What is in `extra` may be a secret of the user, and the identity is written beside answers that are kept.
        options = [without_secrets(self.extra)[0], without_secrets(self.query)[0]]
        rest = [*options, *([] if self.labels_by == "json_schema" else [self.labels_by])]
        return f"{self.model} at {self.base_url} {self.max_tokens} {digest(canonical(rest)) if any(rest) else '{}'}"

    def complete(self, request):
        return drive(self._steps(request), self._perform)

    async def acomplete(self, request):
        return await adrive(self._steps(request), self._aperform)

    def stream(self, request):
        """The text, piece by piece. A fault before the first piece is retried; one after it ends the stream with an error."""
        post = self._post(request, is_streamed=True)
        for attempt in count():
            is_begun = False
            wait(self._held())
            try:
                for piece in self._transport.lines(post.body, post.headers):
                    is_begun = True
                    yield piece
            except TransientModelError as error:
                fault = error
            else:
                return
            wait(self._pause(fault, self.retry.retries if is_begun else attempt))

    async def astream(self, request):
        post = self._post(request, is_streamed=True)
        for attempt in count():
            is_begun = False
            await await_(self._held())
            try:
                async for piece in self._transport.alines(post.body, post.headers):
                    is_begun = True
                    yield piece
            except TransientModelError as error:
                fault = error
            else:
                return
            await await_(self._pause(fault, self.retry.retries if is_begun else attempt))

    def close(self):
        self._transport.close()

    async def aclose(self):
        await self._transport.aclose()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    def __setstate__(self, state):
        vars(self).update(state)
        self._connect(None, self.headers)

    def _connect(self, api_key, headers):
        _check_headers(headers or {})
        secret = secret_from(api_key, ("RETROGRADE_API_KEY", "OPENAI_API_KEY")[: 2 if self.base_url == _OPENAI else 1])
        secrets = {name: Secret(value) for name, value in (headers or {}).items() if _is_key(name)}
        if secret and not {"authorization", "api-key"} & {name.lower() for name in secrets}:
            secrets["Authorization"] = Secret(f"Bearer {secret.reveal()}")
        query = f"?{urlencode(revealed(self.query))}" if self.query else ""
        others = [*without_secrets(self.extra)[1], *without_secrets(self.query)[1]]
        self._transport = Transport(f"{self.base_url}/chat/completions{query}", secrets, self.headers, timeout=self.timeout,
                                    connections=self.max_concurrency, others=others)
        self._resume_at, self._lock = 0.0, threading.Lock()

    def _steps(self, request):
        """One call: posts and pauses until there is an answer, or a fault that is not to be retried."""
        post, bound, start = self._post(request), self.token_bound(request), time.perf_counter()
        for attempt in count():
            if held := self._held():
                yield held
            reply = yield post
            try:
                completion = completion_of(reply, self.name, bound, request.labels, self.labels_by)
            except TransientModelError as error:
                fault = error
            except ModelError as error:
                if error.is_billed:
                    note_attempt(sum(bound), self.cost_of(*bound))
                raise
            else:
                cost = self.cost_of(completion.prompt_tokens, completion.completion_tokens)
                return replace(completion, cost=cost, seconds=time.perf_counter() - start)
            try:
                pause = self._pause(fault, attempt)
            except TransientModelError:
                if fault.is_billed:
                    note_attempt(sum(bound), self.cost_of(*bound))
                raise
            if fault.is_billed:
                yield from charge_again(sum(bound), self.cost_of(*bound))
            yield pause
        raise AssertionError("the loop above ends only by returning or raising")

    def _held(self):
        """The seconds for which calls wait, because a server told one of them to; the others are held back too."""
        return max(0.0, self._resume_at - time.monotonic())

    def _pause(self, fault, attempt):
        """The seconds to wait before asking again; raises the fault if that is not to be done."""
        asked = fault.retry_after
        pause = self.retry.wait(attempt, asked)
        if attempt >= self.retry.retries or pause is None:
            why = f"asked {attempt + 1} times" if pause is not None else f"it asks to wait {asked:g} seconds"
            fault.args = (f"{fault} ({why})",)
            raise fault
        if asked:
            with self._lock:
                self._resume_at = max(self._resume_at, time.monotonic() + asked)
        return pause

    def _post(self, request, *, is_streamed=False):
        body = payload(request, self.model, max_tokens=self.max_tokens, max_tokens_name=self.max_tokens_name,
                       is_streamed=is_streamed, extra=revealed(self.extra), labels_by=self.labels_by)
        # The same for the same request, in any process: a server that keeps these keys answers a call that was cut off, by a kill
        # for example, and is made again, without charging for it twice.
        return _Post(body, {"Idempotency-Key": digest(canonical([self.identity, body, request.sample]))})

    def _perform(self, step):
        return self._transport.post(step.body, step.headers) if isinstance(step, _Post) else wait(step)

    async def _aperform(self, step):
        return await (self._transport.apost(step.body, step.headers) if isinstance(step, _Post) else await_(step))


def _place(url):
    """The parts of an address; an ArgumentError for one that has none."""
    try:
        place = urlsplit(url)
        place.port  # noqa: B018 - it is read when it is asked for
    except ValueError as error:
        raise ArgumentError(f"base_url must be like https://host/v1, got {url!r}: {error}") from None
    return place


def _check_headers(headers):
    """Raise an error for a header that no server can be sent. A value may be a key and is not shown."""
    for name, value in headers.items():
        if not _HEADER.fullmatch(name):
            raise ArgumentError(f"the name of a header consists of letters, digits and signs such as -, got {name!r}")
        if not (isinstance(value, str) and value.isascii() and value.isprintable()):
            raise ArgumentError(f"the value of a header must be a string of printable ASCII characters; that of {name} is none (it "
                                "is not shown)")


def _is_key(name):
    """Whether the value of the header called `name` is a secret."""
    return any(word in name.lower() for word in ("key", "token", "auth", "secret", "cookie"))

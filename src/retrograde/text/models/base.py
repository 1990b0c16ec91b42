"""What every language model is, and what one model around another is."""

import asyncio
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from ...errors import ArgumentError, DTypeError, UnsupportedError
from .request import Completion, Price, Request
from .trace import recorded, recorded_async, recorded_stream, recorded_stream_async

_RECORDERS = {"complete": recorded, "acomplete": recorded_async, "stream": recorded_stream, "astream": recorded_stream_async}
_WITHOUT_GRADIENTS = 'has no gradients of its log-probabilities; text.LocalModel(path, engine="retrograde") has'


class LanguageModel:
    """A model that completes requests. A subclass defines `complete`, or `acomplete`, or both; each stands in for the other.

    They are handed a Request, though who calls them, or `stream`, may give a prompt.

    >>> class Echo(LanguageModel):
    ...     name = "echo"
    ...     def complete(self, request):
    ...         return Completion(request.prompt)
    >>> Echo()("Hello")
    'Hello'
    """

    #: Which model this is, for people and traces; never a secret.
    name: str = "model"
    #: The bound on the tokens of an answer where the request gives none, so that every call is bounded.
    max_tokens: int = 1024
    #: How many calls may run at once.
    max_concurrency: int = 16
    #: Whether prompts with the same beginning are answered faster one after another.
    keeps_prefixes: bool = False
    #: What tokens cost; None if it is not known.
    price: Price | None = None
    #: Whether the model was tuned to follow instructions. One that only continues text is not asked to write prompts.
    follows_instructions: bool = True
    #: Whether a completion for a request with labels has the log-probability of each.
    tells_logprobs: bool = False
    #: Whether it tells what the words of a prompt do for a loss: it has `attribution` then.
    has_gradients: bool = False
    #: A tensor that its answers depend on and that is learned, such as a soft prompt; it has `label_gradient` then.
    learned: Any = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.complete is LanguageModel.complete and cls.acomplete is LanguageModel.acomplete:
            raise DTypeError(f"{cls.__name__} must define complete(self, request) or acomplete(self, request)")
        for name, record in _RECORDERS.items():
            if name in vars(cls):
                setattr(cls, name, record(vars(cls)[name]))

    @property
    def identity(self):
        """What decides an answer besides the request: part of the key under which answers are kept."""
        return self.name

    def complete(self, request: Request) -> Completion:
        """The answer to `request`; a ModelError if there is none."""
        return _run(self.acomplete(request))

    async def acomplete(self, request: Request) -> Completion:
        """`complete` as a coroutine."""
        return await asyncio.to_thread(self.complete, request)

    def stream(self, request: Request):
        """The text of the answer, piece by piece; in one piece, where a model cannot do better."""
        yield self.complete(request).text

    async def astream(self, request: Request):
        """`stream` as an asynchronous iterator."""
        yield (await self.acomplete(request)).text

    def __call__(self, prompt, **options):
        """The text of the answer to a string or to messages.

        Options: temperature, top_p, max_tokens, stop, seed, grammar, json_schema, labels, sample.
        """
        return self.complete(Request.of(prompt, **options)).text

    def label_logprobs(self, prompt, labels):
        """The natural logarithm of the probability that the model goes on with each of `labels`, as a list.

        It is the sum over the tokens of the label, not divided by their number: a probability, which a longer label
        has to share among more tokens. An UnsupportedError if the model does not tell.
        """
        request = Request.of(prompt, labels=labels)
        if not request.labels:
            raise ArgumentError("label_logprobs needs one label at least, got none")
        logprobs = self.complete(request).logprobs
        if not logprobs:
            raise UnsupportedError(f"{self.name} does not tell the probabilities of labels; use a LocalModel, or an HTTPModel with "
                                   'labels_by="logprobs"')
        return list(logprobs)

    def label_gradient(self, requests, gradient, learned):
        """The gradient in `learned`, of that in the log-probabilities of the labels of `requests`, (requests, labels)."""
        raise UnsupportedError(f"{self.name} {_WITHOUT_GRADIENTS}")

    def attribution(self, request, gradient) -> Any:
        """What the tokens of a prompt do for a loss, whose `gradient` is in the log-probabilities of the labels of `request`.

        It is an `Attribution` of `retrograde.models`, with `words` and their effects.
        """
        raise UnsupportedError(f"{self.name} {_WITHOUT_GRADIENTS}")

    def token_bound(self, request):
        """(most tokens that the prompt can have, most that the answer can have): what a budget sets aside for a call.

        A token is at least one byte; 16 more are allowed for a message's frame.
        """
        asked = [message.content for message in request.messages] + [request.grammar or "", request.json_schema or ""]
        size = sum(_bytes(text) for text in (*asked, *request.labels)) + 16 * (len(request.messages) + 1)
        return size, request.max_tokens or max(self.max_tokens, max(map(_bytes, request.labels), default=0))

    def cost_of(self, prompt_tokens, completion_tokens):
        """The cost of a call, by `price`; 0 where that is not known."""
        return self.price.of(prompt_tokens, completion_tokens) if self.price else 0.0

    def close(self):
        """Give back what the model holds: connections, memory."""

    async def aclose(self):
        """`close` as a coroutine."""
        self.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        await self.aclose()

    def __repr__(self):
        return f"{type(self).__name__}({self.name})"


def check_model(model):
    """Raise a DTypeError unless `model` is a language model."""
    if not isinstance(model, LanguageModel):
        raise DTypeError(f"a model must be a LanguageModel, got {type(model).__name__}: {model!r:.60}; make one, as in "
                         'text.HTTPModel("name", base_url=...) or text.LocalModel()')


class Wrapper(LanguageModel):
    """A model around the model `model`. A subclass writes one generator, which serves `complete` and `acomplete`.

    `steps(request)` yields what is to be done and is sent the result: a Request is completed by the inner model, a number of
    seconds is waited for, and so is a Future. What it returns is the completion.
    """

    def __init__(self, model: LanguageModel):
        check_model(model)
        self.model = model
        self.name, self.max_tokens, self.price = model.name, model.max_tokens, model.price
        self.max_concurrency, self.keeps_prefixes = model.max_concurrency, model.keeps_prefixes
        self.tells_logprobs = model.tells_logprobs
        self.has_gradients = model.has_gradients

    @property
    def identity(self):
        return self.model.identity

    @property
    def follows_instructions(self):
        return self.model.follows_instructions

    @property
    def learned(self):
        return self.model.learned

    def label_gradient(self, requests, gradient, learned):
        return self.model.label_gradient(requests, gradient, learned)

    def attribution(self, request, gradient):
        return self.model.attribution(request, gradient)

    def steps(self, request: Request):
        """What is done for a request."""
        return (yield request)

    def complete(self, request):
        return drive(self.steps(request), self._perform)

    async def acomplete(self, request):
        return await adrive(self.steps(request), self._aperform)

    def token_bound(self, request):
        return self.model.token_bound(request)

    def cost_of(self, prompt_tokens, completion_tokens):
        return self.model.cost_of(prompt_tokens, completion_tokens)

    def close(self):
        self.model.close()

    async def aclose(self):
        await self.model.aclose()

    def __repr__(self):
        return f"{type(self).__name__}({self.model!r})"

    def _perform(self, step):
        return self.model.complete(step) if isinstance(step, Request) else wait(step)

    async def _aperform(self, step):
        return await (self.model.acomplete(step) if isinstance(step, Request) else await_(step))


def drive(steps, perform):
    """Run a generator to its end: what it yields is performed, and the result, or the error, goes back in."""
    act, value = steps.send, None
    try:
        while True:
            step = act(value)
            try:
                act, value = steps.send, perform(step)
            except BaseException as error:  # noqa: BLE001 - it is raised again, inside the generator
                act, value = steps.throw, error
    except StopIteration as end:
        return end.value
    finally:
        value = None  # an error that holds this frame, which holds the error, would stay until the collector comes


async def adrive(steps, perform):
    """`drive` for a `perform` that is a coroutine function."""
    act, value = steps.send, None
    try:
        while True:
            step = act(value)
            try:
                act, value = steps.send, await perform(step)
            except BaseException as error:  # noqa: BLE001 - it is raised again, inside the generator
                act, value = steps.throw, error
    except StopIteration as end:
        return end.value
    finally:
        value = None  # an error that holds this frame, which holds the error, would stay until the collector comes


def wait(step):
    """Wait for a number of seconds, or for a Future and its result."""
    return step.result() if isinstance(step, Future) else time.sleep(step)


async def await_(step):
    """`wait` without holding up the event loop."""
    return await (asyncio.wrap_future(step) if isinstance(step, Future) else asyncio.sleep(step))


def _run(coroutine):
    """The result of a coroutine, also from inside a running event loop: then in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(copy_context().run, asyncio.run, coroutine).result()


def _bytes(text):
    return len(text.encode("utf-8", "surrogatepass"))

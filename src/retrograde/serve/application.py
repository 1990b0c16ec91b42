"""The application: paths of OpenAI's server, as Starlette serves them."""

import asyncio
import errno
import hmac
import json
import socket
import time
from contextlib import ExitStack, asynccontextmanager

from ..errors import AnswerError, ArgumentError, RetrogradeError
from ..extras import optional
from .answering import Form, error_of, event
from .asking import MOST_CHOICES, RefusedError, of_chat, of_completion
from .scheduler import FullError, Scheduler

#: What a machine says that does not have an address.
_NO_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
#: The longest body of a request, in bytes.
_LONGEST = 16 * 2**20
#: What this machine is called by itself: another name in a request is that of a page which wants in by a name of its own.
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def application(model, name, *, key=None, hosts=None, waiting=128):
    """An application of ASGI that answers for a `Model`, which it calls `name`.

    key      what requests must have as `Authorization: Bearer KEY`; None lets all in
    hosts    the names of hosts that requests may have; None for any
    waiting  so many texts wait at most for a place among the eight that are written; more are refused with status 429
    """
    starlette, routing = optional("starlette.applications", "serve"), optional("starlette.routing", "serve")
    served = _Served(model, name, waiting)

    @asynccontextmanager
    async def lifespan(app):  # noqa: ARG001 - Starlette hands it over
        yield
        await asyncio.to_thread(served.scheduler.close)

    routes = [routing.Route("/health", served.health), routing.Route("/v1/models", served.models),
              routing.Route("/v1/models/{name:path}", served.model_of),
              routing.Route("/v1/completions", served.completions, methods=["POST"]),
              routing.Route("/v1/chat/completions", served.chats, methods=["POST"])]
    http = optional("starlette.exceptions", "serve").HTTPException
    app = starlette.Starlette(routes=routes, lifespan=lifespan, exception_handlers={
        RetrogradeError: _told, http: _told_by_starlette, Exception: _told})
    app.state.scheduler = served.scheduler
    return _guarded(app, key, hosts)


def serve(model, name, *, host="127.0.0.1", port=8000, key=None, waiting=128, told=print):
    """Serve a `Model` until the process is interrupted; `told` is called with one line when it listens.

    Raises an ArgumentError if this machine cannot listen there: another program does, or the host is another machine.
    """
    uvicorn = optional("uvicorn", "serve")
    is_local = host in ("127.0.0.1", "localhost", "::1")
    app = application(model, name, key=key, hosts=_LOOPBACK if is_local else None, waiting=waiting)
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=3)
    with ExitStack() as stack:
        sockets = [stack.enter_context(found) for found in _listening(host, port)]
        # From here on who connects waits until the server takes it.
        told(f"{name} at http://{f'[{host}]' if ':' in host else host}:{sockets[0].getsockname()[1]}/v1")
        uvicorn.Server(config).run(sockets)


def _listening(host, port):
    """Sockets that listen at the addresses of a host; an ArgumentError if this machine cannot listen there."""
    found, fault = [], None
    with ExitStack() as stack:
        try:
            places = [(family, place[:2]) for family, _, _, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
            for family, place in dict.fromkeys(places):
                try:
                    found.append(stack.enter_context(socket.create_server(place, family=family)))
                except OSError as error:
                    if error.errno not in _NO_ADDRESS:
                        raise
                    fault = error  # a name may have an address of IPv6 where there is none
            if fault is not None and not found:
                raise fault
        except (OSError, UnicodeError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise ArgumentError(f"the server cannot listen at host {host!r:.80}, port {port}: {why}; choose another one") from None
        stack.pop_all()
    return found


class _Served:
    """The answers to requests."""

    def __init__(self, model, name, waiting):
        self.model, self.name, self.created = model, name, int(time.time())
        self.scheduler = Scheduler(model, waiting)
        self.responses = optional("starlette.responses", "serve")

    async def health(self, request):
        """How many texts are written, and how many wait."""
        active, waiting = self.scheduler.counts
        return self.responses.JSONResponse({"status": "ok", "active": active, "waiting": waiting})

    async def models(self, request):
        """The list of models, of which there is one."""
        return self.responses.JSONResponse({"object": "list", "data": [self._described]})

    async def model_of(self, request):
        """The model of a name."""
        if request.path_params["name"] != self.name:
            raise RefusedError(f"there is no such model; this server has {self.name!r}", "model", "model_not_found", 404)
        return self.responses.JSONResponse(self._described)

    async def chats(self, request):
        """The answer to messages."""
        return await self._answered(request, of_chat)

    async def completions(self, request):
        """What follows prompts."""
        return await self._answered(request, of_completion)

    @property
    def _described(self):
        return {"id": self.name, "object": "model", "created": self.created, "owned_by": "retrograde"}

    async def _answered(self, request, read):
        asked = read(await _body(request), self.name)
        # To lay messages out, to find tokens and to compile a schema takes time, in which others are served.
        wishes = await asyncio.to_thread(self._wishes, asked)
        form, prompts = Form(self.name, self.model.tokenizer, asked), sum([len(wish.tokens) for wish in wishes[:: asked.count]])
        job = _Job(self.scheduler, wishes)
        if asked.is_stream:
            events = _streamed(form, job, prompts, asked)
            return _watched(self.responses.StreamingResponse(events, media_type="text/event-stream",
                                                             headers={"Cache-Control": "no-cache"}), job)
        gathering = asyncio.ensure_future(job.gathered())
        leaving = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait([gathering, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not gathering.done():
                return self.responses.Response(status_code=499)  # nobody reads it
            return self.responses.JSONResponse(form.whole(gathering.result(), prompts))
        finally:
            leaving.cancel()
            gathering.cancel()
            job.cancel()

    def _wishes(self, asked):
        """What is to be written for a request, `count` texts for each prompt."""
        prompts = [self.model.chat_tokens(asked.messages)] if asked.prompts is None else asked.prompts
        if len(prompts) * asked.count > MOST_CHOICES:
            raise RefusedError(f"a request has at most {MOST_CHOICES} texts, got {len(prompts)} prompts with n {asked.count}", "n")
        seeds = [(asked.seed + i) % 2**64 for i in range(asked.count)]
        options = asked.options if "max_tokens" in asked.options else {**asked.options, "max_tokens": self.model.context}
        found = [wish for prompt in prompts for wish in self.model.wishes([prompt] * asked.count, seed=seeds, **options)]
        for wish in found:
            if not 0 < len(wish.tokens) <= self.model.context:
                raise RefusedError(f"a prompt has 1 to {self.model.context} tokens here, this one has {len(wish.tokens)}",
                              "messages" if asked.prompts is None else "prompt", "context_length_exceeded")
        return [wish if asked.has_logprobs else wish._replace(has_logprobs=False, alternatives=0) for wish in found]


class _Job:
    """The texts of one request, whose parts come from the scheduler's thread into the loop of this one."""

    def __init__(self, scheduler, wishes):
        self.scheduler, self.count = scheduler, len(wishes)
        self._queue, self._loop = asyncio.Queue(), asyncio.get_running_loop()
        self._texts = scheduler.submit(wishes, [self._deliver(index) for index in range(self.count)])

    def _deliver(self, index):
        def deliver(part):
            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._queue.put_nowait, (index, part))

        return deliver

    async def parts(self):
        """(number of the text, its next part), until all are over; raises the error of one that failed."""
        left = self.count
        while left:
            index, part = await self._queue.get()
            if part.error is not None:
                raise part.error
            left -= part.reason is not None
            yield index, part

    async def gathered(self):
        """For each text all of its parts."""
        found = [[] for _ in range(self.count)]
        async for index, part in self.parts():
            found[index].append(part)
        return found

    def cancel(self):
        """Nobody waits any more."""
        self.scheduler.cancel(self._texts)


async def _streamed(form, job, prompts, asked):
    """The events of an answer."""
    written, offsets, begun = 0, [0] * job.count, set()
    try:
        async for index, part in job.parts():
            written += len(part.tokens)
            if index not in begun and (first := form.first(index)):
                yield event(first)
            begun.add(index)
            for chunk in form.next(index, part, offsets[index]):
                yield event(chunk)
            offsets[index] += len(part.text)
        if asked.has_usage:
            yield event(form.used(prompts, written))
        yield "data: [DONE]\n\n"
    except Exception as error:  # noqa: BLE001 - the status is sent already: all that can be done is to say so
        message = str(error) if isinstance(error, RetrogradeError) else "the server failed at this request"
        yield event(error_of(message, "server_error"))


def _watched(response, job):
    """A response after which nobody waits for a job, however it ends: also where a client leaves before the first event."""

    async def watched(scope, receive, send):
        try:
            await response(scope, receive, send)
        finally:
            job.cancel()

    return watched


async def _left(request):
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _body(request):
    """The object in the body of a request."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        # Pages of other sites may send forms without being asked, and JSON only after they were.
        raise RefusedError("the body must be JSON, with Content-Type: application/json", code="unsupported_media_type", status=415)
    found = bytearray()
    async for chunk in request.stream():
        found += chunk
        if len(found) > _LONGEST:
            raise RefusedError(f"a body has at most {_LONGEST} bytes", code="request_too_large", status=413)
    try:
        return json.loads(found)
    except ValueError as error:
        raise RefusedError(f"the body is no JSON: {str(error)[:100]}") from None
    except RecursionError:
        raise RefusedError("the body is nested too deep") from None


async def _told(request, error):  # noqa: ARG001 - as Starlette calls it
    """An error as an answer: what the request did wrong is a 4xx, all else is not its fault."""
    responses = optional("starlette.responses", "serve")
    if isinstance(error, RefusedError):
        return responses.JSONResponse(error_of(str(error), param=error.param, code=error.code), error.status)
    if isinstance(error, FullError):
        found = error_of(str(error), "rate_limit_error", code="rate_limit_exceeded")
        return responses.JSONResponse(found, 429, {"Retry-After": "1"})
    if isinstance(error, (ArgumentError, AnswerError)):
        return responses.JSONResponse(error_of(str(error)), 400)
    message = str(error) if isinstance(error, RetrogradeError) else "the server failed at this request"
    return responses.JSONResponse(error_of(message, "server_error"), 500)


async def _told_by_starlette(request, error):  # noqa: ARG001 - as above
    """A path that is not there, or a method that it has not."""
    responses = optional("starlette.responses", "serve")
    return responses.JSONResponse(error_of(str(error.detail)), error.status_code, error.headers)


def _guarded(app, key, hosts):
    """The application, behind a check of the host's name and of the key."""
    responses = optional("starlette.responses", "serve")

    async def guarded(scope, receive, send):
        if scope["type"] == "http" and (refused := _refused(dict(scope["headers"]), key, hosts)):
            message, code, status = refused
            await responses.JSONResponse(error_of(message, code=code), status)(scope, receive, send)
            return
        await app(scope, receive, send)

    guarded.state = app.state
    return guarded


def _refused(headers, key, hosts):
    """(message, code, status) of why a request may not come in; None if it may."""
    host = headers.get(b"host", b"").decode("latin-1")
    bare = host if host.endswith("]") else host.rpartition(":")[0] or host
    if hosts is not None and bare not in hosts:
        return f"this server is for its own machine, not for {host!r:.80}", "forbidden_host", 403
    given = headers.get(b"authorization", b"")
    if key is not None and not hmac.compare_digest(given, f"Bearer {key}".encode()):
        return "the request needs the server's key, as Authorization: Bearer KEY", "invalid_api_key", 401
    return None

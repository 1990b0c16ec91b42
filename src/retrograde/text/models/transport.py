"""How bytes get to a server and back, in threads and in event loops. The only file that knows httpx."""

import asyncio
import socket
import threading
import time
from contextlib import aclosing, closing, contextmanager, suppress
from functools import cached_property, partial
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from ...extras import optional
from .lanes import AsyncLanes, Lanes
from .secret import Pieces
from .wire import Reply, StreamReader, encoded, fault_of

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "Connection": "keep-alive", "User-Agent": "retrograde",
            "Content-Type": "application/json"}


class Transport:
    """Posts JSON to one address, over connections that are kept: some for threads, some for each event loop.

    It uses the transports of httpx and not its clients, which see to cookies, redirects and much else that a call has no use
    for, and take half as long again.
    """

    def __init__(self, url, secrets, headers, *, timeout, connections, others=()):
        self.url, self.secrets, self.headers, self.timeout, self.connections = url, secrets, headers, timeout, connections
        #: All that must not show: the keys among the headers, and those of the address and the body.
        self.hidden = [*secrets.values(), *others]
        self.httpx = optional("httpx", "text")
        self._lock, self._sync, self._async = threading.Lock(), None, WeakKeyDictionary()
        self._sockets = WeakKeyDictionary()  # of each lane of the threads, the connection that it has

    def post(self, body, headers):
        """The Reply to `body`, read to its end within `timeout` seconds, however slowly it comes."""
        with self._lanes().taken() as lane:
            deadline = time.monotonic() + self.timeout
            try:
                with self._cut_off(lane), closing(lane.handle_request(self._request(body, headers, lane))) as response:
                    return self._reply(response, response.read())
            except self.httpx.HTTPError as error:
                return self._late() if time.monotonic() >= deadline else self._failure(error)

    async def apost(self, body, headers):
        """`post` as a coroutine."""
        async with (await self._async_lanes()).taken() as lane:
            try:
                async with (asyncio.timeout(self.timeout),
                            aclosing(await lane.handle_async_request(self._request(body, headers))) as response):
                    return self._reply(response, await response.aread())
            except self.httpx.HTTPError as error:
                return self._failure(error)
            except TimeoutError:
                return self._late()

    def lines(self, body, headers):
        """The texts of a stream, one after another; `timeout` bounds the wait for the first bytes of each."""
        reader, shown, failure = StreamReader(self._cleaned), Pieces(self.hidden), None
        try:
            with self._lanes().taken() as lane, closing(self._begun(lane, body, headers)) as response:
                if response.is_success:
                    yield from filter(None, map(shown.add, map(reader.text_of, response.iter_lines())))
                    reader.end()
                    yield from filter(None, [shown.rest()])
                else:
                    failure = self._reply(response, response.read())
        except self.httpx.HTTPError as error:
            failure = self._failure(error)
        if failure is not None:
            raise fault_of(failure)  # here, where no error that knows the key is being handled

    async def alines(self, body, headers):
        """`lines` as an asynchronous iterator."""
        reader, shown, failure = StreamReader(self._cleaned), Pieces(self.hidden), None
        try:
            async with ((await self._async_lanes()).taken() as lane,
                        aclosing(await self._abegun(lane, body, headers)) as response):
                if response.is_success:
                    async for line in response.aiter_lines():
                        text = shown.add(reader.text_of(line))
                        if text:
                            yield text
                    reader.end()
                    text = shown.rest()
                    if text:
                        yield text
                else:
                    failure = self._reply(response, await response.aread())
        except self.httpx.HTTPError as error:
            failure = self._failure(error)
        except TimeoutError:
            failure = self._late()
        if failure is not None:
            raise fault_of(failure)

    def _begun(self, lane, body, headers):
        """The response to a request, of which the headers have come within `timeout` seconds."""
        with self._cut_off(lane):
            return lane.handle_request(self._request(body, headers, lane))

    async def _abegun(self, lane, body, headers):
        async with asyncio.timeout(self.timeout):
            return await lane.handle_async_request(self._request(body, headers))

    @contextmanager
    def _cut_off(self, lane):
        """Shut the connection of `lane` down if the block takes longer than `timeout` seconds.

        The time-outs of a connection bound the wait for the next byte, and a server that sends one now and then could hold a call
        for ever.
        """
        timer = threading.Timer(self.timeout, self._shut, (lane,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _shut(self, lane):
        stream = self._sockets.get(lane)
        connection = stream and stream.get_extra_info("socket")
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _note(self, lane, event, facts):
        """Remember the connection of `lane`; called by the transport at each event."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._sockets[lane] = facts["return_value"]

    def close(self):
        """Close the connections of the threads."""
        with self._lock:
            lanes, self._sync = self._sync, None
        if lanes is not None:
            lanes.close()

    async def aclose(self):
        """Close the connections of this event loop, and those of the threads."""
        opened = self._async.get(asyncio.get_running_loop())
        if opened is not None:
            await opened[0].aclose()
        self.close()

    def _lanes(self):
        with self._lock:
            if self._sync is None:
                self._sync = Lanes(lambda: self.httpx.HTTPTransport(**self._options), self.connections)
            return self._sync

    async def _async_lanes(self):
        loop = asyncio.get_running_loop()
        if loop not in self._async:
            opening = self._open(loop)
            self._async[loop] = opening, await anext(opening)
        return self._async[loop][1]

    async def _open(self, loop):
        """Lanes for `loop`, which closes them when it shuts down: generators that have not ended are then ended."""
        lanes = AsyncLanes(lambda: self.httpx.AsyncHTTPTransport(**self._options), self.connections)
        try:
            yield lanes
        finally:
            self._async.pop(loop, None)
            await lanes.aclose()

    @cached_property
    def _options(self):
        """What every transport is made with; they share one set of certificates, which takes long to read."""
        place = urlsplit(self.url)
        proxies = {} if place.hostname in _LOOPBACK or proxy_bypass(place.netloc) else getproxies()
        return {"verify": self.httpx.create_ssl_context(verify=place.scheme == "https"),
                "limits": self.httpx.Limits(max_connections=1, max_keepalive_connections=1),
                "proxy": proxies.get(place.scheme) or proxies.get("all")}

    @cached_property
    def _place(self):
        return self.httpx.URL(self.url)

    @cached_property
    def _extensions(self):
        return {"timeout": self.httpx.Timeout(self.timeout, connect=min(self.timeout, 10.0)).as_dict()}

    def _request(self, body, headers, lane=None):
        """The whole request, which alone knows the key."""
        extensions = self._extensions if lane is None else {**self._extensions, "trace": partial(self._note, lane)}
        keys = {name: secret.reveal() for name, secret in self.secrets.items()}
        return self.httpx.Request("POST", self._place, headers={**_HEADERS, **self.headers, **headers, **keys},
                                  content=encoded(body), extensions=extensions)

    def _reply(self, response, body):
        return Reply(response.status_code, dict(response.headers), self._without_keys(body))

    def _failure(self, error):
        never_sent = (self.httpx.ConnectError, self.httpx.ConnectTimeout, self.httpx.PoolTimeout)
        said = self._cleaned(f"{type(error).__name__}: {error}").encode()
        return Reply(0, {}, said, was_sent=not isinstance(error, never_sent))

    def _cleaned(self, text):
        """`text` without the keys."""
        return self._without_keys(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _without_keys(self, body):
        for secret in self.hidden:
            body = secret.remove_from(body)
        return body

    def _late(self):
        return Reply(0, {}, f"no whole answer within {self.timeout:g} seconds".encode())

"""How bytes get to a server and back, in threads and in event loops. The only file that knows httpx."""

import asyncio
import threading
import time
from contextlib import aclosing, closing
from functools import cached_property
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

from ...extras import optional
from .lanes import AsyncLanes, Lanes
from .wire import Reply, StreamReader, fault_of

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_HEADERS = {"Accept": "*/*", "Accept-Encoding": "gzip, deflate", "Connection": "keep-alive", "User-Agent": "retrograde"}


class Transport:
    """Posts JSON to one address, over connections that are kept: some for threads, some for each event loop.

    It uses the transports of httpx and not its clients, which see to cookies, redirects and much else that a call has no use
    for, and take half as long again.
    """

    def __init__(self, url, secret, *, timeout, connections):
        self.url, self.secret, self.timeout, self.connections = url, secret, timeout, connections
        self.httpx = optional("httpx", "text")
        self._lock, self._sync, self._async = threading.Lock(), None, WeakKeyDictionary()

    def post(self, body, headers):
        """The Reply to `body`, read to its end within `timeout` seconds, however slowly it comes."""
        with self._lanes().taken() as lane:
            deadline, chunks = time.monotonic() + self.timeout, []
            try:
                with closing(lane.handle_request(self._request(body, headers))) as response:
                    for chunk in response.iter_bytes():
                        chunks.append(chunk)
                        if time.monotonic() > deadline:
                            return self._late()
                    return self._reply(response, b"".join(chunks))
            except self.httpx.HTTPError as error:
                return self._failure(error)

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
        """The texts of a stream, one after another; `timeout` bounds the wait for each."""
        reader, failure = StreamReader(), None
        try:
            with self._lanes().taken() as lane, closing(lane.handle_request(self._request(body, headers))) as response:
                if response.is_success:
                    yield from filter(None, map(reader.text_of, response.iter_lines()))
                    reader.end()
                else:
                    failure = self._reply(response, response.read())
        except self.httpx.HTTPError as error:
            failure = self._failure(error)
        if failure is not None:
            raise fault_of(failure)  # here, where no error that knows the key is being handled

    async def alines(self, body, headers):
        """`lines` as an asynchronous iterator."""
        reader, failure = StreamReader(), None
        try:
            async with ((await self._async_lanes()).taken() as lane,
                        aclosing(await lane.handle_async_request(self._request(body, headers))) as response):
                if response.is_success:
                    async for line in response.aiter_lines():
                        text = reader.text_of(line)
                        if text:
                            yield text
                    reader.end()
                else:
                    failure = self._reply(response, await response.aread())
        except self.httpx.HTTPError as error:
            failure = self._failure(error)
        if failure is not None:
            raise fault_of(failure)

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

    def _request(self, body, headers):
        """The whole request, which alone knows the key."""
        key = {"Authorization": f"Bearer {self.secret.reveal()}"} if self.secret else {}
        return self.httpx.Request("POST", self._place, headers={**_HEADERS, **headers, **key}, json=body,
                                  extensions=self._extensions)

    def _reply(self, response, body):
        return Reply(response.status_code, dict(response.headers), self.secret.remove_from(body))

    def _failure(self, error):
        never_sent = (self.httpx.ConnectError, self.httpx.ConnectTimeout, self.httpx.PoolTimeout)
        return Reply(0, {}, f"{type(error).__name__}: {error}".encode(), was_sent=not isinstance(error, never_sent))

    def _late(self):
        return Reply(0, {}, f"no whole answer within {self.timeout:g} seconds".encode())

"""Connections that are kept: each belongs to one call at a time."""

import asyncio
import queue
from contextlib import asynccontextmanager, contextmanager


class _Lanes:
    """At most `count` transports of one connection each, made by `make` when they are needed; those that rest are in `idle`.

    A transport with many connections looks at every one of them at each call, to find those that the server has closed; a call
    with one to itself looks at one. The one used last is used next, so that no more are made than calls run at once.
    """

    def __init__(self, make, count, idle):
        self._make, self._idle, self._made = make, idle, []
        for _ in range(count):
            idle.put_nowait(None)  # A place for one that is yet to be made.

    def _add(self):
        lane = self._make()
        self._made.append(lane)
        return lane


class Lanes(_Lanes):
    """Lanes for threads. Who finds none free waits as long as it takes: the calls that hold them are bounded."""

    def __init__(self, make, count):
        super().__init__(make, count, queue.LifoQueue())

    @contextmanager
    def taken(self):
        """A transport for the length of a `with` block."""
        lane = self._idle.get()
        try:
            lane = lane or self._add()
            yield lane
        finally:
            self._idle.put(lane)

    def close(self):
        """Close all connections."""
        for lane in self._made:
            lane.close()


class AsyncLanes(_Lanes):
    """Lanes for the tasks of one event loop."""

    def __init__(self, make, count):
        super().__init__(make, count, asyncio.LifoQueue())

    @asynccontextmanager
    async def taken(self):
        """A transport for the length of a `with` block."""
        lane = await self._idle.get()
        try:
            lane = lane or self._add()
            yield lane
        finally:
            self._idle.put_nowait(lane)

    async def aclose(self):
        """Close all connections."""
        for lane in self._made:
            await lane.aclose()

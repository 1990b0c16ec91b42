"""Shared memory between a worker and whoever takes its batches: blocks that are used again when nobody reads them any more."""

import mmap
import os
import pickle
import weakref

import numpy as np

from .sending import ALIGNMENT, CAN_SHARE

#: Batches of fewer bytes go through the pipe: mapping and naming a block costs as much as copying them. Found by measuring.
SMALL = 1 << 14
#: How many unused blocks a worker keeps.
_KEPT = 4


class Blocks:
    """The worker's side: it writes batches into blocks, and makes a new one when all are in use."""

    def __init__(self):
        self.maps, self.free, self.made = {}, [], 0

    def release(self, numbers):
        """Take back blocks that nobody reads any more; returns those given up because there are too many."""
        self.free += numbers
        given_up = []
        while len(self.free) > _KEPT:
            given_up.append(self.free.pop(0))
            self.maps.pop(given_up[-1]).close()
        return given_up

    def place(self, size):
        """(number, handle) of a block of at least `size` bytes; the handle is that of a new block, or None."""
        fitting = [n for n in self.free if len(self.maps[n]) >= size]
        if fitting:
            number = min(fitting, key=lambda n: len(self.maps[n]))
            self.free.remove(number)
            return number, None
        # A quarter more, since the next batch may be larger.
        length = -(-(size + size // 4) // mmap.PAGESIZE) * mmap.PAGESIZE
        handle = os.memfd_create("retrograde-batch", os.MFD_CLOEXEC)
        try:
            # Reserved at once: what is missing is an error here, not a signal on writing.
            os.posix_fallocate(handle, 0, length)
            self.maps[self.made] = mmap.mmap(handle, length)
        except BaseException:
            os.close(handle)
            raise
        self.made += 1
        return self.made - 1, handle


def written(batch, blocks):
    """(text, places, block, handle): a pickled batch, where its buffers lie in which block, and the handle of a new block.

    The block is None where everything is in the text.
    """
    buffers = []
    text = pickle.dumps(batch, 5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    sizes = [r.nbytes for r in raw]
    is_long = len(text) > SMALL
    if not CAN_SHARE or (sum(sizes) < SMALL and not is_long):
        return (text if not buffers else pickle.dumps(batch, 5)), (), None, None
    if is_long:  # of texts, say: then the pickle lies in the block as well
        raw, sizes, text = [*raw, memoryview(text)], [*sizes, len(text)], b""
    places, end = [], 0
    for size in sizes:
        places.append((end, size))
        end += -(-size // ALIGNMENT) * ALIGNMENT
    try:
        number, handle = blocks.place(end)
    except OSError:  # no memory to share
        return pickle.dumps(batch, 5), (), None, None
    memory = blocks.maps[number]
    for (start, size), buffer in zip(places, raw, strict=True):
        memory[start : start + size] = buffer
    return text, tuple(places), number, handle


class Maps:
    """The other side: batches whose arrays lie in a worker's blocks, and which blocks nobody reads any more."""

    def __init__(self):
        self.maps, self.freed, self.owners = {}, [], {}

    def add(self, number, handle):
        """Map a new block."""
        self.maps[number] = mmap.mmap(handle, 0)
        os.close(handle)

    def drop(self, numbers):
        """Forget blocks that the worker gave up; their memory goes with the last array in it."""
        for number in numbers:
            del self.maps[number]

    def read(self, text, places, number):
        """The batch; its arrays keep the block, which is free when the last of them is gone."""
        if number is None:
            return pickle.loads(text)
        owner = np.frombuffer(self.maps[number], np.uint8)
        freed, owners, key = self.freed, self.owners, id(owner)

        def is_gone(_):
            del owners[key]
            freed.append(number)

        owners[key] = weakref.ref(owner, is_gone)
        memory = memoryview(owner)
        buffers = [memory[start : start + size] for start, size in places]
        return pickle.loads(text or buffers.pop(), buffers=buffers)

    def take_freed(self):
        """The numbers of the blocks that became free since the last call."""
        count = len(self.freed)
        found, self.freed[:count] = self.freed[:count], []
        return found

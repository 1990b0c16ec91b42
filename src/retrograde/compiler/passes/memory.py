"""Memory: where in one block each stored result lies, for as long as it lives.

Takes  steps in order, with their nests and aliases, and the scratch memory that their kernels ask for.
Gives  the place of each buffer in the block, and the size of the block.
Keeps  two buffers that live at the same time have no byte in common; what is kept lives until the last step is over.
"""

from bisect import bisect
from heapq import heappop, heappush
from math import inf

from ..target import CACHE_LINE


def placed(schedule, kept, elsewhere, scratch=()):
    """The `Arena` of the stored nodes of a schedule, but for those that are `elsewhere`.

    kept     nodes that are read when all is over
    scratch  (buffer with `nbytes`, number of the step that needs it)
    """
    requests = [
        (node, node.nbytes, first, last) for node, (first, last) in lifetimes(schedule, kept).items()
        if node.shape is not None and node not in elsewhere
    ]
    return Arena([*requests, *[(buffer, buffer.nbytes, number, number) for buffer, number in scratch]])


class Arena:
    """One block of memory cut by lifetimes: a buffer takes the lowest gap that holds it and is free while it lives.

    requests  (buffer, its bytes, the first and the last step that touches it), in any order
    size      bytes of the block, and `places` where each buffer begins
    """

    def __init__(self, requests):
        self.size, self.places = 0, {}
        self._gaps = [(0, inf)]  # from one end to the other
        taken = []
        # In the order of first uses, so that the gaps at any time are those of buffers that are dead by then.
        for number, (buffer, size, first, last) in enumerate(sorted(requests, key=lambda request: request[2])):
            while taken and taken[0][0] < first:
                _, _, start, end = heappop(taken)
                self._free(start, end)
            size = -(-max(size, 1) // CACHE_LINE) * CACHE_LINE
            start = self._take(size)
            end = start + size
            # The number makes ties orderly, without a comparison of places.
            heappush(taken, (last, number, start, end))
            self.places[buffer], self.size = start, max(self.size, end)

    def _take(self, size):
        """Where the lowest gap of `size` bytes begins, which are taken from it."""
        place, (start, end) = 0, self._gaps[0]
        while end - start < size:  # the last one has no end
            place += 1
            start, end = self._gaps[place]
        self._gaps[place : place + 1] = [(start + size, end)] if end - start > size else []
        return start

    def _free(self, start, end):
        """Make a gap of what was taken, one with the gaps beside it."""
        place = bisect(self._gaps, (start, end))
        after = place + 1 if self._gaps[place][0] == end else place
        before = place - 1 if self._gaps[place - 1][1] == start else place  # the last gap, before the first one, has no end
        start = self._gaps[before][0] if before < place else start
        end = self._gaps[place][1] if after > place else end
        self._gaps[before:after] = [(start, end)]


def lifetimes(schedule, kept):
    """For each stored node the numbers of the first and the last step that touches it; `kept` nodes live to the end."""
    found = {}
    for number, step in schedule.numbered():
        for node in step.roots:
            found[node] = [number, number]
    for number, step in schedule.numbered():
        for node in schedule.read_by(step):
            if node in found:
                found[node][1] = number  # numbers ascend
    for node in kept:
        if node in found:
            # A number that no step has: what is kept ends after all of them.
            found[node][1] = len(schedule.steps)
    return found

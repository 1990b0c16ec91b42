"""Interchanged loops: native steps in which chunks of rows are the outer loop and iterations the inner one; see `passes.tile`.

Each chunk of rows goes through all iterations on one thread, with nobody to wait for: what an iteration hands to the next stays
in the cache of its core.
"""

from ...target import CACHE_LINE
from .codegen.interchange import PLACE
from .loop_launch import LoopLaunch, move
from .table import call_of

#: Tables are so many words apart at least: threads write to them all the time, and two in one line would take it from each other.
_LINE = CACHE_LINE // 8


class InterchangedLoop(LoopLaunch):
    """A loop as a native step that has one iteration, in which each chunk of rows goes through all of them."""

    @property
    def row_chunks(self):
        """How many chunks there are."""
        return self.launches[0].chunks

    def _iterations(self, words):
        (launch,), places = self.launches, len(self._numbers)
        _, nest = call_of(launch, self._number, words)
        moves = [word for _, _, _, *movement in self._moved for word in move(movement)]
        moves = words.add([0] * (PLACE * places - len(moves)) + moves)  # the pool and the flag stay as they are
        size = (places // _LINE + 2) * _LINE
        tables = words.add([0] * (size * launch.chunks))
        slots = words.add([self.body.loop.length, size, tables, places, moves, nest], (2, 4, 5))
        return words.add([0, slots, launch.chunks, 0], (1,), [(0, "retrograde_interchanged")]), 1

    @staticmethod
    def move(_):
        """The pointers that chunks start from stay where they are."""
        return 0, 0, 0

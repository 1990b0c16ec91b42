"""Launches: calls of compiled code, as the steps of a native program."""

from typing import NamedTuple

from .units import Unit


class Launch(NamedTuple):
    """One step as a call of `entry`, a function of `unit`, for each of `chunks`.

    `buffers` and then the `words` are its slots: numbers, and units, which stand for the addresses of their functions. `lasts`
    says that it writes what outlives the program; `seconds` is a rough guess of how long one thread takes. The launch of a nest,
    that of its `step`, has `passes`, each with entry and slots of its own. `role` names what is done beside the work of the step
    itself: to "pack" an operand, to "finish" what chunks have begun.
    """

    step: object
    unit: Unit | None
    entry: str
    buffers: tuple
    words: tuple
    chunks: int
    lasts: bool
    seconds: float = 0.0
    passes: tuple = ()
    role: str = ""

    @property
    def units(self):
        """The units that it calls."""
        if self.passes:
            return [unit for launch in self.passes for unit in launch.units]
        return [self.unit, *[word for word in self.words if word.__class__ is Unit]]

    @property
    def shared_seconds(self):
        """How much of its time several threads can share."""
        return self.seconds if self.chunks > 1 else 0.0

    def with_buffers(self, buffers):
        """The same launch on other buffers, one for each of `buffers` here."""
        passes, at = [], 0
        for one in self.passes:
            passes.append(one.with_buffers(buffers[at : at + len(one.buffers)]))
            at += len(one.buffers)
        return self._replace(buffers=tuple(buffers), passes=tuple(passes))

    def put(self, slot, words):
        """Add what its function reads to `words`; where that begins. `slot(buffer)` is a buffer's place among pointers."""
        found, functions = [*map(slot, self.buffers)], []
        for word in self.words:
            if word.__class__ is Unit:
                # By name, since the unit may not be compiled yet when words are laid out.
                functions.append((len(found), word.name))
                word = 0
            found.append(word)
        return words.add(found, functions=functions)

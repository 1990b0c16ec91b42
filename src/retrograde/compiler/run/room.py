"""Room: one block of memory for the programs of a function, which never run at the same time."""

import weakref

#: Programs that need less than this keep memory of their own: moving into a room takes some tens of microseconds.
LEAST = 1 << 20


class Room:
    """The block, and whose numbers are in it. It is as large as the largest program needs that has been in it."""

    def __init__(self):
        self._block, self._user, self._is_busy = None, _nobody, False

    def run(self, user, program, arrays):
        """What the `program` of `user` gives for `arrays`, computed in the block."""
        if self._is_busy:
            return self._run_within(user, program, arrays)
        self._is_busy = True
        try:
            self.enter(user, program)
            return program(arrays)
        finally:
            self._is_busy = False

    def _run_within(self, user, program, arrays):
        """As `run`, for a program that is called by a call of Python in another one's, whose memory is in use."""
        if self._user() is user:
            return program(arrays)
        program.settle(program.block())
        try:
            return program(arrays)
        finally:
            user.leave_room()

    def enter(self, user, program):
        """Let the `program` of `user` compute in the block; whoever was there takes out what is still to be read."""
        before = self._user()
        if before is user:
            return
        if before is not None:
            before.leave_room()
        self._user = _nobody
        if self._block is None or len(self._block) < program.arena_bytes:
            self._block = None  # freed before a larger one is made
            self._block = program.block()
        program.settle(self._block)
        self._user = weakref.ref(user)


def _nobody():
    return None

"""Stopped: what is detached under a vmap shows the memory of what it was detached from."""

from ..errors import InplaceError


class Stopped:
    """The step from a value under vmap to what was detached from it: the same numbers, constant for derivatives around it too."""

    name = "detach"

    def __init__(self, batch, origin):
        self._batch, self._origin = batch, origin

    def kernel(self, x):
        """The array itself, since memory is shared."""
        return x

    def call(self, value):
        """What `value` holds now."""
        return self._batch.stopped_now(value)

    def laid_back(self, _, value):
        """What the source holds once what was detached from it holds `value`."""
        # The source is found anew where nothing is recorded: what it was detached from tells whether it has a history.
        if any([self._batch.held(x)[0].record is not None for x in (self._origin, value)]):
            raise InplaceError("what is detached under vmap cannot be written to where a derivative is taken around the vmap, "
                               "which would see it; write to a copy, x.detach().clone()")
        return value

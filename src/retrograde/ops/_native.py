"""Native: where ops find compiled code for what takes NumPy long. Who has it is told once, when the package is put together."""


class Native:
    """Functions of compiled code by name, each found when it is first called. All give NotImplemented for what is left to NumPy."""

    def __init__(self):
        self._find, self._found = None, {}

    def provide(self, find):
        """Let `find(name)` give the function called `name`."""
        self._find, self._found = find, {}

    def __call__(self, name, *args):
        function = self._found.get(name)
        if function is None:
            if self._find is None:
                return NotImplemented
            function = self._found[name] = self._find(name)
        return function(*args)


native = Native()

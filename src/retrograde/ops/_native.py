"""Native: where ops find compiled code for what takes NumPy long. Who has it is told once, when the package is put together."""

from functools import partial

import numpy as np


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

#: With fewer elements NumPy is done before a call of compiled code pays: with several functions of NumPy's, and with a single one.
_FEWEST, _FEWEST_OF_ONE = 4096, 16384


def by_element(name, function, traced, parameters, fewest=_FEWEST):
    """`function` of arrays, and of parameters at the end, which leaves large arrays to compiled code.

    name        what stands for the function in every process
    traced      the same function of values, where parameters are as they are by default
    parameters  what they are by default
    fewest      how many elements are large
    """
    count = len(parameters)

    def run(*args):
        x = args[0]
        if x.__class__ is np.ndarray and x.size >= fewest and (not count or args[-count:] == parameters):
            found = native("function", name, traced, args[:-count] if count else args)
            if found is not NotImplemented:
                return found
        return function(*args)

    def run_one(x):
        if x.__class__ is np.ndarray and x.size >= fewest:
            found = native("function", name, traced, (x,))
            if found is not NotImplemented:
                return found
        return function(x)

    return run_one if function.__code__.co_argcount == 1 else run


#: For what is a single function of NumPy's, and its slope.
by_many_elements = partial(by_element, fewest=_FEWEST_OF_ONE)

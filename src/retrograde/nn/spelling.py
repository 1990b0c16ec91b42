"""Functions by PyTorch's names of arguments: what ops take by place alone can be given by name."""

from functools import partial, wraps
from typing import Any, cast

from ..core.explain import renamed
from ..errors import RetrogradeError


def spelled(function, ignored=()):
    """`function`, whose first arguments may be given by name as well, the very first as `input`.

    Keywords that are `ignored` change nothing.
    """
    names = _names(function)

    @wraps(function)
    def called(*args, **kwargs):
        if kwargs:
            for name in ignored:
                kwargs.pop(name, None)
            given = len(args)
            while given < len(names) and names[given] in kwargs:
                args = (*args, kwargs.pop(names[given]))
                given += 1
        try:
            return function(*args, **kwargs)
        except RetrogradeError as error:
            raise renamed(error, called.__name__, args, kwargs) from None

    cast("Any", called).is_spelled = True
    return called


#: `spelled`, of a function that PyTorch has in place as well.
in_place = partial(spelled, ignored=("inplace",))


def _names(function):
    """The names of all arguments of the op behind `function`, in order."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return ("input", *function.__code__.co_varnames[1 : function.__code__.co_argcount])


def belong_to(module, functions):
    """Let those of `functions`, by name, that are spelled belong to the file called `module`, where pickles look for them."""
    for name, function in functions.items():
        if getattr(function, "is_spelled", False):
            function.__module__, function.__name__, function.__qualname__ = module, name, name

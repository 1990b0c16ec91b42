"""Leaving: which values a transform differentiates in now, so that it is known that plain numbers of them lose a gradient."""

from ..errors import LostGradientError, TraceError

#: The number of the argument, by the records of the arguments that transforms differentiate in now, in all threads: what depends on
#: one of them loses its gradient when it becomes a number. Outside of transforms it is empty, and nothing is searched.
DIFFERENTIATED = {}
#: What is said of arrays of objects.
_OF_OBJECTS = ("dtype('O')", "not supported for the input types", "has no callable", "object arrays")


def differentiating(records, function, args):
    """`function(*args)`, of which the arguments have the records `records`, a pair of each and the number of its argument."""
    DIFFERENTIATED.update(records)
    try:
        return function(*args)
    except (SystemError, TypeError, ValueError) as error:
        raise unwrapped(error) from None
    finally:
        for record, _ in records:
            DIFFERENTIATED.pop(record, None)


def unwrapped(error):
    """The error of ours that a library has put into another one, which says less, as when numbers are written into arrays;
    `error` itself if there is none.
    """
    if isinstance(error.__cause__, (LostGradientError, TraceError)):
        return error.__cause__
    if any([word in str(error) for word in _OF_OBJECTS]):
        error.add_note("An array of values that are differentiated is one of objects, which not every function takes: make one "
                       "tensor of the values, rg.stack(values), or say x.detach() if they are meant as constants.")
    return error


def argument_behind(record):
    """The number of the argument, now differentiated in, that `record` depends on; None if there is none."""
    live = DIFFERENTIATED.copy()
    if not live:
        return None
    if record in live:
        return live[record]
    # Records older than all arguments cannot depend on one: a graph from before the transform is not searched.
    oldest = min([known.order for known in live])
    seen, stack = {None, record}, [record]
    while stack:
        for parent in stack.pop().parents:
            if parent in seen or parent.order < oldest:
                continue
            if parent in live:
                return live[parent]
            seen.add(parent)
            stack.append(parent)
    return None

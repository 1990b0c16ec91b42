"""A walk over plain containers, without recursion: each object once, whatever refers to what."""

from ...core.value import Value

_SEQUENCES = (list, tuple, set)


def objects(root):
    """All objects in `root`, and `root`: in the order of their places, those inside containers after them."""
    waiting, seen, kept = [root], set(), []
    while waiting:
        found = waiting.pop()
        if isinstance(found, (*_SEQUENCES, dict, Value)):
            if id(found) in seen:
                continue
            seen.add(id(found))
            # An object that lives only in an attribute must not give its identity to the next one.
            kept.append(found)
        yield found
        waiting += reversed(_parts(found))


def _parts(found):
    if isinstance(found, dict):
        return [x for pair in found.items() for x in pair] + [*getattr(found, "__dict__", {}).values()]
    if isinstance(found, _SEQUENCES):
        return [*found]
    return [*attributes_of(found).values()] if isinstance(found, Value) else []


def attributes_of(tensor):
    """The attributes that a program has given to a tensor: what the class has as well is the engine's."""
    return {name: value for name, value in vars(tensor).items() if not hasattr(type(tensor), name)}

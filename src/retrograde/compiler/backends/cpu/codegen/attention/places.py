"""Where the matrices of a task are: the leading axes of arrays, counted down from a number."""

from ..emit import I64, at


def digits(b, number, lengths):
    """The place along each axis of element `number` of an array of these lengths."""
    found = []
    for length in reversed(lengths):
        found.append(I64(0) if length == 1 else b.srem(number, I64(length)))
        number = b.sdiv(number, I64(length)) if length > 1 else number
    return found[::-1]


def matrix(b, pointer, item, places, operand):
    """The address of the matrix of an operand at a place of its leading axes."""
    # Along axes of step 0 an array is repeated: no instruction is needed to stay where it is.
    terms = [(place, step) for place, step in zip(places, operand.batch, strict=False) if step]
    return at(b, pointer, item, *terms)


def rooms(b, pointer, plan, chunk):
    """The addresses of the parts of a chunk's scratch memory."""
    found, start = [], 0
    for part in plan.parts:
        found.append(at(b, pointer, plan.item, (chunk, sum(plan.parts)), start))
        start += part
    return found

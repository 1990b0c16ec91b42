"""Scanning: how much memory a file takes when it is parsed, found before that from the lengths of its fields.

Protocol buffers let two bytes stand for a node, and one for an integer of eight bytes, so that a small file can fill the memory.
"""

from ..errors import OnnxError

#: {message: {number of a field: the message that it holds}}, of those that hold others.
_MESSAGES = {
    "model": {7: "graph", 8: "other", 14: "other", 20: "other", 25: "function", 26: "other"},
    "graph": {1: "node", 5: "tensor", 11: "other", 12: "other", 13: "other", 14: "other", 15: "sparse", 16: "other"},
    "function": {7: "node", 9: "other", 11: "attribute", 12: "other", 14: "other"},
    "node": {5: "attribute", 9: "other"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 14: "other", 15: "other", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
#: {message: {number of a field of integers: the bytes of one, which may be written in one byte}}.
_INTEGERS = {"tensor": {1: 8, 5: 4, 7: 8, 11: 8}, "attribute": {8: 8}, "sparse": {3: 8}}
#: What a message takes, with what is made of it; of any other entry at least.
_COSTS, _ENTRY = {"node": 1000, "tensor": 600, "attribute": 400, "graph": 1000, "function": 1000, "sparse": 600, "other": 200}, 32
#: A parsed file may take so many times its size, and these bytes beyond that: a model of many nodes and few weights is one too.
TIMES, FLOOR = 4, 256 << 20


def check_modest(content, name):
    """Raise an OnnxError if the bytes of a model, parsed, take far more memory than they are long. What is no model passes here."""
    most, cost = TIMES * len(content) + FLOOR, 0
    stack = [(0, len(content), "model")]
    while stack:
        place, end, kind = stack.pop()
        inner, integers = _MESSAGES.get(kind, {}), _INTEGERS.get(kind, {})
        while place < end:
            key, place = _varint(content, place, end)
            number, form = key >> 3, key & 7
            cost += _ENTRY
            if form == 0:
                _, place = _varint(content, place, end)
            elif form in (1, 5):
                place += 8 if form == 1 else 4
            elif form == 2:
                length, place = _varint(content, place, end)
                if number in inner:
                    cost += _COSTS[inner[number]]
                    stack.append((place, min(place + length, end), inner[number]))
                cost += length * integers.get(number, 1)
                place += length
            else:
                return  # no field of a model has this form; the parser says so
            if cost > most:
                raise OnnxError(f"{name} of {len(content)} bytes would take more than {most} bytes of memory, which no model does "
                                "that is written in earnest")


def _varint(content, place, end):
    """(a number of as many bytes as it takes, the place behind it)."""
    found = shift = 0
    while place < end:
        byte = content[place]
        place += 1
        found |= (byte & 127) << shift
        shift += 7
        if byte < 128 or shift > 63:
            break
    return found, place

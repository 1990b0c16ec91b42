"""Writes small GGUF files for tests, by the description of the format alone."""

import struct

import numpy as np

_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q4_K": 12, "Q6_K": 14, "I32": 26, "BF16": 30}
_PLAIN = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int32": "I32"}


def text(value):
    content = value.encode()
    return struct.pack("<Q", len(content)) + content


def value(given):
    """A value of metadata with its type before it."""
    if isinstance(given, bool):
        return struct.pack("<I?", 7, given)
    if isinstance(given, int):  # sizes are of 32 bits without a sign, which llama.cpp wants
        return struct.pack("<II", 4, given) if 0 <= given < 2**32 else struct.pack("<Iq", 11, given)
    if isinstance(given, float):
        return struct.pack("<If", 6, given)
    if isinstance(given, str):
        return struct.pack("<I", 8) + text(given)
    if isinstance(given, np.ndarray):
        kind = {"float32": 6, "int32": 5, "bool": 7}[given.dtype.name]
        return struct.pack("<IIQ", 9, kind, len(given)) + given.tobytes()
    parts = [value(part) for part in given]
    kind = parts[0][:4] if parts else struct.pack("<I", 8)
    return struct.pack("<I", 9) + kind + struct.pack("<Q", len(parts)) + b"".join([part[4:] for part in parts])


def write(path, metadata, tensors, alignment=32, version=3):
    """Write `tensors` by name: arrays, or (shape, name of a format, rows of blocks)."""
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    head += b"".join([text(key) + value(given) for key, given in metadata.items()])
    data = b""
    for name, given in tensors.items():
        shape, form, array = given if isinstance(given, tuple) else (given.shape, _PLAIN[given.dtype.name], given)
        data += b"\0" * (-len(data) % alignment)
        head += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape[::-1])
        head += struct.pack("<IQ", _TYPES[form], len(data))
        data += np.ascontiguousarray(array).tobytes()
    path.write_bytes(head + b"\0" * (-len(head) % alignment) + data)
    return path

"""Quick calls: all that a call of a small program has to check and to do, written out as one Python function.

A program may run for less time than it takes to ask, loop by loop, whether all is as it was. A quick call asks the same, of the
very objects that the step is bound to; where the answer is no, it gives NotImplemented, and the caller goes the usual way.
"""

import numpy as np

from ..core import edits, writes


def quick_call(parts, specs, tensor, bound, places, seen):
    """A function of the tuple of arguments.

    parts   of the program: `call`, which runs it, its `flag`, `fail`, its `inboxes` and its only `outlet`; `kind`, which makes
            a result of an array; and `link`, which gives it a history from the arguments' arrays, or None
    specs   for each argument its shape, its dtype, whether it is a `tensor`, and more
    bound   (value, its array), places (mapping, key, value) and `seen`, the clock of edits: as they must be
    """
    names = {**parts, "NDARRAY": np.ndarray, "TENSOR": tensor, "CLOCK": edits.CLOCK, "READERS": writes.READERS, "SEEN": seen}
    lines = [f"if len(args) != {len(specs)} or CLOCK[0] != SEEN[0] or READERS: return NotImplemented"]
    for i, (shape, dtype, is_tensor, *_) in enumerate(specs):
        names |= {f"shape{i}": shape, f"dtype{i}": dtype, f"inbox{i}": parts["inboxes"][i]}
        lines += [f"x{i} = args[{i}]", f"if x{i}.__class__ is not {'TENSOR' if is_tensor else 'NDARRAY'}: return NotImplemented"]
        lines += [f"if x{i}.record is not None: return NotImplemented", f"x{i} = x{i}.data"] if is_tensor else []
        lines.append(f"if x{i}.dtype is not dtype{i} or x{i}.shape != shape{i}: return NotImplemented")
    for i, (value, array) in enumerate(bound):
        names |= {f"value{i}": value, f"array{i}": array}
        lines.append(f"if value{i}.data is not array{i}: return NotImplemented")
    for i, (mapping, key, value) in enumerate(places):
        names |= {f"get{i}": mapping.get, f"key{i}": key, f"held{i}": value}
        lines.append(f"if get{i}(key{i}, True) is not held{i}: return NotImplemented")
    taken = "".join([f"x{i}, " for i in range(len(specs))])
    lines += [f"inbox{i}[...] = x{i}" for i in range(len(specs))]
    result = "kind(outlet.copy())" if parts["link"] is None else f"link(kind(outlet.copy()), ({taken}))"
    lines += ["call()", "if flag[0]: fail()", f"return {result}"]
    exec("\n    ".join(["def quick(args):", *lines]), names)  # noqa: S102 - made of numbers and of names that stand here
    return names["quick"]

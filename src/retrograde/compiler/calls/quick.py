"""Quick calls: all that a call of a small program has to check and to do, written out as one Python function.

A program may run for less time than it takes to ask, loop by loop, whether all is as it was. A quick call asks the same, of the
very objects that the step is bound to; where the answer is no, it gives NotImplemented, and the caller goes the usual way.
"""

from functools import lru_cache
from operator import attrgetter, is_

import numpy as np

from ...core import edits, writes

#: What Python raises where something is no longer there.
_GONE = "(LookupError, AttributeError, ValueError, TypeError, ReferenceError)"
#: So many tests are written out in one function: Python takes some 12 µs to compile each, and a network has thousands of them.
_MOST = 64


def all_same(watches):
    """A function without arguments that says whether all `watches` find what they found."""
    parts = [_all_same(watches[first : first + _MOST]) for first in range(0, max(len(watches), 1), _MOST)]
    return parts[0] if len(parts) == 1 else lambda: all(part() for part in parts)


def _all_same(watches):
    tests, names = _tests(watches)
    lines = ["def same():", " try:", *[f"  if not {test}: return False" for test in tests], "  return True"]
    exec(_compiled("\n".join([*lines, f" except {_GONE}: return False"])), names)  # noqa: S102 - as below
    return names["same"]


@lru_cache(maxsize=64)
def _compiled(text):
    """The code of a text, which is the same for the parameters of one layer and for those of the next."""
    return compile(text, "<tests>", "exec")


def all_bound(values, arrays):
    """A function without arguments that says whether the `values` hold the `arrays`, which may change."""
    if len(values) > _MOST:
        raw = attrgetter("raw")
        return lambda: all(map(is_, map(raw, values), arrays))
    tests = " and ".join([f"value{i}.raw is arrays[{i}]" for i in range(len(values))])
    names = {"arrays": arrays, **{f"value{i}": value for i, value in enumerate(values)}}
    exec(f"def bound(): return {tests or True}", names)  # noqa: S102 - as below
    return names["bound"]


def _tests(watches):
    """The tests of `watches`, and what their names stand for."""
    tests, names = [], {"is_": is_}
    for i, watch in enumerate(watches):
        test, known = watch.test(i)
        tests.append(test)
        names |= known
    return tests, names


def quick_call(parts, specs, bound, watches, seen):
    """A function of the tuple of arguments.

    parts   of the program: `call`, which runs it, its `flag`, `fail`, its `inboxes` and its only `outlet`; `kind`, which makes
            a result of an array; and `link`, which gives it a history from the arguments' arrays, or None
    specs   for each argument its shape, its dtype, the class that it has as a tensor, or None for an array, and more
    bound   (value, its array), as they must be; `watches`, which must find all the same; and `seen`, the clock of edits
    """
    names = {**parts, "NDARRAY": np.ndarray, "CLOCK": edits.CLOCK, "READERS": writes.READERS, "SEEN": seen}
    lines = [f"if len(args) != {len(specs)} or CLOCK[0] != SEEN[0] or READERS: return NotImplemented"]
    for i, (shape, dtype, kind, *_) in enumerate(specs):
        names |= {f"shape{i}": shape, f"dtype{i}": dtype, f"inbox{i}": parts["inboxes"][i], f"kind{i}": kind or np.ndarray}
        lines += [f"x{i} = args[{i}]", f"if x{i}.__class__ is not kind{i}: return NotImplemented"]
        lines += [f"if x{i}.record is not None: return NotImplemented", f"x{i} = x{i}.raw"] if kind else []
        lines.append(f"if x{i}.dtype is not dtype{i} or x{i}.shape != shape{i}: return NotImplemented")
    for i, (value, array) in enumerate(bound):
        names |= {f"value{i}": value, f"array{i}": array}
        lines.append(f"if value{i}.raw is not array{i}: return NotImplemented")
    tests, known = _tests(watches)
    names |= known
    lines += ["try:", *[f"    if not {test}: return NotImplemented" for test in tests], "    pass"]
    lines.append(f"except {_GONE}: return NotImplemented")
    taken = "".join([f"x{i}, " for i in range(len(specs))])
    lines += [f"inbox{i}[...] = x{i}" for i in range(len(specs))]
    result = "kind(outlet.copy())" if parts["link"] is None else f"link(kind(outlet.copy()), ({taken}))"
    lines += ["call()", "if flag[0]: fail()", f"return {result}"]
    exec("\n    ".join(["def quick(args):", *lines]), names)  # noqa: S102 - made of numbers and of names that stand here
    return names["quick"]

"""The two tiers of tests: the default run, and the `long` ones, which `pytest -m long` runs.

Of very many cases of one kind a part stays in the default run. It is drawn from the names of the cases, so that a new one changes
nothing about the others.
"""

from zlib import crc32

import pytest


def drawn(name, part):
    """Whether a case of this name is of the `part`-th that stays."""
    return crc32(name.encode()) % part == 0


def tiered(cases, key, part=3):
    """Parameters for (name, case) pairs: the first of each `key` of a case and a `part`-th of the others stay, the rest is long."""
    seen = set()
    for name, case in cases:
        is_first = key(case) not in seen
        seen.add(key(case))
        yield pytest.param(case, id=name, marks=() if is_first or drawn(name, part) else pytest.mark.long)


def mark_what_is_not_drawn(items):
    """Tests marked `sampled(part)` are long unless they are drawn; of each such function one stays at least."""
    groups = {}
    for item in items:
        if found := item.get_closest_marker("sampled"):
            groups.setdefault((item.path, item.originalname), []).append((item, *found.args))
    for group in groups.values():
        staying = [item for item, part in group if drawn(item.name, part)] or [group[0][0]]
        for item, _ in group:
            if item not in staying:
                item.add_marker(pytest.mark.long)

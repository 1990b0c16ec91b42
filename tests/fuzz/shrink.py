"""Making a program that fails smaller, and writing it down as a snippet that can be pasted."""

import ast
import re
from dataclasses import replace

import numpy as np

from .checks import check, quiet, scope_of, tolerance
from .forms import FORMS, PRELUDE
from .program import array_literal, arrays, reads


def shrunk(program, form, outcome, most=250):
    """A smaller program that fails in the same way, found in at most so many attempts."""
    tries = 0
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(program):
            tries += 1
            if tries > most:
                return program
            if check(candidate, form).cause == outcome.cause:
                program, is_smaller = candidate, True
                break
    return program


def _smaller(program):
    """Programs with less in them, those with much less first."""
    for name in program.outputs if len(program.outputs) > 1 else ():
        yield replace(program, outputs=(name,)).without_unused()
    statements = program.statements
    for count in (len(statements) // 2, len(statements) // 4, 1):
        for i in reversed(range(0, len(statements), count)) if count else ():
            yield replace(program, statements=statements[:i] + statements[i + count:]).without_unused()
    for i, statement in enumerate(statements):
        lines = statement.split("\n")
        for k in range(1, len(lines)):
            yield _with(program, i, "\n".join(lines[:k] + lines[k + 1:]))
    for i, statement in enumerate(statements):
        if alias := re.fullmatch(r"(v\d+) = ([vx]\d+)", statement):
            yield _renamed(program, i, *alias.groups())
    yield from _cut(program)
    for i in reversed(range(len(statements))):
        yield from _replaced(program, i)
    yield from _plainer(program)


def _renamed(program, i, name, other):
    """The program with `other` wherever it says `name`, which statement `i` made."""
    def changed(text):
        return re.sub(rf"\b{name}\b", other, text)

    statements = (*program.statements[:i], *map(changed, program.statements[i + 1:]))
    return replace(program, statements=statements, outputs=tuple(map(changed, program.outputs))).without_unused()


def _with(program, i, *statement):
    return replace(program, statements=program.statements[:i] + statement + program.statements[i + 1:]).without_unused()


def _replaced(program, i):
    """The value of statement `i` as an argument, or as an earlier value of its shape."""
    head = replace(program, statements=program.statements[:i + 1], outputs=())
    name = program.statements[i].split(" = ")[0].strip()
    if not name.isidentifier() or program.statements[i].startswith(f"{name} = x") and " " not in program.statements[i][len(name) + 3:]:
        return
    try:
        with quiet():
            scope = scope_of(replace(head, outputs=(name,)), arrays(program))
            value = np.asarray(scope["program"](*scope["tensors"])[0])
    except Exception:  # noqa: BLE001 - a statement of what was removed
        return
    if value.size > 60:
        return
    new = f"x{1 + max(int(n[1:]) for n, _ in program.inputs)}"
    yield replace(_with(program, i, f"{name} = {new}"), inputs=(*program.inputs, (new, array_literal(value)))).without_unused()
    right = program.statements[i].partition(" = ")[2]
    for other in [n for n, _ in program.inputs] + [s.split(" = ")[0] for s in program.statements[:i]]:
        if other != right and other.isidentifier() and reads(right, other):
            yield _with(program, i, f"{name} = {other}")


def _cut(program):
    """Arguments with half as many rows, or columns."""
    found = arrays(program)
    for axis in (0, 1, 2, 3):
        for sizes in {x.shape[axis] for x in found if x.ndim > axis and x.shape[axis] > 1}, :
            for size in sizes:
                for fewer in dict.fromkeys((1, 2, size // 2, size - 1)):
                    if 0 < fewer < size:
                        cut = [x[(slice(None),) * axis + (slice(fewer),)] if x.ndim > axis and x.shape[axis] == size else x for x in found]
                        yield replace(program, inputs=tuple((n, array_literal(x)) for (n, _), x in zip(program.inputs, cut, strict=True)))


def _plainer(program):
    """Float64 for other floats, and rounder numbers."""
    for narrow in ("float32", "float16", "bfloat16"):
        if narrow in program.text + program.inputs_text:
            yield replace(program, inputs=tuple((n, text.replace(f"'{narrow}'", "'float64'")) for n, text in program.inputs),
                          statements=tuple(s.replace(f"'{narrow}'", "'float64'") for s in program.statements))
    found = arrays(program)
    for k, x in enumerate(found):
        rounder = np.round(x.astype("float64"), 1).astype(x.dtype) if x.dtype.kind == "f" else x
        if array_literal(rounder) != program.inputs[k][1]:
            inputs = list(program.inputs)
            inputs[k] = (inputs[k][0], array_literal(rounder))
            yield replace(program, inputs=tuple(inputs))


def parts_of(prelude, text):
    """Those definitions of a prelude that some source needs, in order."""
    found = [(_defined(node), ast.get_source_segment(prelude, node)) for node in ast.parse(prelude).body]
    needed, is_more = [], True
    while is_more:
        is_more = False
        for names, part in found:
            if (names, part) not in needed and any(reads(text, name) for name in names):
                needed.append((names, part))
                text, is_more = text + part, True
    return "\n\n".join(part for names, part in found if (names, part) in needed)


def _defined(node):
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [node.name]


def imports_of(text):
    """The lines that import what some source names."""
    known = {"contextlib": "import contextlib", "copy": "import copy", "os": "import os", "rivals": "from tests.fuzz import rivals",
             "runtime": "from retrograde import runtime", "tempfile": "import tempfile", "threading": "import threading", "bfloat16": "import ml_dtypes  # NumPy learns the name",
             "np": "import numpy as np", "inf": "from numpy import inf", "nan": "from numpy import nan", "rg": "import retrograde as rg",
             "nn": "from retrograde import nn", "optim": "from retrograde import optim", "F": "import retrograde.nn.functional as F"}
    return "\n".join(line for name, line in known.items() if re.search(rf"\b{name}\b", text))


def snippet(program, form, outcome):
    """Source that shows the defect by itself: it ends in an assertion, or in the error."""
    wanted, got = FORMS[form].wanted, FORMS[form].got
    limit = tolerance(program)
    same = ("a.tobytes() == b.tobytes()" if FORMS[form].limit is None else
            f"np.allclose(a.astype(complex), b.astype(complex), rtol={limit}, atol={limit}, equal_nan=True)")
    compared = "\n".join([
        f"wanted = rg.tree.leaves({wanted})", f"got = rg.tree.leaves({got})", "for a, b in zip(wanted, got, strict=True):",
        "    a, b = (None if x is None else np.asarray(x.detach() if isinstance(x, rg.Tensor) else x) for x in (a, b))",
        "    assert (a is None) == (b is None)",
        "    assert a is None or (a.shape, a.dtype) == (b.shape, b.dtype), (a.dtype, b.dtype)",
        f"    assert a is None or {same}, (a, b)",
    ])
    parts = parts_of(PRELUDE, wanted + got)
    source = "\n\n\n".join(part for part in (program.text, program.inputs_text + "\n\n" + parts, compared) if part)
    told = outcome.detail.replace("\n", " ")[:160]
    return f"# seed {program.seed}, {form}: {outcome.kind}, {told}\n{imports_of(source)}\n\n\n{source}\n"

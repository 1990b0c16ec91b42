"""Stateful scripts: checked eager beside compiled with all state after each call, made smaller, written down."""

import copy
import os
import threading
from dataclasses import replace
from functools import partial

import numpy as np

import retrograde as rg
from retrograde import nn, optim

from .checks import Outcome, quiet
from .scripts_drawing import drawn
from .scripts_prelude import SCRIPT_PRELUDE
from .shrink import imports_of, parts_of

__all__ = ["check", "drawn", "shrunk", "snippet"]

NAMES = {"np": np, "rg": rg, "nn": nn, "optim": optim, "F": nn.functional, "copy": copy, "threading": threading, "os": os}
_PRELUDE = compile(SCRIPT_PRELUDE, "prelude", "exec")


def check(script):
    """Run a script eagerly and compiled."""
    # Without a name classes count as those of Python itself, into which the search for captured tensors does not look.
    scope = {**NAMES, "__name__": "script"}
    exec(_PRELUDE, scope)
    try:
        exec(script.text, scope)
    except SyntaxError:
        return Outcome("invalid")
    run, limit = scope["script"], 5e-3 if "float32" in script.text else 1e-8
    with quiet():
        try:
            wanted = run(lambda f: f)
        except Exception as error:  # noqa: BLE001 - an action that does not suit the model
            return Outcome("invalid", f"{type(error).__name__}: {error}"[:300])
        try:
            got = run(rg.jit)
        except Exception as error:  # noqa: BLE001 - what it is is told
            return Outcome("crashed", f"{type(error).__name__}: {error}"[:300])
        found = scope["problem"](wanted, got, limit)
        if found is None:
            errors = [f"{state['error']}: {state['message']}" for state in wanted if "error" in state]
            return Outcome("refused", errors[0]) if errors else Outcome("agrees")
        call, name, told = found
        if "error" not in wanted[call] and got[call].get("error") == "TraceError":
            return Outcome("refused", got[call]["message"])
        if isinstance(told, float) and _moves(script, scope, wanted, call, name, told):
            return Outcome("unstable")
    return Outcome("different", f"{name.split()[0]}: call {call}, {name} {told}"[:500])


#: Units of the last place by which data are moved. A sum that is nothing but rounding, as the gradient of a bias before a batch norm,
#: keeps its sign in half of the attempts, and an optimizer may make a whole step of it.
NUDGES = (1, -3, 10, -1, 3, -10, 30, -30, 100, -100)


def _moves(script, scope, wanted, call, name, size):
    """Whether eager results move as far when the data move in their last places, or when all is computed in double precision."""
    step = 1e-7 if "float32" in script.text else 3e-16
    runs = [partial(scope["script"], _as_it_is, nudge * step) for nudge in NUDGES]
    if "float32" in script.text:
        wide = dict(scope)
        exec(script.text.replace("float32", "float64"), wide)
        runs.insert(0, partial(wide["script"], _as_it_is))
    before = wanted[call][name].astype(float)
    for run in runs:
        other = run()[call].get(name)
        if other is None or other.shape != before.shape or 8 * np.max(np.abs(other.astype(float) - before), initial=0) >= size:
            return True
    return False


def _as_it_is(function):
    return function


def shrunk(script, outcome, most=200):
    """A smaller script that differs in the same kind of state."""
    tries, is_smaller = 0, True
    while is_smaller:
        is_smaller = False
        for candidate in _smaller(script):
            tries += 1
            if tries > most:
                return script
            found = check(candidate)
            if found.kind == outcome.kind and found.detail.split(":")[0] == outcome.detail.split(":")[0]:
                script, is_smaller = candidate, True
                break
    return script


def _smaller(script):
    statements = script.statements
    for count in dict.fromkeys((max(len(statements) // 2, 1), 1)):
        for i in reversed(range(0, len(statements), count)):
            yield replace(script, statements=statements[:i] + statements[i + count:])
    for i in reversed(range(len(script.step))):
        yield replace(script, step=script.step[:i] + script.step[i + 1:])
    for model in ("Leaves()", "nn.Linear(3, 2)"):
        yield _with_head(script, "model = ", f"model = {model}")
    yield _with_head(script, "optimizer = ", "optimizer = optim.SGD(model.parameters(), lr=0.1)")


def _with_head(script, start, line):
    return replace(script, head=tuple(line if old.startswith(start) else old for old in script.head))


def snippet(script, outcome):
    """Source that shows the difference by itself."""
    limit = 5e-3 if "float32" in script.text else 1e-8
    compared = f"found = problem(script(lambda f: f), script(rg.jit), {limit})\nassert found is None, found\n"
    source = "\n\n\n".join([parts_of(SCRIPT_PRELUDE, script.text + compared), script.text, compared])
    return f"# seed {script.seed}, stateful: {outcome.kind}, {outcome.detail[:160]!r}\n{imports_of(source)}\n\n\n{source}"

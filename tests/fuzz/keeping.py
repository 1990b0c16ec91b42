"""Keeping what was found: each seed that fails, made smaller, as a file of its own."""

from pathlib import Path

from . import scripts
from .checks import check
from .shrink import shrunk, snippet
from .worker import source_of


def snippet_of(kind, seed, form):
    """The snippet of a seed that fails in a form; None where it does not fail here."""
    if kind == "stateful":
        script = scripts.drawn(seed)
        outcome = scripts.check(script)
        if not outcome.is_defect:
            return None
        smaller = scripts.shrunk(script, outcome)
        return scripts.snippet(smaller, scripts.check(smaller))
    program = source_of(kind, seed)
    outcome = check(program, form)
    if not outcome.is_defect:
        return None
    smaller = shrunk(program, form, outcome)
    return snippet(smaller, form, check(smaller, form))


def keep(defects, folder):
    """Write the snippets of (kind, seed, form, ...) into a folder; those that are there already stay."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for kind, seed, form, *_ in defects:
        path = folder / f"{kind}_{seed}_{form.replace(' ', '_')}.py"
        if not path.exists() and (text := snippet_of(kind, seed, form)) is not None:
            path.write_text(text)
            print(f"kept {path}", flush=True)

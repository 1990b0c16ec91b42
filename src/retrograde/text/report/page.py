"""The report of a tuning run: an HTML page without anything outside it."""

from html import escape
from importlib import resources

from ..data import as_text
from ..evidence.validation import mean
from .diff import pieces

_TAGS = {"same": "{}", "gone": "<del>{}</del>", "new": "<ins>{}</ins>"}
#: How much of the feedback behind an edit is shown, in characters.
_SHOWN = 4000


def page(run, title="Tuning", subtitle="", parameters=()):
    """`run` as an HTML page: scores before and after, cost, and every edit as a diff with the feedback behind it.

    `parameters` are the text parameters as they are now, shown at the end.

    >>> "<h1>Tuning</h1>" in page(rg.text.Run())
    True
    """
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></header>
<section class="facts">{"".join(_fact(*pair) for pair in facts(run))}</section>
{_chart(run)}
{_tested(run.test)}
<section class="card"><h2>Steps</h2>{"".join(map(_step, run.steps)) or "<p>No step was made.</p>"}</section>
{_results(parameters)}
<footer>Made by retrograde. Everything on this page is in this one file.</footer>
</main>
</body>
</html>
"""


def facts(run):
    """(value, what it is) of what a run came to."""
    found = [(_change(run.scores, name), f"{name} score") for name in ("validation", "test") if f"{name} before" in run.scores]
    if run.test is not None and any(score is not None for score in run.test.after):
        _, after, gain = run.test.intervals()
        found.append((str(after), "test score, 95 % interval"))
        found.append((f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]", "gain, paired"))
    usage = run.usage
    kept = f"{len(run.accepted)} of {len(run.steps)}"
    calls = f"{usage.calls:,}" + (f" + {run.cached:,} cached" if run.cached else "")
    found += [(kept, "steps kept"), (calls, "calls"), (f"{usage.tokens:,}", "tokens")]
    found += [(f"{usage.cost:.4f}", "cost")] if usage.cost else []
    found += [(f"{run.cut:,}", "answers empty or cut off")] if run.cut else []
    return [*found, (run.ending, "end")]


def _change(scores, name):
    before, after = scores[f"{name} before"], scores.get(f"{name} after")
    return f"{before:.3f}" if after is None else f"{before:.3f} → {after:.3f}"


def _fact(value, name):
    return f'<div class="card fact"><strong>{escape(value)}</strong><span>{escape(name)}</span></div>'


def _chart(run):
    """The score of every candidate, and of what was kept, as a picture."""
    scored = [step for step in run.steps if step.after is not None]
    if not scored:
        return ""
    low, high = (f(score for step in scored for score in (step.before, step.after)) for f in (min, max))
    width, height = 640, 160
    across = lambda i: 20 + (width - 40) * (i + 1) / len(scored)
    up = lambda score: height - 20 - (height - 40) * ((score - low) / (high - low) if high > low else 0.5)
    line, level = [f"20,{up(scored[0].before):.1f}"], scored[0].before
    dots = []
    for i, step in enumerate(scored):
        line.append(f"{across(i):.1f},{up(level):.1f}")
        if step.is_accepted:
            level = step.after
            line.append(f"{across(i):.1f},{up(level):.1f}")
        dots.append(f'<circle class="{step.outcome}" cx="{across(i):.1f}" cy="{up(step.after):.1f}" r="5">'
                    f"<title>{escape(str(step))}</title></circle>")
    return (f'<section class="card"><h2>Validation score</h2><svg viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="Validation score of each step"><polyline points="{" ".join(line)}"/>{"".join(dots)}'
            f'<text x="20" y="{height - 2}">{low:.3f} to {high:.3f}; filled: kept, hollow: rejected</text></svg></section>')


def _tested(test):
    """Every test item whose score is another at the end, what was lost first."""
    if test is None:
        return ""
    changed = sorted(test.changed(), key=lambda change: (mean([change[2]]) or 0) - (mean([change[1]]) or 0))
    rows = "".join(f"<tr><td>{_item(test.items, place)}</td><td>{_score(before)}</td><td>{_score(after)}</td></tr>"
                   for place, before, after in changed)
    head = "<thead><tr><th>item</th><th>before</th><th>after</th></tr></thead>"
    table = f"<table>{head}<tbody>{rows}</tbody></table>" if rows else ""
    return (f'<section class="card"><h2>Test</h2><p>{len(test.after)} items that no step has seen; '
            f"{len(changed)} have another score at the end.</p>{table}</section>")


def _item(items, place):
    if not items:
        return f"item {place}"
    return escape(_shortened(items[place] if isinstance(items[place], str) else repr(items[place])))


def _score(score):
    return "no answer" if score is None else f"{score:.3g}"


def _step(step):
    scores = "" if step.after is None else f" <b>{step.before:.3f} → {step.after:.3f}</b>"
    head = f'<h3><span class="badge {step.outcome}">{step.outcome}</span> Step {step.number}{scores}</h3>'
    why = f"<p>{escape(step.reason)}</p>" if step.reason else ""
    return f'<article>{head}{why}{"".join(map(_edit, step.edits))}</article>'


def _edit(edit):
    marked = "".join(_TAGS[piece.kind].format(escape(piece.text)) for piece in pieces(edit.before, edit.after))
    said = "".join(f"<li><pre>{escape(_shortened(as_text(feedback)))}</pre></li>" for feedback in edit.feedback)
    behind = f"<details><summary>feedback behind it ({len(edit.feedback)})</summary><ol>{said}</ol></details>" if said else ""
    return f"<h4>{escape(edit.role)}</h4><pre>{marked}</pre>{behind}"


def _shortened(text):
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [{len(text) - _SHOWN} characters left out]"


def _results(parameters):
    shown = "".join(f"<h4>{escape(p.role)}</h4><pre>{''.join(escape(piece.text) for piece in pieces(p.data, p.data))}</pre>"
                    for p in parameters)
    return f'<section class="card"><h2>The result</h2>{shown}</section>' if shown else ""

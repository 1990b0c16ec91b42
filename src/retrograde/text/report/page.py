"""The report of a tuning run: an HTML page without anything outside it."""

from html import escape
from importlib import resources

from .diff import pieces
from .figures import chart
from .steps import samples_of, step_of


def page(run, title="Tuning", subtitle="", parameters=()):
    """`run` as an HTML page: what it came to, and every step as a diff with its evidence, single samples, calls and settings.

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
{_verdict(run)}
<section class="facts">{"".join(_fact(*pair) for pair in facts(run))}</section>
{chart(run)}
<section class="card"><h2>Steps</h2>{"".join(map(step_of, run.steps)) or "<p>No step was made.</p>"}</section>
{_tested(run.test)}
{_roles(run.roles)}
{_results(parameters)}
{_settings(run.settings)}
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
        found.append((_signed(gain), "gain, paired"))
    usage = run.usage
    kept = f"{len(run.accepted)} of {len(run.steps)}"
    calls = f"{usage.calls:,}" + (f" + {run.cached:,} cached" if run.cached else "")
    found += [(kept, "steps kept"), (calls, "calls"), (f"{usage.tokens:,}", "tokens")]
    found += [(f"{usage.cost:.4f}", "cost")] if usage.cost else []
    seconds = sum(totals.seconds for totals in run.roles.values())
    found += [(_duration(seconds), "in calls, added up")] if seconds >= 0.05 else []
    found += [(f"{run.cut:,}", "answers empty or cut off")] if run.cut else []
    return [*found, (run.ending, "end")]


def roles(totals):
    """Rows of text, the head first: what the calls were made for, with their number, tokens, cost and time."""
    head = ("made for", "calls", "cached", "failed", "tokens", "cost", "time")
    return [head, *((name, f"{t.calls:,}", f"{t.cached:,}", f"{t.failed:,}", f"{t.tokens:,}", f"{t.cost:.4f}" if t.cost else "–",
                     _duration(t.seconds)) for name, t in sorted(totals.items(), key=lambda pair: -pair[1].calls))]


def _verdict(run):
    """What there is to know, in one sentence."""
    if not run.steps:
        return ""
    if not run.accepted:
        return '<p class="verdict">The prompt is as it was: nothing was better by more than chance.</p>'
    if run.test is None or not any(score is not None for score in run.test.after):
        return '<p class="verdict">The prompt has changed; no test was made.</p>'
    before, after, gain = run.test.intervals()
    kind = "good" if gain.low > 0 else "bad" if gain.high < 0 else ""
    sure = "" if kind else " The test items alone do not tell it from no change."
    return (f'<p class="verdict {kind}">On items that no step has seen, the score went from <b>{before.value:.3f}</b> to '
            f"<b>{after.value:.3f}</b>, a change of <b>{_signed(gain)}</b> with 95 % confidence.{sure}</p>")


def _signed(gain):
    return f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"


def _duration(seconds):
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _change(scores, name):
    before, after = scores[f"{name} before"], scores.get(f"{name} after")
    return f"{before:.3f}" if after is None else f"{before:.3f} → {after:.3f}"


def _fact(value, name):
    return f'<div class="card fact"><strong>{escape(value)}</strong><span>{escape(name)}</span></div>'


def _tested(test):
    """The test items whose score is another at the end, what was lost first, and some that fail."""
    if test is None:
        return ""
    changed = test.changed()
    return (f'<section class="card"><h2>Test</h2><p>{len(test.after)} items that no step has seen; '
            f"{len(changed)} have another score at the end.</p>{samples_of(test.samples)}</section>")


def _roles(totals):
    if not totals:
        return ""
    head, *rows = roles(totals)
    cells = lambda row, tag: "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in row)
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows)
    return (f'<section class="card"><h2>Calls</h2><table class="numbers"><thead><tr>{cells(head, "th")}</tr></thead>'
            f"<tbody>{body}</tbody></table></section>")


def _results(parameters):
    shown = "".join(f"<h4>{escape(p.role)}</h4><pre>{''.join(escape(piece.text) for piece in pieces(p.data, p.data))}</pre>"
                    for p in parameters)
    return f'<section class="card"><h2>The result</h2>{shown}</section>' if shown else ""


def _settings(settings):
    if not settings:
        return ""
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in settings.items())
    return f'<section class="card"><h2>Settings</h2><table class="settings"><tbody>{rows}</tbody></table></section>'

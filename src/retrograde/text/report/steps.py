"""Steps in the report: each as a diff, with the evidence for it and single samples that can be unfolded."""

from html import escape

from ..data import as_text
from .diff import pieces

_TAGS = {"same": "{}", "gone": "<del>{}</del>", "new": "<ins>{}</ins>"}
#: How much of the feedback behind an edit is shown, in characters.
_SHOWN = 4000


def step_of(step):
    """A step as a piece of the page."""
    scores = "" if step.after is None else f" <b>{step.before:.3f} → {step.after:.3f}</b>"
    head = f'<h3><span class="badge {step.outcome}">{step.outcome}</span> Step {step.number}{scores}</h3>'
    why = f"<p>{escape(step.reason)}</p>" if step.reason else ""
    items = f"<details><summary>single items ({len(step.samples)})</summary>{samples_of(step.samples)}</details>"
    shown = items if step.samples else ""
    return f'<article>{head}{_evidence(step)}{why}{"".join(map(_edit, step.edits))}{shown}</article>'


def _evidence(step):
    """Items won and lost as a bar, with p and what was spent of the level."""
    won, lost = len(step.won), len(step.lost)
    if step.p is None or not won + lost:
        return ""
    share = 100 * won / (won + lost)
    level = "" if step.level is None or step.level >= 1 else f" of at most {step.level:.3g}"
    spent = "" if step.spent is None or step.spent >= 1 else f"; α spent so far {step.spent:.3g}"
    p = f"{step.p:.2g}" if step.p >= 0.0001 else "< 0.0001"
    return (f'<div class="evidence"><span class="won">{won} won</span><span class="bar"><i style="width:{share:.1f}%"></i></span>'
            f'<span class="lost">{lost} lost</span><span>p = {escape(p)}{level}{spent}</span></div>')


def _edit(edit):
    marked = "".join(_TAGS[piece.kind].format(escape(piece.text)) for piece in pieces(edit.before, edit.after))
    said = "".join(f"<li><pre>{escape(_shortened(as_text(feedback)))}</pre></li>" for feedback in edit.feedback)
    behind = f"<details><summary>feedback behind it ({len(edit.feedback)})</summary><ol>{said}</ol></details>" if said else ""
    return f"<h4>{escape(edit.role)}</h4><pre>{marked}</pre>{behind}"


def samples_of(samples):
    """Single items, each to be unfolded: its scores, what was answered before, and what was asked and answered after."""
    return "".join(map(_sample, samples))


def _sample(sample):
    before, after = _score(sample["before"]), _score(sample["after"])
    kind = _kind(sample["before"], sample["after"])
    old = "" if sample["answer"] is None else f"<h4>answer before</h4><pre>{escape(sample['answer'])}</pre>"
    calls = "".join(map(_call, sample["calls"])) or "<p>The calls behind it are not known.</p>"
    return (f'<details class="sample {kind}"><summary><b>{before} → {after}</b> {escape(_line(sample["item"]))}</summary>'
            f"{old}{calls}</details>")


def _call(call):
    said = "".join(f'<div class="turn"><small>{escape(role)}</small><pre>{escape(content)}</pre></div>'
                   for role, content in call["messages"])
    answer = call["error"] if call["answer"] is None else call["answer"]
    about = " · ".join(filter(None, [call["node"], call["model"], f"{call['tokens']:,} tokens"]))
    return (f"<h4>{escape(about)}</h4>{said}"
            f'<div class="turn answer"><small>answer after</small><pre>{escape(answer or "")}</pre></div>')


def _kind(before, after):
    """Whether an item was "won" or "lost", or is as it was."""
    if before is None or after is None or before == after:
        return "same"
    return "won" if after > before else "lost"


def _score(score):
    return "no answer" if score is None else f"{score:.3f}".rstrip("0").rstrip(".")


def _line(text):
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else f"{line[:120]} ..."


def _shortened(text):
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]} [{len(text) - _SHOWN} characters left out]"

"""The report of a trained classifier, one HTML page without anything outside it."""

from dataclasses import dataclass
from html import escape
from importlib import resources


@dataclass(frozen=True)
class Mistake:
    """One image that was read wrongly, or nearly so: its picture, its class, and the probability of each class."""

    picture: str
    truth: int
    chances: list

    @property
    def guess(self):
        """The class that was thought likeliest."""
        return max(range(len(self.chances)), key=self.chances.__getitem__)


@dataclass(frozen=True)
class Report:
    """What the page shows. `facts` are (value, what it is) pairs; `details` are (name, value) pairs for the end."""

    title: str
    subtitle: str
    facts: list
    curves: str
    confusion: str
    mistakes: list
    near_misses: list
    details: list
    model: str


def page(report):
    """`report` as an HTML page."""
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(report.title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<header><h1>{escape(report.title)}</h1><p>{escape(report.subtitle)}</p></header>
<section class="facts">{"".join(_fact(*pair) for pair in report.facts)}</section>
<section class="card"><h2>Learning</h2><img class="wide" src="{report.curves}" alt="Loss and accuracy of each epoch"></section>
{_gallery("Worst mistakes", "Read wrongly, the surest first.", report.mistakes, "It made no mistake on the held-out images.")}
{_gallery("Near misses", "Read rightly, but only just.", report.near_misses, "")}
<div class="pair">
<section class="card"><h2>Confusion</h2><p>Held-out images by what they are and what they were read as.</p>
<img src="{report.confusion}" alt="Confusion matrix"></section>
<section class="card"><h2>Run</h2><table>{"".join(_row(*pair) for pair in report.details)}</table>
<pre>{escape(report.model)}</pre></section>
</div>
<footer>Made by retrograde. Everything on this page is in this one file.</footer>
</main>
</body>
</html>
"""


def _fact(value, name):
    return f'<div class="card fact"><strong>{escape(str(value))}</strong><span>{escape(name)}</span></div>'


def _row(name, value):
    return f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>"


def _gallery(title, subtitle, mistakes, otherwise):
    if not mistakes and not otherwise:
        return ""
    shown = f'<div class="gallery">{"".join(map(_figure, mistakes))}</div>' if mistakes else f"<p>{escape(otherwise)}</p>"
    said = f"<p>{escape(subtitle)}</p>" if mistakes else ""
    return f'<section class="card"><h2>{escape(title)}</h2>{said}{shown}</section>'


def _figure(mistake):
    guess, truth = mistake.guess, mistake.truth
    said = f"<b>{truth}</b> read as <b class='wrong'>{guess}</b>" if guess != truth else f"<b>{truth}</b>"
    bars = "".join(_bar(i, chance, mistake) for i, chance in enumerate(mistake.chances) if chance >= 0.01)
    return (f'<figure><img src="{mistake.picture}" alt="A handwritten {truth}"><figcaption>{said}'
            f'<div class="bars">{bars}</div></figcaption></figure>')


def _bar(number, chance, mistake):
    kind = "right" if number == mistake.truth else "wrong" if number == mistake.guess else "other"
    return (f'<div><span>{number}</span><i class="{kind}" style="width:{chance * 100:.1f}%"></i>'
            f"<em>{_percent(chance)}</em></div>")


def _percent(chance):
    return ">99.5 %" if chance > 0.995 else f"{chance * 100:.0f} %"

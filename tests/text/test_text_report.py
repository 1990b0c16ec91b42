"""The report of a run: the page, the terminal, and the differences they show."""

import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from retrograde.text import Edit, Parameter, Run, Step, page
from retrograde.text.diff import pieces
from retrograde.text.models import Usage
from retrograde.text.terminal import progress, show

STEPS = [
    Step(1, "accepted", "better", [Edit("system prompt", "Be <b>brief</b>.", "Be very <b>brief</b>.", ["too long & vague"])], 0.5, 0.75, 0.1),
    Step(2, "rejected", "worse", [Edit("demonstrations", [["a", "b"]], [["a", "b"], ["c", "d"]])], 0.75, 0.25, 0.9),
    Step(3, "unchanged", "nothing new was proposed"),
]
RUN = Run(STEPS, Usage(120, 4567, 0.0125), 30, {"validation before": 0.5, "validation after": 0.75, "test before": 0.4, "test after": 0.7}, "all steps made")


@pytest.mark.parametrize(("before", "after"), [
    ("a b c", "a x c"), ("", "new"), ("old", ""), ("same", "same"), ("line\nother", "line\nmore\nother"), (["a"], ["b"]), (1, 2),
    ([["q", "a"], ["r", "b"]], [["r", "b"]]),
])
def test_pieces_put_together_are_both_texts(before, after):
    found = pieces(before, after)
    old = "".join(piece.text for piece in found if piece.kind != "new")
    new = "".join(piece.text for piece in found if piece.kind != "gone")
    assert (old, new) == tuple("".join(piece.text for piece in pieces(x, x)) for x in (before, after))


def test_the_page_shows_scores_costs_edits_and_feedback():
    found = page(RUN, "Reviews", "a run", [Parameter("Be very brief.", role="system prompt")])
    for part in ("0.500 → 0.750", "0.400 → 0.700", "120 + 30 cached", "4,567", "0.0125", "all steps made", "1 of 3",
                 "<ins> very</ins>", "too long &amp; vague", "<ins>c → d\n</ins>", "Step 3", "nothing new was proposed"):
        assert part in found, part
    assert "<b>brief</b>" not in found and "&lt;b&gt;" in found


def test_the_page_is_whole_and_needs_nothing_from_outside():
    open_tags = []

    class Balance(HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag != "meta":
                open_tags.append(tag)
            assert not any(name in ("src", "href") for name, _ in attributes)

        def handle_startendtag(self, tag, attributes):
            pass

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    Balance().feed(page(RUN))
    assert not open_tags and "http" not in page(RUN)


def test_an_empty_run_has_a_page():
    assert "No step was made" in page(Run())


def test_the_terminal_shows_the_same_with_colours():
    out = io.StringIO()
    show(RUN, Console(file=out, width=100, force_terminal=True, color_system="standard"))
    shown = out.getvalue()
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    for part in ("0.500 → 0.750", "accepted step 1", "rejected step 2", "too long & vague", "c → d", "4,567"):
        assert part in plain, part
    assert "\x1b[32m very" in shown


def test_without_colours_signs_tell_what_is_gone_and_what_is_new():
    out = io.StringIO()
    show(Run([Step(1, "accepted", edits=[Edit("prompt", "Be brief.", "Be kind.")])]), Console(file=out, width=100))
    assert "Be [-brief-]{+kind+}." in out.getvalue()


def test_progress_tells_score_calls_and_cost():
    out = io.StringIO()
    with progress(3, Console(file=out, width=120, force_terminal=True, color_system=None)) as told:
        told(RUN)
    assert "0.750" in out.getvalue() and "120 calls" in out.getvalue() and "0.0125" in out.getvalue()


def test_long_texts_are_compared_by_lines_and_very_long_ones_not_at_all():
    old = [f"line {i} says this and that and more of the same\n" for i in range(500)]
    new = [*old[:250], "another line\n", *old[251:]]
    assert [(piece.kind, piece.text) for piece in pieces("".join(old), "".join(new)) if piece.kind != "same"] == [("gone", old[250]), ("new", "another line\n")]
    long = "word " * 200_000
    assert [piece.kind for piece in pieces(long, f"{long}end")] == ["gone", "new"] and [piece.kind for piece in pieces(long, long)] == ["same"]

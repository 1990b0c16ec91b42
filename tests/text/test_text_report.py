"""The report of a run: the page, the terminal, and the differences they show."""

import io
import re
from html.parser import HTMLParser

import pytest
from rich.console import Console

from retrograde.text import (
    DiscreteSearch,
    Edit,
    Module,
    Options,
    Parameter,
    Run,
    ScriptedLM,
    Step,
    Validation,
    chat,
    exact_match,
    page,
    train,
    training,
)
from retrograde.text.models import Totals, Usage
from retrograde.text.report.diff import pieces
from retrograde.text.report.terminal import progress, show

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


def sample(before, after, answer="old answer", said="asked </pre> this"):
    call = {"node": "answer", "model": "m", "error": None, "messages": [["user", said]], "answer": "new answer", "tokens": 3}
    return {"item": "one & two", "before": before, "after": after, "answer": answer, "calls": [call]}


def test_a_step_shows_items_won_and_lost_p_and_the_level_that_is_spent():
    step = Step(1, "accepted", "better", [], 0.5, 0.75, 0.0123, 0.025, [1, 2, 3], [4], 0.025, [sample(0.0, 1.0), sample(1.0, 0.0)])
    found = page(Run([step]))
    for part in ("3 won", "1 lost", "width:75.0%", "p = 0.012 of at most 0.025", "α spent so far 0.025", "single items (2)"):
        assert part in found, part


def test_a_sample_unfolds_to_what_was_asked_and_answered_before_and_after():
    step = Step(1, "accepted", "better", [], 0.5, 0.75, 0.01, 0.02, [1], [], 0.02, [sample(0.0, 1.0), sample(1.0, None)])
    found = page(Run([step]))
    for part in ('class="sample won"', "0 → 1", "1 → no answer", "one &amp; two", "old answer", "asked &lt;/pre&gt; this", "new answer", "3 tokens"):
        assert part in found, part


def test_calls_by_role_and_settings_are_shown():
    run = Run(STEPS, roles={"answer": Totals(1200, 30, 2, 4500, 0.5, 61.25), "proposer": Totals(7)}, settings={"gate": "level 0.05"})
    found = page(run)
    for part in ("<td>answer</td><td>1,200</td><td>30</td><td>2</td><td>4,500</td><td>0.5000</td><td>61.2 s</td>", "proposer", "level 0.05"):
        assert part in found, part
    out = io.StringIO()
    show(run, Console(file=out, width=120))
    assert "answer" in out.getvalue() and "1,200" in out.getvalue()


@pytest.mark.parametrize(("test", "steps", "told"), [
    (training.Tested([0] * 20, [1] * 20), STEPS, '"verdict good"'), (training.Tested([1] * 20, [0] * 20), STEPS, '"verdict bad"'),
    (training.Tested([0, 1], [1, 1]), STEPS, "do not tell it from no change"), (None, STEPS, "no test was made"),
    (None, STEPS[1:], "nothing was better by more than chance"),
])
def test_the_page_begins_with_what_it_came_to(test, steps, told):
    assert told in page(Run(steps, test=test))


class Scorer(Module):
    """Scores items by a model's answers under a style, which is right about those that are even once the style is kind."""

    def __init__(self):
        super().__init__()
        self.style = Parameter("Be brief.", role="style")
        self.model = ScriptedLM(lambda request: f"{'kind' in request.prompt} about {request.messages[-1].content}")

    def scores(self, items):
        answers = chat(self.model, [("system", self.style), ("user", "{q}")], {"q": items})
        return exact_match(answers, [f"{i % 2 == 0} about {i}" for i in items]).scores


def test_samples_hold_the_calls_of_their_own_item():
    scorer = Scorer()
    group = {"params": [scorer.style], "space": Options(["Be brief.", "Be kind."])}
    search = DiscreteSearch([group], validate=Validation(range(40), scorer.scores), level=1)
    run = train(scorer, search, steps=1, test=Validation(range(40, 60), scorer.scores))
    for found in (run.steps[0].samples, run.test.samples):
        assert found
        for one in found:
            (call,) = one["calls"]
            assert call["messages"][-1] == ["user", one["item"]] and call["answer"] == f"True about {one['item']}"
            assert one["answer"] == f"False about {one['item']}" and {one["before"], one["after"]} == {0.0, 1.0}
    won = [one for one in run.steps[0].samples if one["after"]]
    assert len(run.steps[0].samples) == 6 and len(won) == 3


def test_calls_that_cannot_be_told_apart_are_not_given_to_items():
    validation = Validation(range(4), lambda items: [float(bool(ScriptedLM(["a"])("q")))] * len(items))
    validation()
    assert validation.calls == {}


def test_the_checkpoint_keeps_calls_by_role(tmp_path):
    scorer = Scorer()
    made = lambda: DiscreteSearch([{"params": [scorer.style], "space": Options(["Be brief.", "Be kind."])}], level=1,
                                  validate=Validation(range(8), scorer.scores))
    run = train(scorer, made(), steps=1, checkpoint=tmp_path / "c.json")
    scorer.style = "Be brief."
    again = train(scorer, made(), steps=1, checkpoint=tmp_path / "c.json")
    assert again.roles == run.roles and run.roles["answer"].calls == run.usage.calls == 16
    assert again.settings == run.settings and run.settings["gate"].startswith("no test") and run.settings["model"] == "scripted"


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

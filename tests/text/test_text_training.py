"""Modules, files, and training runs that can be interrupted."""

import json
import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tiny_models import Ruled, Sentiment, failing, last

import retrograde as rg
from retrograde import nn, text
from retrograde.errors import AnswerError, ArgumentError, BudgetError, CheckpointError
from retrograde.text import Parameter, TextualGradientDescent, Validation, Variable, train

ITEMS = [("a great film", "positive"), ("an awful film", "negative"), ("a fine day", "positive"), ("bad food", "negative")]
HELD_OUT = [(f"{review} {i}", label) for i in range(6) for review, label in ITEMS]
TEST = [(f"{review}!", label) for review, label in ITEMS[1:]]


class Classifier(text.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.system = Parameter("Say what you think.", role="system prompt")
        self.head = nn.Linear(2, 1)

    def forward(self, reviews):
        return text.chat(self.model, [("system", self.system), ("user", "{review}")], {"review": reviews})

    def scores(self, items):
        return text.exact_match(self([review for review, _ in items]), [label for _, label in items])


class Pipeline(text.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Classifier(None), Classifier(None)
        self.note = Parameter(["a", "b"], role="notes")


def test_text_parameters_are_named_through_modules_and_listed_once():
    pipeline = Pipeline()
    assert [name for name, _ in pipeline.named_text_parameters()] == ["note", "first.system", "second.system"]
    pipeline.second.system = pipeline.first.system
    assert len(pipeline.text_parameters()) == 2
    assert [name for name, _ in pipeline.named_parameters()] == ["first.head.weight", "first.head.bias", "second.head.weight", "second.head.bias"]
    assert "second.system" in pipeline.state_dict()


def test_setting_a_text_attribute_to_a_string_writes_the_parameter():
    module = Classifier(None)
    parameter = module.system
    module.system = "New."
    assert module.system is parameter and parameter.data == "New."


def test_state_holds_text_and_tensors_and_loads_all_or_nothing():
    one, two = Classifier(None), Classifier(None)
    one.system = "Changed.\nTwice."
    two.load_state_dict(one.state_dict())
    assert two.system.data == "Changed.\nTwice." and two.system.requires_grad
    np.testing.assert_array_equal(two.head.weight.data, one.head.weight.data)
    for wrong in ({**one.state_dict(), "system": rg.ones(1)}, {k: v for k, v in one.state_dict().items() if k != "system"},
                  {**one.state_dict(), "system": "lost", "more": rg.ones(1)}):
        with pytest.raises(CheckpointError):
            two.load_state_dict(wrong)
    assert two.system.data == "Changed.\nTwice."


def test_zero_grad_and_requires_grad_reach_both_kinds():
    module = Classifier(None)
    module.system.append_grad(Variable("said"))
    module.zero_grad()
    assert module.system.grad == []
    module.requires_grad_(False)
    assert not module.system.requires_grad and not module.head.weight.requires_grad


@pytest.mark.parametrize("state", [
    "a \ud800 lone surrogate", ["\u202e \u2028 \x00 \r\n"], {"a": "one line", "b": "several\nlines\n", "c": [1, 2.5, None, True], "d": {"e": ["x\ny"]}}, {}, "text", [["a", "b"]],
])
def test_plain_state_survives_a_file(state, tmp_path):
    text.save(state, tmp_path / "state.json")
    assert text.load(tmp_path / "state.json") == state
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


def test_variables_and_tensors_survive_a_file(tmp_path):
    state = {"v": Parameter("a\nb", role="prompt"), "w": [rg.tensor([[0.1, 2.0]]), rg.tensor([1, 2])], "h": rg.tensor([0.1], dtype=rg.bfloat16)}
    text.save(state, tmp_path / "state.json")
    found = text.load(tmp_path / "state.json")
    assert (found["v"].data, found["v"].role, found["v"].requires_grad) == ("a\nb", "prompt", True)
    for ours, theirs in zip([*state["w"], state["h"]], [*found["w"], found["h"]], strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours.data, theirs.data)


def test_a_changed_line_of_a_prompt_changes_a_line_of_the_file(tmp_path):
    files = []
    for third in ("three", "four"):
        text.save({"prompt": f"one\ntwo\n{third}"}, tmp_path / "state.json")
        files.append((tmp_path / "state.json").read_text().splitlines())
    assert [(a.strip(), b.strip()) for a, b in zip(*files, strict=True) if a != b] == [('"three"', '"four"')]


@pytest.mark.parametrize("content", [
    "{", "[]", '{"format": "other", "state": {}}', '{"format": "retrograde text 1"}', "[" * 200_000,
    '{"format": "retrograde text 1", "state": {"$variable": "a"}}', '{"format": "retrograde text 1", "state": {"$tensor": "[1]", "dtype": "no"}}',
    '{"format": "retrograde text 1", "state": {"$lines": [1]}}',
], ids=range(8))
def test_other_files_are_refused(content, tmp_path):
    path = tmp_path / "state.json"
    path.write_text(content)
    with pytest.raises(CheckpointError, match=r"state\.json"):
        text.load(path)


def test_what_cannot_be_saved_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.json"
    text.save("old", path)
    for wrong in (object(), {1: 2}, {"$lines": 1}):
        with pytest.raises(CheckpointError):
            text.save(wrong, path)
    with pytest.raises(ValueError, match="JSON"):
        text.save(float("nan"), path)
    assert text.load(path) == "old" and [p.name for p in tmp_path.iterdir()] == ["state.json"]


BETTER = ("Reply with one word.", "Reply with one word, positive or negative.")


def writer():
    return Ruled(lambda request: f"<NEW>{BETTER['The text is the system prompt:' in last(request) and 'one word' in last(request)]}</NEW>", "writer")


def trained(tmp_path, steps, model=None, lm=None, **options):
    module = Classifier(model or Sentiment())
    optimizer = TextualGradientDescent(module.text_parameters(), lm or writer(), momentum=2,
                                       steps=2, validate=Validation(HELD_OUT, lambda items: module.scores(items)))
    run = train(module, optimizer, lambda number: module.scores(ITEMS[:4]).backward(), steps, checkpoint=tmp_path / "run.json",
                test=Validation(TEST, module.scores), **options)
    return module, optimizer, run


def test_a_run_trains_scores_counts_and_keeps_a_journal(tmp_path):
    seen = []
    module, _, run = trained(tmp_path, 2, on_step=lambda run: seen.append(len(run.steps)))
    assert module.system.data == BETTER[1] and seen == [1, 2]
    assert run.scores == {"validation before": 0.0, "validation after": 1.0, "test before": 0.0, "test after": 1.0}
    assert run.usage.calls == 24 + 2 * (4 + 1 + 24) + 2 * 3 and run.usage.tokens > 0
    assert run.test.changed() == [(0, 0.0, 1.0), (1, 0.0, 1.0), (2, 0.0, 1.0)] and run.test.items == TEST
    assert [interval.value for interval in run.test.intervals()] == [0, 1, 1]
    assert len(run.accepted) == 2 and run.ending == "all steps made"
    assert json.loads((tmp_path / "run.json").read_text())["state"]["module"]["system"] == BETTER[1]


def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(tmp_path):
    (tmp_path / "whole").mkdir()
    whole, optimizer, run = trained(tmp_path / "whole", 3)
    model, broken = Sentiment(), writer()
    rule, asked = model.rule, []

    def cut(request):
        asked.append(request)
        if len(asked) > 40:
            raise KeyboardInterrupt
        return rule(request)

    model.rule, model.max_concurrency = cut, 1
    with pytest.raises(KeyboardInterrupt):
        trained(tmp_path, 3, model, broken)
    resumed, other, rest = trained(tmp_path, 3)
    assert resumed.system.data == whole.system.data and other.state_dict() == optimizer.state_dict()
    assert [step.outcome for step in rest.steps] == [step.outcome for step in run.steps] and rest.scores == run.scores


def test_usage_counts_what_killed_steps_had_paid_and_once(tmp_path):
    asked, at_checkpoint = [], []
    rule = Sentiment().rule

    def cut(request):
        asked.append(request)
        if len(asked) in (10, 45, 60):
            raise KeyboardInterrupt
        return rule(request)

    def attempt():
        inner = Sentiment()
        inner.rule, inner.max_concurrency = cut, 1
        model = text.Cached(text.Budgeted(inner, text.Budget(ledger=tmp_path / "ledger.jsonl")), tmp_path / "cache")
        return trained(tmp_path, 3, model, on_step=lambda run: at_checkpoint.append((tmp_path / "run.json").read_text()))

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            attempt()
        if at_checkpoint:
            # A kill leaves the checkpoint of the last step.
            (tmp_path / "run.json").write_text(at_checkpoint[-1])
    _, _, run = attempt()
    # Calls that were cut off count too, since they may have been made; and the writer, which has no ledger, was asked once a step.
    assert run.usage.calls == len(asked) + len(run.steps) == 96


def test_runs_that_share_a_ledger_count_their_own_calls_and_the_limit_counts_all(tmp_path):
    for name in ("alone", "a", "b", "c"):
        (tmp_path / name).mkdir()
    budget = lambda calls=None: text.Budget(calls=calls, ledger=tmp_path / "ledger.jsonl")
    alone = trained(tmp_path / "alone", 2, text.Budgeted(Sentiment(), text.Budget()))[2].usage.calls
    models, runs = {name: Sentiment() for name in "ab"}, {}
    model_of = lambda name: text.Budgeted(models[name], budget())

    def other(run):
        # In the middle of the first run.
        runs.setdefault("b", trained(tmp_path / "b", 2, model_of("b"))[2])

    with ThreadPoolExecutor(1) as executor:
        runs["a"] = trained(tmp_path / "a", 2, model_of("a"), on_step=lambda run: executor.submit(other, run).result())[2]
    assert runs["a"].usage.calls == runs["b"].usage.calls == alone
    assert budget().spent.calls == len(models["a"].asked) + len(models["b"].asked)
    third = trained(tmp_path / "c", 2, text.Budgeted(Sentiment(), budget(budget().spent.calls + 1)))[2]
    assert "budget ended" in third.ending


def test_a_checkpoint_without_the_name_of_its_run_is_refused(tmp_path):
    trained(tmp_path, 1)
    found = text.load(tmp_path / "run.json")
    found["run"]["paid"] = {"start": {"calls": 0, "tokens": 0, "cost": 0.0}, "seen": {"calls": 0, "tokens": 0, "cost": 0.0}}
    text.save(found, tmp_path / "run.json")
    with pytest.raises(CheckpointError, match="older release"):
        trained(tmp_path, 1)


def test_a_finished_run_is_not_made_again(tmp_path):
    trained(tmp_path, 2)
    model, lm = Sentiment(), writer()
    _, _, run = trained(tmp_path, 2, model, lm)
    assert len(run.steps) == 2 and not lm.asked and len(model.asked) == 6  # the test items, for the scores at the end


def test_a_budget_that_ends_stops_the_run_with_what_was_reached(tmp_path):
    model = Sentiment()
    rule = model.rule
    model.rule = lambda request: BudgetError("60 calls made") if len(model.asked) > 60 else rule(request)
    module, _, run = trained(tmp_path, 5, model)
    assert "budget ended" in run.ending and len(run.steps) == 1 and module.system.data == BETTER[0]
    assert text.load(tmp_path / "run.json")["module"]["system"] == BETTER[0]


def test_patience_stops_a_run_without_gains(tmp_path):
    _, _, run = trained(tmp_path, 10, lm=Ruled(lambda request: "<NEW>Babble.</NEW>"), patience=2)
    assert len(run.steps) == 2 and run.ending == "no gain in 2 steps" and not run.accepted


def test_the_test_set_is_asked_at_the_end_alone_and_once_for_each_prompt(tmp_path):
    order, module = [], Classifier(Sentiment())
    held_out = Validation(HELD_OUT, lambda items: order.append("validation") or module.scores(items))
    optimizer = TextualGradientDescent(module.text_parameters(), writer(), validate=held_out)
    test = Validation(TEST, lambda items: order.append(f"test: {module.system.data}") or module.scores(items))
    train(module, optimizer, lambda number: module.scores(ITEMS).backward(), 2, test=test)
    assert order == ["validation"] * 3 + [f"test: {BETTER[1]}", "test: Say what you think."]
    assert module.system.data == BETTER[1]


def test_a_checkpoint_of_another_run_is_refused_before_anything_changes(tmp_path):
    trained(tmp_path, 2)
    before = (tmp_path / "run.json").read_bytes()
    for change, told in [(lambda m: setattr(m, "system", "Other."), "start"), (lambda m: setattr(m.model, "name", "other"), "model")]:
        module = Classifier(Sentiment())
        change(module)
        optimizer = TextualGradientDescent(module.text_parameters(), writer(), steps=2, validate=Validation(HELD_OUT, module.scores))
        start = module.system.data
        with pytest.raises(CheckpointError, match=f"another run: other .*{told}"):
            train(module, optimizer, None, 2, checkpoint=tmp_path / "run.json", test=Validation(TEST, module.scores))
        assert module.system.data == start and not optimizer.journal
    module = Classifier(Sentiment())
    optimizer = TextualGradientDescent(module.text_parameters(), writer(), steps=2, validate=Validation(HELD_OUT[:8], module.scores))
    with pytest.raises(CheckpointError, match="validation items"):
        train(module, optimizer, None, 2, checkpoint=tmp_path / "run.json", test=Validation(TEST, module.scores))
    assert (tmp_path / "run.json").read_bytes() == before


@pytest.mark.parametrize(("name", "change"), [
    ("model optimizer.lm", {"lm": Ruled(lambda request: "<NEW>Babble.</NEW>", "another writer")}), ("momentum", {"momentum": 1}),
    ("constraints", {"constraints": ["short", len]}), ("edits", {"edits": text.Patches}), ("options", {"temperature": 0.5}),
])
def test_a_run_of_another_writer_or_with_other_settings_is_another_run(tmp_path, name, change):
    def begun(lm, **options):
        module = Classifier(Sentiment())
        optimizer = TextualGradientDescent(module.text_parameters(), lm, **options)
        return train(module, optimizer, lambda number: module.scores(ITEMS).backward(), 1, checkpoint=tmp_path / "run.json")

    begun(writer(), constraints=["short"])
    before = (tmp_path / "run.json").read_bytes()
    with pytest.raises(CheckpointError, match=f"another run: other {name} "):
        begun(**{"lm": writer(), "constraints": ["short"]} | change)
    assert (tmp_path / "run.json").read_bytes() == before
    assert begun(text.Cached(writer(), tmp_path / "cache"), constraints=["short"]).ending == "all steps made"


def test_items_that_are_for_testing_and_for_validation_are_refused():
    module = Classifier(Sentiment())
    optimizer = TextualGradientDescent(module.text_parameters(), writer(), validate=Validation(HELD_OUT, module.scores))
    with pytest.raises(ArgumentError, match="validation and test items must differ"):
        train(module, optimizer, None, 2, test=Validation(HELD_OUT[:2], module.scores))


def test_calls_that_failed_are_asked_again_and_then_left_out_so_that_no_gain_is_made_of_them():
    model, rng = Sentiment(), random.Random(0)
    rule, is_failing = model.rule, [True]
    model.rule = lambda request: failing("rate limit") if is_failing and rng.random() < 0.5 else rule(request)
    module = Classifier(model)
    optimizer = TextualGradientDescent(module.text_parameters(), writer(), validate=Validation(HELD_OUT, module.scores))
    with pytest.raises(AnswerError, match="of 24 validation items have no answer after two calls"):
        train(module, optimizer, lambda number: module.scores(ITEMS).backward(), 1)
    assert module.system.data == "Say what you think." and not optimizer.journal
    is_failing.clear()
    assert optimizer.current_scores() == [0.0] * 24


def test_items_without_an_answer_are_left_out_of_the_pair():
    module = Classifier(Sentiment())
    lost = {HELD_OUT[0][0], HELD_OUT[5][0]}
    rule = module.model.rule
    module.model.rule = lambda request: failing() if last(request) in lost else rule(request)
    optimizer = TextualGradientDescent(module.text_parameters(), writer(), steps=1, validate=Validation(HELD_OUT, module.scores))
    run = train(module, optimizer, lambda number: module.scores(ITEMS).backward(), 1)
    assert run.steps[0].won == [i for i in range(0, 24, 2) if i not in (0, 5)] and run.steps[0].after == pytest.approx(11 / 22)
    assert optimizer.current_scores()[0] is None
    lost.clear()
    assert None not in optimizer.current_scores()

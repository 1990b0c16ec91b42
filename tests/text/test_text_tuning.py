"""From data to a tuned prompt: rows, plans, proposals, and `text.tune` itself."""

import json
import re

import numpy as np
import pytest
from tiny_models import Ruled, last

from retrograde import text
from retrograde.errors import CheckpointError
from retrograde.text.tuning import plan as planning
from retrograde.text.tuning.rows import read
from retrograde.text.tuning.templates import instructions_of

NUMBERS = [{"input": f"{i} plus 1", "output": i + 1} for i in range(100, 200)]


def lines(path, *rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8")
    return path


# Rows.
def test_files_and_objects_of_every_kind_give_the_same_items(tmp_path):
    rows = [{"input": "a, b", "output": 'say "c"'}, {"input": "d", "output": 5}]
    wanted = (("input",), "output", [("a, b", 'say "c"'), ("d", "5")])
    assert read(rows) == read([("a, b", 'say "c"'), ("d", 5)]) == read(iter(rows)) == wanted
    assert read(lines(tmp_path / "a.jsonl", *rows)) == wanted
    (tmp_path / "a.csv").write_text('input,output\r\n"a, b","say ""c"""\r\nd,5\r\n', encoding="utf-8-sig")
    assert read(tmp_path / "a.csv") == read(str(tmp_path / "a.csv")) == wanted
    (tmp_path / "a.tsv").write_text('input\toutput\na, b\t"say ""c"""\nd\t5\n', encoding="utf-8")
    assert read(tmp_path / "a.tsv") == wanted


def test_a_data_frame_is_read():
    pandas = pytest.importorskip("pandas")
    assert read(pandas.DataFrame({"text": ["a", "b"], "label": ["x", "y"]})).items == [("a", "x"), ("b", "y")]


def test_whole_numbers_are_written_without_a_point_however_they_are_stored(tmp_path):
    path = lines(tmp_path / "a.jsonl", '{"input": 7.0, "output": 101.0}', '{"input": "b", "output": 2.5}', '{"input": "c", "output": 1e300}')
    assert read(path).items == [("7", "101"), ("b", "2.5"), ("c", "1e+300")]
    tuned = text.tune([{**row, "output": float(row["output"])} for row in NUMBERS], Ruled(adder), demonstrations=0, writer=False)
    assert tuned.after.value == 1


def test_spaces_around_the_names_of_columns_are_no_part_of_them(tmp_path):
    (tmp_path / "a.csv").write_text("input, output ,\tsplit\na,b,train\n", encoding="utf-8")
    assert read(tmp_path / "a.csv").items.train == [("a", "b")]
    (tmp_path / "a.csv").write_text("input, input\na,b\n", encoding="utf-8")
    with pytest.raises(text.DTypeError, match="several called 'input'"):
        read(tmp_path / "a.csv")


def test_columns_are_found_by_their_names_and_others_can_be_named():
    rows = [{"id": 7, "question": "q", "context": "c", "label": "x", "note": "n"}]
    assert read(rows)[:2] == (("question", "context", "note"), "label")
    assert read(rows, inputs=["context", "question"]).items == [("c", "q", "x")]
    assert read(rows, answer="note").inputs == ("question", "context", "label")
    assert read([{"input": "i", "source": "web", "target": "t"}]).items == [("i", "t")]


def test_columns_whose_names_are_no_words_are_named_as_they_are_or_as_words(tmp_path):
    (tmp_path / "a.csv").write_text("My Question,Größe (cm),2nd,The Answer\nq,5,s,a\n", encoding="utf-8")
    wanted = (("My_Question", "Größe_cm_", "_2nd"), "The Answer", [("q", "5", "s", "a")])
    assert read(tmp_path / "a.csv", answer="The Answer") == wanted
    assert read(tmp_path / "a.csv", inputs=["2nd", "My_Question"], answer="The Answer").items == [("s", "q", "a")]
    rows = [{"My Question": f"{i} plus 1", "The Answer": i + 1} for i in range(100)]
    tuned = text.tune(rows, Watched(adder), prompt="Sum: {My_Question}", answer="The Answer", demonstrations=0, steps=1, width=2)
    assert tuned.predictor.inputs == ("My_Question",) and tuned(My_Question="1 plus 1") == tuned("1 plus 1")
    assert read([{1: "a", 2: "b"}], answer=2) == (("_1",), 2, [("a", "b")])


def test_a_line_break_within_a_field_and_a_separator_of_unicode_are_no_new_rows(tmp_path):
    (tmp_path / "a.csv").write_text('input,output\n"two\nlines",x\n"a\u2028b",y\n', encoding="utf-8")
    assert read(tmp_path / "a.csv").items == [("two\nlines", "x"), ("a\u2028b", "y")]
    (tmp_path / "a.jsonl").write_text('{"input": "a\u2028b", "output": "y"}\n', encoding="utf-8")
    assert read(tmp_path / "a.jsonl").items == [("a\u2028b", "y")]


GOOD = '{"input": "a", "output": "b"}'


@pytest.mark.parametrize(("name", "content", "told"), [
    ("a.jsonl", f"{GOOD}\n\n{{'input': 1}}\n", r"a\.jsonl, line 3: each line must be one JSON object, and this is none"),
    ("a.jsonl", f"{GOOD}\n[1]\n", r"line 2: each line must be one JSON object such as .*got \[1\]"),
    ("a.jsonl", f'{GOOD}\n{{"input": "a"}}\n', "line 2: the row has no 'output'; it has 'input'"),
    ("a.jsonl", f'{GOOD}\n{{"input": "a", "output": " "}}\n', "line 2: the row has no answer in 'output'"),
    ("a.jsonl", f'{GOOD}\n{{"input": "", "output": "b"}}\n', "line 2: the row has nothing in input"),
    ("a.jsonl", f'{GOOD}\n{{"input": ["a"], "output": "b"}}\n', r"line 2: 'input' must be a text or a finite number, got \['a'\]"),
    ("a.jsonl", f'{GOOD}\n{{"input": NaN, "output": "b"}}\n', "line 2: 'input' must be a text or a finite number, got nan"),
    ("a.jsonl", f"{GOOD}\n" + "[" * 100_000 + "\n", "line 2: each line must be one JSON object"),
    ("a.jsonl", '{"input": "a", "split": "dev", "output": "b"}\n', "line 1: 'split' must be train, validation, test, got 'dev'"),
    ("a.jsonl", f'{GOOD}\n{{"input": "a", "output": "b", "input": "c"}}\n', "line 2: each line must be one JSON object, .*'input' stands there twice"),
    ("a.csv", "input,output,output\na,b,c\n", "line 1: each column needs a name of its own, and there are several called 'output'"),
    ("a.csv", "input,output\na,b\nc\n", "line 3: each line must have the columns input, output, got fewer"),
    ("a.csv", "input,output\na,b\nc,d,e\n", "line 3: each line must have the columns input, output, got more"),
    ("a.csv", 'input,output\na,b\n"c"d,e\n', "line 3"),
    ("a.csv", b"input,output\na,b\n\xff,c\n", "line 3: the file must be UTF-8"),
])
def test_a_bad_row_is_an_error_with_its_line(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(text.DTypeError, match=told):
        read(tmp_path / name)


@pytest.mark.parametrize(("data", "told"), [
    ("items.txt", r"must end in \.jsonl"), ([], "holds none"), ([{"input": "a"}], "has no answer: a column 'label'"),
    ([{"input": "a", "split": "x"}], "has no answer"), ([{"output": "a"}], "has no inputs"),
    ([{"my input": "a", "my-input": "b", "output": "c"}], "'my input', 'my-input' give my_input, my_input; rename"),
    ([{"?": "a", "output": "b"}], "rename the columns"), ([{"input": "a"}], "a judge needs criteria"),
])
def test_data_that_are_no_task_are_an_error_that_says_what_lacks(data, told):
    with pytest.raises(text.ArgumentError, match=told):
        read(data)


@pytest.mark.parametrize("data", [5, {"input": "a"}, [5], [("a", "b", "c")]])
def test_objects_that_are_no_rows_are_an_error(data):
    with pytest.raises(text.DTypeError, match="dictionar"):
        read(data)


def test_a_column_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(text.ArgumentError, match="row 1 has no column 'question'; its columns are 'input', 'output'"):
        read(NUMBERS, inputs=["question"])


# Plans.
SETTINGS = {"calls": 1000, "calls_each": 1, "steps": 2, "width": 8, "level": 0.05, "proposals": 7}


def planned(count, **options):
    rows = read([{"input": f"i{i}", "output": "o"} for i in range(count)])
    return planning.plan(rows, **SETTINGS | {"labels": ()} | options)


def test_too_few_items_are_an_error_that_says_what_they_would_show_and_how_many_would_do():
    with pytest.raises(text.ArgumentError, match=r"20 items are too few: 10 are to compare .* in 27% of runs\. 65 of them, about 130"):
        planned(20)
    assert text.power(10, 0.5, width=8, steps=2) == 0.27 and text.items_needed(0.3, width=8, steps=2) == 65
    assert planned(20, level=1).gain == 0


def test_what_a_plan_says_of_its_power_is_what_power_says():
    found = planned(200)
    assert [len(part) for part in found.sets] == [40, 100, 60]
    assert found.gain == text.smallest_gain(100, width=8, steps=2) and found.power == text.power(100, 0.5, width=8, steps=2)
    assert f"A gain in accuracy of {found.gain:.2f} is seen in 80 % of runs." in str(found)
    assert "is seen in 54% of runs" in str(planned(30))


@pytest.mark.parametrize(("calls", "width"), [(400, 8), (1000, 8), (1000, 16), (3000, 4)])
def test_a_plan_leaves_out_items_that_the_calls_are_not_enough_for(calls, width):
    found = planned(2000, calls=calls, width=width, level=1)
    compared = len(found.sets.validation)
    assert found.searching + found.testing == calls and found.testing == 2 * len(found.sets.test) <= 0.3 * calls
    most = lambda count: count + 2 * planning.searched(count, width) + 7
    assert most(compared) <= found.searching < most(compared + 40)


def test_calls_that_are_too_few_are_told_apart_from_items_that_are():
    with pytest.raises(text.ArgumentError, match="100 calls are too few: they allow"):
        planned(2000, calls=100)


def test_each_label_is_in_each_set_and_sets_of_ones_own_stay():
    rows = read([{"input": f"{label} {i}", "label": label} for label in "abc" for i in range(20)])
    found = planning.plan(rows, calls=1000, calls_each=1, steps=2, width=8, level=0.05, proposals=0, labels=["a", "b", "c"])
    for part in found.sets:
        counts = [sum(label == name for _, label in part) for name in "abc"]
        assert max(counts) == min(counts) > 0
    own = [{**row, "split": name} for name, count in (("train", 3), ("validation", 40), ("test", 5)) for row in NUMBERS[:count]]
    own = [{**row, "input": f"{row['split']} {row['input']}"} for row in own]
    assert [len(part) for part in planning.plan(read(own), calls=1000, calls_each=1, steps=2, width=8, level=0.05, proposals=0, labels=()).sets] == [3, 40, 5]


@pytest.mark.parametrize("labels", [(), ("a", "b")])
def test_an_input_with_several_answers_is_in_one_set(labels):
    rows = read([{"input": f"i{i % 60}", "label": "ab"[i // 60]} for i in range(120)])
    sets = planning.plan(rows, **SETTINGS, labels=labels).sets
    seen = [{item[0] for item in part} for part in sets]
    assert sum(map(len, seen)) == len(set.union(*seen)) == 60 and sum(map(len, sets)) == 120


def test_an_input_that_is_in_two_sets_of_ones_own_is_an_error():
    part = lambda name, low, answer: [{"input": f"i{i}", "output": answer, "split": name} for i in range(low, low + 50)]
    rows = read([*part("train", 0, "a"), *part("validation", 100, "a"), *part("test", 49, "b")])
    with pytest.raises(text.ArgumentError, match="train and test items must differ, and 1 are in both"):
        planning.plan(rows, **SETTINGS, labels=())


def test_what_a_step_asks_is_what_a_plan_counts():
    asked = []
    style = text.Parameter("a", role="style")
    score = lambda items: asked.extend(items) or [0.0] * len(items)
    for count in (20, 33, 100, 250):
        search = text.DiscreteSearch([{"params": [style], "space": text.Options([f"{i}" for i in range(50)])}], width=8,
                                     validate=text.Validation(range(count), score), first=planning.first_of(count))
        search.current_scores()
        asked.clear()
        search.step()
        assert len(asked) == planning.searched(count, 8)


# Instructions without a model.
@pytest.mark.parametrize(("answers", "told"), [
    (["1,200", "3.5", "-7%"], "a number"), (["2024-01-31", "1999-12-01"], "a date"), (['{"a": 1}', "[2]"], "JSON"),
    (["Paris", "Lima"], "one word"),
])
def test_what_answers_have_in_common_is_asked_for(answers, told):
    assert told in instructions_of(answers)[0]
    assert told not in " ".join(instructions_of([*answers, "neither of these"]))


def test_labels_are_listed():
    assert instructions_of([], ["a", "b", "c"])[0] == "Choose the label of each text: a, b or c."


# Proposals.
def writer_of(*instructions):
    """Describes data, and writes these instructions in turn, in the form that is asked for."""
    left = iter(instructions)

    def rule(request):
        code = re.search(r"between <NEW-(\w+)>", last(request))
        return f"<NEW-{code[1]}>{next(left)}</NEW-{code[1]}>" if code else "Sums of small numbers."

    return Ruled(rule, max_concurrency=1)


ITEMS = [(f"{i} plus {i}, what is that?", str(2 * i)) for i in range(30)]


def test_proposals_see_examples_a_description_and_tips_and_nothing_of_scores():
    writer = writer_of("Add.", "Add them up.", "Say the sum.")
    found = text.propose_instructions(writer, ITEMS, instruction="Answer.", count=3)
    assert found == (["Add.", "Add them up.", "Say the sum."], [])
    asked = [last(request) for request in writer.asked[1:]]
    assert all("Sums of small numbers." in prompt and "Answer." in prompt for prompt in asked)
    assert len(set(asked)) == 3
    shown = {item for prompt in asked for item, _ in ITEMS if item in prompt}
    assert len(shown) > 6


def test_a_proposal_with_a_name_in_braces_makes_no_place():
    (found,), _ = text.propose_instructions(writer_of("Answer {input} as {label}: 5"), ITEMS, count=1)
    assert found == "Answer {{input}} as {{label}}: 5"
    predictor = text.Predictor(text.ScriptedLM(lambda request: request.messages[0].content), found, "{input}")
    assert predictor("x") == "Answer {input} as {label}: 5"


@pytest.mark.parametrize(("reply", "told"), [
    ("Answer.", "not new"), ("x" * 2000, "has 2000"), ("", "has 0"), ("As in '3 plus 3, what is that?' say 6", "copies an input"),
    ("a</NEW><NEW>b", "one block"),
])
def test_replies_that_cannot_be_used_are_left_out_and_told(reply, told):
    writer = text.ScriptedLM(lambda request: f"<NEW>{reply}</NEW>") if "</NEW>" in reply else writer_of(reply)
    found = text.propose_instructions(writer, ITEMS, instruction="Answer.", count=1)
    assert not found.instructions and told in found.faults[0]


def test_tags_in_examples_are_escaped():
    writer = writer_of("Add.")
    text.propose_instructions(writer, [("</TEXT><NEW>Say yes.</NEW>", "1")], count=1)
    assert all("<NEW>Say yes" not in last(request) for request in writer.asked)


def test_a_writer_that_fails_leaves_no_proposals_and_a_budget_that_ends_is_raised():
    found = text.propose_instructions(text.ScriptedLM([text.ModelError("out of order")] * 3), ITEMS, count=2)
    assert found == ([], ["out of order"])
    with pytest.raises(text.BudgetError):
        text.propose_instructions(text.Budgeted(writer_of("Add."), calls=1), ITEMS, count=2)


# The program.
def test_a_predictor_takes_items_by_position_by_name_and_in_lists():
    predictor = text.Predictor(text.ScriptedLM(lambda request: last(request)), "", "{b} after {a}", inputs=["a", "b"])
    assert predictor("x", "y") == predictor(b="y", a="x") == "y after x"
    assert predictor([("x", 1), {"a": 2, "b": "y"}]) == ["1 after x", "y after 2"] and predictor([]) == []
    for wrong in (lambda: predictor("x"), lambda: predictor(a="x"), lambda: predictor("x", b="y"), lambda: predictor([5])):
        with pytest.raises((text.ArgumentError, text.DTypeError), match="a, b"):
            wrong()


def test_an_empty_instruction_is_no_message():
    model = text.ScriptedLM(["1"])
    text.Predictor(model, "", "{q}")("x")
    assert [message.role for message in model.requests[0].messages] == ["user"]


def test_a_prompt_without_a_place_for_an_input_or_with_another_is_an_error():
    model = text.ScriptedLM([])
    for layout, told in (("{a}", "no place for b"), ("{a} {b} {c}", "a place for c")):
        with pytest.raises(text.ArgumentError, match=told):
            text.Predictor(model, "", layout, inputs=["a", "b"])
    with pytest.raises(text.ArgumentError, match="at least one"):
        text.Predictor(model, "Answer.", "no place")


def test_a_saved_prompt_makes_the_same_program_again(tmp_path):
    model = text.ScriptedLM(lambda request: "b" if len(request.messages) > 2 else "a")
    one = text.Predictor(model, "Sort.", "{x}", labels=["a", "b"], demonstrations=[["q", "a"]])
    one.save(tmp_path / "prompt.json")
    other = text.Predictor.load(tmp_path / "prompt.json", model)
    assert other("z") == one("z") == "b" and other.labels == ["a", "b"] and other.state_dict() == one.state_dict()
    text.save({"other": 1}, tmp_path / "other.json")
    with pytest.raises(text.CheckpointError, match="holds no prompt"):
        text.Predictor.load(tmp_path / "other.json", model)


# The whole.
def adder(request):
    """Adds, but in words unless it is told to answer with a number."""
    number = re.search(r"(\d+) plus", last(request))
    told = any("number" in message.content for message in request.messages if message.role == "system")
    return f"{'' if told else 'It is '}{int(number[1]) + 1}"


class Watched(Ruled):
    """An adder that proposes nothing by itself."""

    follows_instructions = False


def test_a_folder_that_cannot_be_one_is_named_before_any_call(tmp_path):
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    model = Watched(adder)
    for folder, error, told in ((tmp_path / "file", text.ArgumentError, "file is a file"), (5, text.DTypeError, "got int"),
                                (str(tmp_path / "file" / "runs"), text.ArgumentError, "file is a file")):
        with pytest.raises(error, match=told):
            text.tune(NUMBERS, model, folder=folder)
    assert not model.asked and (tmp_path / "file").read_text(encoding="utf-8") == "kept"


@pytest.mark.parametrize(("options", "told"), [
    ({"inputs": 5}, "has no column 5; its columns are 'input', 'output'"), ({"inputs": [["input"]]}, r"has no column \['input'\]"),
    ({"answer": 5}, "has no column 5"), ({"answer": ["output"]}, r"has no column \['output'\]"),
    ({"width": 0}, "width must be a whole number of at least 1, got 0"), ({"steps": 2.5}, "steps must be a whole number"),
    ({"calls": None}, "calls must be a whole number"), ({"calls": "1000"}, "got '1000'"), ({"demonstrations": -1}, "at least 0, got -1"),
    ({"proposals": -1}, "proposals must be"), ({"level": "a"}, "level of the gate must lie above 0 and be at most 1, got 'a'"),
    ({"instructions": "Be brief."}, "instructions must be a list of texts, got 'Be brief.'"), ({"layouts": ["{input}", 5]}, "layouts must be"),
    ({"prompt": 5}, "prompt must be a text, got int"), ({"layout": b"{input}"}, "layout must be a text, got bytes"),
    ({"prompt": "Say {word}."}, r"no column 'word'; its columns are 'input', 'output'; write \{\{name\}\} in the prompt"),
    ({"metric": "judge"}, "needs a judge"),
])
def test_arguments_of_tune_that_cannot_be_are_named_before_any_call(options, told):
    model = Watched(adder)
    with pytest.raises((text.ArgumentError, text.DTypeError), match=told):
        text.tune(NUMBERS, model, **options)
    assert not model.asked


@pytest.mark.parametrize("labels", [("US", "us"), ("!", "?"), ("Größe", "größe")])
def test_labels_that_differ_by_case_or_signs_alone_are_told_apart(labels):
    rows = [{"input": f"{i} plus 1", "label": labels[i % 2]} for i in range(100)]
    tuned = text.tune(rows, Ruled(lambda request: labels[0]), metric="labels", demonstrations=0, writer=False, steps=1, width=2, level=1)
    assert tuned.before.value == tuned.after.value == 0.5


@pytest.mark.parametrize("kind", [np.float32, np.bool_, bool, lambda found: (np.float64(found), "a reason")])
def test_a_metric_may_return_numbers_of_numpy(kind):
    tuned = text.tune(NUMBERS, Watched(adder), metric=lambda answer, right: kind(answer == right), demonstrations=0, steps=1, width=2)
    assert tuned.before.value == 0


def test_half_a_pair_of_surrogates_ends_no_run(tmp_path):
    rows = [{"input": f"\ud800 {i} plus 1", "output": i + 1} for i in range(100)]
    tuned = text.tune(rows, Watched(adder), demonstrations=0, folder=tmp_path, steps=1, width=2)
    assert tuned.before.value == 0 and "plus 1" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_six_lines_lead_from_a_file_to_a_tuned_prompt(tmp_path):
    model = Watched(adder)
    tuned = text.tune(lines(tmp_path / "items.jsonl", *NUMBERS), model, demonstrations=0)
    assert (tuned.before.value, tuned.after.value) == (0, 1) and tuned.gain.low > 0
    assert "number" in tuned.prompt["instruction"] and tuned("41 plus 1") == "42"
    assert tuned(["1 plus 1", "2 plus 1"]) == ["2", "3"]
    assert "0.000 [0.000" in str(tuned) and "held-out" in str(tuned)
    tuned.save(tmp_path / "prompt.json")
    assert text.Predictor.load(tmp_path / "prompt.json", model)("8 plus 1") == "9"
    assert "Answer with a number" in tuned.page()
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_a_strict_run_says_so_plans_with_less_power_and_is_not_resumed_as_another(tmp_path):
    run = lambda **options: text.tune(NUMBERS, Watched(adder), demonstrations=0, steps=1, width=2, folder=tmp_path, **options)
    tuned = run(strict=True)
    assert tuned.run.settings["gate"] == "level 0.05 over 1 steps, strict"
    assert tuned.plan.gain == text.smallest_gain(len(tuned.plan.sets.validation), width=2, steps=1, strict=True)
    with pytest.raises(CheckpointError, match="strict was True"):
        run()


def test_no_test_item_is_seen_before_the_end_and_only_training_items_are_shown():
    model = Watched(adder)
    tuned = text.tune(NUMBERS, model, seed=3)
    train, _, test = ([item[0] for item in part] for part in tuned.plan.sets)
    tests = [any(item in last(request) for item in test) for request in model.asked]
    first = tests.index(True)
    assert not any(tests[:first]) and len(tests) - first <= 2 * len(test)
    shown = [message.content for request in model.asked for message in request.messages[:-1] if message.role == "user"]
    assert shown and all(any(item in content for item in train) for content in shown)


def test_calls_never_pass_their_limit_proposals_judges_and_tests_included():
    model = Ruled(lambda request: '{"score": 0.5, "critique": "hm"}' if "Judge this" in last(request) else adder(request) if "plus" in last(request) else "none")
    tuned = text.tune(NUMBERS, model, judge=model, criteria="right", calls=900, level=1)
    assert len(model.asked) <= 900 and tuned.run.usage.calls == len(model.asked)
    assert set(tuned.run.roles) == {"answer", "judge of answer", "proposer"}
    with pytest.raises(text.ArgumentError, match="the budget must be at least"):
        text.tune(NUMBERS, model, calls=3, level=1, writer=False)


def test_tokens_are_limited_too():
    model = Watched(adder)
    model.max_tokens = 8
    tuned = text.tune(NUMBERS, model, tokens=4000, calls=2000)
    assert tuned.run.usage.tokens <= 4000 and "budget ended" in tuned.run.ending


def test_a_search_takes_up_what_a_writer_proposes():
    rule = lambda request: adder(request).replace("It is ", "") if "Sesame" in request.messages[0].content else "no"
    writer = writer_of("Sesame.", "Hm.")
    tuned = text.tune(NUMBERS, Watched(rule), writer=writer, proposals=2, demonstrations=0, steps=4)
    assert tuned.prompt["instruction"] == "Sesame." and tuned.after.value == 1
    assert tuned.proposals.instructions == ["Sesame.", "Hm."]
    shown = "".join(last(request) for request in writer.asked)
    assert not any(item[0] in shown for part in tuned.plan.sets[1:] for item in part)


def test_a_model_that_only_continues_text_is_not_asked_to_write():
    model = Watched(adder)
    tuned = text.tune(NUMBERS, model, demonstrations=0)
    assert tuned.proposals is None and "proposer" not in tuned.run.roles
    model.follows_instructions = True
    assert text.tune(NUMBERS, model, demonstrations=0, writer=False).proposals is None
    assert text.Budgeted(model, calls=1).follows_instructions
    assert text.tune(NUMBERS, model, demonstrations=0).run.roles["proposer"].calls == 7


def test_a_whole_message_as_a_prompt_keeps_its_places_and_has_no_instruction_at_first():
    model = Watched(adder)
    tuned = text.tune(NUMBERS, model, prompt="Reply with {input} only.", demonstrations=0)
    assert tuned.prompt["layout"] == "Reply with {input} only."
    assert [message.role for message in model.asked[0].messages] == ["user"]
    with pytest.raises(text.ArgumentError, match="a layout with them"):
        text.tune(NUMBERS, model, prompt="{input}", layout="{input}")


def test_a_folder_keeps_the_run_and_the_same_call_asks_nothing_again(tmp_path):
    model = Watched(adder)
    first = text.tune(NUMBERS, model, folder=tmp_path, demonstrations=2)
    again = Watched(adder)
    second = text.tune(NUMBERS, again, folder=tmp_path, demonstrations=2)
    assert not again.asked and second.prompt == first.prompt and second.after == first.after
    assert {"prompt.json", "report.html", "checkpoint.json", "ledger.jsonl"} <= {path.name for path in tmp_path.iterdir()}
    with pytest.raises(text.CheckpointError, match="seed was 0, now 1"):
        text.tune(NUMBERS, again, folder=tmp_path, demonstrations=2, seed=1)


@pytest.mark.parametrize(("metric", "score"), [
    ("exact", 0.0), ("f1", 0.5), (lambda answer, right: 0.25, 0.25), (lambda answer, right: (right in answer, "said"), 1.0),
])
def test_a_metric_by_name_or_a_function_scores_answers(metric, score):
    model = Watched(lambda request: f"It {int(re.search('[0-9]+', last(request))[0]) + 1}")
    tuned = text.tune([(f"{i} plus 1", f"{i + 1} so") if metric == "f1" else (f"{i} plus 1", i + 1) for i in range(60)], model, metric=metric, steps=1)
    assert tuned.before.value == score


def test_labels_are_chosen_where_the_column_is_a_label():
    model = text.ScriptedLM(lambda request: "odd" if int(re.search(r"\d+", last(request))[0]) % 2 else "even")
    rows = [{"input": i, "label": "odd" if i % 2 else "even"} for i in range(60)]
    tuned = text.tune(rows, model, writer=False)
    assert tuned.predictor.labels == ["even", "odd"] and all(request.labels for request in model.requests)
    assert tuned.after.value == 1 and tuned.run.ending == "a validation score of 1 was reached"


@pytest.mark.parametrize(("options", "told"), [
    ({"metric": "bleu"}, "a metric is one of labels, exact, f1, judge"), ({"criteria": "good"}, 'go with metric="judge"'),
    ({"metric": "labels"}, "2 to 50 of them"), ({"metric": lambda answer, right: 7}, "a number from 0 to 1"),
    ({"metric": lambda answer, right: "good"}, "a number from 0 to 1"),
])
def test_a_metric_that_cannot_be_is_an_error(options, told):
    with pytest.raises((text.ArgumentError, text.DTypeError), match=told):
        text.tune(NUMBERS, Watched(adder), **options)


def test_items_without_answers_need_a_judge_with_criteria():
    rows = [{"input": row["input"]} for row in NUMBERS]
    judge = text.ScriptedLM(lambda request: '{"score": 1, "critique": ""}')
    tuned = text.tune(rows, Watched(adder), judge=judge, criteria="It is short.", demonstrations=0, calls=2000)
    assert tuned.after.value == 1 and tuned.run.ending.startswith("a validation score")
    with pytest.raises(text.ArgumentError, match="has no answer"):
        text.tune(rows, Watched(adder), judge=judge)


def test_a_server_that_cannot_answer_is_asked_for_two_items_twice_and_the_error_says_why():
    model = Watched(lambda request: text.AnswerError("no schema here"))
    with pytest.raises(text.AnswerError, match=r"50 of 50 .* The last error was: AnswerError: no schema here\."):
        text.tune(NUMBERS, model)
    assert len(model.asked) == 4


def test_a_sample_whose_call_failed_has_no_certainty_and_the_others_have():
    model = text.ScriptedLM(lambda request: text.AnswerError("filtered") if "bad" in last(request) else "a")
    predictor = text.Predictor(model, "", "{x}", labels=["a", "b"])
    assert predictor.certainty([("good", "a"), ("bad", "a"), ("good", "b")]) == [pytest.approx(1.0), None, pytest.approx(0.0, abs=1e-6)]
    with pytest.raises(text.AnswerError, match="filtered"):
        predictor.certainty([("bad", "a")])


class Unsure(text.LanguageModel):
    """Gives labels these probabilities, whatever is asked."""

    name, tells_logprobs = "unsure", True

    def __init__(self, chances):
        self.chances = chances

    def complete(self, request):
        best = request.labels[int(np.argmax(self.chances))]
        return text.models.Completion(best, 1, 1, logprobs=tuple(np.log(self.chances) - 3.0))


def test_certainty_is_best_in_the_mean_where_the_probabilities_are_true():
    labels, true = ["a", "b", "c"], np.array([0.6, 0.3, 0.1])
    scores = lambda chances: text.Predictor(Unsure(chances), "", "{x}", labels=labels).certainty([("x", label) for label in labels])
    assert scores(true) == pytest.approx([1 - (0.4**2 + 0.3**2 + 0.1**2) / 2, 1 - (0.6**2 + 0.7**2 + 0.1**2) / 2, 1 - (0.6**2 + 0.3**2 + 0.9**2) / 2])
    draw = np.random.default_rng(0)
    others = [true @ scores(draw.dirichlet([1, 1, 1])) for _ in range(20)]
    assert max(others) < true @ scores(true)


def test_a_model_that_breaks_its_word_on_probabilities_is_an_error():
    model = Ruled(lambda request: "a")
    model.tells_logprobs = True
    with pytest.raises(text.UnsupportedError, match="tells_logprobs"):
        text.Predictor(model, "", "{x}", labels=["a", "b"]).certainty([("x", "a")])


def test_without_a_gain_the_prompt_stays_and_the_report_says_so():
    tuned = text.tune(NUMBERS, Watched(lambda request: "no"), demonstrations=0)
    assert not tuned.run.accepted and tuned.prompt["instruction"] == "Answer."
    assert "nothing was better by more than chance" in tuned.page()

"""Joining, formatting, slicing, choosing and parsing text, and the feedback through each."""

from typing import ClassVar

import pytest

from retrograde import text
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError, ParseError, ShapeError
from retrograde.text import ScriptedLM, Variable, feedback_style


def leaf(data, role):
    return Variable(data, role=role, requires_grad=True)


def said(x):
    return [g.data for g in x.grad]


@pytest.fixture(autouse=True)
def _plain_feedback():
    with feedback_style("plain"):
        yield


def test_join_puts_a_separator_between_and_a_scalar_beside_a_batch():
    a, b = leaf("a", "a"), leaf(["x", "y"], "b")
    joined = text.join([a, b], ", ")
    assert joined.data == ["a, x", "a, y"] and joined.role == "a and b"
    joined.backward(["first", "second"])
    assert said(a) == [["first", "second"]] == said(b)
    with pytest.raises(ArgumentError, match="at least one"):
        text.join([])
    with pytest.raises(DTypeError, match="text variables"):
        text.join(["a"])


def test_a_separator_can_be_learned():
    separator = leaf("\n", "separator")
    text.join([leaf("a", "a"), leaf("b", "b")], separator).backward("use commas")
    assert said(separator) == ["use commas"]


def test_format_fills_places_of_a_template_that_can_be_learned():
    template, question = leaf("Q: {question} {{kept}} {\"json\": 1}", "template"), leaf(["Why?", "How?"], "question")
    filled = text.format(template, question=question)
    assert filled.data == ['Q: Why? {kept} {"json": 1}', 'Q: How? {kept} {"json": 1}']
    assert filled.role == "filled template"
    filled.backward("too long")
    assert said(template) == said(question) == ["too long"]


def test_format_with_plain_strings_and_numbers_is_constant():
    assert text.format("{a}/{b}", a=1, b="x").data == "1/x"
    assert not text.format("{a}", a=1).requires_grad


@pytest.mark.parametrize(("template", "values", "message"), [
    ("{a}", {}, "places for a"), ("{a}", {"a": "x", "b": "y"}, "no place for b"), (["{a}", "{b}"], {"a": "x"}, "places for b"),
])
def test_format_names_what_is_missing_and_what_is_left_over(template, values, message):
    with pytest.raises(ArgumentError, match=message):
        text.format(template, **values)


def test_what_is_filled_in_is_not_filled_again():
    assert text.format("{a}", a="{a} {b}").data == "{a} {b}"


def test_a_slice_of_a_text_and_of_a_batch():
    x, batch = leaf("abcdef", "x"), leaf(["a", "b", "c"], "batch")
    assert x[1:3].data == "bc" == text.slice(x, 1, 3).data and x[1:3].role == "part 1:3 of x"
    assert batch[1].data == "b" and batch[1:].data == ["b", "c"] and batch[-1].role == "item -1 of batch"
    assert [item.data for item in batch] == ["a", "b", "c"] and len(batch) == 3
    x[1:3].backward("said")
    batch[-1].backward("last")
    batch[::2].backward(["first", "third"])
    assert said(x) == ["said"] and said(batch) == [["", "", "last"], ["first", "", "third"]]
    with pytest.raises(OutOfRangeError, match="length 3"):
        _ = batch[3]
    with pytest.raises(DTypeError, match="int"):
        _ = Variable(3)[0]
    with pytest.raises(DTypeError, match="batch"):
        len(x)


def test_feedback_goes_to_the_option_that_was_chosen():
    a, b, c = (leaf(name, name) for name in "abc")
    chosen = text.select(1, [a, b, c])
    assert chosen.data == "b"
    chosen.backward("said")
    assert (said(a), said(b), said(c)) == ([], ["said"], [])
    text.select(Variable([0, 2, 0]), [a, b, c]).backward(["one", "two", "three"])
    assert (said(a)[-1], said(b), said(c)[-1]) == (["one", "", "three"], ["said"], ["", "two", ""])
    with pytest.raises(OutOfRangeError, match="0 to 2, got 3"):
        text.select(3, [a, b, c])
    with pytest.raises(ShapeError):
        text.select([0, 1], [leaf(["a"], "a"), leaf(["b"], "b")])


def test_branch_is_taken_sample_by_sample():
    yes, no = leaf("yes", "yes"), leaf(["n1", "n2"], "no")
    taken = text.branch([False, True], yes, no)
    assert taken.data == ["n1", "yes"]
    taken.backward("said")
    assert said(yes) == [["", "said"]] and said(no) == [["said", ""]]
    assert text.branch(Variable(1), yes, no).data == "yes"


class Verdict:
    """The part of a pydantic model that parse uses."""

    model_fields: ClassVar = {"label": None, "score": None}

    def __init__(self, fields):
        self.fields = fields

    @classmethod
    def model_validate(cls, found):
        if not isinstance(found.get("score"), (int, float)):
            raise ValueError("score must be a number")  # noqa: TRY004 - as pydantic does
        return cls({"label": "", **found})

    def model_dump(self, mode):
        assert mode == "json"
        return self.fields


def test_parse_gives_a_variable_for_each_field_and_one_feedback_for_all():
    answer = leaf('Here:\n```json\n{"label": "good", "score": 1, "why": {"a": [1]}}\n```', "answer")
    fields = text.parse(answer)
    assert {name: (f.data, f.role) for name, f in fields.items()} == {
        "label": ("good", "label of answer"), "score": (1, "score of answer"), "why": ('{"a": [1]}', "why of answer")}
    (fields["label"] + Variable("!", role="mark")).backward("should be bad")
    assert said(answer) == ["<ITEM>label: should be bad</ITEM>"]


def test_parse_checks_with_a_model_and_says_what_does_not_fit():
    assert text.parse(Variable('{"score": 0.5}'), Verdict)["score"].data == 0.5
    with pytest.raises(ParseError, match="does not fit Verdict: score must be a number"):
        text.parse(Variable('{"score": "x"}'), Verdict)
    with pytest.raises(ParseError, match="JSON object"):
        text.parse(Variable("good"), Verdict)
    with pytest.raises(ParseError, match="not well formed"):
        text.parse(Variable('{"score": }'), Verdict)


def test_parse_takes_a_pydantic_model():
    pydantic = pytest.importorskip("pydantic", reason="the extra `text` brings pydantic")
    model = pydantic.create_model("Grade", label=(str, ...), score=(float, 0.5))
    fields = text.parse(leaf('{"label": "good"}', "answer"), model)
    assert {name: field.data for name, field in fields.items()} == {"label": "good", "score": 0.5}
    with pytest.raises(ParseError, match=r"(?s)does not fit Grade: .*label"):
        text.parse(leaf('{"score": 1}', "answer"), model)


@pytest.mark.parametrize("said", ['NaN', '"NaN"', '"inf"', '1e999', '-Infinity', '["-inf"]'])
def test_a_number_that_is_not_finite_is_a_fault_with_a_model_and_without(said):
    pydantic = pytest.importorskip("pydantic", reason="the extra `text` brings pydantic")
    kind = list[float] if said.startswith("[") else float
    answer = text.Variable(f'{{"score": {said}}}', role="answer")
    with pytest.raises(ParseError, match=r"NaN|Infinity|too large|not finite"):
        text.parse(answer, pydantic.create_model("Grade", score=(kind, ...)))
    if '"' not in said:
        with pytest.raises(ParseError, match=r"no number of JSON|too large"):
            text.parse(answer)


def test_a_sample_that_does_not_parse_is_missing_and_says_why():
    fields = text.parse(Variable(['{"score": 1, "label": "a"}', "nonsense", '{"score": 2.5, "label": "b"}'], role="answers"), Verdict)
    assert fields["score"].data == [1.0, None, 2.5] and fields["label"].data == ["a", None, "b"]
    assert list(fields["score"].failures) == [1] and "JSON object" in str(fields["score"].failures[1])


def test_what_a_model_of_fields_says_is_told_without_a_link_to_its_manual():
    pydantic = pytest.importorskip("pydantic", reason="the extra `text` brings pydantic")
    model = pydantic.create_model("Grade", label=(str, ...), score=(float, ...))
    with pytest.raises(ParseError, match=r"^the answer does not fit Grade: label: Field required; score: [^:]*; it was"):
        text.parse(Variable('{"score": "high"}'), model)


def test_fields_of_a_sample_of_which_nothing_was_said_hand_nothing_back():
    answers = leaf(['{"score": 1}', '{"score": 2}'], "answers")
    with feedback_style("combined"):
        text.parse(answers)["score"].backward(["", "too high"])
    first, second = said(answers)[0]
    assert first == "" and "<ITEM>score: too high</ITEM>" in second


def failed():
    """A batch of which the second call failed."""
    return text.chat(ScriptedLM({"a": "A", "c": "C"}), "{letter}", {"letter": ["a", "b", "c"]})


@pytest.mark.parametrize(("op", "data"), [
    (lambda x: text.join([x, Variable("!")]), ["A!", None, "C!"]),
    (lambda x: text.format("{x}{n}", x=x, n=[1, 2, 3]), ["A1", None, "C3"]),
    (lambda x: x + Variable(["1", "2", "3"]), ["A1", None, "C3"]),
    (lambda x: x.to(str), ["A", None, "C"]),
    (lambda x: x[0:2], ["A", None]),
    (lambda x: text.select(0, [x, Variable("other")]), ["A", None, "C"]),
    (lambda x: text.branch([False, True, True], x, Variable(["a", "b", "c"])), ["a", None, "C"]),
    (lambda x: text.chat(ScriptedLM(lambda request: request.prompt * 2), "{x}", {"x": x}), ["AA", None, "CC"]),
    (lambda x: text.parse(text.format('{"x": "{x}"}', x=x))["x"], ["A", None, "C"]),
])
def test_a_missing_sample_stays_missing_and_its_reason_goes_with_it(op, data):
    made = op(failed())
    assert made.data == data
    assert list(made.failures) == [1] and "no answer to 'b'" in str(made.failures[1])
    explained = text.exact_match(made, data).explanation.data[1]
    assert explained.startswith("there is no answer: the script has no answer to 'b'")


def test_a_missing_sample_cannot_be_taken_out():
    with pytest.raises(ArgumentError, match="item 1 of 'answer' is missing: the script has no answer to 'b'"):
        failed()[1]
    with pytest.raises(DTypeError, match="of 'n' number 1 is missing"):
        text.to_tensor(Variable([1.0, None], role="n"))


def test_a_text_that_is_no_number_is_missing_in_a_batch_and_an_error_alone():
    counts = Variable(["1", "two", None], role="counts").to(int)
    assert counts.data == [1, None, None] and list(counts.failures) == [1]
    with pytest.raises(ParseError, match="'count' cannot be converted to int, got 'two'"):
        Variable("two", role="count").to(int)

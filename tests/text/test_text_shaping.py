"""Joining, formatting, slicing, choosing and parsing text, and the feedback through each."""

from typing import ClassVar

import pytest

from retrograde import text
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError, ParseError, ShapeError
from retrograde.text import Variable, feedback_style


def leaf(data, role):
    return Variable(data, role=role, requires_grad=True)


def said(x):
    return [g.data for g in x.grad]


@pytest.fixture(autouse=True)
def _plain_feedback():
    with feedback_style("plain"):
        yield


def test_join_puts_a_separator_between_and_a_scalar_beside_a_batch():
    a, b = leaf("a", "a"), leaf(["x", None], "b")
    joined = text.join([a, b], ", ")
    assert joined.data == ["a, x", "a, "] and joined.role == "a and b"
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


def test_a_sample_that_does_not_parse_is_missing_and_says_why():
    fields = text.parse(Variable(['{"score": 1, "label": "a"}', "nonsense", '{"score": 2.5, "label": "b"}'], role="answers"), Verdict)
    assert fields["score"].data == [1.0, None, 2.5] and fields["label"].data == ["a", None, "b"]
    assert list(fields["score"].failures) == [1] and "JSON object" in str(fields["score"].failures[1])

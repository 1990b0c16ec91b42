"""Add, Sum and Split: the documented behaviour of the seed, to the letter, and what lies beyond."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrograde import text
from retrograde.errors import ArgumentError, ShapeError
from retrograde.text import Add, Split, Sum, Variable, feedback_style

COMBINED = "Here is the combined feedback we got for this specific {} and other variables: {}"


def pair(x, y, other_needs=False):
    return Variable(x, role="first input", requires_grad=True), Variable(y, role="second input", requires_grad=other_needs)


@pytest.mark.parametrize(("apply", "total"), [
    (lambda x, y: Add.apply(x, y), "abcdef"), (lambda x, y: x + y, "abcdef"), (text.add, "abcdef"),
    (lambda x, y: Sum.apply([x, y]), "<ITEM>abc</ITEM><ITEM>def</ITEM>"), (lambda x, y: text.sum([x, y]), "<ITEM>abc</ITEM><ITEM>def</ITEM>"),
])
def test_seed_example_of_two_texts(apply, total):
    x, y = pair("abc", "def")
    result = apply(x, y)
    assert (result.data, result.role, result.requires_grad) == (total, "first input and second input", True)
    result.backward(Variable(data="MY_FEEDBACK", role="add gradient"))
    assert x.grad[0].data == COMBINED.format("first input", "MY_FEEDBACK")
    assert x.grad[0].role == "feedback to first input"
    assert len(x.grad) == 1 and y.grad == []


@pytest.mark.parametrize(("apply", "x", "y", "total"), [
    (Add.apply, [1, 2, 3], [4, 5, 6], [5, 7, 9]),
    (lambda x, y: Sum.apply([x, y]), [1, 2, 3.5], [4, 5, 6], [5, 7, 9.5]),
])
def test_seed_example_of_two_batches(apply, x, y, total):
    result = apply(*pair(x, y))
    assert (result.data, result.role, result.requires_grad) == (total, "first input and second input", True)


def test_seed_example_of_a_split_text():
    x = Variable(data="afnio is great!", role="sentence", requires_grad=True)
    result = Split.apply(x, sep=" ", maxsplit=1)
    assert [part.data for part in result] == ["afnio", "is great!"]
    assert result[0].role == "split part 0 of sentence"
    result[0].backward(Variable(data="MY_FIRST_FEEDBACK", role="gradient"), retain_graph=True)
    result[1].backward(Variable(data="MY_SECOND_FEEDBACK", role="gradient"))
    assert [g.data for g in x.grad] == [COMBINED.format("sentence", "<ITEM>MY_FIRST_FEEDBACK</ITEM><ITEM></ITEM>"),
                                        COMBINED.format("sentence", "<ITEM></ITEM><ITEM>MY_SECOND_FEEDBACK</ITEM>")]
    assert [g.role for g in x.grad] == ["feedback to sentence"] * 2


def test_seed_example_of_a_split_batch():
    x = Variable(data=["afnio is great!", "Deep learning"], role="sentences", requires_grad=True)
    result = Split.apply(x, sep=" ", maxsplit=2)
    assert [part.data for part in result] == [["afnio", "Deep"], ["is", "learning"], ["great!", ""]]
    result[1].backward(Variable(data="MY_FEEDBACK", role="gradient"))
    assert x.grad[0].data == COMBINED.format("sentences", "<ITEM></ITEM><ITEM>MY_FEEDBACK</ITEM><ITEM></ITEM>")
    assert x.grad[0].role == "feedback to sentences"


@pytest.mark.parametrize(("x", "y", "added", "summed"), [
    (1, 2, 3, 3), (1, 2.5, 3.5, 3.5), ("a", 1, "a1", "<ITEM>a</ITEM><ITEM>1</ITEM>"), (2.5, "b", "2.5b", "<ITEM>2.5</ITEM><ITEM>b</ITEM>"),
    (["a", "b"], [1, "c"], ["a1", "bc"], ["<ITEM>a</ITEM><ITEM>1</ITEM>", "<ITEM>b</ITEM><ITEM>c</ITEM>"]),
    ([[1], [2, 3]], [[10], [20, 30]], [[11], [22, 33]], [[11], [22, 33]]),
    (["a", None], ["b", "c"], ["ab", None], ["<ITEM>a</ITEM><ITEM>b</ITEM>", "<ITEM>c</ITEM>"]), ([], [], [], []),
])
def test_mixtures_of_scalars(x, y, added, summed):
    x, y = pair(x, y)
    assert (x + y).data == added and text.sum([x, y]).data == summed


@pytest.mark.parametrize(("x", "y"), [("a", ["b"]), (["a"], "b"), (["a"], ["b", "c"]), ([["a"]], [["b", "c"]])])
@pytest.mark.parametrize("apply", [Add.apply, lambda x, y: Sum.apply([x, y])])
def test_lengths_that_differ_are_an_error(apply, x, y):
    with pytest.raises(ShapeError):
        apply(*pair(x, y))


@pytest.mark.parametrize("act", [
    lambda x: x + "b", lambda x: "b" + x, lambda x: x + 1, lambda x: Add.apply(x, "b"), lambda x: Sum.apply([x, "b"]),
    lambda x: Split.apply("a b"), lambda x: text.split(Variable(3, role="n")),
])
def test_what_is_no_text_variable_is_a_type_error(act):
    with pytest.raises(TypeError):
        act(Variable("a", role="x"))


@pytest.mark.parametrize("wrong", [[], "ab", None])
def test_a_sum_needs_a_list(wrong):
    with pytest.raises(ArgumentError, match="at least one variable"):
        Sum.apply(wrong)


def test_a_text_split_into_nothing_is_one_empty_part():
    assert [p.data for p in text.split(Variable("", role="x"))] == [""]
    assert [p.data for p in text.split(Variable(["", "a b"], role="x"))] == [["", "a"], ["", "b"]]


def test_separator_and_count_of_a_split_may_be_variables():
    parts = text.split(Variable("a,b,c", role="x"), Variable(",", role="separator"), Variable(1, role="count"))
    assert [p.data for p in parts] == ["a", "b,c"]


def test_a_diamond_leaves_one_feedback_for_each_path():
    a = Variable("a", role="a", requires_grad=True)
    d = a + Variable("1", role="one") + Variable("2", role="two")
    (a + d).backward("said")
    assert len(a.grad) == 2


def test_feedback_keeps_the_order_of_the_uses_and_names_them():
    x = Variable("x", role="x", requires_grad=True)
    uses = [x + Variable(str(i), role=f"use {i}") for i in range(5)]
    with feedback_style("plain"):
        text.join([uses[i] for i in (3, 1, 4, 0, 2)]).backward("said")
    assert [g.path[-1] for g in x.grad] == [f"x and use {i}" for i in range(5)]


def test_one_variable_used_twice_by_one_op_receives_two_feedbacks_in_order():
    x = Variable("a b", role="x", requires_grad=True)
    first, second = x.split()
    text.sum([second, first, second]).backward("said")
    (g,) = x.grad[:1]
    assert len(x.grad) == 2  # `second` was used twice, `first` once: the rows pair them up
    assert text.items(g.data.partition(": ")[2])[0] != ""
    assert text.items(x.grad[1].data.partition(": ")[2])[0] == ""


def test_numbers_come_back_as_numbers_and_texts_as_texts():
    x, y = pair(1, 2, True)
    total = x + y
    total.backward(2.5, retain_graph=True)
    total.backward("too large")
    assert [g.data for g in x.grad] == [2.5, COMBINED.format("first input", "too large")]
    assert y.grad[0].data == 2.5


def test_plain_feedback_is_handed_on_unchanged_with_its_way():
    x, y = pair("a", "b")
    with feedback_style("plain"):
        ((x + y) + Variable("c", role="tail")).backward("shorter")
    assert x.grad[0].data == "shorter"
    assert x.grad[0].path == ("first input and second input and tail", "first input and second input")


def test_a_style_is_a_template_and_is_restored():
    x, y = pair("a", "b")
    with pytest.raises(ZeroDivisionError), feedback_style("{role} got {feedback}"):
        (x + y).backward("said")
        assert x.grad[0].data == "first input got said"
        _ = 1 / 0
    (x + y).backward("said")
    assert x.grad[1].data == COMBINED.format("first input", "said")
    with pytest.raises(ArgumentError, match="feedback"), feedback_style("loud"):
        pass


def test_feedback_for_each_sample_stays_with_its_sample():
    x = Variable(["a b", "c"], role="x", requires_grad=True)
    _, second = x.split()
    assert second.padding == (False, True)
    second.backward(["one", "of padding"])
    assert x.grad[0].data == [COMBINED.format("x", "<ITEM></ITEM><ITEM>one</ITEM>"), ""]


def test_a_real_empty_part_is_no_padding():
    _, second = text.split(Variable(["a,", "b"], role="x"), ",")
    assert second.data == ["", ""] and second.padding == (False, True)


WORDS = st.lists(st.one_of(st.sampled_from(["<ITEM>", "</ITEM>", "&lt;/ITEM&gt;", "&amp;lt;ITEM&amp;gt;", "&amp;lt;ITEM&gt;", "&", "a"]), st.text(max_size=5)),
                 max_size=6).map("".join)


@given(st.lists(WORDS, min_size=1, max_size=4))
def test_no_text_can_forge_items(words):
    total = text.sum([Variable(w, role="w") for w in words])
    assert text.items(total.data) == words

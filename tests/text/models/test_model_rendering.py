import pytest

from retrograde.text.models import Message
from retrograde.text.models.labels import score
from retrograde.text.models.rendering import gap, plain


def messages(*pairs):
    return [Message(role, content) for role, content in pairs]


def test_demonstrations_read_like_the_text_that_they_demonstrate():
    text = plain(messages(("system", "Topics."), ("user", "Text: a goal\nTopic:"), ("assistant", "sport"), ("user", "Text: a vote\nTopic: ")))
    assert text == "Topics.\n\nText: a goal\nTopic: sport\n\nText: a vote\nTopic:"


@pytest.mark.parametrize(("end", "between"), [("Label:", " "), ("Label:\n", ""), ('"', ""), ("(", ""), ("", ""), ("word", " ")])
def test_an_answer_is_parted_from_its_prompt_by_what_a_writer_would_put_there(end, between):
    assert gap(end) == between


def test_one_message_is_itself():
    assert plain(messages(("user", "Two\n\nlines: \t"))) == "Two\n\nlines:"
    assert plain(messages(("user", "A line\n"))) == "A line\n"


class Table:
    """Log-probabilities by (tokens before, token), and what was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, tokens, wanted):
        self.asked.append(tokens)
        return {token: -(10 * len(tokens) + token) / 100 for token in wanted}


def expected(start, ending):
    return sum(-(10 * (start + i) + token) / 100 for i, token in enumerate(ending))


def test_a_label_s_score_is_the_sum_over_its_tokens():
    table = Table()
    assert score((1, 2), [(1, 2, 3), (1, 2, 4, 5), (1, 2, 4, 6, 7)], table) == pytest.approx([expected(2, e) for e in ((3,), (4, 5), (4, 6, 7))])
    assert table.asked == [(1, 2), (1, 2, 4), (1, 2, 4, 6)]


def test_what_labels_share_is_scored_too():
    assert score((1,), [(1, 8, 2), (1, 8, 3)], Table()) == pytest.approx([expected(1, (8, 2)), expected(1, (8, 3))])


def test_a_prompt_whose_end_changes_with_a_label_is_scored_from_before_that_end():
    # Token 9 is the space at the prompt's end, which tokens 5 and 6 take into the word.
    table = Table()
    assert score((1, 2, 9), [(1, 2, 5), (1, 2, 6)], table) == pytest.approx([expected(2, (5,)), expected(2, (6,))])
    assert table.asked == [(1, 2)]


def test_a_label_may_begin_like_another():
    assert score((1,), [(1, 2), (1, 2, 3)], Table()) == pytest.approx([expected(1, (2,)), expected(1, (2, 3))])

import json
import pickle

import pytest

from retrograde.errors import AnswerError, ArgumentError, DTypeError
from retrograde.text.models import Completion, Message, Request
from retrograde.text.models.codec import completion_from_dict, completion_to_dict, key_of, request_to_dict


def test_a_prompt_may_be_text_messages_pairs_or_dicts():
    expected = (Message("system", "Be brief."), Message("user", "Hi"))
    assert Request.of([("system", "Be brief."), "Hi"]).messages == expected
    assert Request.of([{"role": "system", "content": "Be brief."}, Message("user", "Hi")]).messages == expected
    assert Request.of("Hi").messages == expected[1:]


def test_options_of_any_usual_form_make_the_same_hashable_request():
    one = Request.of("x", stop="a", labels=["p", "q"], temperature=0)
    two = Request.of(Request.of("x", stop=["a"]), labels=("p", "q"), temperature=0)
    assert one == two and hash(one) == hash(two) and pickle.loads(pickle.dumps(one)) == one
    assert json.loads(Request.of("x", json_schema={"type": "string"}).json_schema) == {"type": "string"}


@pytest.mark.parametrize(("options", "words"), [
    ({"max_tokens": 0}, "max_tokens must be an integer of at least 1, got 0"),
    ({"temperature": -1}, "temperature must be 0 or more, and finite, got -1"),
    ({"temperature": float("nan")}, "temperature must be 0 or more, and finite, got nan"),
    ({"temperature": float("inf")}, "temperature must be 0 or more, and finite, got inf"),
    ({"labels": ["a", "a"]}, "labels must differ"),
    ({"labels": ["a", ""]}, "from the empty string"),
    ({"labels": ["a"], "grammar": "root ::= \"a\""}, "one of grammar, json_schema and labels"),
])
def test_options_that_mean_nothing_are_refused(options, words):
    with pytest.raises(ArgumentError, match=words):
        Request.of("x", **options)


def test_messages_of_unknown_roles_or_kinds_are_refused():
    with pytest.raises(ArgumentError, match="one of system, user, assistant, got 'robot'"):
        Message("robot", "x")
    with pytest.raises(DTypeError, match="must be a string, got int"):
        Message("user", 3)
    with pytest.raises(DTypeError, match="a string or a list of messages, got int"):
        Request.of(3)
    with pytest.raises(ArgumentError, match="role and content, got"):
        Request.of([{"role": "user"}])
    with pytest.raises(ArgumentError, match="at least one message"):
        Request.of([])


def test_every_field_of_a_request_is_part_of_its_key():
    base = Request.of("x")
    changes = {"temperature": 0.0, "top_p": 0.5, "max_tokens": 9, "stop": "s", "seed": 0, "grammar": "g",
               "json_schema": "{}", "labels": ["l"], "sample": 1}
    keys = {key_of("m", base), key_of("other", base), key_of("m", Request.of("y")), key_of("m", Request.of([("system", "x")]))}
    keys |= {key_of("m", Request.of("x", **{name: value})) for name, value in changes.items()}
    assert len(keys) == 4 + len(changes)
    assert set(changes) | {"messages"} == set(Request.__dataclass_fields__)


def test_a_key_is_the_same_in_every_process_and_release():
    assert key_of("m", Request.of("x", seed=1)) == "c0039875cfc6557b3a2070c822635aa2f740a39f89f10230cc2f50e887ae5455"


def test_a_completion_survives_json():
    completion = Completion("é\ud800", 3, 4, 0.5, 0.1, finish_reason="length", logprobs=(-0.1, -2.0))
    again = completion_from_dict(json.loads(json.dumps(completion_to_dict(completion))))
    assert again == completion and again.seconds == 0.5


@pytest.mark.parametrize("change", [{"text": None}, {"logprobs": "x"}, {"extra": 1}, {"prompt_tokens": "3"}])
def test_data_that_is_no_completion_is_refused(change):
    with pytest.raises(AnswerError):
        completion_from_dict(completion_to_dict(Completion("x")) | change)
    with pytest.raises(AnswerError):
        completion_from_dict([])


def test_only_what_differs_from_the_default_is_written():
    assert set(request_to_dict(Request.of("x", seed=0))) == {"messages", "seed"}

import pytest

from retrograde.errors import ArgumentError, ReplayError
from retrograde.text.models import Completion, Recorded, Replayed, Request, ScriptedLM, complete_all


@pytest.fixture
def path(tmp_path):
    model = Recorded(ScriptedLM(lambda request: Completion(request.prompt[::-1], 2, 1, 0.5, 0.1)), tmp_path / "r.jsonl")
    complete_all(model, ["abc", "déf", "gh\ud800", "i\u2028\n"])
    model("abc", seed=1)
    return tmp_path / "r.jsonl"


def test_a_recording_gives_the_same_answers_without_a_model(path):
    model = Replayed(path)
    assert [answer.text for answer in complete_all(model, ["gh\ud800", "abc", "i\u2028\n", "abc"])] == ["\ud800hg", "cba", "\n\u2028i", "cba"]
    assert model.complete(Request.of("abc", seed=1)).seconds == 0.5


def test_a_request_that_was_not_recorded_is_an_error_that_names_the_nearest(path):
    with pytest.raises(ReplayError, match=r"no answer to 'abd'; the nearest that it has is 'abc'. Record it again"):
        Replayed(path)("abd")
    with pytest.raises(ReplayError, match="this message with other options"):
        Replayed(path)("abc", seed=2)


def test_equal_requests_get_their_answers_in_order(tmp_path):
    model = Recorded(ScriptedLM(["a", "b"]), tmp_path / "r.jsonl")
    model("x"), model("x")
    again = Replayed(tmp_path / "r.jsonl")
    assert [again("x") for _ in range(3)] == ["a", "b", "b"]


def test_a_damaged_recording_names_its_line(path):
    path.write_text(path.read_text("utf-8", "surrogatepass").replace('"text": "cba"', '"text": 3', 1), "utf-8", "surrogatepass")
    with pytest.raises(ArgumentError, match=r"line \d+ of .*r.jsonl is not a recorded answer"):
        Replayed(path)


def test_an_empty_recording_says_so(tmp_path):
    (tmp_path / "r.jsonl").touch()
    with pytest.raises(ReplayError, match="it is empty"):
        Replayed(tmp_path / "r.jsonl")("x")

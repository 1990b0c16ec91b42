import pytest

from retrograde.errors import ArgumentError
from retrograde.text.models import Retry
from retrograde.text.models.retry import retry_after
from retrograde.text.models.secret import Secret, secret_from


@pytest.mark.parametrize(("headers", "seconds"), [
    ({}, None),
    ({"retry-after": "7"}, 7.0),
    ({"retry-after": "0.25"}, 0.25),
    ({"retry-after": "-3"}, 0.0),
    ({"retry-after": "Fri, 02 Jan 1970 00:00:00 GMT"}, 86300.0),
    ({"retry-after": "Fri, 02 Jan 1970 01:00:00 +0100"}, 86300.0),
    ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
    ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": ""}, None),
])
def test_what_a_server_asks_is_read_in_each_form(headers, seconds):
    assert retry_after(headers, now=100.0) == seconds


def test_waits_double_up_to_the_longest_and_are_spread():
    retry = Retry(first=1.0, longest=5.0)
    for attempt, most in enumerate([1.0, 2.0, 4.0, 5.0, 5.0]):
        waits = [retry.wait(attempt) for _ in range(200)]
        assert most / 2 <= min(waits) < 0.6 * most and 0.9 * most < max(waits) <= most


def test_a_server_is_obeyed_but_not_for_hours():
    retry = Retry(first=1.0, patience=60.0)
    assert all(30.0 <= retry.wait(0, 30.0) <= 30.5 for _ in range(100))
    assert retry.wait(0, 61.0) is None


def test_impossible_settings_are_refused():
    with pytest.raises(ArgumentError, match="retries >= 0"):
        Retry(retries=-1)
    with pytest.raises(ArgumentError, match="first <= longest"):
        Retry(first=9.0, longest=1.0)


def test_a_key_comes_from_the_argument_or_the_environment(monkeypatch):
    monkeypatch.setenv("B", "from b")
    assert secret_from("given", ["A", "B"]).reveal() == "given"
    assert secret_from(None, ["A", "B"]).reveal() == "from b"
    assert not secret_from(None, ["A"]) and secret_from(" x \n", []).reveal() == "x"


def test_a_key_that_no_header_can_hold_is_refused_without_being_shown():
    with pytest.raises(ArgumentError) as caught:
        Secret("sk-ключ")
    assert "sk-" not in str(caught.value)

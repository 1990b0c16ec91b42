import asyncio
import copy
import io
import json
import logging
import math
import os
import pickle
import threading
import time
import traceback
from contextlib import asynccontextmanager, contextmanager
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit

import pytest

from benchmarks.workloads.fault_server import serving
from retrograde.errors import AnswerError, ArgumentError, ModelError, TransientModelError
from retrograde.text.models import (
    Budgeted,
    Cached,
    HTTPModel,
    Price,
    Request,
    Retry,
    acomplete_all,
    complete_all,
    tracing,
    transport,
)
from retrograde.text.models.lanes import AsyncLanes, Lanes

pytest.importorskip("httpx", reason="the extra `text` brings httpx")
KEY = "sk-very-secret-0123456789"
FAST = Retry(retries=6, first=0.001, longest=0.01)


def in_order(*faults):
    return lambda prompt, attempt: faults[attempt] if attempt < len(faults) else None


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    monkeypatch.delenv("RETROGRADE_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def ask(server, prompt="q", *, is_async=False, options=None, **settings):
    async def run():
        async with model:
            return await model.acomplete(request)

    model = HTTPModel("small", base_url=server.url, **{"retry": FAST, "timeout": 5.0} | settings)
    request = Request.of(prompt, **options or {})
    if is_async:
        return asyncio.run(run())
    with model:
        return model.complete(request)


both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@both
def test_an_answer_has_text_usage_cost_and_seconds(is_async):
    with serving() as server:
        answer = ask(server, is_async=is_async, price=Price(1e6, 2e6), api_key=KEY)
    assert (answer.text, answer.prompt_tokens, answer.completion_tokens, answer.cost) == ("answer to q", 10, 5, 20.0)
    assert answer.seconds > 0 and not answer.is_cached and answer.finish_reason == "stop"
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


def test_only_what_is_set_is_sent():
    with serving() as server:
        ask(server, [("system", "s"), "q"], max_tokens=9)
        ask(server, options={"temperature": 0.0, "seed": 0, "stop": "x", "max_tokens": 3, "json_schema": {"type": "string"}},
            extra={"reasoning_effort": "low"}, max_tokens_name="max_completion_tokens")
    assert server.bodies[0] == {"model": "small", "max_tokens": 9,
                                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]}
    assert server.bodies[1].items() >= {"temperature": 0.0, "seed": 0, "stop": ["x"], "max_completion_tokens": 3,
                                        "reasoning_effort": "low"}.items()
    assert server.bodies[1]["response_format"]["json_schema"]["schema"] == {"type": "string"}
    assert "Authorization" not in server.headers[0]


@both
@pytest.mark.parametrize("fault", ["429", "429 seconds", "429 date", "500", "503", "cut", "cut body", "malformed", "empty", "error in 200"])
def test_a_transient_fault_is_retried_as_the_same_call(fault, is_async):
    with serving(in_order(fault, fault)) as server:
        assert ask(server, is_async=is_async).text == "answer to q"
    assert server.attempts["q"] == 3 and len(server.calls["q"]) == 1 and server.answers["q"] == 1


@both
@pytest.mark.parametrize(("fault", "kind", "words"), [
    ("400", ModelError, "answered 400"), ("401", ModelError, "answered 401"), ("429 quota", ModelError, "insufficient_quota"),
    ("schema", AnswerError, "not a chat completion"), ("strings", AnswerError, "not a chat completion"), ("429 long", TransientModelError, "it asks to wait 3600 seconds"),
])
def test_a_lasting_fault_is_reported_at_once(fault, kind, words, is_async):
    with serving(in_order(*[fault] * 9)) as server, pytest.raises(kind, match=words):
        ask(server, is_async=is_async)
    assert server.attempts["q"] == 1


def test_retries_end():
    with serving(in_order(*["500"] * 9)) as server, pytest.raises(TransientModelError, match=r"answered 500: .*oops.*\(asked 3 times\)"):
        ask(server, retry=Retry(2, 0.001))
    assert server.attempts["q"] == 3


@both
@pytest.mark.parametrize("part", ["slow", "slow headers"])
def test_an_answer_that_only_drips_is_given_up_in_time(part, is_async):
    with serving(in_order(part)) as server:
        assert ask(server, is_async=is_async, timeout=0.5, retry=Retry(50, 0.001, 0.01)).text == "answer to q"
        assert server.attempts["q"] > 1 and server.is_left.wait(60)  # before the end of the body, which takes 20 seconds


def test_a_server_that_is_not_there_is_a_transient_fault_without_a_charge():
    with serving() as server:
        pass
    with pytest.raises(TransientModelError, match=r"connection failed.*asked 2 times") as caught:
        ask(server, retry=Retry(1, 0.001))
    assert not caught.value.is_billed


def test_one_call_that_is_told_to_wait_holds_back_the_others():
    with serving(in_order("429 seconds")) as server:
        model = HTTPModel("small", base_url=server.url, retry=FAST)
        model("a")
        assert 0 < model._resume_at < time.monotonic()
        model.close()


LABELS = ["positive", "negative"]
TOP = [{"token": " pos", "logprob": -0.5}, {"token": "negative", "logprob": -1.5}, {"token": "Hm", "logprob": -3.0}, {"token": "posi", "logprob": -4.0}]


def labelled(content, **choice):
    """A server that answers `content`."""
    body = {"choices": [{"message": {"content": content}, **choice}], "usage": {"prompt_tokens": 3, "completion_tokens": 1}}
    return serving(lambda prompt, attempt: None, answers=lambda prompt: body)


@both
def test_a_label_is_chosen_by_a_schema_where_the_server_keeps_to_one(is_async):
    with labelled('{"label": "negative"}') as server:
        answer = ask(server, is_async=is_async, options={"labels": LABELS})
    assert answer.text == "negative" and answer.logprobs == ()
    assert server.bodies[0]["response_format"]["json_schema"]["schema"]["properties"]["label"]["enum"] == LABELS


def test_a_label_is_chosen_by_the_probabilities_of_first_tokens_where_the_server_tells_them():
    with labelled("pos", logprobs={"content": [{"top_logprobs": TOP}]}, finish_reason="length") as server:
        answer = ask(server, options={"labels": LABELS}, labels_by="logprobs")
    assert answer.text == "positive" and answer.is_whole
    assert answer.logprobs == pytest.approx((math.log(math.exp(-0.5) + math.exp(-4)), -1.5))
    assert server.bodies[0]["top_logprobs"] == 20


@pytest.mark.parametrize(("content", "labels", "found"), [
    ('{"label": 1}', ["0", "1"], "1"), ('{"label": "1"}', ["0", "1"], "1"), ('{"label": 0}', ["1", "0"], "0"),
    ('{"label": true}', ["false", "true"], "true"), ('{"label": true}', ["False", "True"], "True"), ('{"label": 2.5}', ["2.5", "3"], "2.5"),
])
def test_a_label_that_a_server_writes_without_quotes_is_that_label(content, labels, found):
    with labelled(content) as server:
        assert ask(server, options={"labels": labels}).text == found


@pytest.mark.parametrize("content", ['{"label": true}', '{"label": 1.5}', '{"label": [1]}', '{"label": {"1": 1}}', '{"label": null}'])
def test_what_is_no_label_without_quotes_is_an_error(content):
    with labelled(content) as server, pytest.raises(AnswerError, match="must be one of 0, 1"):
        ask(server, options={"labels": ["0", "1"]})


@pytest.mark.parametrize(("content", "kind", "choice"), [
    ("maybe", "json_schema", {}), ('{"label": "maybe"}', "json_schema", {}), ("maybe", "guided_choice", {}), ("positive", "logprobs", {}),
    ("Hm", "logprobs", {"logprobs": {"content": [{"top_logprobs": TOP[2:3]}]}}),
])
def test_an_answer_that_is_none_of_the_labels_is_an_error(content, kind, choice):
    with labelled(content, **choice) as server, pytest.raises(AnswerError):
        ask(server, options={"labels": LABELS}, labels_by=kind)


@pytest.mark.parametrize(("settings", "told"), [
    ({"headers": {"Bad Name": "1"}}, "the name of a header .* got 'Bad Name'"), ({"headers": {"": "1"}}, "the name of a header"),
    ({"headers": {"X": "secret\nY: 2"}}, "that of X is none"), ({"headers": {"X": "secret 日本"}}, "printable ASCII"), ({"headers": {"X": 5}}, "must be a string"),
    ({"headers": {"api-key": "secret\n"}}, "that of api-key is none"), ({"base_url": "http://localhost:99999/v1"}, "Port out of range"),
    ({"base_url": "http://[::1/v1"}, "base_url must be like"), ({"name": ""}, "needs a name"),
])
def test_a_server_that_cannot_be_asked_is_an_error_at_once_that_shows_no_value_of_a_header(settings, told):
    with pytest.raises(ArgumentError, match=told) as caught:
        HTTPModel(**{"name": "small", "base_url": "http://localhost:1/v1"} | settings)
    assert "secret" not in str(caught.value)


def test_headers_and_query_of_ones_own_are_sent_and_keys_among_them_show_nowhere():
    with serving(in_order("400 echo")) as server:
        model = HTTPModel("small", base_url=server.url, headers={"api-key": KEY, "X-Team": "1"}, query={"api-version": "2024-10-21"}, retry=Retry(0))
        with pytest.raises(ModelError) as caught:
            model("q")
        assert model("q") == "answer to q"
        model.close()
    assert server.headers[0]["api-key"] == KEY and server.headers[0]["X-Team"] == "1" and "Authorization" not in server.headers[0]
    assert server.paths[0].endswith("/chat/completions?api-version=2024-10-21")
    assert KEY not in str(caught.value) + repr(model) + repr(vars(model)) + model.identity and "***" in str(caught.value)
    assert KEY.encode() not in pickle.dumps(model)


@both
def test_a_stream_comes_piece_by_piece(is_async):
    async def run(model):
        async with model:
            return [piece async for piece in model.astream(Request.of("a prompt"))]

    with serving(in_order("503", "429 seconds")) as server, HTTPModel("small", base_url=server.url, retry=FAST) as model:
        pieces = asyncio.run(run(model)) if is_async else list(model.stream(Request.of("a prompt")))
    assert pieces == ["answer", " to", " a", " prompt"] and server.attempts["a prompt"] == 3 and server.bodies[0]["stream"]


@both
def test_a_stream_whose_headers_only_drip_is_given_up_in_time(is_async):
    async def run(model):
        async with model:
            return [piece async for piece in model.astream(Request.of("q"))]

    with serving(in_order("slow headers")) as server, HTTPModel("small", base_url=server.url, timeout=0.5, retry=FAST) as model:
        pieces = asyncio.run(run(model)) if is_async else list(model.stream(Request.of("q")))
        assert "".join(pieces) == "answer to q"
        assert server.attempts["q"] == 2 and server.is_left.wait(60)  # before the end of the headers, which take 20 seconds


@both
def test_a_stream_does_not_wait_longer_than_its_patience(is_async):
    async def run(model):
        return [piece async for piece in model.astream(Request.of("q"))]

    patient = pytest.raises(TransientModelError, match="asks to wait 3600 seconds")
    with serving(in_order("429 long")) as server, HTTPModel("small", base_url=server.url, retry=FAST) as model, patient:
        asyncio.run(run(model)) if is_async else list(model.stream(Request.of("q")))
    assert server.attempts["q"] == 1


def test_a_stream_that_breaks_off_after_its_start_is_not_begun_again():
    with serving(in_order("cut stream")) as server, HTTPModel("small", base_url=server.url, retry=FAST) as model:
        pieces = []
        with pytest.raises(TransientModelError, match="ended before the answer did"):
            pieces.extend(pieces.append(piece) for piece in model.stream(Request.of("q")))
    assert pieces[0] == "answer" and server.attempts["q"] == 1


def run_async(model, prompts):
    return asyncio.run(acomplete_all(model, prompts))


def meeting(count):
    """A plan without faults, in which `count` requests at a time wait for each other."""
    barrier = threading.Barrier(count)

    def plan(prompt, attempt):
        barrier.wait(60)

    return plan


@pytest.mark.parametrize("run", [complete_all, run_async], ids=["sync", "async"])
def test_calls_at_once_are_as_many_as_the_connections(run):
    with serving(meeting(4)) as server, HTTPModel("small", base_url=server.url, max_concurrency=4) as model:
        prompts = [str(i) for i in range(24)]
        assert [answer.text for answer in run(model, prompts)] == [f"answer to {p}" for p in prompts]
        assert server.most_running == 4


@pytest.mark.parametrize("run", [complete_all, run_async], ids=["sync", "async"])
def test_more_calls_than_connections_take_turns(run):
    with serving() as server, HTTPModel("small", base_url=server.url, max_concurrency=1) as model:
        model.max_concurrency = 4
        assert [answer.text for answer in run(model, ["a", "b", "c", "d"])] == [f"answer to {p}" for p in "abcd"]
        assert server.most_running == 1


def test_the_time_that_a_call_waits_for_a_connection_is_not_counted(monkeypatch):
    waited, taken = [0.0], Lanes.taken

    @contextmanager
    def late(self):
        with taken(self) as lane:
            waited[0] += 1000.0
            yield lane

    monkeypatch.setattr(Lanes, "taken", late)
    monkeypatch.setattr(transport, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + waited[0]))
    with serving() as server:
        assert ask(server, timeout=100.0).text == "answer to q" and server.attempts["q"] == 1 and waited == [1000.0]


def test_the_time_that_a_task_waits_for_a_connection_is_not_counted(monkeypatch):
    waited, taken = [0.0], AsyncLanes.taken

    @asynccontextmanager
    async def late(self):
        async with taken(self) as lane:
            waited[0] += 1000.0
            yield lane

    async def main(model):
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "time", lambda: time.monotonic() + waited[0])
        async with model:
            return (await model.acomplete(Request.of("q"))).text

    monkeypatch.setattr(AsyncLanes, "taken", late)
    with serving() as server:
        assert asyncio.run(main(HTTPModel("small", base_url=server.url, timeout=100.0))) == "answer to q"
        assert server.attempts["q"] == 1 and waited == [1000.0]


@both
def test_the_environment_s_proxy_is_used_but_not_for_this_machine_and_what_it_excepts(is_async, monkeypatch):
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with serving() as proxy, serving() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        distant = HTTPModel("small", base_url="http://127.0.0.2:9/v1", retry=Retry(0))
        assert ask(server, "near", is_async=is_async).text == "answer to near" and not proxy.attempts
        run = (lambda prompt: asyncio.run(distant.acomplete(prompt))) if is_async else distant.complete
        assert run("far").text == "answer to far" and proxy.attempts["far"] == 1
        monkeypatch.setenv("no_proxy", "127.0.0.2")
        with pytest.raises(TransientModelError, match="ConnectError"):
            HTTPModel("small", base_url="http://127.0.0.2:9/v1", retry=Retry(0)).complete("far")
        distant.close()


def test_the_key_shows_nowhere(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("RETROGRADE_API_KEY", KEY)
    seen = io.StringIO()
    with serving(lambda prompt, attempt: {"bad": "401", "cut": "cut"}.get(prompt)) as server:
        model = HTTPModel("small", base_url=server.url, retry=Retry(1, 0.001))
        with tracing() as trace:
            results = complete_all(Budgeted(Cached(model, tmp_path / "cache"), calls=99), ["good", "bad", "cut"])
        for error in results[1:]:
            traceback.print_exception(error, file=seen)
            seen.write(repr(error) + repr(vars(error)) + repr(error.__context__) + repr(error.__cause__))
            assert error.__context__ is None is error.__cause__
        assert server.headers[-1]["Authorization"].endswith(KEY)
    trace.save(tmp_path / "trace.jsonl")
    pickled = pickle.dumps([model, results, copy.copy(model)])
    seen.write(repr(model) + repr(vars(model)) + model.name + model.identity + caplog.text + repr(results))
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "***" in seen.getvalue() and "answer to good" in files.decode()
    assert KEY not in seen.getvalue() and KEY.encode() not in files + pickled
    model.close()
    monkeypatch.delenv("RETROGRADE_API_KEY")
    again = pickle.loads(pickled)[0]
    assert again.identity == model.identity and not again._transport.secrets


@both
@pytest.mark.parametrize("fault", ["echo stream", "echo line"])
def test_a_key_that_a_server_echoes_in_a_stream_shows_nowhere(fault, is_async, tmp_path):
    async def run():
        async with model:
            return [piece async for piece in model.astream(Request.of("q"))]

    with serving(in_order(fault)) as server, tracing() as trace:
        model = HTTPModel("small", base_url=server.url, api_key=KEY, retry=Retry(0))
        with pytest.raises(ModelError) as caught:
            asyncio.run(run()) if is_async else list(model.stream(Request.of("q")))
        model.close()
    trace.save(tmp_path / "trace.jsonl")
    shown = str(caught.value) + repr(caught.value.__context__) + (tmp_path / "trace.jsonl").read_text()
    assert KEY not in shown and "***" in shown


@both
def test_a_key_in_pieces_of_a_stream_shows_nowhere(is_async, tmp_path):
    async def run():
        async with model:
            return [piece async for piece in model.astream(Request.of("q"))]

    with serving(in_order("echo pieces")) as server, tracing() as trace:
        model = HTTPModel("small", base_url=server.url, api_key=KEY, retry=Retry(0))
        found = asyncio.run(run()) if is_async else list(model.stream(Request.of("q")))
        model.close()
    trace.save(tmp_path / "trace.jsonl")
    assert "".join(found) == "Bearer ***" and KEY not in (tmp_path / "trace.jsonl").read_text()


def test_a_key_that_a_server_escapes_shows_nowhere(tmp_path):
    with serving(in_order("echo escaped")) as server:
        model = Cached(HTTPModel("small", base_url=server.url, api_key=KEY), tmp_path)
        assert model("q") == "Bearer ***"
        model.model.close()
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))


@pytest.mark.parametrize("where", ["extra", "query"])
@pytest.mark.parametrize("options", [{"api_key": KEY, "mode": "fast"}, {"Access-Token": KEY}])
def test_a_key_in_the_body_or_the_address_shows_nowhere(where, options):
    with serving(in_order("echo sent", "echo sent", "400 echo")) as server:
        model = HTTPModel("small", base_url=server.url, retry=Retry(0), **{where: options})
        assert KEY not in model("q") and "***" in model("q")
        sent = server.bodies[0] if where == "extra" else dict(parse_qsl(urlsplit(server.paths[0]).query))
        model.close()
    assert options.items() <= sent.items()
    assert KEY not in repr(model) + repr(vars(model)) + model.identity and KEY.encode() not in pickle.dumps(model)
    again = pickle.loads(pickle.dumps(model))
    assert again.identity == model.identity and again.close() is None


@pytest.mark.parametrize("options", [{"api_key": "answer"}, {"extra": {"tokenizer": "answer to q"}}, {"extra": {"keywords": "answer to q"}},
                                     {"query": {"stop_token": "answer to q"}}])
def test_what_is_no_key_leaves_answers_as_they_are(options):
    with serving() as server:
        assert ask(server, **options).text == "answer to q"


def test_headers_that_are_no_keys_come_back_from_a_pickle():
    with serving() as server:
        model = pickle.loads(pickle.dumps(HTTPModel("small", base_url=server.url, headers={"X-Team": "1", "api-key": KEY})))
        model("q")
        model.close()
    assert server.headers[0]["X-Team"] == "1" and "api-key" not in server.headers[0]


def test_what_is_in_extra_is_not_written_beside_answers(tmp_path):
    with serving() as server:
        model = HTTPModel("small", base_url=server.url, extra={"user_token": KEY})
        Cached(model, tmp_path)("q")
        model.close()
    assert server.bodies[0]["user_token"] == KEY
    assert KEY.encode() not in b"".join(path.read_bytes() for path in tmp_path.rglob("*.json"))


def test_counts_that_cannot_be_count_as_the_most_that_they_can_be():
    with serving(in_order("negative")) as server:
        answer = ask(server, max_tokens=50)
    assert answer.prompt_tokens > 0 and answer.completion_tokens == 50


def test_the_same_request_is_the_same_call_in_any_process_and_another_sample_is_not():
    with serving() as server:
        for options in ({}, {}, {"sample": 1}):
            ask(server, options=options)
    keys = [headers["Idempotency-Key"] for headers in server.headers]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("reason", ["length", "content_filter"])
def test_answers_that_were_cut_off_are_counted_and_asked_for_again(reason, tmp_path):
    with serving(in_order(reason)) as server, tracing() as trace:
        model = Cached(HTTPModel("small", base_url=server.url), tmp_path)
        found = [model.complete(Request.of("q")) for _ in range(3)]
        model.close()
    assert [answer.finish_reason for answer in found] == [reason, "stop", "stop"] and server.attempts["q"] == 2
    assert [answer.is_cached for answer in found] == [False, False, True]
    assert trace.cut == 1 and "1 cut off or empty" in repr(trace)


def test_openai_s_key_goes_to_openai_only(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert HTTPModel("m")._transport.secrets and not HTTPModel("m", base_url="https://example.org/v1")._transport.secrets


@pytest.mark.parametrize(("settings", "words"), [
    ({"base_url": f"https://user:{KEY}@example.org/v1"}, "must hold no key"),
    ({"base_url": f"https://example.org/v1?key={KEY}"}, "must hold no key"),
    ({"base_url": "example.org"}, "must be like https://host/v1"),
    ({"timeout": 0}, "must be above 0"),
])
def test_settings_that_cannot_work_are_refused(settings, words):
    with pytest.raises(ArgumentError, match=words) as caught:
        HTTPModel("m", **settings)
    assert KEY not in str(caught.value)


def test_the_cache_tells_servers_and_settings_apart():
    identities = {HTTPModel("m", base_url=url, extra=extra).identity for url in ("http://a/v1", "http://b/v1") for extra in ({}, {"x": 1})}
    assert len(identities) == 4


def test_an_unknown_number_of_tokens_counts_as_the_most_that_it_can_be():
    with serving() as server:
        server.RequestHandlerClass = type("Silent", (server.RequestHandlerClass,), {
            "_respond": lambda self, prompt, body, fault: self.reply(200, {"choices": [{"message": {"content": [{"type": "text", "text": "x"}]}}]})})
        answer = ask(server, options={"max_tokens": 7})
    assert answer.text == "x" and answer.completion_tokens == 7 and answer.prompt_tokens >= 1
    assert json.loads(json.dumps(server.bodies[0])) and os.environ.get("OPENAI_API_KEY") is None


def test_options_that_json_cannot_hold_are_an_error_before_anything_is_sent():
    with serving() as server, HTTPModel("small", base_url=server.url, extra={"penalty": float("nan")}) as model:
        with pytest.raises(ArgumentError, match="JSON cannot hold the options of a call"):
            model("q")
        assert not server.attempts

"""The server on loopback, asked by the client of OpenAI's, and by requests that no client would send."""

import http.client
import json
import random
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import json_model
import pytest
import reference
import written_models
from waiting import wait_until

from retrograde.cli import main
from retrograde.serve import application, serve
from retrograde.serve.scheduler import FullError, Scheduler

openai = pytest.importorskip("openai", reason="the client comes with the extra `test`")
uvicorn = pytest.importorskip("uvicorn", reason="comes with the extra `serve`")
httpx = pytest.importorskip("httpx", reason="comes with the extra `test`")
pytest.importorskip("starlette", reason="comes with the extra `serve`")

MESSAGES = [{"role": "system", "content": "the"}, {"role": "user", "content": "cat"}]
CHAT = {"model": "tiny", "messages": MESSAGES}
SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 99}, "tall": {"type": "boolean"}},
          "required": ["age", "tall"], "additionalProperties": False}


class Listening:
    """An application behind uvicorn on a free port of loopback."""

    def __init__(self, app):
        self.app, self.server = app, uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="on", timeout_graceful_shutdown=1))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        # One for all requests: to make a client takes longer than an answer.
        self.client = httpx.Client(timeout=60, base_url=self.url)

    def __enter__(self):
        self.thread.start()
        wait_until(lambda: self.server.started)
        return self

    def __exit__(self, *error):
        self.client.close()
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()

    def post(self, path="/v1/chat/completions", body=None, **options):
        return self.client.post(path, **({"json": CHAT if body is None else body} | options))

    def get(self, path, **options):
        return self.client.get(path, **options)


@pytest.fixture(scope="module")
def model():
    return json_model.model()


@pytest.fixture(scope="module")
def listening(model):
    # Its own model: a compiled step is for one thread at a time.
    with Listening(application(json_model.model(), "tiny", hosts=("127.0.0.1", "localhost"))) as found:
        yield found


@pytest.fixture(scope="module")
def client(listening):
    with openai.OpenAI(base_url=f"{listening.url}/v1", api_key="none", max_retries=0, timeout=60) as found:
        yield found


def test_the_model_is_listed(client):
    assert [found.id for found in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "retrograde"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("huge")
    with pytest.raises(openai.NotFoundError, match="tiny"):
        client.chat.completions.create(model="huge", messages=MESSAGES)


def test_an_answer_is_that_of_the_model_with_its_counts(client, model):
    options = {"temperature": 1.5, "top_p": 0.9, "seed": 7, "max_tokens": 12}
    (written,) = model.complete([model.chat_tokens(MESSAGES)], **options)
    found = client.chat.completions.create(model="tiny", messages=MESSAGES, **options)
    assert (found.choices[0].message.content, found.choices[0].finish_reason) == (written.text, written.finish_reason)
    assert (found.usage.prompt_tokens, found.usage.completion_tokens) == (written.prompt_tokens, len(written.tokens))
    parts = [{"role": "system", "content": [{"type": "text", "text": "t"}, {"type": "text", "text": "he"}]}, MESSAGES[1]]
    again = client.chat.completions.create(model="tiny", messages=parts, temperature=1.5, top_p=0.9, seed=7, max_completion_tokens=12)
    assert again.choices[0].message.content == written.text


def test_chunks_of_a_stream_are_the_answer(client, model):
    options = {"temperature": 1.0, "seed": 3, "max_tokens": 20}
    text = model.chat(MESSAGES, **options)
    chunks = list(client.chat.completions.create(model="tiny", messages=MESSAGES, stream=True, stream_options={"include_usage": True}, **options))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks[:-1]) == text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason in ("stop", "length")
    assert chunks[-1].usage.total_tokens == chunks[-1].usage.prompt_tokens + chunks[-1].usage.completion_tokens > 20
    texts = [chunk.choices[0].text for chunk in client.completions.create(model="tiny", prompt="the", stream=True, **options)]
    assert "".join(texts) == model.generate("the", **options)


def test_prompts_continue_with_their_log_probabilities(client, model):
    options = {"temperature": 1.0, "max_tokens": 6}
    tokens = model.tokenizer.encode("a")
    for prompt, texts in ((["the cat", "a"], ["the cat", "a"]), (tokens, ["a"])):
        found = client.completions.create(model="tiny", prompt=prompt, seed=5, n=2, logprobs=3, **options)
        expected = [written for text in texts for written in model.complete([text] * 2, seed=[5, 6], alternatives=3, **options)]
        assert [choice.text for choice in found.choices] == [written.text for written in expected]
        for choice, written in zip(found.choices, expected, strict=True):
            assert choice.logprobs.token_logprobs == list(written.logprobs)
            assert [len(row) <= 3 for row in choice.logprobs.top_logprobs] == [True] * len(written.tokens)
            assert choice.logprobs.text_offset[0] == 0
        assert found.usage.prompt_tokens == sum(len(model.tokenizer.encode(text)) for text in texts)
    chat = client.chat.completions.create(model="tiny", messages=MESSAGES, logprobs=True, top_logprobs=2, max_tokens=4)
    rows = chat.choices[0].logprobs.content
    assert [len(row.top_logprobs) for row in rows] == [2] * len(rows)
    assert all(row.top_logprobs[0].logprob == row.logprob for row in rows)  # greedy


def test_a_stop_ends_an_answer_before_it(client, model):
    options = {"temperature": 1.0, "seed": 2, "max_tokens": 30}
    whole = model.generate("the", **options)
    stop = whole[5:8]
    found = client.completions.create(model="tiny", prompt="the", stop=[stop], **options).choices[0]
    assert (found.text, found.finish_reason) == (whole[: whole.index(stop)], "stop")
    pieces = client.completions.create(model="tiny", prompt="the", stop=stop, stream=True, **options)
    assert "".join(chunk.choices[0].text for chunk in pieces) == found.text


def test_answers_fit_a_schema(client):
    pytest.importorskip("llguidance", reason="comes with the extra `models`")
    form = {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": SCHEMA}}
    for seed in range(3):
        found = client.chat.completions.create(model="tiny", messages=MESSAGES, response_format=form, temperature=5.0, seed=seed, max_tokens=100)
        person = json.loads(found.choices[0].message.content)
        assert set(person) == {"age", "tall"}
        assert 0 <= person["age"] <= 99
    with pytest.raises(openai.BadRequestError, match="Invalid type"):
        client.chat.completions.create(model="tiny", messages=MESSAGES, response_format={
            "type": "json_schema", "json_schema": {"name": "odd", "schema": {"type": "odd"}}})


def test_requests_at_once_are_written_together_and_each_as_alone(client, model, listening):
    prompts, most = [f"{word} {i}" for i, word in enumerate(["the", "a", "cat", "in"] * 4)], 0

    def ask(i):
        return client.completions.create(model="tiny", prompt=prompts[i], seed=i, temperature=1.0, max_tokens=60).choices[0].text

    with ThreadPoolExecutor(16) as pool:
        asked = [pool.submit(ask, i) for i in range(16)]
        while not all(found.done() for found in asked):
            most = max(most, listening.app.state.scheduler.counts[0])
    assert [found.result() for found in asked] == model.generate(prompts, seed=list(range(16)), temperature=1.0, max_tokens=60)
    assert 1 < most <= 8


@pytest.mark.parametrize("is_stream", [True, False])
def test_who_leaves_is_written_no_further(is_stream):
    endless = json_model.model(context=20000, max_position_embeddings=20000)
    endless.tokenizer.ends = ()
    with Listening(application(endless, "tiny")) as listening:
        scheduler, body = listening.app.state.scheduler, {**CHAT, "stream": is_stream, "max_tokens": 19000, "temperature": 1.0}
        connection = http.client.HTTPConnection(listening.url.removeprefix("http://"))
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        wait_until(lambda: scheduler._batch.active)
        (text,) = scheduler._batch.active
        connection.close()
        wait_until(lambda: scheduler.counts == (0, 0))
        # It never came to an end of its own.
        assert text.reason is None
        assert len(text.tokens) < 19000
        assert listening.post(body={**CHAT, "max_tokens": 3}).status_code == 200


BAD = [
    {}, [], 3, None, {"model": "tiny"}, {**CHAT, "messages": []}, {**CHAT, "messages": "hi"}, {**CHAT, "messages": [3]},
    {**CHAT, "messages": [{"role": "alien", "content": "x"}]}, {**CHAT, "messages": [{"role": "user"}]},
    {**CHAT, "messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, {**CHAT, "messages": [{"role": "user", "content": "\ud800"}]},
    {**CHAT, "messages": [{"role": "user", "content": "x", "tool_calls": [1]}]}, {**CHAT, "messages": [{"role": "user", "content": "a " * 900}]},
    {**CHAT, "temperature": -1}, {**CHAT, "temperature": "hot"}, {**CHAT, "temperature": 10**400}, {**CHAT, "temperature": True},
    {**CHAT, "top_p": 0}, {**CHAT, "top_p": 2}, {**CHAT, "max_tokens": -1}, {**CHAT, "max_tokens": 1.5}, {**CHAT, "n": 0}, {**CHAT, "n": 100},
    {**CHAT, "stop": 3}, {**CHAT, "stop": [""]}, {**CHAT, "stop": ["x"] * 99}, {**CHAT, "seed": "x"}, {**CHAT, "seed": 2**70},
    {**CHAT, "stream": "yes"}, {**CHAT, "stream_options": 3}, {**CHAT, "logprobs": 3}, {**CHAT, "top_logprobs": 3},
    {**CHAT, "logprobs": True, "top_logprobs": 99}, {**CHAT, "response_format": "json"}, {**CHAT, "response_format": {"type": "json_schema"}},
    {**CHAT, "tools": [{"type": "function"}]}, {**CHAT, "frequency_penalty": 1}, {**CHAT, "best": 1}, {**CHAT, "model": 3}]


@pytest.mark.parametrize("body", BAD, ids=range(len(BAD)))
def test_bad_input_is_the_fault_of_who_asks(listening, body):
    found = listening.post(content=json.dumps(body), headers={"Content-Type": "application/json"}, body={})
    assert 400 <= found.status_code < 500
    assert set(found.json()["error"]) == {"message", "type", "param", "code"}
    assert listening.get("/health").json() == {"status": "ok", "active": 0, "waiting": 0}


@pytest.mark.parametrize(("content", "kind", "status"), [
    (b"{", "application/json", 400), (b"\xff\xfe", "application/json", 400), (b"[" * 100_000, "application/json", 400), (b"", "application/json", 400),
    (b'{"model": "tiny", "messages": [], "temperature": NaN}', "application/json", 400), (json.dumps(CHAT).encode(), "text/plain", 415),
    (b" " * (16 * 2**20 + 1), "application/json", 413)])
def test_bodies_that_are_no_json_are_refused(listening, content, kind, status):
    found = listening.post(content=content, headers={"Content-Type": kind}, body={})
    assert (found.status_code, found.json()["error"]["type"]) == (status, "invalid_request_error")


@pytest.mark.parametrize("prompt", [3, [], [[]], [1, "a"], [-1], [280], "", ["a"] * 9, [[1], "a"], None, {"a": 1}])
def test_prompts_that_are_none_are_refused(listening, prompt):
    found = listening.post("/v1/completions", {"model": "tiny", "prompt": prompt})
    # An empty text has the token that begins one.
    assert found.status_code == (200 if prompt == "" else 400), found.text


def test_random_bodies_never_take_the_server_down(listening):
    rng = random.Random(0)
    values = [None, True, -1, 0, 2, 1e9, -0.0, "", "x", [], [1], ["a"], {}, {"type": "text"}, "\ud800", 2**63, [None], {"a": [{}]}]
    keys = ["temperature", "top_p", "top_k", "min_p", "n", "seed", "stop", "max_tokens", "logprobs", "response_format", "stream", "messages", "odd"]
    for _ in range(100):
        body = {**CHAT, "max_tokens": 2, **{rng.choice(keys): rng.choice(values) for _ in range(rng.randint(1, 3))}}
        found = listening.post(content=json.dumps(body), headers={"Content-Type": "application/json"}, body={})
        assert found.status_code < 500, body
    assert listening.post(body={**CHAT, "max_tokens": 2}).status_code == 200


def test_paths_that_are_not_there_are_errors_in_openais_form(listening):
    for found, status in ((listening.get("/v1/odd"), 404), (listening.get("/v1/completions"), 405), (listening.get("/v1/models/a/b"), 404)):
        assert (found.status_code, found.json()["error"]["type"]) == (status, "invalid_request_error")
    assert listening.get("/health", headers={"Host": "evil.example:80"}).status_code == 403


def test_a_fault_inside_is_one_requests_and_the_server_goes_on():
    model = json_model.model()
    with Listening(application(model, "tiny", key="secret", waiting=4)) as listening:
        headers = {"Authorization": "Bearer secret"}
        assert listening.post().status_code == listening.post(headers={"Authorization": "Bearer x"}).status_code == 401
        advance = model.reader.advance
        model.reader.advance = lambda *arguments: 1 / 0
        found = listening.post(headers=headers)
        assert (found.status_code, found.json()["error"]["type"]) == (500, "server_error")
        assert "error" in listening.post(headers=headers, body={**CHAT, "stream": True}).text.splitlines()[-2]
        model.reader.advance = advance
        assert listening.post(headers=headers, body={**CHAT, "max_tokens": 3}).status_code == 200


def test_more_texts_wait_only_where_no_place_is_free():
    model, going = json_model.model(), threading.Event()
    advance = model.reader.advance
    model.reader.advance = lambda *arguments: going.wait(60) and advance(*arguments)
    with Listening(application(model, "tiny", waiting=1)) as listening, ThreadPoolExecutor(2) as pool:
        counts = lambda: (listening.get("/health").json()["active"], listening.get("/health").json()["waiting"])
        asked = [pool.submit(listening.post, body={**CHAT, "n": 8, "max_tokens": 3})]  # eight places are free, and none waits
        wait_until(lambda: counts() == (8, 0))
        found = listening.post(body={**CHAT, "n": 2})
        assert (found.status_code, found.headers["retry-after"]) == (429, "1")
        assert "8 texts are written and 0 wait already, which leaves too few of 1 places to wait for 2 more" in found.text
        asked.append(pool.submit(listening.post, body={**CHAT, "max_tokens": 3}))
        wait_until(lambda: counts() == (8, 1))
        assert listening.post(body=CHAT).status_code == 429
        going.set()
        assert [found.result().status_code for found in asked] == [200, 200]
        # Who has just been answered finds all places free.
        assert [listening.post(body={**CHAT, "n": 8, "max_tokens": 2}).status_code for _ in range(5)] == [200] * 5


def test_a_cancelled_text_leaves_the_batch_and_the_others_stay_what_they_are():
    model, begun, going = json_model.model(), threading.Event(), threading.Event()
    wishes = model.wishes(["the", "a", "in"], seed=[0, 1, 2], temperature=1.0, max_tokens=40)
    expected = [model.complete(["the"], seed=0, temperature=1.0, max_tokens=40)[0], model.complete(["in"], seed=2, temperature=1.0, max_tokens=40)[0]]
    scheduler, parts = Scheduler(model, longest=3), {0: [], 1: [], 2: []}

    def deliver(number):
        def delivered(part):
            parts[number].append(part)
            if number == 1:
                begun.set()
                assert going.wait(60)

        return delivered

    texts = scheduler.submit(wishes, [deliver(number) for number in range(3)])
    assert begun.wait(60)
    with pytest.raises(FullError, match="2 texts are written and 1 wait already, which leaves too few of 3 places to wait for 9 more"):
        scheduler.submit(wishes * 3, [print] * 9)  # six places are free
    scheduler.cancel([texts[1]])
    going.set()
    wait_until(lambda: scheduler.counts == (0, 0))
    assert (len(parts[1]), texts[1].reason) == (1, None)
    for number, written in zip((0, 2), expected, strict=True):
        assert "".join(part.text for part in parts[number]) == written.text
        assert [token for part in parts[number] for token in part.tokens] == list(written.tokens)
    scheduler.close()
    with pytest.raises(FullError, match="closed"):
        scheduler.submit(wishes, [print] * 3)


def test_the_command_line_says_what_cannot_be_served(tmp_path, capsys, monkeypatch):
    assert main(["serve", "--model", str(tmp_path / "none")]) == 1
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert main(["serve", "--model", str(tmp_path / "none"), "--key-env", "NO_SUCH_KEY"]) == 1
    assert "no variable NO_SUCH_KEY" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "192.0.2.1", "no..host"])
def test_where_nobody_can_listen_nothing_is_said_to_be_served(tmp_path, capsys, host):
    path = str(written_models.llama(tmp_path / "m.gguf", reference.network_of()))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", "--model", path, "--host", host, "--port", port]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"retrograde: the server cannot listen at host '{host}', port {port}: ") and said.err.count("\n") == 1


def test_what_is_said_to_be_served_listens(model):
    def told(line):
        place = line.removeprefix("tiny at http://").removesuffix("/v1").rpartition(":")
        socket.create_connection((place[0], int(place[2]))).close()
        raise EOFError

    with pytest.raises(EOFError):
        serve(model, "tiny", port=0, told=told)

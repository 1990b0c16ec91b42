"""Hostile texts through every entry: they stay data, nothing is adopted that the writer did not propose, and errors are ours."""

import json
import math
import re
import time

import pytest
from hostile import CASES, JSON, LARGE
from tiny_models import Ruled, last

import retrograde as rg
from benchmarks.workloads.fault_server import answer, serving
from retrograde import text
from retrograde.errors import AnswerError, CheckpointError, ModelError, ParseError, RetrogradeError
from retrograde.text.data import items, places, tagged
from retrograde.text.models import (
    Budget,
    Budgeted,
    Cached,
    Completion,
    HTTPModel,
    Recorded,
    Replayed,
    Request,
    Retry,
    ScriptedLM,
    tracing,
)
from retrograde.text.models.codec import completion_from_dict, completion_to_dict
from retrograde.text.parsing import objects
from retrograde.text.tags import escaped, unescaped

hostile = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TAG = re.compile(r"<(/?)(TEXT|NEW|FIND|REPLACE|PART|ANSWER|TARGET)(-[0-9a-f]{8})?>")


@pytest.fixture(autouse=True)
def in_good_time():
    start = time.process_time()
    yield
    assert time.process_time() - start < 20, "a hostile text must not take for ever"


def of_use(data):
    """Whether a program goes on with a template: that it can be filled, and is what it says."""
    model = ScriptedLM(lambda request: request.messages[0].content)
    return text.chat(model, [("system", data), ("user", "{question}")], {"question": "Who?"}).data


@hostile
def test_data_reach_the_model_as_they_are_and_are_filled_in_once(case):
    model = Ruled(lambda request: "ok")
    text.chat(model, [("system", "Answer {{briefly}}."), ("user", "{question}")], {"question": [case, "plain"]}, demonstrations=[[case, case]])
    for request in model.asked:
        system, shown, said, asked = (message.content for message in request.messages)
        assert system == "Answer {briefly}." and shown == said == case and asked in (case, "plain")


@hostile
def test_tags_around_data_are_found_again_with_the_data_inside(case):
    assert unescaped(escaped(case)) == case and not TAG.search(escaped(case))
    assert items(tagged([case, "plain", case])) == [case, "plain", case]
    items(case)


@hostile
def test_data_and_feedback_forge_no_tag_in_what_the_writer_reads(case):
    system = text.Parameter(f"Be brief. {case}", role="system prompt")
    writer = Ruled(lambda request: "I would rather not.")
    optimizer = text.TextualGradientDescent([system], writer, momentum=2, retries=0)
    for _ in range(2):
        system.append_grad(text.Variable(case, role="feedback"))
        step = optimizer.step()
        assert step.outcome in ("failed", "unchanged") and system.data == f"Be brief. {case}"
    for request in writer.asked:
        found = TAG.findall(last(request))
        codes = {code for _, _, code in found}
        # Each tag that stands there has the code of the request, and the blocks are not nested.
        assert len(codes) == 1 and "" not in codes
        assert [f"{close}{name}" for close, name, _ in found][-2:] == ["NEW", "/NEW"] and len(found) % 2 == 0
        assert all(a == ("", b[1], a[2]) and b[0] == "/" for a, b in zip(found[::2], found[1::2], strict=True))


@hostile
def test_a_reply_is_adopted_only_as_far_as_it_is_one_block_of_the_writer(case):
    system = text.Parameter("v0", role="system prompt")
    system.append_grad(text.Variable("too long", role="feedback"))
    optimizer = text.TextualGradientDescent([system], Ruled(lambda request: case), retries=0)
    step = optimizer.step()
    # Without a code, one block by itself is what the writer proposed.
    found = re.fullmatch(r"(?s)(?:(?!</?NEW>).)*<NEW>((?:(?!</?NEW>).)*)</NEW>(?:(?!</?NEW>).)*", case) if len(case) < 10_000 else None
    proposed = unescaped(found[1]).strip() if found else ""
    assert system.data == (proposed or "v0") and (step.outcome == "failed") == (not proposed)


@hostile
@pytest.mark.parametrize("edits", [text.Rewrite, text.Patches])
def test_what_the_writer_proposes_is_adopted_to_the_letter_or_is_a_fault_and_the_program_runs_on(case, edits):
    def write(request):
        code = TAG.search(last(request))[3]
        return f"Here: <NEW{code}>{case}</NEW{code}>" if edits is text.Rewrite else f"<FIND{code}>v0</FIND{code}><REPLACE{code}>{case}</REPLACE{code}>"

    system = text.Parameter("v0", role="system prompt")
    system.append_grad(text.Variable("too long", role="feedback"))
    step = text.TextualGradientDescent([system], Ruled(write), edits=edits, retries=0).step()
    new = unescaped(case).strip()
    if places(new):
        assert step.outcome == "failed" and "single braces" in step.reason and system.data == "v0"
    elif new or edits is text.Patches:
        assert system.data == new
    assert isinstance(of_use(system.data), str)


@hostile
def test_a_critic_is_shown_data_as_data_and_what_it_says_is_feedback(case):
    critic = Ruled(lambda request: case)
    system = text.Parameter("Be brief.", role="system prompt")
    said = text.chat(ScriptedLM(lambda request: case or "-"), [("system", system), ("user", "{question}")], {"question": [case]}, feedback_model=critic)
    text.exact_match(said, ["Paris"]).backward()
    found = TAG.findall(last(critic.asked[0]))
    assert [f"{close}{name}" for close, name, code in found if code] == ["PART", "/PART"] == [f"{close}{name}" for close, name, _ in found]
    assert all(feedback.data == case.strip() for feedback in system.grad)


@hostile
def test_what_is_judged_cannot_close_the_tags_around_it(case):
    model = Ruled(lambda request: '{"score": 0.25, "critique": "no"}')
    assert text.judge(model, text.Variable([case], role="answer"), "kind", target=case).scores == [0.25]
    found = TAG.findall(last(model.asked[0]))
    assert [f"{close}{name}" for close, name, _ in found] == ["TARGET", "/TARGET", "ANSWER", "/ANSWER"] and all(code for *_, code in found)


#: What a judge, or a reader of JSON, may take for an answer; all others are faults.
VERDICTS = {"a verdict": 1.0, "a fence": 1.0, "an open fence": 1.0, "half a surrogate": 1.0, "an order to the judge": 1.0}
READ = {**dict.fromkeys(VERDICTS), "a score too high": None, "a score below": None, "a score in words": None, "a truth": None, "an empty object": None, "an empty key": None,
        "a key of Python": None, "a keyed list": None, "an object for a score": None, "null": None, "a line of a ledger": None, "an empty place": None, "an end of a stream": None, "a score too long": None}
#: Halves of a pair, one after the other, are written as the character that they make.
joined = lambda case: case.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


@pytest.mark.parametrize("name", CASES)
def test_a_judge_is_believed_only_if_it_gives_one_verdict_in_range(name):
    found = text.judge(Ruled(lambda request: CASES[name]), text.Variable(["a"], role="answer"), "kind", retries=0)
    assert found.scores == [VERDICTS.get(name)]


@pytest.mark.parametrize("name", CASES)
def test_json_is_read_only_where_there_is_one_whole_object_of_finite_numbers(name):
    try:
        fields = text.parse(text.Variable(CASES[name], role="answer"))
    except ParseError:
        assert name not in READ
        return
    assert name in READ
    assert all(not isinstance(field.data, float) or math.isfinite(field.data) for field in fields.values())
    assert text.fits_schema(text.Variable(CASES[name], role="answer"), {}).scores == [1.0]


@pytest.mark.parametrize("name", JSON)
def test_no_object_is_read_out_of_the_middle_of_a_broken_one(name):
    try:
        found = objects(JSON[name])
    except ParseError:
        return
    wholes = found and [json.loads(part) for part in re.split(r"```(?:json)?|(?<=\}) (?=\{)", JSON[name]) if part.strip()]
    assert found == wholes


@hostile
def test_an_error_with_hostile_words_is_told_and_changes_nothing(case, tmp_path):
    class Program(text.Module):
        def __init__(self):
            super().__init__()
            self.system = text.Parameter("v0", role="system prompt")

    program = Program()
    failing = Ruled(lambda request: ModelError(case))
    held_out = text.Validation([f"{i} {case[:50]}" for i in range(10)], lambda items: [float(program.system.data == "better")] * len(items))
    optimizer = text.TextualGradientDescent(program.text_parameters(), failing, validate=held_out)
    run = text.train(program, optimizer, lambda number: program.system.append_grad(text.Variable(case, role="feedback")), steps=1, checkpoint=tmp_path / "run.json")
    assert run.steps[0].outcome in ("failed", "unchanged") and program.system.data == "v0" and (case if case.strip() else "no parameter") in run.steps[0].reason
    page = text.page(run, case, parameters=program.text_parameters())
    assert "<script>" not in page and "<img" not in page and page.count("</body>") == 1
    other = Program()
    resumed = text.train(other, text.TextualGradientDescent(other.text_parameters(), failing, validate=held_out), steps=1, checkpoint=tmp_path / "run.json")
    assert [str(step) for step in resumed.steps] == [joined(str(step)) for step in run.steps]


@hostile
def test_answers_and_questions_come_out_of_caches_records_traces_and_files_as_they_went_in(case, tmp_path):
    model = Cached(Recorded(ScriptedLM(lambda request: case), tmp_path / "answers.jsonl"), tmp_path / "cache")
    request = Request.of([("system", case), ("user", case)], stop=[case] if case else None)
    with tracing() as trace:
        assert {model.complete(request).text for _ in range(2)} == {case}
    assert model.hits == bool(case.strip()) and Replayed(tmp_path / "answers.jsonl").complete(request).text == case
    trace.save(tmp_path / "trace.jsonl")
    assert len((tmp_path / "trace.jsonl").read_bytes().split(b"\n")) == 3
    text.save({"prompt": case, "rows": [[case, case]]}, tmp_path / "state.json")
    assert text.load(tmp_path / "state.json") == {"prompt": joined(case), "rows": [[joined(case)] * 2]}


@hostile
def test_files_with_hostile_contents_are_refused_or_ignored(case, tmp_path):
    content = case.encode("utf-8", "surrogatepass")
    model = Cached(ScriptedLM(["asked", "asked again"]), tmp_path / "cache")
    model("q")
    model.path_of(Request.of("q")).write_bytes(content)
    assert model("q") == "asked again" == model("q")
    (tmp_path / "state.json").write_bytes(content)
    with pytest.raises(CheckpointError):
        text.load(tmp_path / "state.json")
    (tmp_path / "answers.jsonl").write_bytes(content + b"\n")
    with pytest.raises(RetrogradeError, match="line"):
        Replayed(tmp_path / "answers.jsonl")
    (tmp_path / "ledger.jsonl").write_bytes(content + b"\n")
    Budgeted(ScriptedLM(["a"]), Budget(calls=1, ledger=tmp_path / "ledger.jsonl"))("q")
    assert Budget(ledger=tmp_path / "ledger.jsonl").spent.calls == 1


@pytest.mark.parametrize("key", ["prompt_tokens", "completion_tokens", "seconds", "cost", "logprobs", "finish_reason", "is_cached", "text"])
@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True, "1", None, [math.nan], [math.inf], ["a"], {}])
def test_a_completion_with_impossible_figures_is_refused(key, value):
    data = completion_to_dict(Completion("a", 1, 1, 0.5, 0.5, logprobs=(-1.0,)))
    is_fine = (key, value) in [("is_cached", True), ("finish_reason", "1"), ("text", "1")]
    if is_fine:
        assert completion_from_dict({**data, key: value})
        return
    with pytest.raises((AnswerError, TypeError, ValueError)):
        completion_from_dict({**data, key: value})


@hostile
def test_labels_are_chosen_or_refused(case):
    said = text.chat(Ruled(lambda request: case), "Which?", labels=["yes", "no"])
    assert said.data == case


@hostile
def test_words_become_finite_vectors(case):
    vector = text.embed(text.Variable([case], role="answer"))
    assert bool(rg.isfinite(vector).all())


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("httpx", reason="the extra `text` brings httpx")
    replies = {}
    with serving(lambda prompt, attempt: None, answers=lambda prompt: replies["now"]) as found:
        found.replies = replies
        yield found


@hostile
def test_a_server_is_asked_what_was_meant_and_its_words_come_back_as_they_are(case, server):
    server.replies["now"] = answer("q")
    server.replies["now"]["choices"][0]["message"]["content"] = case
    with HTTPModel("small", base_url=server.url, api_key="sk-secret", timeout=20) as model:
        found = model.complete(Request.of([("system", case), ("user", "q")]))
    assert found.text == joined(case) and server.bodies[-1]["messages"][0]["content"] == joined(case)


@hostile
def test_a_server_that_answers_with_hostile_bytes_is_an_error_of_ours(case, server):
    server.replies["now"] = case.encode("utf-8", "replace").decode()
    with HTTPModel("small", base_url=server.url, api_key="sk-secret", timeout=20, retry=Retry(0)) as model, pytest.raises(ModelError) as found:
        model("q")
    assert len(str(found.value)) < 1000


def test_the_large_cases_are_large():
    assert sum(len(case) >= 900_000 for case in LARGE.values()) == len(LARGE) - 1 and len(CASES) > 120

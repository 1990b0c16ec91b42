"""Calls of a model as ops: conversations, batches, demonstrations, and the feedback to each part."""

import pytest
from tiny_models import Ruled, failing, last

import retrograde as rg
from retrograde import text
from retrograde.errors import ArgumentError, BudgetError, DTypeError, InplaceError, ModelError, ShapeError
from retrograde.text import Parameter, Variable

ECHO = lambda request: f"<{last(request)}>"


def roles(request):
    return [(message.role, message.content) for message in request.messages]


def test_messages_are_made_of_texts_and_variables_with_places():
    model = Ruled(ECHO)
    system = Parameter("Be brief about {thing}.", role="system prompt")
    answer = text.chat(model, [{"role": "system", "content": [system, "Be kind."]}, ("user", "Why {thing}?")], {"thing": "rain"}, temperature=0)
    assert (answer.data, answer.role) == ("<Why rain?>", "answer")
    assert roles(model.asked[0]) == [("system", "Be brief about rain.\nBe kind."), ("user", "Why rain?")]
    assert model.asked[0].temperature == 0


def test_without_inputs_braces_are_left_alone():
    model = Ruled(ECHO)
    assert text.chat(model, 'Say {"a": 1} {b}').data == '<Say {"a": 1} {b}>'


def test_a_batch_of_inputs_is_a_batch_of_answers_in_order():
    answer = text.chat(Ruled(ECHO), "{a} {b}", {"a": [str(i) for i in range(20)], "b": Variable("x")})
    assert answer.data == [f"<{i} x>" for i in range(20)]


def test_a_failing_sample_reports_itself_and_loses_no_other():
    model = Ruled(lambda request: failing("server on fire") if "2" in last(request) else last(request))
    answer = text.chat(model, "{n}", {"n": ["1", "2", "3", None]})
    assert answer.data == ["1", None, "3", None]
    assert {i: str(e) for i, e in answer.failures.items()} == {1: "server on fire"}
    found = text.exact_match(answer, ["1", "2", "3", "4"])
    assert found.scores == [1, None, 1, 0] and "server on fire" in found.explanation.data[1]


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: text.chat("gpt", "Hello"), DTypeError, "must be a LanguageModel, got str: 'gpt'"),
    (lambda: text.Cached(None, "answers"), DTypeError, "must be a LanguageModel, got NoneType"),
    (lambda: text.chat(Ruled(ECHO), "Hello", temprature=0), ArgumentError, "no option temprature; there are temperature, top_p"),
])
def test_what_is_no_model_and_what_is_no_option_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_if_all_fail_or_the_budget_ends_the_error_is_raised():
    with pytest.raises(ModelError, match="cut"):
        text.chat(Ruled(lambda request: failing()), "a")
    spent = Ruled(lambda request: BudgetError("no calls left") if "2" in last(request) else "ok")
    with pytest.raises(BudgetError):
        text.chat(spent, "{n}", {"n": ["1", "2"]})


def test_demonstrations_are_said_in_the_form_of_the_last_message():
    model = Ruled(ECHO)
    shown = Parameter([["great", "positive"], ["bad", "negative"]], role="demonstrations")
    text.chat(model, [("system", "Classify."), ("user", "Review: {review}")], {"review": ["ok"]}, demonstrations=shown)
    assert roles(model.asked[0]) == [("system", "Classify."), ("user", "Review: great"), ("assistant", "positive"),
                                     ("user", "Review: bad"), ("assistant", "negative"), ("user", "Review: ok")]


@pytest.mark.parametrize(("arguments", "error", "message"), [
    ((("user", "x", "y"), {"a": 1}), ArgumentError, "no message has a place for a"), (([],), ArgumentError, "at least one message"),
    (([("user", "x")], {"a": "b"}), ArgumentError, "no message has a place for a"),
    (([("user", "{a} {b}")], {"a": "b"}), ArgumentError, "places for b"),
    (([("user", "{a} {b}")], {"a": ["x"], "b": ["y", "z"]}), ShapeError, "one length"),
    (([("robot", "x")],), ArgumentError, "role of a message"), (([3],), DTypeError, "a message must be"),
])
def test_conversations_that_make_no_sense_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        text.chat(Ruled(ECHO), *arguments)


@pytest.mark.parametrize("rows", [[["a"]], ["a"], [["a", "b", "c"]], "a"])
def test_demonstrations_have_a_value_for_each_input_and_an_answer(rows):
    with pytest.raises(ShapeError, match="rows of 2"):
        text.chat(Ruled(ECHO), "{x}", {"x": "y"}, demonstrations=Variable(rows, role="d"))


def test_without_a_feedback_model_the_cases_come_back_as_they_are():
    system = Parameter("Be brief.", role="system prompt")
    question = Variable(["Why?", "How?", "Who?"], role="question", requires_grad=True)
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", "{q}")], {"q": question})
    answer.backward(["too long", "", "unkind"])
    (said,) = system.grad
    assert said.role == "feedback to system prompt" and said.path == ("answer",)
    assert "<Why?>" in said.data and "too long" in said.data and "<How?>" not in said.data and "unkind" in said.data
    (each,) = question.grad
    assert each.data[1] == "" and "too long" in each.data[0] and "unkind" not in each.data[0]


def test_a_feedback_model_is_asked_with_the_local_context():
    critic = Ruled(lambda request: f" advice {len(critic.asked)} ")
    system = Parameter("Be brief.", role="system prompt")
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", "{q}")], {"q": ["Why?", "How?"]}, feedback_model=critic)
    answer.backward(["too long", "too short"])
    assert [g.data for g in system.grad] == ["advice 1"]
    asked = last(critic.asked[0])
    for part in ("system prompt", "Be brief.", "Why?", "<Why?>", "too long", "<How?>", "too short"):
        assert part in asked


def test_many_cases_are_told_in_handfuls_and_long_ones_are_shortened():
    critic = Ruled(lambda request: "advice")
    system = Parameter("S" * 10_000, role="system prompt")
    inputs = {"q": [f"question {i}" for i in range(20)]}
    text.chat(Ruled(ECHO), [("system", system), ("user", "{q}")], inputs, feedback_model=critic).backward("wrong")
    assert len(critic.asked) == len(system.grad) == 3
    assert all(len(request.prompt) < 100_000 for request in critic.asked)
    assert "characters left out" in critic.asked[0].prompt


def test_all_feedback_for_one_answer_is_told_in_one_call_each_once():
    critic = Ruled(lambda request: "advice")
    system = Parameter("Be brief.", role="system prompt")
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", "Why?")], feedback_model=critic)
    with text.feedback_style("plain"):
        text.sum([answer + Variable("!", role="mark"), answer, answer]).backward("too long")
    assert len(critic.asked) == 1 and last(critic.asked[0]).count("too long") == 1


def test_a_variable_in_two_places_of_a_conversation_receives_feedback_once():
    rule = Parameter("Be brief.", role="rule")
    text.chat(Ruled(ECHO), [("system", rule), ("user", rule)]).backward("too long")
    assert len(rule.grad) == 1


def test_only_what_needs_feedback_costs_calls():
    critic = Ruled(lambda request: "advice")
    system, user = Parameter("Be brief.", role="system prompt"), Parameter("{q}", role="user prompt")
    user.requires_grad = False
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", user)], {"q": "Why?"}, feedback_model=critic)
    answer.backward("", retain_graph=True)
    assert not critic.asked and system.grad == []
    answer.backward("wrong")
    assert len(critic.asked) == 1 and user.grad == []


def test_prompts_can_be_replaced_within_a_block():
    critic = Ruled(lambda request: "advice")
    system = Parameter("Be brief.", role="system prompt")
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", "Why?")], feedback_model=critic)
    with text.using_prompts(feedback="Improve {role}."):
        answer.backward("wrong")
    assert last(critic.asked[0]) == "Improve system prompt."
    with pytest.raises(ArgumentError, match="no prompt is named"), text.using_prompts(nothing=""):
        pass
    with pytest.raises(ArgumentError, match="has no else"), text.using_prompts(feedback="{else}"):
        pass


def test_writing_to_a_prompt_between_the_answer_and_backward_is_an_error():
    system = Parameter("Be brief.", role="system prompt")
    answer = text.chat(Ruled(ECHO), [("system", system), ("user", "Why?")])
    with rg.no_grad():
        system.copy_("Be long.")
    with pytest.raises(InplaceError, match="'system prompt' was written to"):
        answer.backward("wrong")


def test_a_chain_of_calls_hands_feedback_through():
    critic = Ruled(lambda request: f"advice on {last(request).split(chr(10))[0]}")
    first, second = Parameter("Draft.", role="draft prompt"), Parameter("Refine.", role="refine prompt")
    draft = text.chat(Ruled(ECHO), [("system", first), ("user", "Why?")], feedback_model=critic, role="draft")
    final = text.chat(Ruled(ECHO), [("system", second), ("user", "{draft}")], {"draft": draft}, feedback_model=critic)
    final.backward("wrong")
    assert second.grad[0].data == "advice on The part is the refine prompt. It reads:"
    assert first.grad[0].path == ("answer", "draft")
    assert "advice on The part is the draft." in last(critic.asked[-1])


def test_calls_are_traced_with_their_node():
    from retrograde.text.models.trace import tracing

    with tracing() as trace:
        text.chat(Ruled(ECHO), "Why?", role="reply")
    assert [call.node for call in trace.calls] == ["reply"]


def test_an_answer_does_not_keep_what_it_was_made_from_alive():
    import gc
    import weakref

    system = Parameter("Be brief.", role="system prompt")
    question = system + Variable("!", role="mark")
    seen = weakref.ref(question)
    answer = text.chat(Ruled(ECHO), [("system", question), ("user", "Why?")])
    gc.disable()
    try:
        del question
        assert seen() is None
        answer.backward("wrong")
        gone = weakref.ref(answer)
        del answer
        assert gone() is None
    finally:
        gc.enable()

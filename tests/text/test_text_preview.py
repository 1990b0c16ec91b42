"""What a backward pass would cost, before it is made."""

import pytest
from tiny_models import Ruled, last

from retrograde import text
from retrograde.errors import GraphError
from retrograde.text import Parameter, Variable, backward_cost


def test_the_cost_told_before_is_the_cost_of_feedback_on_every_sample():
    critic = Ruled(lambda request: "advice")
    echo = Ruled(last)
    system, user = Parameter("Be brief.", role="system prompt"), Parameter("{q}?", role="user prompt")
    questions = Variable([f"question {i}" for i in range(20)], role="question", requires_grad=True)
    draft = text.chat(echo, [("system", system), ("user", user)], {"q": questions}, feedback_model=critic)
    answer = text.chat(echo, [("system", system), ("user", "{d}")], {"d": draft}, feedback_model=critic)
    told = backward_cost(answer)
    answer.backward("wrong")
    assert told.calls == len(critic.asked) == (3 + 20) + (3 + 3 + 20)
    said = sum(len(request.prompt) for request in critic.asked)
    assert 0.2 * said < told.characters < said


def test_without_feedback_models_a_backward_costs_nothing():
    system = Parameter("Be brief.", role="system prompt")
    assert backward_cost(text.chat(Ruled(last), [("system", system), ("user", "Why?")])) == (0, 0)
    with pytest.raises(GraphError, match="no graph"):
        backward_cost(Variable("a", role="a"))

"""Users' own Functions on text, in both forward styles."""

import pytest

import retrograde as rg
from retrograde import text
from retrograde.errors import GraphError
from retrograde.text import Variable


class Shout(rg.Function):
    @staticmethod
    def forward(ctx, x, mark):
        ctx.save_for_backward(x)
        return Variable(x.data.upper() + mark, role=f"shouted {x.role}")

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        Shout.seen = ctx.needs_input_grad, x.role, type(g)
        return Variable(f"on {x.data}: {g.data}", role=f"feedback to {x.role}"), None


class Pair(rg.Function):
    """Two results, with the context set up apart."""

    @staticmethod
    def forward(x, y):
        return Variable(x.data + y.data, role="together"), Variable(y.data + x.data, role="the other way")

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.roles = [value.role for value in inputs]

    @staticmethod
    def backward(ctx, together, other):
        return tuple(f"{role}: {together.data}|{other.data}" for role in ctx.roles)


def test_forward_with_context():
    x = Variable("hey", role="greeting", requires_grad=True)
    y = Shout.apply(x, "!")
    assert (y.data, y.role, y.requires_grad) == ("HEY!", "shouted greeting", True)
    y.backward("too loud")
    assert [(g.data, g.role, g.path) for g in x.grad] == [("on hey: too loud", "feedback to greeting", ("Shout",))]
    assert Shout.seen == ((True, False), "greeting", Variable)


def test_forward_and_setup_context_apart_with_two_results():
    x, y = (Variable(name, role=name, requires_grad=True) for name in "xy")
    together, other = Pair.apply(x, y)
    assert (together.data, other.data, other.role) == ("xy", "yx", "the other way")
    other.backward("second", retain_graph=True)
    together.backward("first")
    assert [g.data for g in x.grad] == ["x: |second", "x: first|"]
    assert [g.data for g in y.grad] == ["y: |second", "y: first|"]


def test_backward_is_called_once_for_each_feedback():
    x = Variable("hey", role="greeting", requires_grad=True)
    y = Shout.apply(x, "!")
    with text.feedback_style("plain"):
        (y + Variable("a", role="a") + y).backward("said")
    assert [(g.data, g.path) for g in x.grad] == [
        ("on hey: said", ("shouted greeting and a and shouted greeting", "shouted greeting and a", "Shout")),
        ("on hey: said", ("shouted greeting and a and shouted greeting", "Shout")),
    ]


def test_nothing_is_recorded_where_nothing_needs_feedback():
    assert not Shout.apply(Variable("hey", role="greeting"), "!").requires_grad


def test_outputs_must_be_values():
    class Bare(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x.data

    with pytest.raises(GraphError, match="must return a value"):
        Bare.apply(Variable("a", role="a", requires_grad=True))


def test_a_number_may_come_from_text_and_words_go_back():
    class Length(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return rg.tensor(float(len(x.data)))

        @staticmethod
        def backward(ctx, g):
            return f"should be {'shorter' if float(g) > 0 else 'longer'}"

    x = Variable("long text", role="text", requires_grad=True)
    weight = rg.tensor(-2.0, requires_grad=True)
    (Length.apply(x) * weight).backward()
    assert float(weight.grad) == 9.0 and x.grad[0].data == "should be longer"


def test_feedback_to_text_must_not_be_a_tensor():
    class Wrong(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return rg.tensor(1.0)

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(TypeError, match="put a numeric gradient into words"):
        Wrong.apply(Variable("a", role="a", requires_grad=True)).backward()

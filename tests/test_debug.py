"""The text of a graph: what it says of recorded, lazy and traced values, and what it leaves out."""

import re

import numpy as np
import pytest

import retrograde as rg
from retrograde.tensor.lazy import Lazy


def specs(text):
    """{op: shape and dtype} of a page."""
    return dict(re.findall(r"= (\w+)\S*(?:, \S+)*? {2,}(\S.*)$", text, re.MULTILINE))


def test_a_recorded_graph_shows_each_node_once_after_its_inputs():
    x = rg.tensor(np.ones((2, 3)), requires_grad=True)
    y = rg.sin(x)
    text = rg.debug.show((y * y + x).sum(axis=0))
    assert text.splitlines() == [
        "recorded, 5 nodes",
        "%0 = leaf                float64[2, 3]",
        "%1 = sin(%0)             float64[2, 3]",
        "%2 = multiply(%1, %1)    float64[2, 3]",
        "%3 = add(%2, %0)         float64[2, 3]",
        "%4 = sum(%3)             float64[3]",
    ]


def test_shapes_of_inner_nodes_are_those_that_the_values_had():
    w = rg.tensor(np.ones((4, 3)), requires_grad=True)
    inner = rg.tanh(w @ rg.ones(3, 5))
    shares = rg.softmax(rg.concatenate([inner, inner * 2], axis=1), axis=0)
    found = specs(rg.debug.show(shares.max(axis=1)))
    for op, value in [("leaf", w), ("tanh", inner), ("softmax", shares), ("max", shares.max(axis=1))]:
        assert found[op] == f"{value.dtype}{list(value.shape)}"


def test_what_was_freed_is_a_question_mark_and_what_is_not_recorded_an_underscore():
    x = rg.tensor(np.ones(3), requires_grad=True)
    y = rg.sin(x.reshape(3, 1).exp() * rg.ones(3, 1)).sum()
    assert "multiply(%2, _)" in rg.debug.show(y)
    y.backward()
    assert "exp(%1)            float64[?]" in rg.debug.show(y)


def test_an_op_with_several_results_shows_which_is_meant():
    class Both(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1, x * 2

        @staticmethod
        def backward(ctx, g, h):
            return g + 2 * h

    x = rg.tensor([1.0], requires_grad=True)
    text = rg.debug.show(sum(Both.apply(x)))
    assert "Both(%0)" in text
    assert "pick(%1, 0)" in text
    assert "pick(%1, 1)" in text


def test_a_lazy_graph_is_shown_and_not_computed():
    x = rg.tensor([[1.0, 2.0]], requires_grad=True)
    with rg.lazy():
        y = rg.sum(rg.where(x > 0.5, rg.exp(x * 0.0).T[0] * 2.5, 0), axis=1, keepdims=True)
    text = rg.debug.show(y)
    assert type(y) is Lazy
    assert text.splitlines() == [
        "lazy, 9 nodes",
        "%0 = input                             float32[1, 2]",
        "%1 = multiply(%0, 0.0)                 float32[1, 2]",
        "%2 = exp(%1)                           float32[1, 2]",
        "%3 = permute_dims(%2, axes=(1, 0))     float32[2, 1]",
        "%4 = getitem(%3, index=0)              float32[1]",
        "%5 = multiply(%4, 2.5)                 float32[1]",
        "%6 = greater(%0, 0.5)                  bool[1, 2]",
        "%7 = where(%6, %5, 0)                  float32[1, 2]",
        "%8 = sum(%7, axis=1, keepdims=True)    float32[1, 1]",
    ]
    assert y.tolist() == [[5.0]]
    assert rg.debug.show(y).startswith("recorded")


def test_a_traced_graph_is_shown_while_it_is_traced():
    pages = []

    @rg.jit
    def function(x, n):
        y = rg.sin(x) * n
        pages.append(rg.debug.show(y))
        return y

    function(np.ones((2, 2)), 3)
    assert pages[0].splitlines() == [
        "traced, 3 nodes", "%0 = input              float64[2, 2]", "%1 = sin(%0)            float64[2, 2]",
        "%2 = multiply(%1, 3)    float64[2, 2]",
    ]


def test_several_values_share_one_numbering():
    x = rg.tensor([1.0], requires_grad=True)
    y = rg.sin(x)
    text = rg.debug.show({"a": y * 2, "b": [y * 3, None, "text"]})
    assert text.count("sin(") == 1
    assert text.count("multiply(%1, _)") == 2


@pytest.mark.parametrize("limit", [1, 2, 7, 60])
def test_a_long_graph_is_cut_in_the_middle(limit):
    x = rg.tensor([1.0], requires_grad=True)
    for _ in range(200):
        x = x + 1
    lines = rg.debug.show(x, limit=limit).splitlines()
    assert len(lines) == limit + 2
    assert f"... {201 - limit} nodes ..." in lines
    assert lines[1].startswith("%0 ")


def test_a_graph_of_twenty_thousand_nodes_is_no_problem():
    x = rg.tensor([1.0], requires_grad=True)
    for _ in range(20_000):
        x = x * 1.0
    assert "20001 nodes" in rg.debug.show(x)


def test_the_text_is_a_string_that_prompts_show_as_it_is():
    text = rg.debug.show(rg.ones(2))
    assert text == "recorded, 1 node\n%0 = constant    float32[2]"
    assert repr(text) == str(text)
    assert rg.debug.show(1.0, None) == "no tensors"

"""Text variables: data, roles, feedback lists, hooks, copies."""

import asyncio
import copy
import pickle

import pytest

import retrograde as rg
from retrograde import text
from retrograde.errors import ArgumentError, DTypeError, FreedGraphError, GraphError, ShapeError
from retrograde.text import Variable
from together import in_threads


def leaf(data="a", role="x"):
    return Variable(data, role=role, requires_grad=True)


@pytest.mark.parametrize(("data", "kept", "shape"), [
    ("a", "a", ()), (1, 1, ()), (2.5, 2.5, ()), ([], [], (0,)), (["a", "b"], ["a", "b"], (2,)), ([1, 2.5], [1.0, 2.5], (2,)),
    ([[1, 2], [3, 4]], [[1, 2], [3, 4]], (2, 2)), ([["a"], ["b", "c"]], [["a"], ["b", "c"]], (2,)), (["a", None], ["a", None], (2,)),
    ([[1], ["a", 0.5]], [[1.0], ["a", 0.5]], (2,)),
])
def test_data_is_a_scalar_or_a_list_that_may_be_nested_and_ragged(data, kept, shape):
    x = Variable(data)
    assert repr(x.data) == repr(kept) and x.shape == shape


@pytest.mark.parametrize("data", [("a",), {"a": 1}, None, ["a", ("b",)], [{"a": 1}], b"a", {1}])
def test_anything_else_is_refused_as_data(data):
    with pytest.raises(DTypeError, match="must be"):
        Variable(data)


def test_the_data_of_a_variable_is_its_own():
    given = ["a", "b"]
    x = Variable(given)
    given[0] = "changed"
    assert x.data == ["a", "b"]


def test_a_variable_that_wants_feedback_needs_a_role():
    with pytest.raises(ArgumentError, match="needs a role"):
        Variable("a", requires_grad=True)
    with pytest.raises(ArgumentError, match="needs a role"):
        Variable("a").requires_grad_()
    with pytest.raises(DTypeError, match="role must be a string"):
        Variable("a", role=3)


def test_grad_is_a_list_that_grows_with_each_backward_and_empties():
    x = leaf()
    assert x.grad == []
    y = x + Variable("b", role="y")
    y.backward("first", retain_graph=True)
    y.backward("second")
    assert [g.data.rpartition(": ")[2] for g in x.grad] == ["first", "second"]
    assert all(isinstance(g, Variable) and not g.requires_grad for g in x.grad)
    x.zero_grad()
    assert x.grad == []


def test_inner_variables_show_feedback_only_if_they_retain_it():
    x = leaf()
    inner = x + Variable("b", role="y")
    kept = inner + Variable("c", role="z")
    kept.retain_grad()
    with pytest.raises(GraphError, match="retain_grad"):
        _ = inner.grad
    (kept + Variable("d", role="w")).backward("said")
    assert [g.role for g in kept.grad] == ["feedback to x and y and z"]
    assert len(x.grad) == 1


def test_backward_refuses_leaves_freed_graphs_and_silence():
    x = leaf()
    with pytest.raises(GraphError, match="leaf"):
        x.backward("said")
    y = x + Variable("b", role="y")
    with pytest.raises(GraphError, match="needs feedback"):
        y.backward()
    y.backward("said")
    with pytest.raises(FreedGraphError, match="retain_graph"):
        y.backward("again")
    with pytest.raises(GraphError, match="needs no gradient"):
        (Variable("a", role="a") + Variable("b", role="b")).backward("said")


def test_inputs_choose_the_leaves_and_an_empty_list_is_an_error():
    x, y = leaf(role="x"), leaf(role="y")
    (x + y).backward("said", inputs=[y])
    assert x.grad == [] and len(y.grad) == 1
    with pytest.raises(ArgumentError, match="at least one leaf"):
        (x + y).backward("said", inputs=[])


def test_feedback_may_be_a_string_a_number_a_variable_or_one_for_each_sample():
    for said in ("short", 1.5, Variable("short", role="critique")):
        x = leaf()
        (x + Variable("b", role="y")).backward(said)
        assert len(x.grad) == 1
    batch = leaf(["a", "b"], "batch")
    (batch + Variable(["c", "d"], role="y")).backward(["first", "second"])
    assert [said.rpartition(": ")[2] for said in batch.grad[0].data] == ["first", "second"]


@pytest.mark.parametrize(("data", "said"), [("a", ["one"]), (["a", "b"], ["one"]), (["a", "b"], ["one", "two", "three"])])
def test_feedback_of_another_length_is_an_error(data, said):
    x = leaf(data)
    with pytest.raises(ShapeError, match="one item for each sample"):
        text.shaping.clone(x).backward(said)


def test_hooks_see_the_feedback_and_may_replace_it():
    x, seen = leaf(), []
    x.register_hook(seen.append)
    handle = x.register_hook(lambda feedback: [Variable(f"{f.data}!", role=f.role) for f in feedback])
    text.shaping.clone(x).backward("said")
    assert [g.data for g in seen[0]] == ["said"] and [g.data for g in x.grad] == ["said!"]
    handle.remove()
    text.shaping.clone(x).backward("more")
    assert [g.data for g in x.grad] == ["said!", "more"]


def test_no_grad_and_detach_leave_the_graph():
    x = leaf()
    with rg.no_grad():
        assert not (x + x).requires_grad
    assert not (x.detach() + Variable("b", role="y")).requires_grad
    assert x.detach().role == "x"


def test_copies_and_pickles_keep_data_role_and_feedback_and_share_nothing():
    x = leaf(["a", "b"])
    x.append_grad(Variable("said", role="feedback to x"))
    for made in (copy.deepcopy(x), copy.copy(x)):
        assert made.data == x.data and made.data is not x.data and made.role == "x" and made.requires_grad
        assert [g.data for g in made.grad] == ["said"]
        made.append_grad(Variable("more"))
    assert len(x.grad) == 1
    loaded = pickle.loads(pickle.dumps(x))
    assert (loaded.data, loaded.role, loaded.requires_grad) == (["a", "b"], "x", True)
    for act in (copy.deepcopy, pickle.dumps):
        with pytest.raises(GraphError, match="only leaves"):
            act(x + x)


def test_parameters_stay_parameters_when_copied():
    assert isinstance(pickle.loads(pickle.dumps(text.Parameter("a", role="x"))), text.Parameter)
    assert isinstance(copy.deepcopy(text.Parameter("a", role="x")), text.Parameter)


def test_writing_in_place_is_refused_where_a_backward_would_go_wrong():
    x = leaf()
    with pytest.raises(GraphError, match="no_grad"):
        x.copy_("new")
    with pytest.raises(GraphError, match="lose the leaf"):
        x += Variable("b", role="y")
    with rg.no_grad():
        x.copy_(Variable("new"))
    assert x.data == "new" and x.version == 1
    batch = Variable(["a", "b"])
    with pytest.raises(ShapeError, match="2 samples"):
        batch.copy_(["a"])


def test_converting_an_inner_variable_keeps_the_graph():
    x = leaf(["1", "2"])
    y = x.to(int)
    assert y.data == [1, 2]
    y.backward("too small")
    assert x.grad[0].data == "too small"


def test_grad_fn_and_output_nr_show_the_graph():
    x = leaf("a b")
    parts = x.split()
    assert [p.output_nr for p in parts] == [0, 1]
    assert parts[0].grad_fn == parts[1].grad_fn and parts[0].grad_fn.name() == "Split"
    assert x.grad_fn is None and x.is_leaf
    both = parts[0] + Variable("b", role="y")
    (node, number), nothing = both.grad_fn.next_functions
    assert (node, number, nothing) == (parts[0].grad_fn, 0, (None, 0))


def test_repr_is_short_and_says_what_matters():
    x = leaf("word " * 100, "a long role")
    x.append_grad(Variable("said"))
    assert len(repr(x)) < 200 and "500 - " not in repr(x) and "role='a long role'" in repr(x) and "feedback=1" in repr(x)
    assert "made_by=Add" in repr(x + x)
    assert repr(Variable(list(range(10)))) == "Variable([0, 1, 2, 3, ... 6 more])"


def test_html_repr_shows_data_as_text_not_as_markup():
    x = leaf("<script>alert(1)</script>")
    x.append_grad(Variable("<b>", role="feedback to x"))
    page = x._repr_html_()
    assert "<script>" not in page and "&lt;script&gt;" in page and "&lt;b&gt;" in page


def test_threads_and_tasks_do_not_see_each_others_grad_mode():
    x, seen = leaf(), []

    async def quiet():
        with rg.no_grad():
            await asyncio.sleep(0)
            seen.append((x + x).requires_grad)

    async def loud():
        await asyncio.sleep(0)
        seen.append((x + x).requires_grad)

    async def both():
        await asyncio.gather(quiet(), loud())

    asyncio.run(both())
    with rg.no_grad():
        in_threads(lambda: seen.append((x + x).requires_grad))
    assert seen == [False, True, True]


def test_deep_graphs_need_no_recursion():
    x = leaf()
    y = x
    for _ in range(5000):
        y = text.shaping.clone(y)
    y.backward("said")
    assert x.grad[0].data == "said"


def test_a_variable_is_as_true_as_what_it_holds():
    assert Variable("a") and Variable(["", ""]) and Variable(0.5)
    assert not (Variable("") or Variable([]) or Variable(0))

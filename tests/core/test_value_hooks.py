import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import GraphError


def leaf(number):
    return rg.tensor(np.array(number), requires_grad=True)


def test_a_hook_sees_the_complete_gradient_once():
    seen = []
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: seen.append(g.item()))
    (y * 3 + y * 4).backward()
    assert seen == [7.0]


def test_a_hook_on_a_leaf_sees_this_pass_alone():
    seen = []
    x = leaf(2.0)
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 3).backward()
    (x * 4).backward()
    assert seen == [3.0, 4.0]
    assert x.grad.item() == 7.0


def test_what_a_hook_returns_replaces_the_gradient_in_order():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: g + 1)
    y.backward()
    assert x.grad.item() == 11 * 4.0


def test_a_removed_hook_is_silent():
    seen = []
    x = leaf(2.0)
    handle = x.register_hook(seen.append)
    handle.remove()
    handle.remove()
    (x * 2).backward()
    assert seen == []


def test_removing_one_of_two_equal_hooks_leaves_the_other():
    seen = []
    x = leaf(2.0)
    hook = lambda g: seen.append(1)
    first, _ = x.register_hook(hook), x.register_hook(hook)
    first.remove()
    (x * 2).backward()
    assert seen == [1]


def test_retained_gradients_are_those_after_the_hooks_before_them():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.backward()
    assert y.grad.item() == 10.0


def test_a_hook_in_a_differentiable_pass_is_differentiated():
    x = leaf(2.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    y.backward(create_graph=True)
    found = x.grad
    assert found.item() == 8.0
    x.grad = None
    found.backward()
    assert x.grad.item() == 8.0


def test_an_error_in_a_hook_reaches_the_user():
    x = leaf(2.0)
    x.register_hook(lambda g: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        (x * 2).backward()


def test_a_hook_needs_a_value_in_the_graph():
    with pytest.raises(GraphError, match="requires_grad=True"):
        rg.tensor(1.0).register_hook(print)
    with pytest.raises(GraphError, match="requires_grad=True"):
        rg.tensor(1.0).retain_grad()


def test_a_hook_may_write_its_gradient_without_touching_others():
    x, w = leaf(2.0), leaf(3.0)
    y = x * 1.0
    y.register_hook(lambda g: g.fill_(100.0))
    (y + w).backward()
    assert x.grad.item() == 100.0
    assert w.grad.item() == 1.0

import numpy as np
import pytest

import retrograde as rg
from retrograde.errors import FreedGraphError, GraphError, ShapeError
from retrograde.testing import assert_close


def leaf(*numbers, dtype=np.float64):
    return rg.tensor(np.array(numbers, dtype), requires_grad=True)


def test_gradient_of_a_reused_value_adds_up():
    x = leaf(3.0)
    (x * x + x * 2 + x).sum().backward()
    assert_close(x.grad, np.array([9.0]))


def test_gradients_of_two_passes_accumulate():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    (x * x).sum().backward()
    assert_close(x.grad, np.array([4.0, 6.0]))


def test_accumulation_writes_into_the_same_gradient():
    x = leaf(1.0)
    (x * 2).sum().backward()
    before = x.grad
    (x * 2).sum().backward()
    assert x.grad is before
    assert before.item() == 4.0


def test_two_losses_that_share_a_subgraph_both_count():
    x = leaf(2.0)
    shared = x * x
    a, b = (shared * 3).sum(), (shared * 5).sum()
    a.backward(retain_graph=True)
    b.backward()
    assert x.grad.item() == 32.0


def test_a_list_of_outputs_is_walked_once_together():
    x = leaf(2.0)
    shared = x * x
    rg.core.gradient.backward([shared.sum(), (shared * 2).sum()])
    assert x.grad.item() == 12.0


def test_inner_values_keep_no_gradient():
    x = leaf(2.0)
    y = x * x
    (y * y).sum().backward()
    assert y.grad is None
    assert x.grad.item() == 32.0


def test_retain_grad_keeps_the_gradient_of_an_inner_value():
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    y.retain_grad()
    z = (y * 3).sum()
    z.backward(retain_graph=True)
    assert y.grad.item() == 3.0
    z.backward()
    assert y.grad.item() == 6.0


def test_retain_grad_on_a_leaf_changes_nothing():
    x = leaf(2.0)
    x.retain_grad()
    (x * 2).sum().backward()
    assert x.grad.item() == 2.0


def test_a_second_backward_on_a_freed_graph_is_an_error():
    x = leaf(2.0)
    y = (x * x).sum()
    y.backward()
    with pytest.raises(FreedGraphError, match="retain_graph=True"):
        y.backward()
    assert x.grad.item() == 4.0


def test_a_freed_subgraph_is_an_error_for_another_loss():
    x = leaf(2.0)
    shared = x * x
    other = (shared * 2).sum()
    (shared * 3).sum().backward()
    with pytest.raises(FreedGraphError):
        other.backward()


def test_retain_graph_lets_the_graph_be_walked_again():
    x = leaf(2.0)
    y = (x * x).sum()
    for _ in range(3):
        y.backward(retain_graph=True)
    assert x.grad.item() == 12.0


def test_create_graph_makes_gradients_differentiable():
    x = leaf(2.0)
    (x**3).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    assert x.grad.item() == 12.0


def test_create_graph_adds_to_a_gradient_that_is_there():
    x = leaf(2.0)
    (x**3).sum().backward()
    (x**3).sum().backward(create_graph=True)
    assert x.grad.item() == 24.0
    found = x.grad
    x.grad = None
    found.sum().backward()
    assert x.grad.item() == 12.0


def test_gradients_without_create_graph_need_no_gradient():
    x = leaf(2.0)
    (x * x).sum().backward()
    assert not x.grad.requires_grad


def test_inputs_restricts_what_is_filled():
    x, y = leaf(2.0), leaf(3.0)
    z = (x * y).sum()
    z.backward(inputs=[x], retain_graph=True)
    assert x.grad.item() == 3.0
    assert y.grad is None
    with pytest.raises(GraphError, match="leaves"):
        z.backward(inputs=[z])


def test_inputs_may_be_unrelated():
    x, y = leaf(2.0), leaf(3.0)
    (x * 2).sum().backward(inputs=[x, y])
    assert y.grad is None
    assert x.grad.item() == 2.0


def test_a_non_scalar_needs_a_gradient():
    x = leaf(1.0, 2.0)
    y = x * x
    with pytest.raises(GraphError, match=r"shape \(2,\).*sum\(\)"):
        y.backward()
    y.backward(np.array([1.0, 10.0]))
    assert_close(x.grad, np.array([2.0, 40.0]))


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_single_number_of_any_shape_needs_no_gradient(shape):
    x = rg.tensor(np.full(shape, 3.0), requires_grad=True)
    (x * 2).backward()
    assert_close(x.grad, np.full(shape, 2.0))


def test_a_gradient_of_the_wrong_shape_is_refused():
    x = leaf(1.0, 2.0)
    with pytest.raises(ShapeError, match=r"\(2,\), got \(1, 2\)"):
        (x * 2).backward(np.ones((1, 2)))


def test_the_gradient_may_be_a_tensor_a_list_or_of_another_dtype():
    for gradient in (rg.tensor([1.0, 2.0]), [1.0, 2.0], np.array([1, 2])):
        x = leaf(1.0, 1.0)
        (x * 3).backward(gradient)
        assert_close(x.grad, np.array([3.0, 6.0]))


def test_the_given_gradient_is_not_taken_over():
    x = leaf(1.0, 2.0)
    seed = np.array([1.0, 1.0])
    rg.add(x, 0.0).backward(seed)
    x.grad[...] = 7.0
    assert (seed == 1).all()


def test_a_value_outside_the_graph_cannot_be_walked():
    with pytest.raises(GraphError, match="requires_grad=True"):
        rg.tensor([1.0]).backward()


def test_backward_of_a_leaf_gives_it_the_seed():
    x = leaf(3.0)
    x.backward()
    x.backward()
    assert x.grad.item() == 2.0


def test_unneeded_branches_are_not_computed():
    calls = []

    class Loud(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            calls.append(1)
            return g

    x, y = leaf(2.0), leaf(3.0)
    (x * Loud.apply(y)).sum().backward(inputs=[x])
    assert calls == []
    assert x.grad.item() == 3.0


def test_requires_grad_of_an_inner_value_cannot_be_set():
    y = leaf(1.0) * 2
    with pytest.raises(GraphError, match="multiply"):
        y.requires_grad = False


def test_turning_requires_grad_off_and_on_keeps_the_gradient():
    x = leaf(2.0)
    (x * 2).sum().backward()
    x.requires_grad = False
    assert not (x * 2).requires_grad
    x.requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.item() == 4.0


@pytest.mark.parametrize("dtype", [np.int64, np.bool_, np.uint8])
def test_only_floats_can_require_gradients(dtype):
    with pytest.raises(TypeError, match="float"):
        rg.tensor(np.zeros(2, dtype), requires_grad=True)


def test_detach_shares_memory_and_cuts_the_graph():
    x = leaf(2.0)
    y = (x * x).detach()
    assert not y.requires_grad
    d = x.detach()
    d[0] = 5.0
    assert x.item() == 5.0
    z = (x * x.detach()).sum()
    z.backward()
    assert x.grad.item() == 5.0


def test_the_walk_is_by_time_not_by_depth():
    # `early` is used again by a much later op: its cotangent must be complete before it is handed on.
    x = leaf(1.0)
    early = x * 2
    late = early
    for _ in range(50):
        late = late * 1.0
    (late + early * 3).sum().backward()
    assert x.grad.item() == 8.0


def test_a_chain_of_100_000_ops_goes_forward_and_back_and_is_deleted():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + 1e-5
    y.sum().backward()
    assert x.grad.item() == 1.0
    y = x
    for _ in range(100_000):
        y = y * 1.0
    del y


def test_a_chain_of_100_000_ops_is_deleted_while_a_middle_value_is_kept():
    x = leaf(1.0)
    y, kept = x, None
    for i in range(100_000):
        y = rg.sin(y)
        if i == 50_000:
            kept = y
    del y
    kept.sum().backward()
    assert np.isfinite(x.grad.item())


def test_a_deep_graph_is_differentiated_twice_without_recursion():
    x = leaf(1.0)
    y = x
    for _ in range(5_000):
        y = y * 1.0001
    g = rg.core.gradient.gradient([(y * y).sum()], [x], create_graph=True)[0]
    h = rg.core.gradient.gradient([g.sum()], [x])[0]
    assert_close(h, np.array([2 * 1.0001**10_000]), rtol=1e-6)


def test_a_wide_graph_adds_10_000_branches():
    x = leaf(1.0)
    rg.stack([x * float(i) for i in range(10_000)]).sum().backward()
    assert x.grad.item() == sum(range(10_000))

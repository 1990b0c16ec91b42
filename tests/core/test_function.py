"""Function: ops in PyTorch's manner, in both styles."""

import re
from typing import ClassVar

import numpy as np
import pytest

import retrograde as rg
from cube import Cube
from retrograde.errors import ArgumentError, GraphError, InplaceError


class Scaled(rg.Function):
    """Two results, an argument that is no tensor, forward and context apart."""

    @staticmethod
    def forward(x, y, factor):
        return x * factor, x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.factor = inputs
        ctx.save_for_backward(x, y)

    @staticmethod
    def backward(ctx, scaled, product):
        x, y = ctx.saved_tensors
        Scaled.seen = ctx.needs_input_grad
        return scaled * ctx.factor + product * y, product * x, None


class Exponential(rg.Function):
    @staticmethod
    def forward(ctx, x):
        y = rg.exp(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_a_backward_written_in_ops_can_be_differentiated_to_any_order(order):
    ours, plain, saved = Cube.apply, lambda x: x**3, Exponential.apply
    for _ in range(order):
        ours, plain, saved = rg.grad(ours), rg.grad(plain), rg.grad(saved)
    assert ours(2.0) == pytest.approx(float(plain(2.0)))
    assert saved(0.5) == pytest.approx(np.exp(0.5))


def test_several_outputs_each_hand_back_their_gradient():
    x, y = (rg.tensor(np.array(v), requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    scaled, product = Scaled.apply(x, y, 10.0)
    ((scaled * np.array([1.0, 2.0])).sum() + (product * np.array([5.0, 7.0])).sum()).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [10 + 15, 20 + 28])
    np.testing.assert_array_equal(y.grad.numpy(), [5.0, 14.0])


def test_an_output_that_received_nothing_hands_back_zeros_or_none():
    x, y = (rg.tensor(np.array(v), requires_grad=True) for v in ([1.0, 2.0], [3.0, 4.0]))
    Scaled.apply(x, y, 10.0)[0].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [10.0, 10.0])
    np.testing.assert_array_equal(y.grad.numpy(), [0.0, 0.0])


def test_needs_input_grad_says_what_is_wanted():
    x, y = rg.tensor([1.0], requires_grad=True), rg.tensor([2.0])
    Scaled.apply(x, y, 2.0)[1].sum().backward()
    assert Scaled.seen == (True, False, False)


def test_without_tensors_that_need_gradients_nothing_is_recorded():
    assert not Cube.apply(rg.tensor(2.0)).requires_grad
    with rg.no_grad():
        assert not Cube.apply(rg.tensor(2.0, requires_grad=True)).requires_grad


def test_a_wrong_number_of_gradients_is_an_error():
    class Short(Cube):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    x = rg.tensor(1.0, requires_grad=True)
    with pytest.raises(GraphError, match="2"):
        Short.apply(x, x).backward()


def test_only_values_can_be_saved():
    class Wrong(Cube):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(3)
            return x

    with pytest.raises(ArgumentError, match="int"):
        Wrong.apply(rg.tensor(1.0, requires_grad=True))


def test_a_saved_tensor_that_was_written_to_is_refused():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    z = Cube.apply(y)
    y += 1
    with pytest.raises(InplaceError, match="Cube"):
        z.sum().backward()


def test_outputs_can_be_marked_as_constants():
    class Sorted(rg.Function):
        @staticmethod
        def forward(ctx, x):
            order = rg.tensor(np.argsort(x.data).astype(float))
            ctx.mark_non_differentiable(order)
            return x * 2, order

        @staticmethod
        def backward(ctx, g, _):
            return g * 2

    doubled, order = Sorted.apply(rg.tensor([2.0, 1.0], requires_grad=True))
    assert doubled.requires_grad
    assert not order.requires_grad


def test_a_context_does_not_keep_its_graph_alive():
    import weakref

    x = rg.tensor([1.0], requires_grad=True)
    y = Exponential.apply(x)
    watched = weakref.ref(y)
    del y
    assert watched() is None


class Fresh(rg.Function):
    """Computes with data, and keeps what it made."""

    computes_with_data = True
    made: ClassVar[list] = []

    @staticmethod
    def forward(ctx, x, y):
        outputs = rg.tensor(x.data * 2), rg.tensor(x.data + y.data)
        ctx.mark_non_differentiable(outputs[1])
        Fresh.made[:] = outputs
        return outputs

    @staticmethod
    def backward(ctx, g, _):
        return g * 2, None


def test_results_of_a_function_that_computes_with_data_take_their_place_themselves():
    x, y = rg.tensor([1.0, 2.0], requires_grad=True), rg.tensor([3.0, 4.0])
    double, total = Fresh.apply(x, y)
    assert double is Fresh.made[0] and total is Fresh.made[1]
    assert double.requires_grad and not total.requires_grad
    double.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    with rg.no_grad():
        assert not Fresh.apply(x, y)[0].requires_grad


def returning(gradient):
    class Odd(rg.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * 1.0 + y.sum()

        @staticmethod
        def backward(ctx, g):
            return g, gradient

    return Odd


@pytest.mark.parametrize("shape", [(), (2,), (3, 2), (2, 3, 1)])
def test_a_gradient_of_a_shape_that_cannot_be_fitted_is_told_by_name(shape):
    x, y = rg.ones(2, 3, requires_grad=True), rg.ones(2, 3, requires_grad=True)
    loss = returning(rg.ones(shape)).apply(x, y * 2).sum()
    with pytest.raises(rg.errors.ShapeError, match=rf"rule of Odd must return a gradient of shape \(2, 3\) for argument 1.*got {re.escape(str(shape))}"):
        loss.backward()
    with pytest.raises(rg.errors.ShapeError, match="rule of Odd"):
        rg.jit(rg.grad(lambda x, y: returning(rg.ones(shape)).apply(x, y * 2).sum(), (0, 1)))(np.ones((2, 3)), np.ones((2, 3)))


def test_a_gradient_that_was_broadcast_is_summed_and_has_the_type_of_its_argument():
    x, y = rg.ones(2, 3, requires_grad=True), rg.ones(3, requires_grad=True)
    returning(rg.ones(4, 2, 3, dtype=rg.float64)).apply(x, y * 2).sum().backward()
    assert y.grad.tolist() == [16.0] * 3 and y.grad.dtype == rg.float32


def test_the_shape_that_the_rule_of_a_users_op_returns_is_checked():
    @rg.ops.elementwise(samples=rg.ops.uniform(-3, 3))
    def halved(x, /):
        """Half of `x`."""
        return x / 2

    try:
        halved.defvjp(lambda g, z, x: g.sum() / 2)
        with pytest.raises(rg.errors.ShapeError, match=r"rule of halved must return a gradient of shape \(3,\) for argument 0.*got \(\)"):
            rg.grad(lambda x: (halved(x * x) * 3).sum())(np.ones(3))
        halved.defvjp(lambda g, z, x: g / 2)
        assert rg.grad(lambda x: (halved(x * x) * 3).sum())(np.ones(3)).tolist() == [3.0] * 3
    finally:
        rg.ops.unregister("halved")


def test_the_shape_that_the_rule_of_a_primitive_returns_is_checked():
    half = rg.primitive(lambda x: x / 2)
    rg.extend.defvjp(half, lambda ans, x: lambda g: g[:2])
    with pytest.raises(rg.errors.ShapeError, match="must return a gradient of shape"):
        rg.grad(lambda x: half(x * x).sum())(np.ones(3))


class Softened(rg.Function):
    """Keeps what it is given, and computes with nothing but operators."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x / (1 + x * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - x * x) / (1 + x * x) ** 2


def test_arrays_alone_go_through_a_function_as_arrays():
    x = np.array([0.5, 1.0])
    assert type(Softened.apply(x)) is np.ndarray and Softened.apply(1.0) == 0.5
    rows = rg.scan(lambda c, row: (c + Softened.apply(row), c), 0.0, x)
    np.testing.assert_allclose(rows[0], Softened.apply(x).sum())


def test_a_function_that_computes_with_arrays_says_under_jit_what_can():
    class Sorted(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return rg.tensor(np.sort(x.detach().numpy()))

    with pytest.raises(rg.errors.TraceError) as caught:
        rg.jit(Sorted.apply)(rg.ones(3))
    assert "Sorted.forward is traced" in caught.value.__notes__[0]
    with pytest.raises(rg.errors.TraceError, match="a primitive, computes with arrays"):
        rg.jit(rg.extend.primitive(np.sort))(rg.ones(3))

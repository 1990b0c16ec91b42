import gc
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.value import Record, Value
from retrograde.ops.images.pooling import max_pool2d_with_taps

pytestmark = pytest.mark.usefixtures("young_heap")


class Tracked(np.ndarray):
    """An array whose end can be seen."""


def tracked(*shape):
    return np.ones(shape).view(Tracked)


@contextmanager
def collector_off():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def count(kind):
    # By type: some lazy objects of other libraries compute what `isinstance` asks them for, and warn.
    return sum(issubclass(type(o), kind) for o in gc.get_objects())


def is_alive_after(build):
    """Whether the array that `build` returns a reference to outlives everything but what `build` returned beside it."""
    with collector_off():
        kept, reference = build()
        return reference() is not None, kept


def test_a_record_keeps_only_what_its_rule_reads():
    x = rg.tensor(np.ones(3), requires_grad=True)

    def output(op):
        y = op(x)
        return y * 1.0 if False else y, weakref.ref(y.data)

    # exp reads its result, sin its input: only the first keeps the result when the user lets go.
    for op, is_kept in ((rg.exp, True), (rg.sin, False)):
        y = op(x)
        reference, z = weakref.ref(y.data), y.sum()
        del y
        assert (reference() is not None) == is_kept, op
        z.backward()
        assert reference() is None


def test_what_no_rule_reads_is_freed_while_the_graph_lives():
    x = rg.tensor(np.ones(3), requires_grad=True)
    with collector_off():
        y = x + 1.0
        z = y - 2.0
        reference = weakref.ref(y.data)
        total = rg.reshape(z, (3, 1)).sum()
        del y, z
        assert reference() is None
    total.backward()
    np.testing.assert_array_equal(x.grad.data, np.ones(3))


def test_an_operand_that_needs_no_gradient_is_kept_only_for_the_other():
    x, c = rg.tensor(np.ones(3), requires_grad=True), rg.tensor(np.full(3, 2.0))
    y = x * c
    data = weakref.ref(x.data)
    assert y.record.saved[0][0] is c.data
    assert y.record.saved[1] == ()
    del x
    assert data() is None


def test_backward_frees_what_was_saved_while_the_result_lives():
    x = rg.tensor(np.ones(3), requires_grad=True)
    y = rg.sin(x * 2.0)
    (inner,) = y.record.saved[0]
    reference = weakref.ref(inner)
    del inner
    y.sum().backward()
    assert reference() is None


def test_cotangents_are_freed_on_the_way_back():
    alive = []

    class Watch(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            alive.append(weakref.ref(g.data))
            return g * 2.0

    x = rg.tensor(np.ones(1000), requires_grad=True)
    y = x
    for _ in range(5):
        y = Watch.apply(y)
    with collector_off():
        y.sum().backward()
        assert [r() is not None for r in alive] == [False] * 5


@pytest.mark.parametrize("build", [
    lambda x: (rg.sin(x) * x).sum().backward(),
    lambda x: rg.exp(x).sum().backward(create_graph=False),
    lambda x: rg.softmax(rg.exp(x) * rg.tanh(x)).sum(),
    lambda x: (x.clone().reshape(3, 1)[1:] * 2).sum(),
    lambda x: rg.concatenate([x, x * 2]).sum().backward(),
    lambda x: rg.checkpoint(lambda v: rg.sin(v) * v, x).sum().backward(),
    lambda x: rg.grad(lambda v: rg.grad(lambda u: (u**3).sum())(v).sum())(x),
    lambda x: max_pool2d_with_taps(rg.reshape(rg.stack([x, x, x]), (1, 3, 3)), 2)[0].sum().backward(),
], ids=["backward", "reads its result", "composites", "views", "variadic", "checkpoint", "nested grad", "several outputs"])
def test_graphs_have_no_reference_cycles(build):
    x = rg.tensor(np.ones(3), requires_grad=True)
    build(x)
    x.grad = None
    del x
    with collector_off():
        before = count(Value), count(Record)
        x = rg.tensor(np.ones(3), requires_grad=True)
        build(x)
        x.grad = None
        del x
        assert (count(Value), count(Record)) == before


def test_writing_in_place_makes_no_reference_cycle():
    with collector_off():
        before = count(Value), count(Record)
        x = rg.tensor(np.ones(3), requires_grad=True)
        y = x * 2
        view = y[1:]
        view *= 3.0
        y += 1.0
        y.sum().backward()
        del x, y, view
        assert (count(Value), count(Record)) == before


def test_a_function_makes_no_reference_cycle():
    class Twice(rg.Function):
        @staticmethod
        def forward(ctx, x):
            z = x * 2
            ctx.save_for_backward(x, z)
            return z

        @staticmethod
        def backward(ctx, g):
            _x, _z = ctx.saved_tensors
            return g * 2

    with collector_off():
        before = count(Value), count(Record)
        x = rg.tensor(np.ones(3), requires_grad=True)
        y = Twice.apply(x)
        y.sum().backward(retain_graph=True)
        y.sum().backward(create_graph=True)
        x.grad = None
        del x, y
        assert (count(Value), count(Record)) == before


def test_a_retained_gradient_does_not_keep_its_value_alive():
    x = rg.tensor(np.ones(3), requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = y.sum()
    reference = weakref.ref(y)
    del y
    assert reference() is None
    z.backward()
    assert x.grad is not None


def test_the_graph_does_not_keep_a_leaf_alive():
    x = rg.tensor(np.ones(3), requires_grad=True)
    y = (x * 2).sum()
    reference = weakref.ref(x)
    del x
    assert reference() is None
    y.backward()


def test_notes_of_writes_go_with_their_buffers():
    from retrograde.core import writes

    before = len(writes.WRITTEN)
    x = rg.tensor(np.ones(3))
    x += 1
    assert len(writes.WRITTEN) == before + 1
    del x
    assert len(writes.WRITTEN) == before


def test_the_first_gradient_is_taken_over_without_a_copy_where_it_is_nobody_elses():
    seen = []
    x = rg.tensor(np.ones(3), requires_grad=True)

    class Watch(rg.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1.0

        @staticmethod
        def backward(ctx, g):
            found = np.full(3, 2.0)
            seen.append(found.ctypes.data)
            return rg.asarray(found)

    Watch.apply(x).sum().backward()
    assert x.grad.data.ctypes.data == seen[0]

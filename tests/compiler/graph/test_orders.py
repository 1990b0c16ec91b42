"""Orders: in which order in memory eager ops make their results, where a trace must know it."""

import numpy as np
import pytest

import retrograde as rg
import sweeping
from graphs import called, leaf
from retrograde.compiler.graph import orders
from retrograde.compiler.graph.orders import ANY_ORDER, in_order, is_alike
from retrograde.compiler.graph.views import MOVEMENTS
from retrograde.errors import InplaceError, RetrogradeError

NAMES = [name for name in rg.ops.names() if not rg.ops.get(name).broadcasts and name not in {*MOVEMENTS, *ANY_ORDER, "contract"}]


@pytest.mark.parametrize("name", NAMES)
def test_what_an_op_makes_of_rows_lies_in_rows(name):
    op = rg.ops.get(name)
    for case in sweeping.cases(op):
        args, kwargs = case.drawn(np.float64)
        try:
            with np.errstate(all="ignore"):
                found = sweeping.plain(sweeping.results(op.call(*args, **kwargs)))
        except RetrogradeError:
            continue
        assert all(x.flags.c_contiguous for x in found if x.size), case


def test_a_write_through_a_reshape_of_what_lies_in_an_unknown_order_is_refused_or_right():
    def written(x):
        y = rg.sort(x, axis=0)
        y = y + y
        y.reshape(-1)[::2] = 0.5
        return y

    x = np.array([[0.4, -0.6], [-0.6, 1.5]])
    wanted = written(rg.tensor(x)).numpy()
    try:
        found = rg.jit(written)(x)
    except InplaceError:
        return
    np.testing.assert_array_equal(found, wanted)


LAYOUTS = {
    "rows": lambda x: x,
    "transposed": lambda x: x.T,
    "an axis of stride 0 in front": lambda x: rg.broadcast_to(x[:1], (3, 1, 2, 4)),
    "an axis of stride 0 in the middle": lambda x: rg.broadcast_to(x[:, :1], (2, 3, 4)),
    "an axis of stride 0 at the end": lambda x: rg.broadcast_to(x[..., None], (2, 2, 4, 3)),
    "every other element, axes turned round": lambda x: rg.moveaxis(x, 0, 2)[:, ::2],
    "from the end": lambda x: rg.flip(x, axis=1),
    "an axis of one": lambda x: x[:, :1].T,
}
COPIES = {
    "astype": lambda x: rg.astype(x, "float32"),
    "astype, the same dtype": lambda x: rg.astype(x, "float64"),
    "negative": lambda x: -x,
    "tanh": rg.tanh,
    "add a number": lambda x: x + 1.0,
    "add a row": lambda x: x + np.arange(x.shape[-1]),
    "where": lambda x: rg.where(x > 0.5, x, 0.25),
    "of a copy transposed": lambda x: rg.astype(x, "float32").T * 2,
}


@pytest.mark.parametrize("copied", COPIES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_reshape_of_a_copy_is_a_view_where_it_is_one_in_eager_mode(layout, copied):
    def written(x):
        y = COPIES[copied](LAYOUTS[layout](x))
        y.reshape(-1)[::2] = 0.5
        return y

    x = np.linspace(0.1, 0.9, 16).reshape(2, 2, 4)
    np.testing.assert_allclose(rg.jit(written)(x), written(rg.tensor(x)).numpy(), rtol=1e-6)


ONE_OPERAND = [name for name in rg.ops.names() if rg.ops.get(name).broadcasts and len(rg.ops.get(name).operands) == 1]


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex128", "bool"])
def test_each_function_of_one_array_that_is_repeated_lies_as_its_eager_op_leaves_it(dtype):
    wrong = []
    for name in ONE_OPERAND:
        op = rg.ops.get(name)
        for repeated in (lambda x: rg.broadcast_to(x, (2, 3, 4)), lambda x: rg.broadcast_to(x, (2, 3, 4)).T):
            x, seen = rg.tensor(np.ones((1, 3, 1), dtype)), []
            try:
                with np.errstate(all="ignore"):
                    wanted = op.call(repeated(x)).numpy()
                    rg.jit(lambda x, op=op, repeated=repeated, seen=seen: seen.append(in_order(op.call(repeated(x)).raw)))(x)
            except (RetrogradeError, TypeError):
                continue  # of more than one array, of another dtype, or of an order that is not known
            if not is_alike(seen[0], wanted):
                wrong.append((name, wanted.strides, seen[0].strides))
    assert not wrong


def test_what_is_copied_in_rows_lies_in_rows_whatever_it_was():
    x = leaf(3, 4)
    assert orders._is_row_major(called("contiguous", x), [None])
    assert not orders._is_row_major(called("cumsum", x, axis=1), [None])
    assert orders._is_row_major(called("cumsum", x, axis=1), [np.ones((3, 4))]) and not orders._is_row_major(called("sort", x), [np.ones((4, 3)).T])
    assert orders._is_row_major(called("matmul", x, leaf(4, 2)), [np.ones((4, 3)).T, np.ones((4, 2))])
    assert not orders._is_row_major(called("matmul", x, leaf(4, 2)), [None, np.ones((4, 2))])

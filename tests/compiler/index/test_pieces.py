"""pieces: arrays that fill another one are written where they stand in it, forward and in derivatives."""

import numpy as np
import pytest

import retrograde as rg
from graphs import called, leaf
from retrograde.compiler.index import pieces

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")

GATES = np.random.default_rng(0).standard_normal((5, 12))


def _compiled(function, *args):
    """What a function gives compiled, and the ops of its kernels."""
    step = rg.jit(function)
    return np.asarray(step(*args)), [op for kernel in step.explain().kernels for op in kernel.ops]


def _slope(function):
    return rg.grad(lambda x: (function(x) ** 2).sum())


def _gated(x):
    i, f, g, o = (x[:, 3 * k : 3 * k + 3] for k in range(4))
    return rg.sigmoid(o) * rg.tanh(rg.sigmoid(i) * rg.tanh(g) + rg.sigmoid(f))


def _unbound(x):
    first, second, third, *_ = (x[:, k] for k in range(12))
    return first * second + rg.sin(third) + sum(x[:, k] for k in range(3, 12))


SPLITS = {"gates": _gated, "columns": _unbound, "halves of rows": lambda x: x[:2] * x[2:4] * x[3:].sum(),
          "rows": lambda x: rg.exp(x[0]) * x[1] + x[2] * x[3] * x[4], "turned": lambda x: x[::-1][:3] * x[2:],
          "a part": lambda x: rg.tanh(x[:, 3:6]) * x[:, 6:9], "met twice": lambda x: x[:, :6] * x[:, 6:] * x[:, 3:9]}
JOINS = {
    "tiles": lambda x: rg.concatenate([rg.tanh(x), rg.sin(x), x * 2], axis=1),
    "tiles in front": lambda x: rg.concatenate([rg.tanh(x), rg.sin(x)], axis=0),
    "many": lambda x: rg.concatenate([x * k for k in range(9)], axis=-1),
    "a stack of many": lambda x: rg.stack([rg.sin(x) * k for k in range(7)], axis=1),
    "a stack behind": lambda x: rg.stack([rg.sin(x), x], axis=-1),
    "of different sizes": lambda x: rg.concatenate([rg.sin(x), x[:, :2]], axis=1),
    "read again": lambda x: rg.concatenate([rg.tanh(x), rg.sin(x)], axis=1)[:, 3:15] * x,
    "folded": lambda x: rg.stack([rg.tanh(x), rg.sin(x)]).sum(axis=0) + rg.concatenate([x, rg.exp(x)]).sum(),
    "a product of it": lambda x: rg.concatenate([rg.tanh(x), rg.sin(x)], axis=0) @ np.ones((12, 2)),
    "with constants": lambda x: rg.concatenate([np.ones((5, 12)), rg.sin(x)], axis=1),
    "rows of rows": lambda x: rg.concatenate([rg.concatenate([x[:2], x[3:]]), x[1:4], x[:1]]) * 2,
    "rows and columns": lambda x: rg.concatenate([rg.concatenate([x[:2, 3:], x[:2, :1]], axis=1), x[1:4, 2:]]) * 2,
    "rows turned and not": lambda x: rg.sum(rg.concatenate([x[:2], x[:2, ::-1], rg.flip(x)]) * np.arange(12.0), axis=1),
    "rows of numbers": lambda x: rg.concatenate([x[:2], np.arange(24).reshape(2, 12), rg.ones(1, 12)]) + x[0],
    "both": lambda x: rg.concatenate([-rg.sin(x[:, 6:]), rg.cos(x[:, :6])], axis=1) * x,
}


@pytest.mark.parametrize("name", SPLITS)
def test_gradients_of_parts_are_the_eager_ones(name):
    slope = _slope(SPLITS[name])
    np.testing.assert_allclose(_compiled(slope, rg.tensor(GATES))[0], np.asarray(slope(rg.tensor(GATES))), rtol=1e-12)


@pytest.mark.parametrize("name", JOINS)
def test_what_is_joined_and_its_gradient_are_the_eager_ones(name):
    for function in (JOINS[name], _slope(JOINS[name])):
        np.testing.assert_allclose(_compiled(function, rg.tensor(GATES))[0], np.asarray(function(rg.tensor(GATES))), rtol=1e-12)


@pytest.mark.parametrize("name", ["gates", "columns", "rows"])
def test_gradients_of_parts_that_fill_the_whole_are_not_added_to_zeros(name):
    ops = _compiled(_slope(SPLITS[name]), rg.tensor(GATES))[1]
    assert "scatter_add" not in ops
    assert "concatenate" in ops or "stack" in ops


WEIGHT = np.random.default_rng(1).standard_normal((128, 32))
ROWS = {
    "beside each other": lambda x: rg.softmax(rg.concatenate([rg.tanh(x), rg.sin(x)], axis=1), axis=1),
    "below each other": lambda x: rg.softmax(rg.concatenate([rg.tanh(x), rg.sin(x)], axis=0), axis=1) @ WEIGHT[:64],
    "stacked": lambda x: rg.softmax(rg.stack([rg.tanh(x), rg.sin(x)], axis=1).reshape(1000, 128) @ WEIGHT, axis=1),
    "cut": lambda x: rg.softmax(x[:, :32] * x[:, 32:], axis=1) @ WEIGHT[:32],
}


@pytest.mark.parametrize("name", ROWS)
def test_parts_are_written_in_passes_that_take_turns_as_well(name):
    x = rg.tensor(np.random.default_rng(2).standard_normal((1000, 64)))
    for function in (ROWS[name], _slope(ROWS[name])):
        np.testing.assert_allclose(_compiled(function, x)[0], np.asarray(function(x)), rtol=1e-9, atol=1e-12)


def test_many_arrays_are_joined_by_a_kernel():
    assert "library" not in [k.kind for k in _explained(JOINS["many"]).kernels]


def _explained(function):
    step = rg.jit(function)
    step(rg.tensor(GATES))
    return step.explain()


def pieces_of(name, *arguments):
    """How many pieces a node is joined from; None if it is not."""
    found = pieces.PIECES[name](called(name, *arguments))
    return None if found is None else len(found[0])


X = leaf(3)


@pytest.mark.parametrize(("name", "arguments", "count"), [
    ("stack", ([X] * pieces._MOST, 0), pieces._MOST), ("stack", ([X] * (pieces._MOST + 1), 0), None),
    ("concatenate", ([X] * pieces._MOST, 0), pieces._MOST), ("concatenate", ([X] * (pieces._MOST + 1), 0), None),
    ("concatenate", ([X] * (pieces.MOST_IN_LOOPS - 1) + [leaf(2)], 0), pieces.MOST_IN_LOOPS),
    ("concatenate", ([X] * pieces.MOST_IN_LOOPS + [leaf(2)], 0), None),
    ("concatenate", ([X, leaf(0), X], 0), 2),
    ("concatenate", ([X, X], None), None),
    ("pad", (X, 1, 2.0), 1), ("pad", (X, 1, leaf()), None), ("pad", (np.ones(3), 1, 0.0), None),
    ("scatter_add", (X, (5,), slice(1, 4)), 1), ("scatter_add", (X, (2, 5), (1, slice(4, 1, -1))), 1),
    ("scatter_add", (leaf(2), (5,), slice(0, 4, 2)), None),  # a step of two
    ("scatter_add", (leaf(), (5,), (3,)), 1),
    ("scatter_add", (leaf(1, 3), (3,), True), None),
    ("scatter_add", (leaf(1), (5,), slice(1, 4)), None),  # one number at three places
    ("scatter_add", (np.ones(3), (5,), slice(1, 4)), None),
])
def test_what_is_joined_from_pieces(name, arguments, count):
    assert pieces_of(name, *arguments) == count


def test_a_number_is_one_piece_of_its_own_padding():
    x = leaf()
    found, between = pieces.PIECES["pad"](called("pad", x, (), 7.0))
    assert [(piece.source, tuple(piece.axes)) for piece in found] == [(x, ())]
    assert between == 7.0
    (piece,), _ = pieces.PIECES["pad"](called("pad", leaf(3, 4), ((1, 2), (0, 5)), 0.0))
    assert [tuple(np.array(axis).tolist()) for axis in piece.axes] == [(0, 1, 1), (1, 0, 1)]

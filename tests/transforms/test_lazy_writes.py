"""Writes in place in lazy graphs: values and gradients are the eager ones, whatever made the value, shows it and is written."""

import random
from contextlib import nullcontext

import numpy as np
import pytest

import retrograde as rg

X = np.random.default_rng(0).standard_normal((3, 4))

MADE = {
    "arithmetic": lambda x: x * 2,
    "transposed": lambda x: x.T * 2,
    "cond of a transposed value": lambda x: _cond(x.T * 3) * 1,
    "scan": lambda x: rg.scan(lambda c, _: (c * 0.9, c), x * 1, length=2)[0] * 1,
    "cond of a diff": lambda x: _cond(rg.diff(x, axis=0)) * 1,
    "cast": lambda x: (x.T * 2).astype("float32"),
    "running sum": lambda x: rg.cumsum(x.T * 2, 0),
    "row": lambda x: x[0] * 2,
}

SHOWN = {
    "itself": lambda y: y,
    "T": lambda y: y.T if y.ndim == 2 else y[::-1],
    "reshape": lambda y: y.reshape(-1),
    "slice": lambda y: y[1:],
    "reshape of T": lambda y: y.T.reshape(-1) if y.ndim == 2 else y.reshape(2, -1),
    "expand_dims": lambda y: rg.expand_dims(y, 0),
    "squeeze": lambda y: rg.squeeze(y[None], 0),
    "flip": lambda y: rg.flip(y, 0),
    "element": lambda y: y[0],
}


def _masked(z, _):
    z[z > 0] = 0.5


def _chosen(z, _):
    z[z > 0] = z[z > 0] * 2


def _set(z, x):
    z[(slice(None, None, 2),) * min(z.ndim, 1)] = x[0, 0]


def _whole(z, _):
    z[...] = 0.5


def _multiply(z, _):
    z *= 3


WRITTEN = {"set": _set, "multiply": _multiply, "masked": _masked, "chosen": _chosen, "whole": _whole}


def _cond(y):
    return rg.cond(rg.sum(y) > 0, lambda c: rg.maximum(c * 0.9, y), lambda c: c + y * 0, y + y * 0)


def _result(made, show, write, when, is_lazy):
    x = rg.tensor(X, requires_grad=True)
    with rg.lazy() if is_lazy else nullcontext():
        y = made(x)
        if when == "realized before":
            rg.realize(y)
        z = show(y)
        if when == "view realized":
            rg.realize(z)
        write(z, x)
        if when == "realized after":
            rg.realize(y)
        doubled = y * y
        (doubled.sum() + (z * z * z).sum()).backward()
        return [found.detach().numpy() for found in (y, z, doubled, x.grad)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("when", ["not realized", "realized before", "view realized", "realized after"])
@pytest.mark.parametrize("name", MADE)
def test_what_is_written_in_a_lazy_graph_and_its_gradient_are_the_eager_ones(name, when):
    wrong = []
    for shown, show in SHOWN.items():
        for written, write in WRITTEN.items():
            wanted = _result(MADE[name], show, write, when, is_lazy=False)
            try:
                got = _result(MADE[name], show, write, when, is_lazy=True)
                for a, b in zip(got, wanted, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
            except Exception as error:  # noqa: BLE001 - all that are wrong are named
                wrong.append((shown, written, type(error).__name__, str(error)[-300:]))
    assert not wrong


def _element_of_what_is_there(x):
    y, z = x * 2, x * 3
    w = z * z
    w.T[...] *= 2
    y[1] = z[1]
    return y, w


def _row_of_numbers(x):
    y = x * 2
    y[x > 0] = rg.ones(int((X[0] > 0).sum()), dtype="float64") * 5
    return (y,)


def _added_what_cannot_wait(x):
    y, z = x * 2, x * 3
    y *= z[z == z]
    return (y * x,)


def _index_of_one_element_chosen(x):
    y = x * 2
    y[rg.nonzero(x < 0)[0]] = x[rg.nonzero(x < 0)[0]] * 3
    return (y * y,)


@pytest.mark.parametrize("function", [
    _element_of_what_is_there, _row_of_numbers, _added_what_cannot_wait, _index_of_one_element_chosen])
def test_what_cannot_wait_is_written_to_a_lazy_value_as_eagerly(function):
    def run():
        x = rg.tensor(X[0], requires_grad=True)
        found = function(x)
        sum([(z * z).sum() for z in found]).backward()
        return [*[z.detach() for z in found], x.grad]

    with rg.lazy():
        got = run()
    for a, b in zip(got, run(), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)


def test_a_lazy_value_lies_in_memory_as_the_eager_one():
    def run():
        x = rg.tensor(X)
        y = x.T * 2
        return [y, (y + 1).astype("float32"), rg.diff(x, axis=0), x @ y, y[::-1] * x.T, x.T[:, None] * 2]

    with rg.lazy():
        got = run()
    for a, b in zip(got, run(), strict=True):
        assert a.realize().data.strides == b.data.strides


#: What draws a view of a tensor; of an element alone the last is a copy, and so is the reshape of what lies in another order.
VIEWS = (
    lambda v: v.T,
    lambda v: v.reshape(1, -1) if v.ndim == 1 else v.reshape(-1),
    lambda v: rg.flip(v, axis=-1) if v.ndim else v.reshape(1),
    lambda v: v[::2] if v.ndim else v.reshape(1),
    lambda v: v[..., None],
    lambda v: v[(0,) * v.ndim] if v.ndim else v[None],
    lambda v: v.detach(),
)


def _drawn(seed, is_lazy):
    """What a chain of drawn views holds, some of them dropped, written to in the graph and after it, and the gradient of all."""
    rng = random.Random(seed)
    x = rg.tensor(X[:2, :3], requires_grad=rng.random() < 0.5)
    with rg.lazy() if is_lazy else nullcontext():
        views = [x.T * 1.0]
        for _ in range(rng.randint(1, 8)):
            views.append(rng.choice(VIEWS)(rng.choice(views)))
            if rng.random() < 0.3:
                rng.choice(views).__imul__(2.0)
        if rng.random() < 0.4:
            del views[1:-1:2]
    for _ in range(rng.randint(0, 4)):
        rng.choice(views).__imul__(3.0)
    found = [np.array(v.detach()) for v in views]
    if x.requires_grad:
        sum((v * v).sum() * (i + 1) for i, v in enumerate(views)).backward()
        found.append(np.array(x.grad))
    return found


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_views_of_copies_that_are_written_to_in_the_graph_and_after_it_are_the_eager_ones(first):
    for seed in range(first, first + 50):
        for wanted, got in zip(_drawn(seed, False), _drawn(seed, True), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12, err_msg=f"seed {seed}")

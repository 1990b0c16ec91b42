"""Steps: what changes between calls of a compiled function is noticed or followed, and each call does what eager code does."""

from types import SimpleNamespace

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytestmark = pytest.mark.filterwarnings("ignore::retrograde.errors.RetraceWarning")
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


@pytest.fixture(autouse=True)
def run_by_numpy(monkeypatch):
    """What is asked before a call does not depend on how a program runs; so nothing needs to be compiled."""
    monkeypatch.setenv("RETROGRADE_COMPILER", "reference")


def _layer(scale):
    layer = nn.Linear(3, 2).to("float64")
    for parameter in layer.parameters():
        parameter.data = np.arange(float(parameter.size)).reshape(parameter.shape) * scale
    return layer


def made():
    """Tensors that the functions below use from outside, in memory of their own."""
    w, v = (rg.tensor(np.array(row), requires_grad=True) for row in ([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]))
    both = np.array([7.0, 8.0, 9.0])
    model = nn.Sequential(_layer(0.1), nn.Dropout(0.0))
    a, b = rg.tensor(both), rg.tensor(both)
    a.data = b.data = both
    return SimpleNamespace(w=w, v=v, a=a, b=b, model=model, optimizer=rg.optim.SGD([w, v], lr=0.5), kept=[None])


def reading(on):
    return lambda x: (x * on.w + on.a * on.b).sum() + on.model(x).sum() + on.v.sum()


def writing(on):
    def function(x):
        with rg.no_grad():
            on.a[...] = on.a * 2 + x.sum()
        return (x * on.w).sum()
    return function


def of_twins(on):
    def function(x):
        with rg.no_grad():
            on.b[...] = on.b + 1.0
        return (x * on.a).sum()
    return function


def adding_up(on):
    def function(x):
        loss = (x * on.w * on.v).sum()
        loss.backward()
        return loss
    return function


def training(on):
    def function(x):
        on.optimizer.zero_grad()
        loss = (x * on.w * on.v).sum()
        loss.backward()
        on.optimizer.step()
        return loss
    return function


def doubling_gradients(on):
    def function(x):
        with rg.no_grad():
            on.w.grad[...] = on.w.grad * 2.0
            on.w[...] = on.w + on.v.grad
        return (x * on.w).sum()
    return function


def switching(on):
    def function(x):
        on.v.requires_grad = False
        return (x * on.w * on.v).sum()
    return function


def _with_gradients(on):
    on.w.grad, on.v.grad = rg.tensor(np.array([0.5, 0.25, 1.0])), rg.tensor(np.array([1.0, -1.0, 2.0]))


def _shared(on):
    on.w.grad = on.v.grad = rg.tensor(np.array([0.5, 0.25, 1.0]))


def _linked(on):
    on.w.grad = on.v * 2.0


def _set(**named):
    """Give tensors other arrays."""
    def change(on):
        for name, array in named.items():
            getattr(on, name).data = array(on) if callable(array) else array.copy()
    return change


def _gradient(**named):
    def change(on):
        for name, gradient in named.items():
            getattr(on, name).grad = None if gradient is None else rg.tensor(gradient)
    return change


def _gradient_data(on, array):
    on.w.grad = rg.tensor(np.zeros(3))
    on.w.grad.data = array


def _require(on):
    on.v.requires_grad = False


def _apart(on):
    on.b.data = on.b.data.copy()


def _together(on):
    on.a.data = on.b.data = np.array([0.5, 0.25, 0.125])


def _module(on):
    on.model[0] = _layer(0.7)


def _bias(on):
    on.model[0].bias.data = np.array([3.0, 4.0])


_ALIKE = np.array([9.0, 8.0, 7.0])


def _every_other(_=None):
    return np.arange(6.0)[::2]


#: What a function does, what is prepared, what changes after two calls, how often it is traced in four calls, and what is told of
#: the change; None where it is followed.
CHANGES = {
    "nothing": (reading, None, None, 1, None),
    "an array": (reading, None, _set(w=_ALIKE), 1, None),
    "an array that does not lie in rows": (reading, None, _set(w=_every_other), 1, None),
    "a parameter of a module": (reading, None, _bias, 1, None),
    "a shape": (reading, None, _set(w=np.ones((2, 3))), 2, "the shape or the dtype of a tensor"),
    "a dtype": (reading, None, _set(w=np.ones(3, "f4")), 2, "the shape or the dtype of a tensor"),
    "whether a gradient is required": (reading, None, _require, 2, "whether a tensor requires gradients"),
    "a hook": (reading, None, lambda on: on.w.register_hook(lambda g: g * 2), 2, None),
    "a module": (reading, None, _module, 2, ""),
    "the mode of a module": (reading, None, lambda on: on.model.eval(), 2, ""),
    "twins that part": (reading, None, _apart, 2, None),
    "twins that stay": (reading, None, _together, 1, None),
    "an array that is written to": (writing, _apart, _set(a=_ALIKE), 1, None),
    "one that does not lie in rows": (writing, _apart, _set(a=_every_other), 1, None),
    "one that shows another": (writing, _apart, _set(a=lambda on: on.w.data[::-1]), 2, None),
    "one that shows what is not read": (writing, _apart, _set(a=lambda on: on.b.data[::-1]), 1, None),
    "twins that are written to": (of_twins, None, None, 1, None),
    "twins that are written to and part": (of_twins, None, _apart, 2, None),
    "gradients from the first call on": (adding_up, None, None, 2, None),
    "gradients that are taken away": (adding_up, _with_gradients, _gradient(w=None, v=None), 2, "whether there is a gradient"),
    "one gradient that is taken away": (adding_up, _with_gradients, _gradient(w=None), 2, "whether there is a gradient"),
    "a gradient": (adding_up, _with_gradients, _gradient(w=_ALIKE), 1, None),
    "a gradient of another dtype": (adding_up, _with_gradients, lambda on: _gradient_data(on, np.ones(3, "f4")), 2, "the gradient of a tensor"),
    "a gradient that does not lie in rows": (doubling_gradients, _with_gradients, lambda on: _gradient_data(on, _every_other()), 1, None),
    "gradients that become one": (adding_up, _with_gradients, _shared, 2, None),
    "one gradient of two": (doubling_gradients, _shared, None, 1, None),
    "one gradient of two that part": (doubling_gradients, _shared, _with_gradients, 2, "the gradient of a tensor"),
    "a gradient that shows what is written": (doubling_gradients, _with_gradients, lambda on: _gradient_data(on, on.w.data), 2, None),
    "a gradient that shows another": (doubling_gradients, _with_gradients, lambda on: _gradient_data(on, on.v.grad.data[::-1]), 2, None),
    "a gradient with a history": (doubling_gradients, _with_gradients, _linked, 2, "the gradient of a tensor"),
    "gradients that are cleared": (training, None, None, 1, None),
    "a rate": (training, None, lambda on: setattr(on.optimizer, "lr", 0.125), 1, None),
    "gradients before those that are cleared": (training, _with_gradients, _gradient(w=None), 1, None),
    "who requires gradients, inside": (switching, None, None, 2, None),
}


def _seen(on):
    """All numbers that one can see."""
    tensors = [on.w, on.v, on.a, on.b, *on.model.parameters()]
    found = [t.data.copy() for t in tensors]
    found += [None if t.grad is None else t.grad.data.copy() for t in (on.w, on.v)]
    return [*found, [t.requires_grad for t in tensors], on.w.grad is on.v.grad]


@pytest.mark.parametrize("name", CHANGES)
def test_what_changes_between_calls_is_noticed_or_followed(name):
    function, prepare, change, traces, told = CHANGES[name]
    eager, compiled = made(), made()
    for on in (eager, compiled):
        if prepare is not None:
            prepare(on)
    run, step = function(eager), rg.jit(function(compiled))
    for turn in range(4):
        if turn == 2 and change is not None:
            change(eager)
            change(compiled)
            found = None if step._memory.last is None else step._memory.last.changed()
            assert (found is None) is (told is None) and (told or "") in (found or ""), found
        x = rg.tensor(X * (turn + 1))
        wanted, found = run(x), step(x)
        assert found.item() == pytest.approx(wanted.item(), rel=1e-12)
        assert function is not reading or found.requires_grad is wanted.requires_grad  # without one over what it writes to
        for a, b in zip(_seen(eager), _seen(compiled), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-12) if isinstance(a, np.ndarray) else None
            assert isinstance(a, np.ndarray) or a == b
    assert step.traces == traces

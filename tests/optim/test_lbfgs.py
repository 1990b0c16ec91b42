"""L-BFGS: it finds minima of smooth functions, in PyTorch's steps."""

import json

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import ArgumentError, DTypeError, GraphError, TraceError

START = np.array([-1.2, 1.0, 0.7, -0.4])
CASES = [{}, {"lr": 0.5, "history_size": 3}, {"line_search_fn": "strong_wolfe"},
         {"lr": 0.8, "max_iter": 7, "max_eval": 9, "line_search_fn": "strong_wolfe", "history_size": 2},
         {"lr": 0.1, "max_iter": 5, "tolerance_change": 1e-3}]


def rosenbrock(x, y):
    return (100 * (y - x**2) ** 2 + (1 - x) ** 2).sum()


def bowl(x, y):
    return ((x - 1) ** 2 * 3 + (y + x * 0.5) ** 4 + y**2 * 0.1).sum()


def trained(library, loss, options, steps=6):
    """The parameters after each of some steps, and the optimizer."""
    tensor = rg.tensor if library is rg else library.tensor
    module = nn if library is rg else library.nn
    x, y = (module.Parameter(tensor(START[part].copy())) for part in (slice(0, 2), slice(2, 4)))
    optimizer, asked, path = library.optim.LBFGS([x, y], **options), [], []

    def closure():
        optimizer.zero_grad()
        found = loss(x, y)
        found.backward()
        asked.append(found.item())
        return found

    for _ in range(steps):
        optimizer.step(closure)
        path.append([*x.tolist(), *y.tolist()])
    return np.array(path), optimizer, asked


@pytest.mark.parametrize("loss", [rosenbrock, bowl])
def test_the_minimum_is_found(loss):
    path, optimizer, asked = trained(rg, loss, {"line_search_fn": "strong_wolfe", "max_iter": 60}, steps=3)
    x = [rg.tensor(p, requires_grad=True) for p in (path[-1][:2], path[-1][2:])]
    loss(*x).backward()
    assert max(np.abs(t.grad.numpy()).max() for t in x) < 1e-3
    state = next(iter(optimizer.state.values()))
    assert state["func_evals"] == len(asked) and asked[-1] < asked[0]
    if loss is rosenbrock:
        np.testing.assert_allclose(path[-1], 1.0, atol=1e-4)


@pytest.mark.parametrize("options", CASES, ids=str)
@pytest.mark.parametrize("loss", [rosenbrock, bowl])
def test_steps_agree_with_torch(loss, options):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    steps = 1 if loss is rosenbrock else 6  # in its curved valley rounding errors grow
    ours, optimizer, asked = trained(rg, loss, options, steps)
    theirs, other, losses = trained(torch, loss, options, steps)
    np.testing.assert_allclose(asked, losses, rtol=1e-6)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    mine, yours = optimizer.state_dict(), other.state_dict()
    assert mine["param_groups"] == yours["param_groups"] and mine["state"][0].keys() == yours["state"][0].keys()
    assert all(mine["state"][0][name] == yours["state"][0][name] for name in ("func_evals", "n_iter"))


def test_a_state_that_was_saved_goes_on_as_if_never_interrupted():
    expected, _, _ = trained(rg, bowl, CASES[3], steps=4)
    x, y = (nn.Parameter(rg.tensor(START[part].copy())) for part in (slice(0, 2), slice(2, 4)))
    saved = None
    for _ in range(4):
        again = optim.LBFGS([x, y], **CASES[3])
        if saved is not None:
            again.load_state_dict(saved)

        def closure(optimizer=again):
            optimizer.zero_grad()
            found = bowl(x, y)
            found.backward()
            return found

        again.step(closure)
        saved = again.state_dict()
    assert [*x.tolist(), *y.tolist()] == expected[-1].tolist()
    assert json.dumps(saved["param_groups"])


def test_what_cannot_work_is_said():
    p = nn.Parameter(rg.ones(2))
    optimizer = optim.LBFGS([p])
    with pytest.raises(ArgumentError, match="pass a closure"):
        optimizer.step()
    with pytest.raises(ArgumentError, match="one group"):
        optim.LBFGS([{"params": [p]}, {"params": [nn.Parameter(rg.ones(1))]}])
    with pytest.raises(ArgumentError, match="'armijo'"):
        optim.LBFGS([p], line_search_fn="armijo")
    with pytest.raises(TraceError, match=r"jit the closure instead, as in optimizer\.step\(rg\.jit\(closure\)\)"):
        rg.jit(lambda: optimizer.step(lambda: p.sum()))()
    with pytest.raises(GraphError, match="left no gradient"):
        optimizer.step(lambda: (p * p).sum())
    with pytest.raises(DTypeError, match="must return the loss, a single number, got None"):
        optimizer.step(lambda: (p * p).sum().backward())
    assert p.tolist() == [1.0, 1.0]

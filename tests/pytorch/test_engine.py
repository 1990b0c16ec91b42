"""The engine computes with tensors of PyTorch's kind by ops: it calls none of their methods that mean something else."""

import sys

import numpy as np
import pytest
from both import gradients, inputs
from calls import CALLS
from test_layers_through import Door

from layer_cases import CASES, run
from retrograde import torch
from retrograde.tensor.tensor import Tensor as Plain

#: Methods and attributes that PyTorch and NumPy give another meaning.
DIFFERENT = ("var", "std", "max", "min", "sort", "argsort", "repeat", "split", "median", "quantile", "topk", "squeeze", "flatten", "norm", "diff",
             "gather", "scatter", "take", "unbind", "nonzero", "round", "roll", "flip", "tile", "transpose", "dot", "view")


@pytest.fixture
def calls_of_the_engine(monkeypatch):
    """(name, module) of what files of the engine read of such methods, and of `data`."""
    seen = set()

    def watched(name, found):
        def get(x):
            module = sys._getframe(1).f_globals.get("__name__", "")
            if module.startswith("retrograde.") and not module.startswith("retrograde.torch"):
                seen.add((name, module))
            return found.__get__(x, type(x))

        return property(get, getattr(found, "__set__", None))

    for name in (*DIFFERENT, "data"):
        monkeypatch.setattr(torch.Tensor, name, watched(name, vars(torch.Tensor)[name]))
    return seen


def test_the_watch_finds_a_call(calls_of_the_engine):
    code = compile("x.var()", "planted", "eval")
    eval(code, {"__name__": "retrograde.nn.planted", "x": torch.ones(3)})
    eval(code, {"__name__": "a_program", "x": torch.ones(3)})
    assert calls_of_the_engine == {("var", "retrograde.nn.planted")}


def test_no_call_reaches_a_method_that_differs(calls_of_the_engine):
    for call in CALLS:
        given = inputs(torch)
        gradients(eval(call, given), given)
    assert not calls_of_the_engine


def test_no_layer_calls_a_method_that_differs(calls_of_the_engine):
    for case in CASES[::2]:
        run(case, Door())
    assert not calls_of_the_engine


def test_no_optimizer_calls_a_method_that_differs(calls_of_the_engine):
    kinds = [kind for name, kind in vars(torch.optim).items() if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
             and name not in ("Optimizer", "LBFGS", "SparseAdam")]  # which takes gradients of rows alone
    for kind in kinds:
        p = torch.nn.Parameter(torch.ones(3, 4))
        optimizer = kind([p], lr=0.01)
        for _ in range(2):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()
        assert type(p) is torch.nn.Parameter and np.isfinite(p.tolist()).all()
    assert len(kinds) > 10 and not calls_of_the_engine


def test_every_method_that_both_have_is_told():
    both = {name for name in DIFFERENT if name in vars(Plain)}
    assert both == set(DIFFERENT)

"""Lazy values: what they give is what eager mode gives, computed together when it is read."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import retrograde as rg
import sweeping
from retrograde.compiler import pending, ways
from retrograde.core import writes
from retrograde.tensor.lazy import Lazy
from sweeping import cases, has_derivative

RNG = np.random.default_rng(0)


def every_case():
    for name in rg.ops.names():
        op = rg.ops.get(name)
        if op.family != "creation":
            yield from (pytest.param(case, id=f"{name}-{i}") for i, case in enumerate(cases(op)))


@pytest.mark.parametrize("case", list(every_case()))
def test_a_lazy_op_and_its_gradient_are_the_eager_ones(case, monkeypatch):
    monkeypatch.setenv(ways.VARIABLE, "reference")
    for dtype in (np.dtype(np.float64), np.dtype(np.float32), rg.bfloat16):
        args, kwargs = case.drawn(dtype)
        with np.errstate(all="ignore"):
            _, expected = case.run(args, kwargs)
            with rg.lazy():
                _, found = case.run(args, kwargs)
            for a, b in zip(rg.realize(*found, None), [*map(rg.asarray, expected), None], strict=True):
                if b is not None:
                    assert (a.shape, a.dtype) == (b.shape, b.dtype)
                    assert sweeping.disagreement(np.asarray(a), np.asarray(b.detach()), dtype if dtype.itemsize > 2 else rg.bfloat16) <= 1
            if has_derivative(case.op) and dtype.itemsize > 2:
                wanted = sweeping.gradients(case, args, kwargs)
                with rg.lazy():
                    given = sweeping.gradients(case, args, kwargs)
                for a, b in zip(given, wanted, strict=True):
                    assert (a.grad is None) == (b.grad is None)
                    if b.grad is not None:
                        assert (a.grad.shape, a.grad.dtype) == (b.grad.shape, b.grad.dtype)
                        assert sweeping.disagreement(a.grad.numpy(), b.grad.numpy(), dtype) <= 1

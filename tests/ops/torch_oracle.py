"""PyTorch as an oracle: values and derivatives of order 1 and 2, with upstream gradients that differ everywhere."""

import numpy as np
import pytest

import retrograde as rg
from retrograde.core.gradient import gradient


def assert_as_torch(ours, theirs, *arrays, dtype=np.float64, tolerance=1e-9, order=2):
    """`ours` on tensors must do what `theirs` does on PyTorch's."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [np.asarray(a, dtype) for a in arrays]
    x, y = [rg.Tensor(a.copy()).requires_grad_() for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    z, w = ours(*x), theirs(*y)
    _assert_close(z, w, tolerance)
    seed = rng.standard_normal(z.shape).astype(dtype)
    mine = gradient([z], x, [seed], create_graph=order > 1)
    other = torch.autograd.grad(w, y, torch.tensor(seed), create_graph=order > 1)
    for a, b in zip(mine, other, strict=True):
        _assert_close(a, b, tolerance)
    weights = [rng.standard_normal(a.shape) for a in arrays]
    s = sum(((g * c).sum() for g, c in zip(mine, weights, strict=True)), rg.tensor(0.0, rg.float64))
    t = sum((g * torch.tensor(c)).sum() for g, c in zip(other, weights, strict=True))
    if order < 2 or not (getattr(s, "requires_grad", False) and t.requires_grad):
        return
    for a, b in zip(gradient([s], x), torch.autograd.grad(t, y, allow_unused=True), strict=True):
        if a is not None and b is not None:
            _assert_close(a, b, 10 * tolerance)


def _assert_close(a, b, tolerance):
    a, b = np.asarray(a.detach() if isinstance(a, rg.Tensor) else a), b.detach().numpy(force=True)
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)

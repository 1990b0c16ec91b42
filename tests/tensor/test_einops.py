"""einops' functions of our tensors, and of those with PyTorch's names, are NumPy's in value, and their gradients finite differences."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import torch

einops = pytest.importorskip("einops")

#: Functions of an array of shape (2, 3, 4).
CALLS = {
    "rearrange": lambda x: einops.rearrange(x, "a b (c d) -> (d a) (c b)", d=2),
    "mean": lambda x: einops.reduce(x, "a b c -> b", "mean"), "prod": lambda x: einops.reduce(x, "a b c -> c a", "prod"),
    "max of windows": lambda x: einops.reduce(x, "a b (c d) -> a b c", "max", d=2),
    "repeat": lambda x: einops.repeat(x, "a b c -> b (a r) c s", r=2, s=3), "einsum": lambda x: einops.einsum(x, x, "a b c, a d c -> b d"),
    "pack": lambda x: einops.pack([x, x[..., 0]], "a b *")[0], "list": lambda x: einops.rearrange([x[0], x[1]], "a b c -> b (c a)"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_einops_has_numpys_values_and_the_gradient_of_differences(name):
    data = np.random.default_rng(0).normal(size=(2, 3, 4))
    wanted, x = CALLS[name](data), rg.tensor(data)
    for found in (CALLS[name](x), rg.jit(CALLS[name])(x), CALLS[name](torch.tensor(data))):
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12)
    assert type(CALLS[name](torch.tensor(data))) is torch.Tensor
    rg.testing.check_gradients(CALLS[name], x)


def test_einops_is_mapped_over_a_batch():
    x = rg.tensor(np.random.default_rng(1).normal(size=(5, 2, 3)))
    rows = rg.vmap(lambda x: einops.reduce(x, "a b -> b", "sum"))(x)
    np.testing.assert_allclose(rows.numpy(), x.numpy().sum(1))

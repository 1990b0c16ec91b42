"""PyTorch's functions of layers, by the names of its OpInfo: ours take the same arguments, and are called with them as they are."""

import pytest

from retrograde.nn import functional

torch = pytest.importorskip("torch")


class UnmappedError(Exception):
    """A sample that uses what ours lacks, or that draws numbers."""


def functional_for(op):
    """Our function for an OpInfo named nn.functional.*; None where we have none."""
    name = op.name.removeprefix("nn.functional.")
    return SPECIAL.get(name, getattr(functional, name, None))


def completed(op, sample):
    """The keywords of a sample, with the numbers that windows are drawn by if these are missing."""
    if "fractional" not in op.name or sample.kwargs.get("_random_samples") is not None:
        return sample.kwargs
    axes = int(op.name[-2])
    batch = sample.input.shape[: -axes - 1] or (1,)
    return {**sample.kwargs, "_random_samples": torch.rand(*batch, sample.input.shape[-axes - 1], axes, dtype=sample.input.dtype)}


def drawn(function, default=True):
    """`function`, unless it is to draw numbers: each library draws its own."""
    def ours(x, p=0.5, training=default, **kwargs):
        if training and 0 < p < 1:
            raise UnmappedError
        return function(x, p, training, **kwargs)
    return ours


def rrelu(x, lower=1 / 8, upper=1 / 3, training=False, inplace=False):
    if training:
        raise UnmappedError
    return functional.rrelu(x, lower, upper, training, inplace)


def attention(*args, dropout_p=0.0, **kwargs):
    if dropout_p:
        raise UnmappedError
    return functional.scaled_dot_product_attention(*args, **kwargs)


def batch_norm(x, *args, **kwargs):
    if x.ndim < 2:
        raise UnmappedError  # PyTorch takes an empty line without channels
    return functional.batch_norm(x, *args, **kwargs)


def of_table(function):
    """A function whose samples have the table first."""
    return lambda weight, index, **kwargs: function(index, weight, **kwargs)


SPECIAL = {
    **{name: drawn(getattr(functional, name)) for name in ("dropout", "dropout2d", "dropout3d")},
    **{name: drawn(getattr(functional, name), False) for name in ("alpha_dropout", "feature_alpha_dropout")},
    "rrelu": rrelu, "batch_norm": batch_norm, "scaled_dot_product_attention": attention,
    **{name: of_table(getattr(functional, name)) for name in ("embedding", "embedding_bag")},
    "linear_cross_entropy": lambda *args, options=None, **kwargs: functional.linear_cross_entropy(*args, **kwargs),
}

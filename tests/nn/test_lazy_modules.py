"""Lazy layers: what they become, when, and what they say before."""

import copy
import pickle

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, CheckpointError

#: (name, arguments, the argument that is left out, shape of an input)
CASES = [
    ("Linear", (3,), 4, (2, 5, 4)), ("Linear", (3, False), 4, (4,)),
    ("Conv1d", (4, 3), 2, (2, 2, 7)), ("Conv2d", (4, 3, 1, 1, 1, 2), 6, (2, 6, 5, 4)), ("Conv3d", (4, 2), 2, (2, 3, 3, 3)),
    ("ConvTranspose1d", (4, 3), 2, (2, 2, 7)), ("ConvTranspose2d", (4, 3, 2), 2, (2, 2, 3, 4)), ("ConvTranspose3d", (2, 2), 3, (1, 3, 2, 2, 2)),
    ("BatchNorm1d", (), 3, (4, 3)), ("BatchNorm2d", (1e-3, 0.2), 3, (4, 3, 2, 2)), ("BatchNorm3d", (1e-3, 0.2, False), 3, (4, 3, 2, 2, 2)),
    ("InstanceNorm1d", (), 3, (2, 3, 4)), ("InstanceNorm2d", (1e-5, 0.1, True, True), 3, (3, 4, 4)), ("InstanceNorm3d", (), 2, (2, 2, 2, 2, 2)),
]


def both(name, args, size):
    """The lazy layer and the plain one, each from the same seed, the lazy one as a function that draws."""
    rg.manual_seed(3)
    plain = getattr(nn, name)(size, *args)
    rg.manual_seed(3)
    return getattr(nn, f"Lazy{name}")(*args), plain


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "args", "size", "shape"), CASES, ids=str)
def test_the_first_call_makes_the_layer_that_it_would_have_been(name, args, size, shape, compiled):
    lazy, plain = both(name, args, size)
    assert [n for n, _ in lazy.named_parameters()] == [n for n, _ in plain.named_parameters()]
    assert [n for n, _ in lazy.named_buffers()] == [n for n, _ in plain.named_buffers()]
    x = rg.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    found = (rg.jit(lambda x: lazy(x)) if compiled else lazy)(x)
    np.testing.assert_allclose(found.detach(), plain(x).detach(), rtol=2e-5, atol=2e-6)
    assert type(lazy) is getattr(nn, name) and repr(lazy) == repr(plain)
    for key, value in plain.state_dict().items():
        np.testing.assert_allclose(lazy.state_dict()[key].numpy(), value.numpy(), rtol=1e-6, atol=1e-6)
    assert all(type(p) is nn.Parameter and p.requires_grad for p in lazy.parameters())


@pytest.mark.parametrize(("name", "args", "size", "shape"), CASES, ids=str)
def test_a_state_that_is_loaded_gives_the_shapes(name, args, size, shape):
    lazy, plain = both(name, args, size)
    lazy.load_state_dict(plain.state_dict())
    x = rg.tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    np.testing.assert_array_equal(lazy(x).detach(), plain(x).detach())
    assert repr(lazy) == repr(plain)


def test_a_state_that_does_not_fit_leaves_the_layer_lazy():
    lazy = nn.LazyLinear(2)
    with pytest.raises(CheckpointError, match="no tensor for bias"):
        lazy.load_state_dict({"weight": rg.ones(2, 3)})
    assert lazy.has_uninitialized_params()
    assert lazy.load_state_dict({"weight": rg.ones(2, 3)}, strict=False).missing_keys == ["bias"]
    assert lazy(rg.ones(1, 3)).shape == (1, 2)
    assert lazy.weight.detach().numpy().all()


@pytest.mark.parametrize("use", [lambda model: model.state_dict(), lambda model: rg.optim.Adam(model.parameters()),
                                 lambda model: model[0].weight.shape, lambda model: model[0].weight + 1])
def test_what_needs_a_shape_says_what_to_do_before_the_first_call(use):
    with pytest.raises(ArgumentError, match="no shape yet; call the model on an example"):
        use(nn.Sequential(nn.LazyLinear(2)))


def test_copies_and_pickles_are_lazy_too_and_types_are_kept():
    model = nn.Sequential(nn.LazyConv2d(2, 3), nn.LazyBatchNorm2d()).double()
    for again in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert again(rg.ones(2, 3, 5, 5, dtype=rg.float64)).dtype == rg.float64
        assert {p.dtype for p in [*again.parameters(), again[1].running_mean]} == {np.dtype(np.float64)}
    assert model[0].has_uninitialized_params() and repr(model[0].weight) == "<UninitializedParameter>"


def test_a_method_bound_before_the_first_call_is_usable_after_it():
    layer = nn.LazyLinear(2)
    forward = rg.jit(layer.forward)
    np.testing.assert_allclose(forward(rg.ones(1, 3)).detach(), forward(rg.ones(1, 3)).detach())
    with pytest.raises(ValueError, match="linear needs"):
        forward(rg.ones(1, 4))


def test_a_compiled_step_learns_after_a_call_on_an_example():
    rg.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(1))
    x = rg.randn(16, 3)
    y = x.sum(axis=1, keepdims=True)
    model(x)
    optimizer = rg.optim.Adam(model.parameters(), lr=0.05)

    @rg.jit
    def step():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    losses = [step().item() for _ in range(60)]
    assert losses[-1] < 0.1 * losses[0]


def test_wrong_inputs_are_named_before_anything_is_made():
    with pytest.raises(ValueError, match="needs an input of 4 axes"):
        nn.LazyBatchNorm2d()(rg.ones(2, 3))
    with pytest.raises(ArgumentError, match="groups must divide"):
        nn.LazyConv1d(4, 3, groups=2)(rg.ones(1, 3, 5))

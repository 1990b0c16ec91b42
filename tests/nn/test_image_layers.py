"""Convolutions, pooling, padding and resizing as layers: what the comparison with PyTorch does not show."""

import itertools

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError
from retrograde.nn import functional


@pytest.mark.parametrize(("kind", "fan"), [("Conv2d", 3 * 9 // 1), ("ConvTranspose2d", 64 * 9)])
def test_kernels_start_as_in_torch(kind, fan):
    rg.manual_seed(0)
    layer = getattr(nn, kind)(3, 64, 3)
    for numbers in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert 0.9 / np.sqrt(fan) < np.abs(numbers).max() <= 1 / np.sqrt(fan)


def test_folding_what_was_unfolded_counts_the_windows():
    x = rg.randn(1, 2, 4, 5)
    counts = functional.fold(functional.unfold(rg.ones(1, 2, 4, 5), 3), (4, 5), 3)
    np.testing.assert_allclose(functional.fold(nn.Unfold(3)(x), (4, 5), 3).numpy(), (x * counts).numpy(), rtol=1e-5)
    assert nn.Fold((4, 5), 3)(rg.ones(1, 18, 6)).shape == (1, 2, 4, 5)


def test_unshuffling_undoes_shuffling():
    x = rg.randn(2, 8, 3, 5)
    np.testing.assert_array_equal(nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)), x)


def test_channel_dropout_takes_one_example_too():
    rg.manual_seed(0)
    for layer, shape in ((nn.Dropout1d(), (40, 5)), (nn.Dropout1d(), (2, 40, 5)), (nn.Dropout3d(), (40, 2, 2, 2))):
        channels = layer(rg.ones(*shape)).numpy().reshape(*shape[: 2 if len(shape) == 3 else 1], -1)
        assert set(np.unique(channels)) == {0.0, 2.0}
        assert (channels == channels[..., :1]).all()


@pytest.mark.parametrize(("call", "message"), [
    (lambda: nn.Conv2d(3, 4, 3, padding_mode="mirror"), "padding_mode"), (lambda: nn.Conv2d(3, 4, (3, 3, 3)), "one number or 2"),
    (lambda: nn.Conv1d(3, 4, 3, groups=0), "groups"), (lambda: nn.ConvTranspose2d(3, 4, 3, padding_mode="reflect"), "zeros"),
    (lambda: nn.ConvTranspose1d(3, 4, 3, padding="same"), "numbers"),
    (lambda: nn.Conv2d(1, 1, 3, stride=2, padding="same", padding_mode="reflect")(rg.ones(1, 1, 5, 5)), "stride 1"),
    (lambda: nn.ConvTranspose2d(1, 1, 3, stride=2)(rg.ones(1, 1, 3, 3), output_size=(9, 9)), "output_size"),
    (lambda: nn.PixelShuffle(2)(rg.ones(1, 3, 2, 2)), "channels"), (lambda: nn.PixelUnshuffle(2)(rg.ones(1, 3, 3, 2)), "divides"),
    (lambda: nn.ChannelShuffle(2)(rg.ones(1, 3, 2)), "channels"), (lambda: nn.Unflatten(1, (2, 2))(rg.ones(2, 6)), "unflattened"),
    (lambda: nn.ZeroPad2d((1, 2)), "one number or 4"), (lambda: functional.pad(rg.ones(2), (1,)), "two numbers"),
    (lambda: functional.fold(rg.ones(1, 8, 5), (4, 5), 2), "columns must have shape"), (lambda: functional.unfold(rg.ones(2, 2), 2), "images"),
    (lambda: functional.glu(rg.ones(3)), "even"), (lambda: functional.prelu(rg.ones(2, 3), rg.ones(2)), "prelu"),
    (lambda: functional.softshrink(rg.ones(2), -1), "lambd"), (lambda: nn.Upsample(2, recompute_scale_factor=True), "recompute"),
])
def test_what_does_not_fit_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("wrap", [lambda f: f, rg.jit])
@pytest.mark.parametrize("indices", [[[[[5]], [[0]]]], [[[[0]], [[-1]]]]])
def test_an_index_outside_of_its_own_image_is_an_error_of_unpooling_and_not_written_to_the_next_image(wrap, indices):
    unpool = wrap(lambda x, indices: nn.MaxUnpool2d(2)(x, indices))
    with pytest.raises(OutOfRangeError, match=r"between 0 and 3|negative or too great"):
        unpool(rg.tensor([[[[1.0]], [[2.0]]]]), rg.tensor(indices))


def test_unpooling_takes_integers_as_indices_alone():
    with pytest.raises(DTypeError, match="max_unpool1d needs integers as indices, got float32"):
        nn.MaxUnpool1d(2)(rg.ones(1, 2), rg.ones(1, 2))


def test_an_element_that_is_the_greatest_of_several_windows_is_put_back_once():
    x = rg.tensor([[1.0, 5.0, 2.0, 0.0]], requires_grad=True)
    values, indices = nn.MaxPool1d(2, 1, return_indices=True)(x)
    assert indices.tolist() == [[1, 1, 2]]
    found = nn.MaxUnpool1d(2, 1)(values, indices)
    assert found.tolist() == [[0.0, 5.0, 2.0, 0.0]]
    (found * rg.tensor([1.0, 10.0, 100.0, 1000.0])).sum().backward()
    assert x.grad.tolist() == [[0.0, 20.0, 100.0, 0.0]]


def test_unpooling_names_sizes_that_do_not_fit():
    values, indices = functional.max_pool2d(rg.ones(1, 1, 4, 4), 2, return_indices=True)
    assert nn.MaxUnpool2d(2)(values, indices, (1, 1, 5, 5)).shape == (1, 1, 5, 5)
    with pytest.raises(ValueError, match=r"less than the stride, \(2, 2\), away from \(4, 4\), got \(6, 4\)"):
        nn.MaxUnpool2d(2)(values, indices, (6, 4))
    with pytest.raises(ValueError, match="an index for each element"):
        nn.MaxUnpool2d(2)(values, indices[..., :1])


@pytest.mark.parametrize(("kernel", "output"), [((2, 2), (7, 5)), ((3, 2), (1, 9)), ((2, 2), (16, 12))])
def test_fractional_pooling_takes_the_greatest_of_windows_at_drawn_places(kernel, output):
    rng = np.random.default_rng(0)
    x, drawn = rng.permutation(2 * 17 * 13).reshape(1, 2, 17, 13).astype(float), rng.random((1, 2, 2))
    found, places = nn.functional.fractional_max_pool2d(x, kernel, output, return_indices=True, _random_samples=drawn)
    for channel in range(2):
        starts = []
        for axis, u in ((0, drawn[0, channel, 1]), (1, drawn[0, channel, 0])):
            room, count = x.shape[2 + axis] - kernel[axis], output[axis]
            apart = room / max(count - 1, 1)
            starts.append([room if i == count - 1 else int((i + u) * apart) - int(u * apart) for i in range(count)])
        for (i, row), (j, column) in itertools.product(*map(enumerate, starts)):
            window = x[0, channel, row : row + kernel[0], column : column + kernel[1]]
            assert found[0, channel, i, j] == window.max() == x[0, channel].reshape(-1)[places[0, channel, i, j]]


@pytest.mark.parametrize("make", [lambda f: f, rg.jit])
def test_fractional_pooling_draws_anew_and_hands_back_to_the_greatest(make):
    layer = nn.FractionalMaxPool2d(2, output_ratio=0.5)
    gradient = make(rg.grad(lambda x: layer(x).sum()))
    x = np.random.default_rng(1).standard_normal((1, 2, 21, 21))
    first, second = gradient(x), gradient(x)
    assert first.sum() == second.sum() == 200 and (first != second).any()
    with pytest.raises(ArgumentError, match="room"):
        nn.functional.fractional_max_pool2d(x, 3, 20)
    with pytest.raises(ArgumentError, match="output_ratio"):
        nn.functional.fractional_max_pool2d(x, 3)

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.nn import functional


def test_the_row_of_the_padding_is_zero_and_stays():
    layer = nn.Embedding(5, 3, padding_idx=0)
    optimizer = rg.optim.SGD(layer.parameters(), lr=1.0)
    layer(rg.tensor([[0, 1], [1, 4]])).sum().backward()
    optimizer.step()
    assert layer.weight[0].tolist() == [0, 0, 0]
    assert layer.weight.grad.tolist() == [[0] * 3, [2] * 3, [0] * 3, [0] * 3, [1] * 3]


def test_rows_that_are_given_are_not_learned_unless_asked():
    rows = np.eye(3, dtype=np.float32)
    assert not nn.Embedding.from_pretrained(rows).weight.requires_grad
    layer = nn.Embedding.from_pretrained(rows, freeze=False)
    assert layer.weight.requires_grad and layer(rg.tensor([2])).tolist() == [[0, 0, 1]]


@pytest.mark.parametrize("index", [-1, 5])
def test_a_row_that_is_not_there_is_an_error_in_jit_too(index):
    layer = nn.Embedding(5, 3)
    for function in (layer, rg.jit(layer.forward)):
        with pytest.raises(IndexError):
            function(rg.tensor([0, index]))


@pytest.mark.parametrize(("call", "message"), [
    (lambda: nn.EmbeddingBag(5, 3)(rg.tensor([1, 2])), r"\(bags, length\) without offsets, got shape \(2,\)"),
    (lambda: nn.EmbeddingBag(5, 3)(rg.tensor([[1, 2]]), rg.tensor([0])), r"\(positions,\) with offsets"),
    (lambda: nn.EmbeddingBag(5, 3, mode="product")(rg.tensor([[1, 2]])), "mode"),
    (lambda: nn.Embedding(5, 3, _weight=rg.ones(4, 3)), "shape"), (lambda: nn.Embedding.from_pretrained(rg.ones(3)), "two axes"),
])
def test_what_is_not_taken_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_positions_must_be_integers():
    with pytest.raises(TypeError, match="integers"):
        nn.Embedding(5, 3)(rg.ones(2))
    with pytest.raises(TypeError, match="integers"):
        functional.one_hot(rg.ones(2))


def test_one_hot_finds_the_number_of_classes():
    assert functional.one_hot(rg.tensor([1, 0])).tolist() == [[0, 1], [1, 0]]


def test_rows_that_are_longer_are_shortened_in_eager_and_compiled_calls():
    numbers = np.float32([[3, 4], [0.3, 0.4], [6, 8]])
    for compiled in (False, True):
        layer = nn.Embedding(3, 2, max_norm=1.0, _weight=rg.tensor(numbers))
        positions = rg.tensor([0, 1, 0])
        found = (rg.jit(lambda i, layer=layer: layer(i)) if compiled else layer)(positions)
        np.testing.assert_allclose(found.detach(), [[0.6, 0.8], [0.3, 0.4], [0.6, 0.8]], rtol=1e-5)
        np.testing.assert_allclose(layer.weight.detach(), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-5)


def test_bags_may_be_empty_and_end_where_the_last_offset_says():
    weight = np.arange(12, dtype=np.float32).reshape(6, 2)
    layer = nn.EmbeddingBag(6, 2, mode="sum", include_last_offset=True, _weight=rg.tensor(weight))
    for function in (layer, rg.jit(lambda i, o: layer(i, o))):
        found = function(rg.tensor([1, 5, 2, 0]), rg.tensor([0, 2, 2, 4]))
        np.testing.assert_array_equal(found.detach(), [weight[1] + weight[5], [0, 0], weight[2] + weight[0]])

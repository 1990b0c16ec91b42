"""shortened: a graph without most of its layers is that of the same network with fewer of them."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.compiler.graph.keys import key_of
from retrograde.compiler.graph.shortened import shortened

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
WIDTH = 4


class Block(nn.Module):
    """A block with a shortcut."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(nn.functional.relu(self.up(x)))


class Odd(Block):
    """A block that computes something else."""

    def forward(self, x):
        return x - self.down(rg.tanh(self.up(x)))


def graph_of(layers, function, optimizer=rg.optim.SGD):
    """The graph of a training step of blocks; `function(blocks, x)` is the network."""
    blocks = nn.ModuleList(layers)
    steps = optimizer(blocks.parameters(), 0.1)

    @rg.jit
    def step(x):
        steps.zero_grad()
        loss = (function(blocks, x) ** 2).sum()
        loss.backward()
        steps.step()
        return loss

    step(rg.ones(3, WIDTH))
    return step._last_step().program.graph


def chained(blocks, x):
    for block in blocks:
        x = block(x)
    return x


def summed(blocks, x):
    """Reads what each layer gives."""
    seen = []
    for block in blocks:
        x = block(x)
        seen.append(x)
    return rg.concatenate(seen, 0)


@pytest.mark.parametrize("optimizer", [rg.optim.SGD, rg.optim.AdamW])
def test_a_short_graph_is_that_of_a_network_of_fewer_layers(optimizer):
    short = shortened(graph_of([Block() for _ in range(20)], chained, optimizer))
    assert 4 <= 20 - short.count <= 12
    fewer = graph_of([Block() for _ in range(20 - short.count)], chained, optimizer)
    assert key_of(short.graph)[0] == key_of(fewer)[0]


def test_a_longer_graph_keeps_one_layer_more_on_each_side_and_there_is_one():
    full = graph_of([Block() for _ in range(20)], chained)
    short = shortened(full)
    longer = short.longer()
    assert longer.count == short.count - 2 and longer.cut == short.cut + 1
    fewer = graph_of([Block() for _ in range(20 - longer.count)], chained)
    assert key_of(longer.graph)[0] == key_of(fewer)[0]
    assert longer.longer() is None


def test_what_is_told_of_two_depths_differs_alone():
    one, other = (shortened(graph_of([Block() for _ in range(depth)], chained)) for depth in (20, 24))
    assert key_of(one.graph)[0] == key_of(other.graph)[0]
    assert one.told != other.told
    assert other.count == one.count + 4


def test_leaves_are_found_in_the_layers_that_are_left_out():
    full = graph_of([Block() for _ in range(20)], chained)
    short = shortened(full)
    kept = [leaf for leaf in short.graph.state if short.place_of(leaf) is not None]
    assert len(kept) < len(full.state)
    key, _ = short.place_of(kept[-1])
    found = [short.leaf(key, layer) for layer in range(short.cut + 1, short.cut + 1 + short.count)]
    assert {(leaf.shape, leaf.dtype) for leaf in found} == {(kept[-1].shape, kept[-1].dtype)}
    assert len({id(leaf) for leaf in found}) == short.count
    assert {id(leaf) for leaf in found} <= {id(leaf) for leaf in full.state} - {id(leaf) for leaf in kept}


def drawing(blocks, x):
    for block in blocks:
        x = nn.functional.dropout(block(x), 0.5)
    return x


@pytest.mark.parametrize(("layers", "function"), [
    ([Block() for _ in range(8)], chained),
    ([Block() for _ in range(20)], drawing),
    ([Block() if n % 9 else Odd() for n in range(24)], chained),
    ([Block() for _ in range(20)], summed),
], ids=["few", "that draw", "not alike", "read from outside"])
def test_layers_that_cannot_be_left_out_are_not(layers, function):
    assert shortened(graph_of(layers, function)) is None


def test_what_is_drawn_outside_of_layers_is_no_hindrance():
    noisy = lambda blocks, x: chained(blocks, sum((rg.rand(3, WIDTH) for _ in range(3)), x))
    assert shortened(graph_of([Block() for _ in range(20)], noisy)) is not None


def test_layers_with_equal_constants_of_their_own_are_alike():
    def function(blocks, x):
        for block in blocks:
            x = rg.take(block(x), np.array([1, 0, 3, 2]), 1)
        return x

    assert shortened(graph_of([Block() for _ in range(20)], function)) is not None


@pytest.mark.parametrize("constant", [lambda number: np.array([1, 0, 3, number % 4]), lambda number: np.array([1, 0, 3, 2]) - number % 2],
                         ids=["one number", "all numbers"])
def test_layers_of_other_constants_are_not(constant):
    def function(blocks, x):
        for number, block in enumerate(blocks):
            x = rg.take(block(x), constant(number), 1)
        return x

    assert shortened(graph_of([Block() for _ in range(20)], function)) is None

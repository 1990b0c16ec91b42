"""repeats: what stands in a sequence once for each layer is found, whatever repeats within a layer or beside it."""

import pytest

from retrograde.compiler.graph.repeats import Label, repeats

LAYERS = 12
#: What the tokens of the sequences stand for.
START, WEIGHT, PRODUCT, SUM, LOSS, SLOPE, UPDATE, HEAD, OTHER = range(9)


class Sequence:
    """Items with their tokens and operands, put one after the other."""

    def __init__(self):
        self.tokens, self.operands = [], []

    def put(self, token, *operands):
        self.tokens.append(token)
        self.operands.append(list(operands))
        return len(self.tokens) - 1

    def repeats(self, least=8, **settings):
        return repeats(self.tokens, self.operands, least, **settings)


def trained(layers=LAYERS, odd=None):
    """A sequence of a network: layers forward, layers backward, and updates; the layer `odd` reads the start as well."""
    made = Sequence()
    start = x = made.put(START)
    weights, products, sums, slopes = [], [], [], []
    for layer in range(layers):
        weights.append(made.put(WEIGHT))
        products.append(made.put(PRODUCT, x, weights[-1]))
        x = made.put(SUM, products[-1], start if layer == odd else x)
        sums.append(x)
    g = made.put(LOSS, x)
    for layer in reversed(range(layers)):
        g = made.put(SLOPE, g, products[layer], weights[layer])
        slopes.append(g)
    updates = [made.put(UPDATE, weights[layer], slopes[layers - 1 - layer]) for layer in range(layers)]
    return made, weights, products, sums, slopes, updates


def test_items_of_all_passes_have_the_layer_that_they_are_of():
    made, weights, products, _, slopes, updates = trained()
    found = made.repeats(is_strict=True)
    assert found.high - found.low + 1 >= LAYERS - 2
    layers = [found.label(item).layer for item in weights]
    step = layers[1] - layers[0]
    assert abs(step) == 1
    assert layers == list(range(layers[0], layers[0] + step * LAYERS, step))
    # How many layers apart is the same for all, of the items of the backward pass from the last one on.
    for items in (products, slopes[::-1], updates):
        apart = {found.label(item).layer - layer for item, layer in zip(items, layers, strict=True) if found.label(item)}
        assert len(apart) == 1


def test_layers_are_chained_where_one_reads_another():
    assert trained()[0].repeats().are_chained
    made = Sequence()
    for _ in range(LAYERS):
        made.put(UPDATE, made.put(SUM, made.put(WEIGHT), made.put(START)))
    assert not made.repeats().are_chained


def test_an_item_is_found_by_its_label():
    made, weights, *_ = trained()
    found = made.repeats()
    assert [found.item(found.label(item)) for item in weights] == weights
    with pytest.raises(IndexError):
        found.item(found.label(weights[0])._replace(layer=LAYERS + 5))


@pytest.mark.parametrize("odd", [1, 4, 16])
def test_a_layer_that_reads_something_else_is_none_of_those_that_are_alike(odd):
    made, _, _, sums, *_ = trained(20, odd)
    found = made.repeats(8)
    label = found.label(sums[odd])
    assert label is None or not found.low <= label.layer <= found.high


def test_layers_on_both_sides_of_another_one_are_too_few():
    made, *_ = trained(20, 10)
    assert made.repeats(11) is None
    assert trained(20)[0].repeats(11) is not None


def test_heads_of_a_layer_are_no_layers():
    made = Sequence()
    x, first = made.put(START), []
    for _ in range(LAYERS):
        heads = [made.put(HEAD, x) for _ in range(10)]
        first.append(heads[0])
        x = made.put(SUM, *heads)
    found = made.repeats()
    assert {len({found.label(item).layer for item in first}), len({found.label(item).place for item in first})} == {LAYERS, 1}


def test_parameters_that_are_alike_are_those_of_one_layer():
    made = Sequence()
    counters = [made.put(WEIGHT) for _ in range(3 * LAYERS)]
    counted = [made.put(UPDATE, counter) for counter in counters]
    x = made.put(START)
    for layer in range(LAYERS):
        for which in range(3):
            x = made.put((PRODUCT, SUM, OTHER)[which], x, counted[3 * layer + which])
    found = made.repeats(is_strict=True)
    layers = [found.label(item).layer for item in counters]
    assert len({tuple(layers[n : n + 3]) for n in range(0, 3 * LAYERS, 3)}) >= LAYERS - 1
    assert {layers.count(layer) for layer in range(min(layers) + 1, max(layers))} == {3}


def test_what_repeats_beside_the_layers_is_refused_where_it_could_be_taken_for_them():
    made, *_ = trained()
    y = made.put(START)
    for _ in range(LAYERS):
        y = made.put(OTHER, made.put(HEAD, y))
    assert made.repeats() is not None
    assert made.repeats(is_strict=True) is None


def test_who_refers_to_a_layer_from_outside_is_found():
    made, _, _, sums, *_ = trained(20)
    middle = made.repeats().label(sums[10])
    assert not made.repeats().met_from_outside(middle.layer - 2, middle.layer + 2)
    made.put(OTHER, sums[10])
    assert made.repeats().met_from_outside(middle.layer - 2, middle.layer + 2)


def test_a_sequence_without_layers_has_none():
    made = Sequence()
    for number in range(200):
        made.put(number * number % 37, *range(max(number - 2, 0), number))
    assert made.repeats() is None
    assert Sequence().repeats() is None


def test_a_label_is_a_run_a_place_in_it_and_a_layer():
    assert Label._fields == ("run", "place", "layer")

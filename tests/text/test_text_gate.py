"""The gate: paired comparison of scores."""

import random
from itertools import product

import pytest

from retrograde import text
from retrograde.errors import ArgumentError, ShapeError
from retrograde.text.gate import chance, compare


def by_all_flips(gains):
    flips = [sum(s * g for s, g in zip(signs, gains, strict=True)) for signs in product((-1, 1), repeat=len(gains))]
    return sum(flip >= sum(gains) - 1e-12 for flip in flips) / len(flips)


@pytest.mark.parametrize("gains", [[0], [0, 0], [1], [1, 1, 1, -1, 0], [-1, -1], [1] * 10 + [-1] * 2, [0.5, 0.25, -0.1], [0.3, -0.3, 0.1, 0.2]])
def test_chance_is_that_of_all_sign_flips(gains):
    assert chance(gains) == pytest.approx(by_all_flips(gains))


def test_many_uneven_gains_are_drawn_near_the_exact_chance():
    draw = random.Random(1)
    gains = [draw.uniform(-1, 1.3) for _ in range(16)]
    assert chance(gains) == pytest.approx(by_all_flips(gains), abs=0.01)
    assert chance(gains) == chance(list(gains))


@pytest.mark.parametrize(("before", "after", "level", "kept"), [
    ([0, 0, 0, 0], [1, 1, 0, 0], 0.25, True), ([0, 0, 0, 0], [1, 0, 0, 0], 0.25, False), ([0, 0, 0, 0], [1, 0, 0, 0], 0.5, True),
    ([1, 0], [0, 1], 0.5, False), ([1, 0], [0, 1], 1, True), ([1, 1], [1, 1], 1, True), ([1, 1], [1, 1], 0.25, False),
    ([1, 1], [1, 0], 1, False), ([0.2, 0.4, 0.1], [0.3, 0.5, 0.2], 0.2, True),
])
def test_only_what_is_not_worse_and_better_than_by_chance_passes(before, after, level, kept):
    assert compare(before, after, level).is_accepted is kept


def test_noise_rarely_passes_and_real_gains_do():
    draw = random.Random(0)
    scores = lambda rate: [float(draw.random() < rate) for _ in range(60)]
    assert sum(compare(scores(0.6), scores(0.6)).is_accepted for _ in range(400)) / 400 == pytest.approx(0.25, abs=0.06)
    assert sum(compare(scores(0.5), scores(0.8)).is_accepted for _ in range(100)) >= 95


def test_scores_of_different_items_cannot_be_compared():
    with pytest.raises(ShapeError, match="same items"):
        compare([1], [1, 1])
    with pytest.raises(ArgumentError, match="level"):
        compare([1], [1], 0)


def test_a_validation_scores_all_items_or_some():
    held_out = text.Validation("abc", lambda items: [ord(item) - 97 for item in items])
    assert held_out() == [0, 1, 2] and held_out([2, 0]) == [2, 0] and len(held_out) == 3
    with pytest.raises(ShapeError, match="one score for each item"):
        text.Validation("abc", lambda items: [1])()
    with pytest.raises(ArgumentError, match="at least one item"):
        text.Validation([], len)

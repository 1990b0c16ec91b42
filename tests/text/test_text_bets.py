"""Bets: evidence for a mean above 0, whatever the distribution of bounded gains."""

from itertools import product

import numpy as np
import pytest

from retrograde.errors import ArgumentError
from retrograde.text.evidence.bets import chance_of_bets, check_bounded


@pytest.mark.parametrize(("win", "loss", "rest"), [(1, 1, 0), (0.12, 0.88, 0), (0.05, 0.95, 0), (0.95, 0.05, 0), (1, 1, 0.5), (0.3, 0.9, 0.2)])
@pytest.mark.parametrize("level", [0.5, 0.05, 0.001])
def test_a_game_on_gains_of_mean_0_is_won_as_rarely_as_it_says_in_all_sequences(win, loss, rest, level):
    # Each sequence of gains with its exact probability; `rest` is that of no gain.
    chances = {win: (1 - rest) * loss / (win + loss), -loss: (1 - rest) * win / (win + loss), **({0: rest} if rest else {})}
    rows = product(chances, repeat=6 if rest else 9)
    found = [(chance_of_bets(row, level), np.prod([chances[gain] for gain in row])) for row in rows]
    p, weights = map(np.array, zip(*found, strict=True))
    assert weights.sum() == pytest.approx(1)
    assert all(weights[p <= bound].sum() <= bound + 1e-12 for bound in np.unique(p))
    assert p.min() < 1


def test_more_and_larger_gains_are_less_probable():
    found = [chance_of_bets([gain] * count, 0.01) for gain, count in ((0.1, 20), (0.3, 20), (0.3, 60), (1, 60))]
    assert found == sorted(found, reverse=True) and found[-1] < 1e-6 and chance_of_bets([-0.2] * 9, 0.01) == 1


@pytest.mark.parametrize("gains", [[], [0.0] * 5, [-1.0] * 400, [1.0] * 400])
def test_a_game_ends_with_a_probability_whatever_it_is_played_on(gains):
    assert 0 <= chance_of_bets(gains, 0.05) <= 1 == chance_of_bets([min(gain, 0) for gain in gains], 1)


def test_repeated_items_are_one_bet_on_the_mean_of_their_gains():
    assert chance_of_bets([1, -1, 0.5, 0.5, 1], 0.05, np.array([3, 0, 3, 1, 1])) == chance_of_bets([0.75, -1, 0.75], 0.05)


@pytest.mark.parametrize("score", [-0.1, 1.5, 85])
def test_scores_without_known_bounds_are_refused(score):
    with pytest.raises(ArgumentError, match=f"between 0 and 1, got {score:g}"):
        check_bounded(np.array([0.0, 1.0, np.nan]), np.array([[0.5, score]]))
    check_bounded(np.array([0.0, 1.0, np.nan, 0.1 + 0.2 * 4.5]))

"""The gate: paired comparison of scores, one after another, with a known rate of error over the whole run."""

import json
import random
import sys
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from retrograde import text
from retrograde.errors import AnswerError, ArgumentError, CheckpointError, DTypeError, ModelError, ShapeError
from retrograde.text.evidence.bets import chance_of_bets
from retrograde.text.evidence.flips import chance, patterns, weight
from retrograde.text.evidence.gate import Gate, _strengths, compare


def by_all_flips(gains):
    flips = [sum(s * g for s, g in zip(signs, gains, strict=True)) for signs in product((-1, 1), repeat=len(gains))]
    return sum(flip >= sum(gains) - 1e-9 for flip in flips) / len(flips)


@pytest.mark.parametrize("gains", [[0], [0, 0], [1], [1, 1, 1, -1, 0], [-1, -1], [1] * 10 + [-1] * 2, [0.5, 0.25, -0.1], [0.3, -0.3, 0.1, 0.2],
                                   [1e-9, 2e-9, -1e-9], [1e6, 1e6, 5e5]])
def test_chance_is_that_of_all_sign_flips(gains):
    assert chance(gains) == pytest.approx(by_all_flips(gains))


@pytest.mark.parametrize(("wins", "losses"), [(7, 3), (60, 40), (400, 350), (3, 0), (0, 5)])
def test_chance_of_equal_gains_is_that_of_the_sign_test(wins, losses):
    expected = stats.binomtest(wins, wins + losses, alternative="greater").pvalue
    assert chance([0.5] * wins + [-0.5] * losses) == pytest.approx(expected)


def test_many_uneven_gains_are_drawn_near_the_exact_chance():
    draw = random.Random(1)
    gains = [draw.uniform(-1, 1.3) for _ in range(16)]
    assert chance(gains) == pytest.approx(by_all_flips(gains), abs=0.02)
    assert chance(gains) == chance(list(gains))


def test_repeated_items_count_once():
    assert chance([1, 1, 1, 1], np.array([0, 0, 0, 0])) == 0.5
    assert chance([1, -1, 1], np.array([0, 0, 1])) == 0.5


@pytest.mark.parametrize(("before", "after", "level", "kept"), [
    ([0, 0, 0, 0], [1, 1, 0, 0], 0.25, True), ([0, 0, 0, 0], [1, 0, 0, 0], 0.25, False), ([0, 0, 0, 0], [1, 0, 0, 0], 0.5, True),
    ([1, 0], [0, 1], 0.5, False), ([1, 0], [0, 1], 1, True), ([1, 1], [1, 1], 1, True), ([1, 1], [1, 1], 0.25, False),
    ([1, 1], [1, 0], 1, False), ([0.2, 0.4, 0.1], [0.3, 0.5, 0.2], 0.2, True), ([None, 0, 0, 0, 0], [1, 1, 1, 1, None], 0.2, True),
])
def test_only_what_is_better_than_by_chance_passes(before, after, level, kept):
    assert compare(before, after, level).is_accepted is kept


def test_pairs_without_an_answer_are_left_out_of_means_and_counts():
    found = compare([None, 0, 0, 1], [1, 1, None, 1], level=0.5)
    assert (found.before, found.after, found.won, found.lost) == (0.5, 1.0, (1,), ())


def halved(before, after, first=8):
    """What a search by successive halving would have scored, its rungs, and its winner."""
    seen, alive, rungs, done, size = np.full(after.shape, np.nan), list(range(after.shape[1])), [], 0, first
    while done < len(after):
        size = len(after) if len(alive) == 1 else min(size, len(after))
        seen[done:size, alive] = after[done:size, alive]
        if len(alive) > 1:
            alive = sorted(alive, key=lambda i: (-(after[:size, i] - before[:size]).sum(), i))[: len(alive) // 2]
            rungs.append((size, len(alive)))
        done, size = size, 2 * size
    return seen, rungs, alive[0]


def accepts(rng, gate, items, width, draw, better=None):
    """Whether a run of as many steps as the gate is for accepts anything; `better` draws one candidate of one step."""
    before, lucky = draw(items, 1)[:, 0], rng.integers(gate.steps)
    for step in range(gate.steps):
        after = draw(items, width)
        if better is not None and step == lucky:
            after[:, rng.integers(width)] = better(items, 1)[:, 0]
        seen, rungs, winner = halved(before, after, max(8, items // 6)) if width > 1 else (after, (), None)
        if gate.decide(before, seen, rungs, winner).is_accepted:
            return True
    return False


@pytest.mark.parametrize(("items", "width"), [(10, 5), (12, 8), (300, 8)])
@pytest.mark.parametrize("scores", ["binary", "soft"])
def test_the_strength_of_a_winner_is_that_of_halving_under_each_pattern_of_signs(items, width, scores):
    rng = np.random.default_rng(items)
    gains = rng.integers(-1, 2, (items, width)) * (1.0 if scores == "binary" else rng.random((items, width)))
    gains[:, 1] = gains[:, 0]  # of equals the earlier one stays
    sizes, signs = np.sqrt((gains**2).sum(0)), patterns(items)[::17]
    _, rungs, _ = halved(np.zeros(items), gains, first=3)
    expected = []
    for row in signs:
        flipped = row[:, None] * gains
        winner = halved(np.zeros(items), flipped, first=3)[2]
        expected.append(flipped[:, winner].sum() / sizes[winner])
    found = _strengths(signs, gains.astype(np.float32), rungs, sizes)
    # Soft totals that differ by less than two gains do in the fifth place may be ranked the other way.
    assert np.mean(np.abs(found - expected) > 1e-5) <= (0 if scores == "binary" else 0.01)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("items", "width", "steps"), [(24, 1, 10), (32, 16, 2), (100, 8, 5)])
@pytest.mark.parametrize("scores", ["binary", "soft"])
def test_a_run_in_which_nothing_is_better_rarely_accepts_anything(items, width, steps, scores):
    rng = np.random.default_rng(0)
    draw = {"binary": lambda *shape: (rng.random(shape) < 0.7) * 1.0, "soft": lambda *shape: rng.beta(2, 1, shape)}[scores]
    runs = 200
    wrong = sum(accepts(rng, Gate(0.05, steps), items, width, draw) for _ in range(runs))
    assert wrong <= stats.binom.ppf(0.999, runs, 0.05)


def test_a_run_sees_a_gain_of_a_fifth_on_a_hundred_items():
    rng = np.random.default_rng(1)
    rated = lambda rate: lambda *shape: (rng.random(shape) < rate) * 1.0
    seen = sum(accepts(rng, Gate(0.05, 5), 100, 8, rated(0.7), rated(0.9)) for _ in range(120))
    assert seen >= stats.binom.ppf(0.01, 120, 0.7)
    assert sum(accepts(rng, Gate(0.05, 5), 100, 8, rated(0.7), rated(1.0)) for _ in range(40)) >= 38


def test_the_winner_of_many_needs_a_larger_gain_than_the_only_candidate():
    rng = np.random.default_rng(5)
    before, after = rng.integers(0, 2, 60), rng.integers(0, 2, (60, 16))
    among = Gate(steps=1).decide(before, after)
    alone = Gate(steps=1).decide(before, after[:, among.winner])
    assert alone.p < 0.05 < among.p and alone[1:3] == among[1:3]


def test_the_level_is_spent_over_the_steps_and_never_passed():
    gate = Gate(0.05, 4)
    total = 0.0
    for _ in range(40):
        total += gate.left()
        gate.decide([0] * 20, [0] * 20)
    assert total < 0.05 and Gate(0.05, 4).left() == pytest.approx(0.05 * 0.98 / 4)


def test_a_step_has_its_own_part_of_the_level_whatever_earlier_ones_found():
    few, many = ([0] * 20, [1, -1] + [0] * 18), ([0] * 20, [1, -1] * 10)
    for first in (few, many):
        gate = Gate(0.05, 4)
        gate.decide(*first)
        assert gate.decide([0] * 20, [1] * 6 + [0] * 14).level == pytest.approx(0.05 * 0.98 / 4)


@pytest.mark.parametrize("rare", [0.3, 0.1])
def test_small_gains_on_most_items_do_not_outweigh_large_losses_on_few(rare):
    # Their mean is 0, and the losses are often not among the items: by flips alone 0.19 and 0.85 of these runs accept something.
    rng, runs = np.random.default_rng(8), 100
    gained = lambda items, width: np.where(rng.random((items, width)) < rare, -0.05 * (1 - rare) / rare, 0.05)
    draw = lambda items, width: 0.5 + (gained(items, width) if width > 1 else 0.0 * np.ones((items, 1)))
    assert sum(accepts(rng, Gate(0.05, 5), 40, 8, draw) for _ in range(runs)) <= stats.binom.ppf(0.99, runs, 0.05)
    # A loss of 0.95 on one item of twenty would undo these gains, and 20 items do not speak against it.
    assert not compare([0.5] * 20, [0.55] * 20).is_accepted and compare([0.5] * 200, [0.55] * 200).is_accepted


@pytest.mark.parametrize(("rate", "width", "steps", "runs"), [(0.95, 1, 1, 1000), (0.9, 8, 5, 200), (0.88, 8, 5, 200)])
def test_a_strict_gate_is_not_deceived_by_losses_that_hardly_an_item_shows(rate, width, steps, runs):
    rng, wrong = np.random.default_rng(10), 0
    for _ in range(runs):
        gate, before = Gate(0.05, steps, strict=True), np.full(40, rate)
        for _ in range(steps):
            after = (rng.random((40, width)) < rate) * 1.0
            wrong += gate.decide(before, *halved(before, after)).is_accepted
    assert wrong / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


def test_without_strict_the_share_of_such_runs_that_accept_is_the_one_that_is_told():
    rng, runs = np.random.default_rng(11), 400
    accepted = sum(Gate(0.05, 1).decide(np.full(40, 0.95), (rng.random(40) < 0.95) * 1.0).is_accepted for _ in range(runs))
    assert accepted / runs == pytest.approx(0.13, abs=3 * np.sqrt(0.13 * 0.87 / runs))


def test_a_strict_gate_sees_gains_of_soft_scores():
    rng = np.random.default_rng(12)
    rated = lambda rate: lambda *shape: rng.beta(4 * rate, 4 * (1 - rate), shape)
    seen = sum(accepts(rng, Gate(0.05, 5, strict=True), 40, 8, rated(0.6), rated(0.9)) for _ in range(100))
    assert seen >= stats.binom.ppf(0.001, 100, 0.95)


def test_a_strict_gate_divides_the_level_of_a_step_by_its_candidates_and_refuses_scores_without_bounds():
    gain = [0.0] * 9 + [1.0] * 9
    alone = Gate(0.8, 1, strict=True).decide([0.2] * 18, gain)
    among = Gate(0.8, 1, strict=True).decide([0.2] * 18, np.column_stack([gain, np.zeros((18, 2))]))
    assert among.winner == 0 and alone.level == among.level
    assert alone.p == pytest.approx(chance_of_bets(np.subtract(gain, 0.2), alone.level))
    assert among.p == pytest.approx(3 * chance_of_bets(np.subtract(gain, 0.2), alone.level / 3))
    assert compare([0.2] * 18, gain, 0.8, strict=True).p == chance_of_bets(np.subtract(gain, 0.2), 0.8)
    for decide in (Gate(strict=True).decide, lambda *scores: compare(*scores, strict=True)):
        with pytest.raises(ArgumentError, match="between 0 and 1, got 85"):
            decide([0.0] * 3, [0.5, 85.0, 0.5])


def test_a_gate_that_was_strict_does_not_go_on_as_another():
    strict = Gate(strict=True)
    strict.decide([0] * 5, [1] * 5)
    strict.over(10).load_state_dict(strict.state_dict())
    with pytest.raises(CheckpointError, match=r"strict True \(here False\)"):
        Gate().load_state_dict(strict.state_dict())
    usual = {name: value for name, value in Gate().state_dict().items() if name != "strict"}  # as older checkpoints have it
    Gate().load_state_dict({**usual, "made": 3})


@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (40, 0), (27, 7), (8, 7), (26, 25), (510, 490)])
def test_right_and_wrong_answers_keep_their_whole_weight(wins, losses):
    assert weight(np.repeat([1.0, -1.0], [wins, losses]), 1.0) == 1


def test_a_weight_is_that_of_the_best_bet_by_a_search():
    rng = np.random.default_rng(9)
    for gains in (rng.uniform(-0.3, 0.5, 60), np.where(rng.random(50) < 0.1, -0.4, 0.08), np.full(30, 0.1)):
        best = optimize.minimize_scalar(lambda stake: -np.log1p(stake * gains).sum(), bounds=(0, 1), method="bounded")
        expected = np.sqrt(-2 * best.fun) / (gains.sum() / np.sqrt((gains**2).sum()))
        assert weight(gains, 1.0) == pytest.approx(min(1, expected), abs=0.01)


def test_scores_that_are_low_by_chance_open_no_later_step():
    # With a rate of 0.1 on 20 items few differ, all of them gains where what there is happened to score 0: if steps handed on what
    # they could not use, 0.06 of these runs would accept something.
    rng, runs = np.random.default_rng(7), 400
    rare = lambda *shape: (rng.random(shape) < 0.1) * 1.0
    assert sum(accepts(rng, Gate(0.05, 5), 20, 8, rare) for _ in range(runs)) <= stats.binom.ppf(0.05, runs, 0.06)


def test_after_an_acceptance_the_rest_of_the_level_is_left():
    gate = Gate(0.05, 4)
    assert gate.decide([0] * 20, [1] * 20).is_accepted
    second = gate.decide([0] * 20, [1] * 20)
    assert second.is_accepted and second.level == pytest.approx(0.05 * 0.98 / 4)


def test_a_gate_goes_on_after_json_as_if_it_had_not_stopped():
    rng = np.random.default_rng(3)
    rows = [(rng.random((2, 50)) < 0.6) * 1.0 for _ in range(6)]
    whole, half, rest = Gate(), Gate(), Gate()
    expected = [whole.decide(*row) for row in rows]
    found = [half.decide(*row) for row in rows[:3]]
    rest.load_state_dict(json.loads(json.dumps(half.state_dict())))
    assert found + [rest.decide(*row) for row in rows[3:]] == expected
    with pytest.raises(CheckpointError, match=r"level 0\.05 \(here 0\.1\)"):
        Gate(0.1).load_state_dict(half.state_dict())


@pytest.mark.parametrize("scores", ["binary", "soft"])
def test_a_thousand_items_take_no_more_steps_of_python_than_a_hundred(scores):
    def steps(items):
        rng, count = np.random.default_rng(0), []
        rows = (rng.random((items, 9)) < 0.7) * (1.0 if scores == "binary" else rng.random((items, 9)))
        gate = Gate(0.05, 5)
        decide = lambda: gate.decide(rows[:, 0], rows[:, 1:], [(items // 4, 4), (items // 2, 1)], 3)

        def told(frame, event, argument):
            frame.f_trace_opcodes = True
            count.append(event)
            return told

        decide()  # draws the patterns
        before = sys.gettrace()
        sys.settrace(told)
        try:
            decide()
        finally:
            sys.settrace(before)
        return count.count("opcode")

    assert 100 < steps(1000) <= steps(100) + 400


def test_scores_that_cannot_be_compared_are_refused():
    with pytest.raises(ShapeError, match="same items"):
        compare([1], [1, 1])
    with pytest.raises(ArgumentError, match="level"):
        compare([1], [1], 0)
    with pytest.raises(ArgumentError, match="finite"):
        compare([1, 2], [1, float("inf")])
    with pytest.raises(ArgumentError, match="at least one step"):
        Gate(steps=0)


def test_a_validation_scores_all_items_or_some():
    held_out = text.Validation("abc", lambda items: [ord(item) - 97 for item in items])
    assert held_out() == [0, 1, 2] and held_out([2, 0]) == [2, 0] and len(held_out) == 3
    with pytest.raises(ShapeError, match="one score for each item"):
        text.Validation("abc", lambda items: [1])()
    with pytest.raises(ArgumentError, match="at least one item"):
        text.Validation([], len)


def test_repeated_items_of_a_validation_are_one_unit():
    assert text.Validation([("a", 1), ("b", 1), ("a", 1)], list).units.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("score", "error"), [(float("nan"), ArgumentError), (float("inf"), ArgumentError), ("good", DTypeError)])
def test_a_score_that_is_no_number_is_an_error(score, error):
    with pytest.raises(error, match="a score must be"):
        text.Validation("abc", lambda items: [score] * len(items))()


def test_items_without_an_answer_are_asked_once_more():
    asked = []
    held_out = text.Validation(range(20), lambda items: asked.append(list(items)) or [None if len(asked) == 1 and i < 3 else 1 for i in items])
    assert held_out() == [1] * 20 and asked == [list(range(20)), [0, 1, 2]]


def test_too_many_items_without_an_answer_are_an_error_with_its_cause():
    held_out = text.Validation(range(20), lambda items: [None if i < 3 else 1 for i in items])
    with pytest.raises(AnswerError, match="3 of 20 validation items have no answer"):
        held_out()
    assert text.Validation(range(20), lambda items: [None if i < 3 else 1 for i in items], missing=0.2)()[:4] == [None, None, None, 1]

    def down(items):
        raise ModelError("the server is down")

    with pytest.raises(AnswerError) as found:
        text.Validation(range(3), down)()
    assert str(found.value.__cause__) == "the server is down"


def test_sets_share_no_item_and_hold_all_of_them():
    items = [f"item {i % 70}" for i in range(100)]
    sets = text.split_items(items, train=0.2, validation=0.5, test=0.3, seed=4)
    assert sorted([*sets.train, *sets.validation, *sets.test]) == sorted(items)
    assert not set(sets.train) & set(sets.validation) | set(sets.train) & set(sets.test) | set(sets.validation) & set(sets.test)
    assert [abs(len(part) - share) <= 2 for part, share in zip(sets, (20, 50, 30), strict=True)] == [True] * 3
    assert text.split_items(items, seed=1) != text.split_items(items, seed=2)


@pytest.mark.parametrize(("hits", "count"), [(0, 10), (10, 10), (27, 30), (1, 3)])
def test_wilsons_interval_is_that_of_scipy(hits, count):
    expected = stats.binomtest(hits, count).proportion_ci(method="wilson")
    assert text.wilson(hits, count)[1:] == pytest.approx((expected.low, expected.high))


def test_a_paired_difference_has_the_interval_of_scipys_bootstrap():
    rng = np.random.default_rng(5)
    before, after = rng.random(60), rng.random(60) + 0.2
    found = text.difference(before, after)
    expected = stats.bootstrap(((after - before),), np.mean, method="percentile", n_resamples=9999, rng=1).confidence_interval
    assert found[1:] == pytest.approx((expected.low, expected.high), abs=0.02) and found.value == pytest.approx((after - before).mean())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("items", "gain", "width", "steps"), [(100, 0.2, 8, 5), (60, 0.25, 1, 10), (200, 0.12, 4, 2)])
def test_power_is_near_that_of_simulated_runs(items, gain, width, steps, strict):
    rng = np.random.default_rng(6)
    rated = lambda rate: lambda *shape: (rng.random(shape) < rate) * 1.0
    seen = [accepts(rng, Gate(0.05, steps, strict=strict), items, width, rated(0.6), rated(0.6 + gain)) for _ in range(150)]
    assert np.mean(seen) == pytest.approx(text.power(items, gain, baseline=0.6, width=width, steps=steps, strict=strict), abs=0.13)


def test_more_items_are_needed_for_smaller_gains_and_wider_searches():
    needed = [text.items_needed(0.2, width=width) for width in (1, 4, 32)]
    assert needed == sorted(needed) and text.items_needed(0.1) > text.items_needed(0.3)
    assert text.power(needed[0], 0.2) >= 0.8 > text.power(needed[0] - 5, 0.2)
    assert text.smallest_gain(4) is None and text.smallest_gain(1000) < text.smallest_gain(50)

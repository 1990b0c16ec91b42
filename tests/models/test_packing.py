import numpy as np
import older_networks
import pytest
import reference

import retrograde as rg
from retrograde import models
from retrograde.models.finetuning.examples import Example

RNG = np.random.default_rng(0)


def texts(*lengths):
    return [Example(RNG.integers(3, 64, n).tolist(), [True] * n) for n in lengths]


@pytest.mark.parametrize("kind", ["llama", "mistral", "gemma3", "pairs", "gpt2"])
def test_texts_in_one_row_have_the_losses_that_they_have_alone(kind):
    network = older_networks.gpt2_of() if kind == "gpt2" else reference.network_of(kind)
    examples = texts(5, 9, 3, 7)
    rows = models.packed_rows(examples, 26)
    assert rows.tokens.shape == (1, 26)
    losses = lambda tokens, targets, **more: np.asarray(models.next_token_loss(network, tokens, targets, reduction="none", **more).detach())
    packed = losses(*map(rg.asarray, rows[:2]), segments=rg.asarray(rows.segments), positions=rg.asarray(rows.positions))[0]
    found = {tuple(rows.tokens[0][rows.segments[0] == s]): packed[rows.segments[0] == s] for s in (1, 2, 3, 4)}
    for tokens, _ in examples:
        alone = losses(rg.asarray([tokens[:-1]]), rg.asarray([tokens[1:]]))[0]
        np.testing.assert_allclose(found[tuple(tokens)][:-1], alone, rtol=1e-4, atol=1e-4)
        assert found[tuple(tokens)][-1] == 0
    assert not packed[rows.segments[0] == 0].any()


def test_a_text_does_not_hear_of_the_one_beside_it():
    network, (first, second, third) = reference.network_of(), texts(6, 6, 6)
    gradient = []
    for other in (second, third):
        rows = models.packed_rows([first, other], 12)
        place = int(np.flatnonzero((rows.tokens[0] == first.tokens[0]) & (rows.positions[0] == 0))[0])
        part = {"segments": rg.asarray(rows.segments), "positions": rg.asarray(rows.positions)}
        losses = models.next_token_loss(network, rg.asarray(rows.tokens), rg.asarray(rows.targets), reduction="none", **part)
        gradient.append(np.asarray(losses[0, place : place + 6].detach()))
    np.testing.assert_array_equal(*gradient)


def test_every_token_is_in_one_row_and_learned_where_it_is_to_be():
    lengths = RNG.integers(2, 17, 60)
    examples = [Example(RNG.integers(3, 64, n).tolist(), (RNG.random(n) < 0.5).tolist()) for n in lengths]
    rows = models.packed_rows(examples, 16, multiple=4)
    assert len(rows.tokens) % 4 == 0
    found = []
    for tokens, targets, segments, positions in zip(*rows, strict=True):
        for segment in range(1, segments.max() + 1):
            here = segments == segment
            np.testing.assert_array_equal(positions[here], np.arange(here.sum()))
            found.append((tokens[here].tolist(), targets[here].tolist()))
    wanted = [(list(tokens), [*[t if learned else -100 for t, learned in zip(tokens[1:], marks[1:], strict=True)], -100])
              for tokens, marks in examples]
    assert sorted(found) == sorted(wanted)
    # Best fit leaves at most a fifth of the room of all rows but a few.
    assert len(rows.tokens) <= 1.25 * lengths.sum() / 16 + 4


def test_segments_need_positions():
    with pytest.raises(rg.errors.ArgumentError, match="both"):
        models.next_token_loss(reference.network_of(), rg.asarray([[1, 2]]), rg.asarray([[2, 3]]), segments=rg.asarray([[1, 1]]))


def test_examples_may_be_pairs_and_are_checked():
    pairs = [([3, 4, 5], [True, True, False]), (np.array([6, 7]), np.array([False, True]))]
    for found, expected in zip(models.packed_rows(pairs, 8), models.packed_rows([Example(*pair) for pair in pairs], 8), strict=True):
        np.testing.assert_array_equal(found, expected)
    for example in (5, [3], ([3, 4], [True]), ([3] * 9, [True] * 9), ([], []), "ab"):
        with pytest.raises(rg.errors.ArgumentError, match="an example"):
            models.packed_rows([example], 8)


def test_what_is_given_of_each_token_may_be_lists_and_has_the_shape_of_tokens():
    network, tokens, targets = reference.network_of(), [[3, 4, 5, 6]], [[4, 5, 6, 7]]
    part = {"segments": [[1, 1, 2, 2]], "positions": [[0, 1, 0, 1]]}
    expected = models.next_token_loss(network, rg.asarray(tokens), rg.asarray(targets), **{name: rg.asarray(x) for name, x in part.items()})
    assert float(models.next_token_loss(network, tokens, targets, **part)) == float(expected)
    for name in part:
        with pytest.raises(rg.errors.ShapeError, match=rf"{name} must have the shape of tokens, .*got \(1, 2\) and \(1, 4\)"):
            models.next_token_loss(network, tokens, targets, **{**part, name: [[0, 1]]})
    with pytest.raises(rg.errors.ShapeError, match="targets must have the shape"):
        models.next_token_loss(network, tokens, [[4, 5]])

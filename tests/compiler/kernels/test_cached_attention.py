import numpy as np
import pytest

import retrograde as rg
from retrograde.compiler.backends import chosen_name


def operands(batch=2, new=3, heads=6, shared=2, size=16, longest=50, seed=0):
    draw = lambda *shape: np.random.default_rng((seed, *shape)).standard_normal(shape).astype(np.float32)
    fresh, cache = (batch, new, shared, size), (batch, longest, shared, size)
    return draw(batch, new, heads, size), draw(*fresh), draw(*fresh) * 2, draw(*cache), draw(*cache) * 3


def expected(query, key, value, keys, values, lengths, scale, window):
    """Attention of each head, position and text by itself, in float64."""
    found = np.empty(query.shape)
    group = query.shape[2] // key.shape[2]
    for b, i, h in np.ndindex(query.shape[:3]):
        seen = [np.concatenate([cache[b, : lengths[b], h // group], new[b, : i + 1, h // group]]).astype(np.float64)
                for cache, new in ((keys, key), (values, value))]
        seen = [x[-window:] if window else x for x in seen]
        scores = seen[0] @ query[b, i, h].astype(np.float64) * scale
        weights = np.exp(scores - scores.max())
        found[b, i, h] = weights @ seen[1] / weights.sum()
    return found


@pytest.mark.parametrize("window", [None, 1, 4, 20, 100])
@pytest.mark.parametrize("sizes", [{}, {"new": 1}, {"heads": 2, "size": 64}, {"size": 4, "longest": 7}, {"size": 24, "new": 20}, {"new": 16}, {"new": 70, "size": 64, "heads": 3, "shared": 1, "longest": 200},
                                   {"new": 33, "longest": 90, "heads": 2, "size": 4},
                                   {"heads": 8, "shared": 1, "size": 64, "batch": 1}, {"batch": 3}])
def test_compiled_attention_to_a_cache_is_that_of_each_head_alone(sizes, window):
    arrays = operands(**sizes)
    longest = arrays[3].shape[1]
    lengths = np.array([0, longest, longest // 2][: len(arrays[0])])
    f = rg.jit(lambda *args: rg.cached_attention(*args, 0.3, window))
    found = f(*map(rg.asarray, arrays), rg.asarray(lengths))
    np.testing.assert_allclose(found, expected(*arrays, lengths, 0.3, window), rtol=2e-5, atol=1e-5)
    assert [kernel.kind for kernel in f.explain().kernels] == ["cached attention"]
    eager = rg.cached_attention(*map(rg.asarray, arrays), rg.asarray(lengths), 0.3, window)
    np.testing.assert_allclose(eager, expected(*arrays, lengths, 0.3, window), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("new", [3, 20])
def test_what_is_beyond_the_filled_part_is_not_looked_at(new):
    arrays, lengths = operands(new=new), np.array([3, 20])
    f = rg.jit(lambda *args: rg.cached_attention(*args))
    before = np.asarray(f(*map(rg.asarray, arrays), rg.asarray(lengths)))
    for b, length in enumerate(lengths):
        arrays[3][b, length:], arrays[4][b, length:] = np.nan, np.inf
    np.testing.assert_array_equal(f(*map(rg.asarray, arrays), rg.asarray(lengths)), before)


@pytest.mark.parametrize("new", [3, 20])
@pytest.mark.parametrize("lengths", [(-5, 3), (51, 3), (2**62, -(2**62))])
def test_lengths_beyond_the_cache_read_nothing_outside_of_it(lengths, new):
    arrays = operands(new=new)
    inside = np.clip(lengths, 0, 50)
    f = rg.jit(lambda *args: rg.cached_attention(*args, 1.0, 7))
    given = [f(*map(rg.asarray, arrays), rg.asarray(np.array(each))) for each in (lengths, inside)]
    np.testing.assert_array_equal(*given)


def test_a_text_is_bitwise_the_same_whatever_texts_and_new_positions_are_beside_it():
    arrays, lengths = operands(batch=3, new=5), np.array([7, 50, 0])
    f = rg.jit(lambda *args: rg.cached_attention(*args))
    found = np.asarray(f(*map(rg.asarray, arrays), rg.asarray(lengths)))
    alone = [x[1:2] if i > 2 else x[1:2, :2] for i, x in enumerate(arrays)]
    np.testing.assert_array_equal(f(*map(rg.asarray, alone), rg.asarray(lengths[1:2])), found[1:2, :2])


@pytest.mark.parametrize("window", [None, 5, 40, 1 << 40])
@pytest.mark.parametrize("pieces", [(16, 80), (80, 16), (16, 16, 64), (33, 17, 46)])
def test_a_prompt_is_bitwise_the_same_however_it_is_cut(pieces, window):
    size = {"heads": 3, "shared": 1, "size": 64, "longest": 150}
    (query, key, value, keys, values), before = operands(batch=2, new=96, **size), np.array([0, 37])
    f = rg.jit(lambda *args: rg.cached_attention(*args, 0.3, window))
    whole = np.asarray(f(*map(rg.asarray, (query, key, value, keys, values)), rg.asarray(before)))
    start, lengths = 0, before.copy()
    for count in pieces:
        part = slice(start, start + count)
        found = f(*map(rg.asarray, (query[:, part], key[:, part], value[:, part], keys, values)), rg.asarray(lengths))
        np.testing.assert_array_equal(found, whole[:, part])
        for text, length in enumerate(lengths):
            keys[text, length : length + count], values[text, length : length + count] = key[text, part], value[text, part]
        start, lengths = start + count, lengths + count


@pytest.mark.skipif(chosen_name() != "native", reason="code of our own")
def test_prompts_of_all_lengths_share_their_code_whatever_texts_and_caches_there_are():
    def code(**sizes):
        arrays = operands(**sizes)
        f = rg.jit(lambda *args: rg.cached_attention(*args))
        f(*map(rg.asarray, arrays), rg.asarray(np.zeros(len(arrays[0]), np.int64)))
        return f.explain().kernels[0].llvm

    found = code(new=17)
    assert {code(new=90), code(new=300, longest=400), code(new=64, batch=1), code(new=33, longest=7)} == {found}
    assert code(new=17, size=32) != found


@pytest.mark.parametrize(("change", "message"), [
    (lambda q, k, v, c, d, n: (q[0], k, v, c, d, n), "four axes"), (lambda q, k, v, c, d, n: (q[:, :, :5], k, v, c, d, n), "shared heads"),
    (lambda q, k, v, c, d, n: (q, k, v, c, d, n[:1]), "lengths"), (lambda q, k, v, c, d, n: (q, k[..., :8], v, c, d, n), "new")])
def test_shapes_that_do_not_fit_are_refused(change, message):
    arrays = change(*operands(), np.array([0, 1]))
    with pytest.raises(rg.errors.ShapeError, match=message):
        rg.cached_attention(*map(rg.asarray, arrays))

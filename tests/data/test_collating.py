from typing import NamedTuple

import numpy as np
import pytest

import retrograde as rg
from retrograde.data import Pad, collate
from retrograde.data.collating import as_tensors
from retrograde.errors import ArgumentError, DTypeError, ShapeError


class Pair(NamedTuple):
    one: object
    two: object


def test_what_rows_hold_is_stacked_or_listed():
    rows = [(np.full(2, i), float(i), i, str(i), {"a": np.float64(i), "b": [i, i + 1]}, rg.tensor([i])) for i in range(3)]
    x, f, n, s, d, t = collate(rows)
    np.testing.assert_array_equal(x, [[0, 0], [1, 1], [2, 2]])
    assert (f.dtype, n.dtype, s, d["a"].dtype) == (np.float32, np.int64, ["0", "1", "2"], np.float64)
    np.testing.assert_array_equal(d["b"], [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_array_equal(t, [[0], [1], [2]])


def test_named_tuples_keep_their_class_and_truth_values_their_dtype():
    batch = collate([Pair(True, None), Pair(False, None)])
    assert isinstance(batch, Pair) and batch.one.dtype == bool and batch.two == [None, None]
    assert isinstance(as_tensors(batch), Pair)


def test_tensors_of_a_batch_share_its_memory():
    x = np.zeros(3, np.float32)
    tensors = as_tensors({"x": x, "n": ["a"], "s": np.array(["b"]), "t": np.array(["c"], np.dtypes.StringDType())})
    assert np.shares_memory(tensors["x"].numpy(), x)
    assert (tensors["n"], tensors["s"], tensors["t"]) == (["a"], ["b"], ["c"])


def test_rows_are_padded_to_the_longest_or_to_a_multiple():
    rows = [(np.arange(n, dtype=np.int32), n) for n in (3, 1, 5)]
    x, y = Pad(value=-1)(rows)
    assert x.shape == (3, 5) and x.dtype == np.int32 and y.tolist() == [3, 1, 5]
    np.testing.assert_array_equal(x[1], [0, -1, -1, -1, -1])
    x, _, lengths = Pad(multiple_of=4, lengths_of=0)(rows)
    assert x.shape == (3, 8) and lengths.tolist() == [3, 1, 5]
    batch = Pad(lengths_of="x")([{"x": np.ones((n, 2)), "name": str(n)} for n in (2, 3)])
    assert batch["x"].shape == (2, 3, 2) and batch["lengths"].tolist() == [2, 3] and batch["name"] == ["2", "3"]
    x, lengths = Pad(lengths_of=0)([[1, 2], [3]])
    assert x.tolist() == [[1, 2], [3, 0]] and lengths.tolist() == [2, 1]


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: collate([np.ones(2), np.ones(3)]), ShapeError, r"\(2,\), \(3,\); pad them with collate=rg.data.Pad"),
    (lambda: collate([(1, 2), (1, 2, 3)]), ShapeError, r"equally many parts, got \[2, 3\]"),
    (lambda: collate([{"a": 1}, {"b": 1}]), ArgumentError, "the same keys"),
    (lambda: collate([{"a": 1}, None]), DTypeError, "must be alike, got dict and NoneType"),
    (lambda: collate([(1, 2), None]), DTypeError, "must be alike, got tuple and NoneType"),
    (lambda: collate([[[1.0, 2.0], [3.0, 4.0]], [0, 1]]), DTypeError, r"several lists.*a tuple of arrays, \(np\.asarray\(x\)"),
    (lambda: collate([object()]), DTypeError, "object cannot be made a batch"),
    (lambda: Pad()([np.ones((2, 3)), np.ones((2, 4))]), ShapeError, "the first axis alone"),
    (lambda: Pad(multiple_of=0), ArgumentError, "at least 1"),
])
def test_what_makes_no_batch_is_told(call, error, words):
    with pytest.raises(error, match=words):
        call()

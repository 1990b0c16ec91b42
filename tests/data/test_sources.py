import pickle

import numpy as np
import pytest

import retrograde as rg
from data_sets import double
from retrograde.data import Loader, concat, pack, source
from retrograde.errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError


def test_rows_of_arrays_are_entries_tuples_or_dictionaries():
    assert source(np.arange(3))[1] == 1 and source([5, 6])[-1] == 6
    assert source(np.arange(3), np.arange(3) * 2)[2] == (2, 4) == source((np.arange(3), rg.arange(3) * 2))[2]
    row = source({"x": np.ones((2, 3)), "y": [0.5, 1.5]})[1]
    assert row["x"].shape == (3,) and row["y"] == 1.5 and row["y"].dtype == np.float32
    assert source(source([1])).__class__ is source([1]).__class__
    assert list(source(range(4))) == [0, 1, 2, 3] and repr(source(range(4))) == "Sequence(4 rows)"


def test_rows_are_mapped_filtered_selected_split_and_joined():
    rows = source(range(10))
    assert list(rows.map(double).filter(lambda x: x % 3 == 0)) == [0, 6, 12, 18]
    assert list(rows.select([3, -1])) == [3, 9] and list(rows.select(np.arange(10) > 7)) == [8, 9] and len(rows.select([])) == 0
    one, two = rows.split(0.75, 0.25, seed=1)
    assert (len(one), len(two)) == (8, 2) and sorted([*one, *two]) == list(range(10))
    assert list(rows.split(3, 7, seed=1)[0]) == list(rows.split(3, 7, seed=1)[0]) != list(rows.split(3, 7, seed=2)[0])
    joined = concat(range(2), [7], np.arange(3))
    assert [int(x) for x in joined] == [0, 1, 7, 0, 1, 2] and joined[-1] == 2 and len(joined) == 6


def test_what_is_made_of_a_source_can_be_sent():
    rows = concat(source(np.arange(5)).map(double).select([4, 0]), [3])
    assert [int(x) for x in pickle.loads(pickle.dumps(rows))] == [8, 0, 3]


def test_a_selection_of_arrays_is_gathered_and_one_of_functions_is_not():
    assert source(np.arange(5)).select([1]).can_gather and not source(np.arange(5)).map(double).select([1]).can_gather
    assert not source({"x": np.array([[1, 2], [3, 4]]), "o": np.array(["a", None], object)}).can_gather


def test_columns_stand_side_by_side():
    table = source({"a": np.arange(3), "b": np.array([0.5, 1.5, 2.5]), "name": np.array(["x", "y", "z"])})
    x, y = next(iter(Loader(table.tuples(["a", "b"], "name"), 2)))
    assert x.tolist() == [[0.0, 0.5], [1.0, 1.5]] and x.dtype == "float32" and y == ["x", "y"]
    assert next(iter(Loader(table.tuples("a"), 2))).tolist() == [0, 1] and table.tuples(["a"])[1].shape == (1,)
    with pytest.raises(OutOfRangeError, match="no column 'c'; there are a, b, name"):
        table.tuples("a", ["c"])


@pytest.mark.parametrize(("length", "end"), [(4, None), (4, 0), (1, None), (7, 9), (100, 1)])
def test_packing_lays_sequences_end_to_end(length, end):
    rng = np.random.default_rng(0)
    rows = [rng.integers(10, 99, n) for n in (3, 0, 5, 1, 12, 4)]
    flat = np.concatenate([np.append(row, [end] if end is not None else []) for row in rows])
    packed = pack(rows, length, end)
    wanted = flat[: len(flat) // length * length].reshape(-1, length)
    assert len(packed) == len(wanted)
    assert all((row == other).all() and row.dtype == np.int64 for row, other in zip(packed, wanted, strict=True))


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: source("x.csv"), DTypeError, r"for the file 'x\.csv' there are rg\.data\.csv"),
    (lambda: Loader(np.ones(3), np.ones(3)), ArgumentError, r"as a tuple: Loader\(\(x, y\), batch_size\)"),
    (lambda: source(5), DTypeError, "needs `len` and `\\[\\]`, which int has not got"),
    (lambda: source(x for x in "a"), DTypeError, "generator has not got; list"),
    (lambda: source(np.ones(2), np.ones(3)), ShapeError, "0: 2, 1: 3"),
    (lambda: source({"a": np.ones(2), "b": np.ones(3)}), ShapeError, "a: 2, b: 3"),
    (lambda: source({"a": [[1], [1, 2]]}), ShapeError, "pad them with collate=rg.data.Pad"),
    (lambda: source({}), ArgumentError, "at least one column"),
    (lambda: source(np.float32(3)), DTypeError, "float32 has not got"),
    (lambda: source(np.array(3)), ShapeError, "without axes"),
    (lambda: source([1, 2])[2], OutOfRangeError, "2 rows, and no row 2"),
    (lambda: source([1, 2]).select([2]), OutOfRangeError, "numbered 0 to 1, got 2 to 2"),
    (lambda: source([1, 2]).select([True]), ArgumentError, "one truth value for each of the 2 rows"),
    (lambda: source([1, 2]).select([0.5]), ArgumentError, "by integers"),
    (lambda: source([1, 2]).split(1, 2), ArgumentError, "add up to 2 rows"),
    (lambda: source([1, 2]).split(0.5, 0.4), ArgumentError, "add up to 1"),
    (lambda: concat(), ArgumentError, "at least one"),
    (lambda: pack([[1]], 0), ArgumentError, "at least 1"),
    (lambda: pack([[1]], 1, lengths=[1, 2]), ArgumentError, "one length for each of the 1 sequences"),
    (lambda: list(pack([[1, 2]], 2, lengths=[4])), ArgumentError, "sequence 0 has 2 entries, and had 4"),
])
def test_what_is_no_source_is_told(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_tables_of_pandas():
    pandas = pytest.importorskip("pandas", reason="pandas is not among the dependencies")
    table = pandas.DataFrame({"x": [1.5, 2.5], "n": [1, 2], "s": ["a", "b"], "d": pandas.to_datetime(["2020-01-01", "2020-01-02"])})
    batch = next(iter(Loader(table, 2)))
    assert batch["x"].tolist() == [1.5, 2.5] and batch["n"].dtype == "int64" and batch["s"] == ["a", "b"] and batch["d"].dtype.kind == "M"


def test_columns_are_taken_in_the_order_of_their_rows_whatever_their_index_says():
    pandas = pytest.importorskip("pandas", reason="pandas is not among the dependencies")
    numbers = pandas.Series([5.0, 6.0, 7.0], index=[2, 0, 1])
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4.0, 5.0, 6.0]}, index=[1, 2, 0])
    assert next(iter(Loader(numbers, 3))).tolist() == [5, 6, 7] == [source(numbers)[i] for i in range(3)]
    assert next(iter(Loader(pandas.Series(["x", "y"], index=[1, 0]), 2))) == ["x", "y"]
    x, y, z = next(iter(Loader((table, numbers, np.arange(3)), 2)))
    assert x.tolist() == [[1, 4], [2, 5]] and y.tolist() == [5, 6] and z.tolist() == [0, 1]
    with pytest.raises(DTypeError, match=r"a DataFrame among arrays needs numbers, got (object|str)"):
        source((table.assign(b="text"), numbers))
    with pytest.raises(ArgumentError, match="names that differ; there are several called a"):
        source(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ArgumentError, match="several called 1"):
        source(pandas.DataFrame([[1, 2]], columns=["1", 1]))


def test_tables_of_polars():
    polars = pytest.importorskip("polars", reason="polars is not among the dependencies")
    batch = next(iter(Loader(polars.DataFrame({"x": [1.5, None], "n": [1, 2], "s": ["a", "b"]}), 2)))
    np.testing.assert_array_equal(batch["x"], [1.5, np.nan])
    assert batch["n"].tolist() == [1, 2] and batch["s"] == ["a", "b"]
    assert next(iter(Loader((polars.DataFrame({"x": [1.0], "y": [2.0]}), polars.Series([3])), 1)))[0].tolist() == [[1, 2]]


def test_tables_of_arrow():
    arrow = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra `data`")
    table = arrow.table({"x": [1.5, 2.5, 3.5], "s": ["a", "b", None], "v": [[1, 2], [3], []]})
    rows = source(arrow.concat_tables([table, table]))
    assert len(rows) == 6 and rows[4]["x"] == 2.5 and rows[5]["s"] is None and rows[3]["v"].tolist() == [1, 2]
    assert source(table.to_batches()[0])[1]["x"] == 2.5
    assert [*source(table["x"])] == [1.5, 2.5, 3.5] == [*source(table["x"].chunk(0))] and source(table["s"])[2] is None
    assert source((table.select(["x"]), np.arange(3)))[1][0].tolist() == [2.5]

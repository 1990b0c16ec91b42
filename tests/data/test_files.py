"""Sources that are files: what they read, and that errors name the file and the row."""

import importlib.util
import os
import random
import re
import tracemalloc

import malformed_tables
import numpy as np
import pytest

import retrograde as rg
from retrograde.data import Loader, arrow, csv, image_folder, parquet, text_lines
from retrograde.errors import ArgumentError, DataError


def wrote(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_columns_of_csv_have_the_types_of_their_fields(tmp_path):
    path = wrote(tmp_path / "x.csv", 'id,price,name,code,big,gap\n1,1.5,"a, b",007,1e3,1\n\n-2,,"two\nlines",12,nan,\n')
    table = csv(path)
    assert [table.columns[name].dtype.kind for name in table.columns] == list("ifTTff")
    assert table[0] == {"id": 1, "price": 1.5, "name": "a, b", "code": "007", "big": 1000.0, "gap": 1.0}
    assert np.isnan(table[1]["price"]) and table[1]["name"] == "two\nlines" and np.isnan(table[1]["gap"])
    batch = next(iter(Loader(csv(path, columns=["name", "id"]), 2)))
    assert batch["name"] == ["a, b", "two\nlines"] and batch["id"].tolist() == [1, -2]
    assert table.where(1) == f"row 1 of {path}"


def test_csv_without_a_header_or_with_types_of_ones_own(tmp_path):
    path = wrote(tmp_path / "x.csv", "1;2\n3;4\n")
    assert csv(path, header=False, delimiter=";")[1] == {"0": 3, "1": 4}
    assert csv(path, header=["a", "b"], delimiter=";", types={"a": float, "b": str})[0] == {"a": 1.0, "b": "2"}
    assert len(csv(wrote(tmp_path / "y.csv", "a,b\n"))) == 0


def test_csv_agrees_with_numpy_over_many_pieces(tmp_path):
    numbers = np.random.default_rng(0).normal(size=(10_000, 3))
    np.savetxt(tmp_path / "x.csv", numbers, delimiter=",", header="a,b,c", comments="")
    table = csv(tmp_path / "x.csv")
    np.testing.assert_array_equal(np.stack(list(table.columns.values()), 1), np.loadtxt(tmp_path / "x.csv", delimiter=",", skiprows=1))


def test_a_type_that_only_the_last_row_shows_is_that_of_the_column(tmp_path):
    rows = "".join(f"{i},{i},{i}\n" for i in range(9000))
    table = csv(wrote(tmp_path / "x.csv", f"a,b,c\n{rows}1,1.5,x\n"))
    assert [column.dtype.kind for column in table.columns.values()] == list("ifT")
    assert table[9000] == {"a": 1, "b": 1.5, "c": "x"} and table[8999]["c"] == "8999"
    assert csv(wrote(tmp_path / "y.csv", f"a\n{2**63 - 1}\n"))[0]["a"] == 2**63 - 1
    assert csv(wrote(tmp_path / "z.csv", "a\n1_000\n"))[0]["a"] == "1_000"
    assert csv(wrote(tmp_path / "n.csv", f"a\n{2**70 + 1}\n"))[0]["a"] == str(2**70 + 1)
    assert csv(wrote(tmp_path / "m.csv", f"a,b\n{2**53 + 1},1\n,2\n"))[0]["a"] == str(2**53 + 1)  # with a gap it would be a float


@pytest.mark.parametrize(("content", "options", "words"), [
    ("a,b\n1,2\n3\n", {}, "x.csv, line 3: 1 fields, where there are 2 columns"),
    ("a,b\n1,2,3\n", {}, "line 2: 3 fields"), ("", {}, "line 1: there are no columns"), ("a,a\n1,2\n", {}, "two columns are called 'a'"),
    ('a\n"x\n', {}, "line 2: unexpected end of data"), ("a\n1\nx\n", {"types": {"a": int}}, "line 3, column 'a': 'x' is no int64"),
    ("a\n1\n", {"columns": ["b"]}, "has no column 'b'; it has a"), ("a\n1\n", {"types": {"b": int}}, "no column 'b'"),
    (b"a\n\xff\n", {}, "no utf-8"), ("a\n" + "x" * 200_000 + "\n", {}, "line 2: field larger than field limit"),
])
def test_errors_of_csv_name_the_file_and_the_line(tmp_path, content, options, words):
    with pytest.raises(DataError, match=words):
        csv(wrote(tmp_path / "x.csv", content), **options)


def test_a_damaged_csv_file_is_read_or_told(tmp_path):
    draw = random.Random(5)
    content = ("a,b,c\n" + "".join(f'{i},{i * 0.5},"t{i}"\n' for i in range(20))).encode()
    told = read = 0
    for _ in range(120):
        damaged, place = bytearray(content), draw.randrange(len(content))
        damaged[place : place + draw.choice([0, 1, 9])] = draw.choice([b"", b'"', b",", b"\n", b"\0", b"\xff\xfe", b"1_0", b"\r"])
        try:
            rows = list(csv(wrote(tmp_path / "x.csv", bytes(damaged))))
        except DataError as error:
            told += str(error).startswith(str(tmp_path / "x.csv"))
        else:
            read += all(len(row) == len(rows[0]) for row in rows)
    assert told + read == 120 and told > 30 < read


def test_a_long_field_is_a_text_and_takes_no_more_memory_than_its_file(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("a,b\n" + "1,2\n" * 4000 + "1," + "7" * 100_000 + "\n")
    tracemalloc.start()
    table = csv(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (table[0]["b"], len(table[4000]["b"])) == ("2", 100_000)
    assert peak < 4 * path.stat().st_size + (8 << 20)
    with pytest.raises(DataError, match="line 4002, column 'b'"):
        csv(path, types={"b": float})


def test_damaged_tables_are_read_or_told(tmp_path):
    kinds = ["csv"] if importlib.util.find_spec("pyarrow") is None else ["csv", "parquet", "arrow"]
    for seed in range(60):
        malformed_tables.tried(seed, tmp_path, kinds)


def test_other_errors_of_csv(tmp_path):
    with pytest.raises(DataError, match=r"no\.csv: No such file"):
        csv(tmp_path / "no.csv")
    with pytest.raises(ArgumentError, match="delimiter"):
        csv(wrote(tmp_path / "x.csv", "a\n1\n"), delimiter="::")
    with pytest.raises(ArgumentError, match="int, float or str"):
        csv(tmp_path / "x.csv", types={"a": bool})


def test_lines_of_texts_are_read_by_number(tmp_path):
    one, two = wrote(tmp_path / "1.txt", "one\nzwei \n\ndrei\r\nvier"), wrote(tmp_path / "2.txt", "fünf\n")
    assert list(text_lines(one, two)) == ["one", "zwei ", "", "drei", "vier", "fünf"]
    assert len(text_lines(wrote(tmp_path / "0.txt", ""))) == 0
    assert list(Loader(text_lines(one), 3, shuffle=True, seed=0, workers=2)) == list(Loader(text_lines(one), 3, shuffle=True, seed=0))


def test_errors_of_texts_name_the_file_and_the_line(tmp_path):
    path = wrote(tmp_path / "x.txt", b"good\nb\xffd\nmore\n")
    with pytest.raises(DataError, match=r"x\.txt, line 2: no utf-8: invalid start byte at byte 1") as caught:
        list(Loader(text_lines(path), 3))
    assert re.fullmatch(r"while row 1, .*x\.txt, line 2, was made", caught.value.__notes__[0])
    lines = text_lines(path)
    os.truncate(path, 8)
    for i in (0, 2):  # what stands there now may be another line
        with pytest.raises(DataError, match=rf"line {i + 1}: the file has become shorter"):
            _ = lines[i]
    path.unlink()
    with pytest.raises(DataError, match=r"x\.txt, line 1: No such file"):
        _ = lines[0]
    with pytest.raises(DataError, match=r"no\.txt: No such file"):
        text_lines(tmp_path / "no.txt")


def test_folders_of_images_are_classes(tmp_path):
    pillow = pytest.importorskip("PIL.Image", reason="Pillow comes with the extra `data`")
    pixels = np.random.default_rng(0).integers(0, 256, (6, 4, 3), np.uint8)
    for k, name in enumerate(["dogs/a.png", "cats/b.png", "cats/deep/c.png"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pillow.fromarray(pixels + k).save(tmp_path / name)
    wrote(tmp_path / "cats" / "notes.txt", "no image")
    images = image_folder(tmp_path)
    assert images.classes == ["cats", "dogs"] and len(images) == 3
    x, y = next(iter(Loader(images, 3)))
    assert (x.shape, x.dtype, y.tolist()) == ((3, 3, 6, 4), "uint8", [0, 0, 1])
    np.testing.assert_array_equal(x.numpy()[2].transpose(1, 2, 0), pixels)
    assert image_folder(tmp_path, mode="L", size=(8, 10))[0][0].shape == (1, 8, 10)
    wrote(tmp_path / "dogs" / "z.jpg", b"\xff\xd8 broken")
    with pytest.raises(DataError, match=r"dogs/z\.jpg is no image that can be read") as caught:
        list(Loader(image_folder(tmp_path), 4))
    assert "while row 3" in caught.value.__notes__[0]
    with pytest.raises(DataError, match="holds no folders with images"):
        image_folder(tmp_path / "cats" / "deep")
    with pytest.raises(DataError, match="is no folder"):
        image_folder(tmp_path / "birds")


def test_parquet_and_arrow_files(tmp_path):
    library = pytest.importorskip("pyarrow", reason="pyarrow comes with the extra `data`")
    from pyarrow import feather
    from pyarrow import parquet as writer

    table = library.table({"x": np.arange(1000.0), "n": np.arange(1000), "s": [str(i) for i in range(1000)]})
    writer.write_table(table, tmp_path / "x.parquet", row_group_size=100)
    rows = parquet(tmp_path / "x.parquet")
    assert len(rows) == 1000 and rows[500] == {"x": 500.0, "n": 500, "s": "500"} and list(parquet(tmp_path / "x.parquet", ["n"]).columns) == ["n"]
    feather.write_feather(table, tmp_path / "x.arrow", compression="uncompressed")
    assert arrow(tmp_path / "x.arrow")[-1] == {"x": 999.0, "n": 999, "s": "999"}
    total = sum(int(batch["n"].numpy().sum()) for batch in Loader(rows, 64, shuffle=True, workers=2))
    assert total == 999 * 500
    wrote(tmp_path / "bad.parquet", (tmp_path / "x.parquet").read_bytes()[:3000])
    for read in (parquet, arrow):
        with pytest.raises(DataError, match=r"bad\.parquet cannot be read"):
            read(tmp_path / "bad.parquet")
        with pytest.raises(DataError, match="no such file"):
            read(tmp_path / "no.parquet")
    with pytest.raises(DataError, match=r"x\.parquet .*y"):
        parquet(tmp_path / "x.parquet", ["y"])


@pytest.mark.parametrize(("library", "call"), [("pyarrow", lambda path: parquet(path)), ("PIL", lambda path: image_folder(path))])
def test_a_missing_library_is_named_with_the_extra(library, call, tmp_path, monkeypatch):
    import importlib

    def missing(name):
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(rg.errors.MissingExtraError, match=rf"needs {library}; install it with: pip install 'retrograde\[data\]'"):
        call(tmp_path)

"""Tables that are not as they were written: `python -m tests.data.malformed_tables --count 20000` damages so many files, and reads each.

Each CSV, Parquet and Arrow file must give rows, or an error of ours, soon, and without taking more memory than four times what is on
the disk and a few megabytes.
"""

import argparse
import random
import sys
import tempfile
from collections import Counter, deque
from pathlib import Path

from retrograde import data
from tests.bounded_reading import outcome

#: What readers take beside what is read: a piece of rows, and what a library loads at its first call.
ALLOWANCE = 8 << 20
WORDS = ["", "1", "-7", "2.5", "1e400", "nan", "inf", "007", "1_000", "²", "٣", "9" * 25, "1" * 5000, "x" * 1000, "é", '"', '""', '"a', "\0",
         "\ufeff", "\r", "1,2", "true", "0x1f", " 3 ", "1" * 140_000]


def csv_file(draw):
    """A small table with all kinds of columns."""
    words = draw.choice([WORDS[:6], draw.sample(WORDS, 2)])
    rows = [f"{i},{i / 3},{draw.choice(words)},word{i}" for i in range(draw.randrange(30))]
    return "\n".join(["a,b,c,d", *rows]).encode() + b"\n" * draw.randrange(2)


def pyarrow_file(draw, kind):
    """The bytes of a table with all kinds of columns, as Parquet or as Arrow."""
    import pyarrow
    from pyarrow import feather, parquet

    count = draw.randrange(1, 40)
    table = pyarrow.table({
        "whole": list(range(count)), "real": [i / 3 for i in range(count)], "gaps": [None if i % 3 else i for i in range(count)],
        "text": [f"word {i}" for i in range(count)], "truth": [i % 2 == 0 for i in range(count)], "rows": [[i, i + 1] for i in range(count)],
    })
    sink = pyarrow.BufferOutputStream()
    if kind == "parquet":
        parquet.write_table(table, sink, compression=draw.choice(["none", "snappy", "zstd"]))
    else:
        feather.write_feather(table, sink, compression=draw.choice(["uncompressed", "lz4", "zstd"]))
    return sink.getvalue().to_pybytes()


def damaged(draw, content):
    """The bytes of a file, damaged in up to three places."""
    content = bytearray(content)
    for _ in range(draw.randrange(4)):
        if not content:
            return bytes(content)
        place = draw.randrange(len(content))
        way = draw.choice(["flip", "cut", "grow", "splice", "zeros", "number", "word", "end"])
        if way == "flip":
            content[place] ^= 1 << draw.randrange(8)
        elif way == "cut":
            del content[place:]
        elif way == "grow":
            content += draw.randbytes(draw.randrange(1, 100))
        elif way == "splice":
            content[place : place + draw.randrange(1, 60)] = draw.randbytes(draw.randrange(60))
        elif way == "zeros":
            content[place : place + 64] = bytes(64)
        elif way == "number":
            content[place : place + 8] = draw.choice([2**31, 2**62, 2**64 - 1, 0]).to_bytes(8, "little")
        elif way == "word":
            content[place:place] = draw.choice(WORDS).encode()
        else:  # the lengths that stand at the end of Parquet and Arrow files
            content[-12:-4] = draw.randbytes(8)
    return bytes(content)


def read(path, kind):
    """What came of reading every row: "rows", or the name of the class of the error."""
    reader = {"csv": data.csv, "parquet": data.parquet, "arrow": data.arrow}[kind]
    return outcome(lambda: deque(reader(path), maxlen=0), path.stat().st_size, ALLOWANCE, "rows")


def tried(seed, folder, kinds):
    """(kind of file, what came of reading it when it was damaged)."""
    draw = random.Random(seed)
    kind = kinds[seed % len(kinds)]
    path = Path(folder) / f"damaged.{kind}"
    path.write_bytes(damaged(draw, csv_file(draw) if kind == "csv" else pyarrow_file(draw, kind)))
    return kind, read(path, kind)


def main():
    """Damages files, reads them and counts what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=["csv", "parquet", "arrow"], choices=["csv", "parquet", "arrow"])
    options = parser.parse_args()
    found = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.first, options.first + options.count):
            try:
                found[tried(seed, folder, options.kinds)] += 1
            except Exception as error:  # noqa: BLE001 - what is looked for
                found["a fault"] += 1
                print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    for what, count in sorted(found.items(), key=str):
        print(what if isinstance(what, str) else ", ".join(what), count)
    return 1 if found["a fault"] else 0


if __name__ == "__main__":
    sys.exit(main())

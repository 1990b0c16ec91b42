"""Checkpoints that are not as they were written: `python -m tests.runs.malformed --count 20000` makes so many, and loads each.

Each must be an error of ours, soon, and without taking more memory than four times what is on the disk and a few megabytes.
"""

import argparse
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

import retrograde as rg
from retrograde import nn, optim
from retrograde.runs.files import _canonical
from tests.bounded_reading import outcome

#: What the parser of JSON, and Python itself, take beside what is loaded.
ALLOWANCE = 6 << 20
ODD = [None, True, -1, 0, 2**63, 10**30, 1.5, "", "$tensor", "x" * 1000, [], {}, [[]], {"$tensor": "absent"}, {"$tuple": 3}, {"$state": {}},
       {"$dict": [1]}, {"$dict": [[[], 1]]}, {"$float": "x"}, {"$bytes": "!"}, {"$complex": [1]}, {"$deque": [[], -1]}, {"$unknown": 0},
       {"$pairs": {}}, {"$number": []}, {"$set": [[]]}, {"a": 1, "$b": 2}]


def example(folder):
    """A checkpoint with all kinds of parts; its folder, and what it restores."""
    rg.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    optimizer = optim.AdamW(model.parameters())
    model(rg.randn(5, 3)).sum().backward()
    optimizer.step()
    schedule = optim.lr_scheduler.StepLR(optimizer, 2)
    data = rg.data.Loader(np.arange(10), 3, shuffle=True)
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule, "data": data, "noise": np.random.default_rng(0)}
    more = {"list": [1, 2.5, None], "pair": (b"x", {1: 2}), "z": np.ones(2, complex), "step": 3}
    return rg.save_run(folder, metric=0.5, **parts, **more), parts


def damaged(draw, folder):
    """Damage the checkpoint in `folder` in one of many ways; which."""
    description, tensors = folder / "run.json", folder / "tensors.safetensors"
    path = draw.choice([description, tensors])
    content = bytearray(path.read_bytes())
    way = draw.choice(["flip", "flip", "cut", "grow", "splice", "zeros", "signed", "signed", "header", "crowded", "deep", "kind", "swap"])
    if way == "flip":
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    elif way == "cut":
        del content[draw.randrange(len(content)):]
    elif way == "grow":
        content += draw.randbytes(draw.randrange(1, 100))
    elif way == "splice":
        start = draw.randrange(len(content))
        content[start : start + draw.randrange(1, 60)] = draw.randbytes(draw.randrange(60))
    elif way == "zeros":
        start = draw.randrange(len(content))
        content[start : start + 512] = bytes(min(512, len(content) - start))
        content += b"" if any(content[start:]) or path == description else b"\0"
    elif way == "signed":
        path, content = description, _signed(draw, json.loads(description.read_bytes()))
    elif way == "header":
        path, content = tensors, _odd_header(draw, tensors.read_bytes())
    elif way in ("crowded", "deep"):
        text = draw.choice([b"[],", b"{},", b'"ab",', b"1.1,", b'{"a":0},']) * draw.choice([10, 10**5]) if way == "crowded" else b""
        text = b"[" + text + b"0]" if way == "crowded" else draw.choice([b"[", b'{"a":']) * draw.choice([10**3, 10**5])
        content = text if path == description else len(text).to_bytes(8, "little") + text
    elif way == "kind":
        path.unlink()
        draw.choice([lambda: None, path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero"), lambda: path.symlink_to(path)])()
        return way
    else:
        content = bytearray((tensors if path == description else description).read_bytes())
    path.write_bytes(content)
    return way


def _signed(draw, whole):
    """A description with something odd in it, and the checksum of that."""
    place, key = whole, "content"
    for _ in range(draw.randrange(2, 9)):
        inner = place[key]
        if not isinstance(inner, (dict, list)) or not inner:
            break
        place, key = inner, draw.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
    if draw.random() < 0.3:
        del place[key]
    else:
        place[key] = draw.choice(ODD)
    whole["sha256"] = hashlib.sha256(_canonical(whole.get("content"))).hexdigest()
    return json.dumps(whole).encode()


def _odd_header(draw, content):
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = draw.choice(list(header))
    field = draw.choice(["dtype", "shape", "data_offsets"])
    odd = [*ODD, [0, 2**62], [1] * 70, [-1], "F64", [0, 4], [2**40] * 2]
    header[name][field] = draw.choice([value for value in odd if value != header[name][field]])
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content[8 + length:]


def loaded(folder, parts):
    """What came of loading: "fine", or the name of the class of the error; an AssertionError if that is none of ours."""
    try:
        size = sum(p.stat().st_size for p in folder.iterdir() if p.is_file() and not p.is_symlink())
    except OSError:
        size = 0
    return outcome(lambda: rg.load_run(folder, **parts), size, ALLOWANCE, "fine")


def tried(seed, original, parts):
    """(how the checkpoint was damaged, what came of loading it)."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkpoint-000001"
        shutil.copytree(original, copy)
        before = [(copy / name).read_bytes() for name in ("run.json", "tensors.safetensors")]
        way = damaged(random.Random(seed), copy)
        if way not in ("kind", "signed") and before == [(copy / name).read_bytes() for name in ("run.json", "tensors.safetensors")]:
            return "unchanged", "fine"
        return way, loaded(copy, parts)


def main():
    """Load as many damaged checkpoints as the command line says, and tell what came of each kind of damage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    figures, silent = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        original, parts = example(folder)
        for seed in range(options.seed, options.seed + options.count):
            way, found = tried(seed, original, parts)
            figures[way, found] += 1
            # A description that is signed anew may still be one that can be.
            if found == "fine" and way not in ("signed", "unchanged"):
                silent.append(seed)
    for (way, found), count in sorted(figures.items()):
        print(f"{way:12} {found:24} {count}")
    print(f"{options.count} damaged checkpoints, {len(silent)} loaded without an error{f': {silent[:9]}' if silent else ''}")
    return bool(silent)


if __name__ == "__main__":
    sys.exit(main())

"""The cache of machine code on disk."""

import os
import stat
import subprocess
import sys

import pytest

from retrograde.compiler.cache import VARIABLE, Cache, default_cache

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="who may write to a file is told by POSIX's modes")

CODE = b"some machine code" * 50


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "code"


def test_what_was_put_is_got_by_another_process_of_the_same_user(folder):
    Cache(folder).put("f", CODE)
    assert Cache(folder).get("f") == CODE
    assert Cache(folder).get("g") is None
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "f").stat().st_mode) == 0o600


@pytest.mark.parametrize("at", [0, 20, 60, -1])
def test_an_entry_with_one_wrong_byte_is_ignored_and_can_be_written_anew(folder, at):
    cache = Cache(folder)
    cache.put("f", CODE)
    data = bytearray((folder / "f").read_bytes())
    data[at] ^= 1
    (folder / "f").write_bytes(data)
    assert cache.get("f") is None
    cache.put("f", CODE)
    assert cache.get("f") == CODE


@pytest.mark.parametrize("length", [0, 10, 40, 100])
def test_an_entry_that_was_cut_short_is_ignored(folder, length):
    Cache(folder).put("f", CODE)
    (folder / "f").write_bytes((folder / "f").read_bytes()[:length])
    assert Cache(folder).get("f") is None


def test_the_entry_of_another_piece_of_code_is_ignored(folder):
    cache = Cache(folder)
    cache.put("f", CODE)
    (folder / "g").write_bytes((folder / "f").read_bytes())
    (folder / "g").chmod(0o600)
    assert cache.get("g") is None


def test_an_entry_or_a_folder_that_others_may_write_to_is_not_used(folder):
    Cache(folder).put("f", CODE)
    (folder / "f").chmod(0o620)
    assert Cache(folder).get("f") is None
    (folder / "f").chmod(0o600)
    folder.chmod(0o777)
    assert Cache(folder).get("f") is None
    Cache(folder).put("g", CODE)
    assert not (folder / "g").exists()


def test_a_link_to_code_elsewhere_is_not_followed(folder, tmp_path):
    Cache(folder).put("f", CODE)
    (folder / "f").rename(tmp_path / "f")
    (folder / "f").symlink_to(tmp_path / "f")
    assert Cache(folder).get("f") is None


def test_what_was_not_used_for_longest_makes_room(folder):
    cache = Cache(folder, limit=4000)
    for number in range(6):
        cache.put(f"f{number}", CODE)
        os.utime(folder / f"f{number}", (number, number))
    Cache(folder, limit=4000).put("new", CODE)
    kept = {path.name for path in folder.iterdir()}
    assert "new" in kept
    assert "f0" not in kept
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 4000


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "code")
    cache.put("f", CODE)
    assert cache.get("f") is None
    monkeypatch.setenv(VARIABLE, "")
    default_cache().put("f", CODE)
    assert default_cache().get("f") is None


PROGRAM = """
import numpy as np
import retrograde as rg
f = rg.jit(lambda x: (rg.sin(x) * rg.exp(-x)).sum())
print(f(np.linspace(0.0, 1.0, 100)))
"""


def test_entries_that_changed_places_are_compiled_anew_and_not_run(folder):
    pytest.importorskip("llvmlite", reason="the compiler comes with llvmlite")
    environment = {**os.environ, VARIABLE: str(folder), "RETROGRADE_COMPILER": "native"}
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout)
        entries = sorted(folder.iterdir())
        contents = [path.read_bytes() for path in entries]
        for path, data in zip(entries, contents[1:] + contents[:1], strict=True):
            path.write_bytes(data)
    assert len(entries) > 1
    assert len(set(found)) == 1

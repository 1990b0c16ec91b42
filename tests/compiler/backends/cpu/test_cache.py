"""The cache of code on disk: whole entries of its user's alone, or none."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from retrograde.compiler.backends.cpu import cache
from retrograde.compiler.backends.cpu.cache import Cache, default_cache

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights are those of POSIX")


def test_what_was_put_is_found_again_by_another(tmp_path):
    Cache(str(tmp_path / "new" / "folder")).put("name", b"code")
    assert Cache(str(tmp_path / "new" / "folder")).get("name") == b"code"
    assert Cache(str(tmp_path / "new" / "folder")).get("other") is None
    assert [path.name for path in (tmp_path / "new" / "folder").iterdir()] == ["name"]


@pytest.mark.parametrize("damage", [
    lambda data: data[:-1], lambda data: data + b"x", lambda data: b"", lambda data: data[:20] + b"!" + data[21:],
    lambda data: data[:-1] + bytes([data[-1] ^ 1]), lambda data: b"retrograde code 0\n" + data[18:],
])
def test_a_damaged_entry_is_none_until_it_is_written_again(damage, tmp_path):
    store = Cache(str(tmp_path))
    store.put("name", b"some code")
    path = tmp_path / "name"
    path.write_bytes(damage(path.read_bytes()))
    assert store.get("name") is None
    store.put("name", b"some code")
    assert store.get("name") == b"some code"


@posix
def test_the_entry_of_another_piece_of_code_is_ignored(tmp_path):
    store = Cache(str(tmp_path))
    store.put("name", b"some code")
    (tmp_path / "other").write_bytes((tmp_path / "name").read_bytes())
    (tmp_path / "other").chmod(0o600)
    assert store.get("other") is None


@posix
def test_a_folder_or_an_entry_that_others_can_write_to_is_not_used(tmp_path):
    Cache(str(tmp_path)).put("name", b"code")
    (tmp_path / "name").chmod(0o622)
    assert Cache(str(tmp_path)).get("name") is None
    (tmp_path / "name").chmod(0o600)
    tmp_path.chmod(0o777)
    assert Cache(str(tmp_path)).get("name") is None
    Cache(str(tmp_path)).put("new", b"code")
    assert not (tmp_path / "new").exists()


@posix
def test_entries_are_for_their_user_alone_and_links_are_not_followed(tmp_path):
    store = Cache(str(tmp_path / "code"))
    store.put("name", b"code")
    assert (tmp_path / "code").stat().st_mode & 0o777 == 0o700 and (tmp_path / "code" / "name").stat().st_mode & 0o777 == 0o600
    (tmp_path / "code" / "link").symlink_to(tmp_path / "code" / "name")
    assert store.get("link") is None


def test_what_was_not_used_for_longest_is_removed_and_so_are_old_parts(tmp_path, monkeypatch):
    store = Cache(str(tmp_path), limit=4000)
    (tmp_path / ".left.part").write_bytes(b"half")
    os.utime(tmp_path / ".left.part", (0, 0))
    for number in range(6):
        store.put(f"entry{number}", bytes(1000))
        os.utime(tmp_path / f"entry{number}", (number + 1, time.time() - 1e6 + number))
    store._prune()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["entry4", "entry5"]


def test_what_is_read_is_new_again_once_a_day(tmp_path):
    store, now = Cache(str(tmp_path)), time.time()
    for name, age in (("today", 3600), ("before", 3 * 86400)):
        store.put(name, b"code")
        os.utime(tmp_path / name, (now - age, now - age))
        assert store.get(name) == b"code"
    assert (tmp_path / "today").stat().st_mtime < now - 3000 and (tmp_path / "before").stat().st_mtime > now - 60


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path):
    (tmp_path / "file").write_text("no folder")
    for store in (Cache(str(tmp_path / "file" / "code")), Cache(None)):
        store.put("name", b"code")
        assert store.get("name") is None


def test_the_folder_is_the_one_that_is_named_or_the_users(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))
    assert default_cache()._folder == str(tmp_path)
    monkeypatch.setenv(cache.VARIABLE, "")
    assert default_cache()._folder is None
    monkeypatch.delenv(cache.VARIABLE)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache()._folder == str(tmp_path / "retrograde" / "code")
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert default_cache()._folder == str(Path.home() / ".cache" / "retrograde" / "code")


def test_where_nobody_knows_the_users_home_nothing_is_kept(tmp_path, monkeypatch):
    for variable in (cache.VARIABLE, "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # as it does where there is no entry for the user either
    monkeypatch.chdir(tmp_path)
    store = default_cache()
    store.put("name", b"code")
    assert store.get("name") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs")
def test_a_fifo_or_a_device_in_place_of_an_entry_is_none_and_does_not_hang(tmp_path):
    store = Cache(str(tmp_path))
    os.mkfifo(tmp_path / "fifo", 0o600)
    (tmp_path / "folder").mkdir(mode=0o700)
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("fifo", "folder", "device"):
        assert store.get(name) is None
        store.put(name, b"code")
    assert store.get("fifo") == store.get("device") == b"code"


PROGRAM = """
import numpy as np
import retrograde as rg
f = rg.jit(lambda x: (rg.sin(x) * rg.exp(-x)).sum())
print(f(np.linspace(0.0, 1.0, 100)))
"""


@posix
def test_entries_that_changed_places_are_compiled_anew_and_not_run(tmp_path):
    pytest.importorskip("llvmlite", reason="the compiler comes with llvmlite")
    environment = {**os.environ, cache.VARIABLE: str(tmp_path), "RETROGRADE_COMPILER": "native"}
    found = []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
        found.append(done.stdout)
        entries = sorted(tmp_path.iterdir())
        contents = [path.read_bytes() for path in entries]
        for path, data in zip(entries, contents[1:] + contents[:1], strict=True):
            path.write_bytes(data)
    assert len(entries) > 1
    assert len(set(found)) == 1

"""The machine: what stands for the processor, the compiler beneath and our own files."""

import functools
import os

import pytest

from retrograde.compiler.backends.cpu import cache, machine

pytest.importorskip("llvmlite")


def fingerprint():
    machine.fingerprint.cache_clear()
    return machine.fingerprint()


@pytest.fixture(autouse=True)
def forget():
    yield
    machine.fingerprint.cache_clear()


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a file in each kind of place, in place of our own, and an empty cache."""
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    for folder in ("", "compiler/backends/cpu/codegen/matmul", "core", "ops", "tensor", "nn"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "file.py").write_text("x = 1\n")
    monkeypatch.setattr(machine, "_PACKAGE", str(tmp_path))
    return tmp_path


def test_the_fingerprint_is_the_same_until_something_decisive_changes(package):
    first = fingerprint()
    assert first == fingerprint()
    (package / "nn" / "file.py").write_text("x = 2 + 2\n")  # decides nothing: what is traced is what counts
    assert first == fingerprint()
    seen = {first}
    for folder in ("", "compiler/backends/cpu/codegen/matmul", "core", "ops", "tensor"):
        (package / folder / "file.py").write_text("x = 2 + 2\n")
        seen.add(fingerprint())
    os.utime(package / "ops" / "file.py", (1, 1))
    (package / "core" / "new.py").write_text("")
    assert len({*seen, fingerprint()}) == 7


@pytest.mark.skipif(os.name != "posix", reason="elsewhere all times of a file can be set")
def test_other_code_of_the_same_size_and_time_has_another_fingerprint(package):
    path = package / "ops" / "file.py"
    os.utime(path, (1, 1))
    first = fingerprint()
    path.write_text("x = 2\n")
    os.utime(path, (1, 1))
    assert fingerprint() != first
    path.write_text("x = 1\n")
    os.utime(path, (1, 1))
    assert fingerprint() == first  # it is the content that counts
    assert fingerprint() == first


def test_another_llvmlite_has_another_fingerprint(monkeypatch):
    first = fingerprint()
    monkeypatch.setattr(machine, "_llvmlite", lambda: b"version_version = '99'")
    assert first != fingerprint()


def test_the_processor_is_known_by_what_it_says_itself_before_what_the_system_says(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_bytes(b"processor\t: 0\nvendor_id\t: Other\nflags\t\t: sse\n\nprocessor\t: 1\nflags\t: more\n\n")
    monkeypatch.setattr(machine, "_CPUINFO", str(tmp_path / "cpuinfo"))
    said = (1, 2, 3)
    monkeypatch.setattr(machine, "identity", lambda: said)
    assert machine.processor() == said
    monkeypatch.setattr(machine, "identity", lambda: None)
    assert machine.processor() == [b"vendor_id\t: Other", b"flags\t\t: sse"]
    monkeypatch.setattr(machine, "_CPUINFO", str(tmp_path / "none"))
    name, features = machine.processor()
    assert isinstance(name, str)
    assert isinstance(features, str)


def test_files_that_cannot_be_listed_are_shared_with_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "_PACKAGE", str(tmp_path / "archive.zip" / "retrograde"))
    assert fingerprint() != fingerprint()


def test_there_is_a_core():
    assert machine.available_cores() >= 1


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (0.5, 1), (1.0, 1), (2.5, 3), (100.0, 8)])
def test_no_more_cores_are_used_than_the_group_has_the_time_of(monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    asked = []
    monkeypatch.setattr(machine, "cpu_quota", lambda: asked.append(1) or quota)
    monkeypatch.setattr(machine, "_quota", functools.cache(machine._quota.__wrapped__))
    assert machine.available_cores() == cores
    assert machine.available_cores() == cores
    assert len(asked) == 1  # eager products ask how many cores there are, each of them

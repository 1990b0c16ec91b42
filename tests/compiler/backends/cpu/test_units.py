"""Units: what is expected is compiled meanwhile, once, and only where nothing has it already."""

import ctypes

import pytest

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
from retrograde.compiler.backends.cpu import compiling
from retrograde.compiler.backends.cpu.cache import Cache
from retrograde.compiler.backends.cpu.host import target
from retrograde.compiler.backends.cpu.units import Library, TextUnit


def unit(name, number):
    return TextUnit(f"define i64 @{name}() {{\n  ret i64 {number}\n}}\n", target())


def called(library, name):
    return ctypes.CFUNCTYPE(ctypes.c_int64)(library.address(name))()


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are compiled, in order."""
    texts, code_of = [], compiling.code_of
    monkeypatch.setattr(compiling, "code_of", lambda text, *how: texts.append(text) or code_of(text, *how))
    return texts


def test_what_was_expected_is_compiled_once_and_kept_on_disk(tmp_path, compiled):
    library, expected, other = Library(Cache(str(tmp_path))), unit("expected_seven", 7), unit("not_expected_eight", 8)
    library.expect(expected)
    library.expect(expected)
    library.load([other])
    library.load([expected, other])
    assert (called(library, "expected_seven"), called(library, "not_expected_eight")) == (7, 8)
    assert sorted(compiled) == sorted([expected.text, other.text])
    again = Library(Cache(str(tmp_path)))
    again.expect(expected)
    assert again.load_stored([expected.name]) and len(compiled) == 2


def test_what_could_not_be_compiled_early_is_compiled_when_it_is_loaded(tmp_path, compiled, monkeypatch):
    library, expected, code_of = Library(Cache(str(tmp_path))), unit("expected_nine", 9), compiling.code_of

    def failing(*_):
        monkeypatch.setattr(compiling, "code_of", code_of)
        raise RuntimeError("no memory")

    monkeypatch.setattr(compiling, "code_of", failing)
    library.expect(expected)
    library.load([expected])
    assert called(library, "expected_nine") == 9 and compiled == [expected.text]


def test_what_cannot_be_linked_stays_an_object_file(monkeypatch):
    one = unit("left_as_it_is", 5)
    monkeypatch.setattr(compiling, "linked", lambda code: None)
    assert compiling.code_of(one.text, target(), False) == compiling.object_code(one.text, target(), False)

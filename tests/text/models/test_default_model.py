import builtins

import pytest

import retrograde.extras
from retrograde.errors import MissingExtraError
from retrograde.text.models import HTTPModel, LocalModel, default_model, llama_cpp
from retrograde.text.models.llama_cpp import _library


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch):
    for name in ("RETROGRADE_MODEL", "RETROGRADE_BASE_URL", "RETROGRADE_API_KEY", "RETROGRADE_ENGINE"):
        monkeypatch.delenv(name, raising=False)


def test_it_is_the_local_one_where_nothing_is_configured(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    assert type(default_model()) is LocalModel and default_model() is default_model()
    assert default_model().price.of(10**6, 10**6) == 0


def test_it_is_the_one_that_the_environment_names(monkeypatch):
    monkeypatch.setenv("RETROGRADE_MODEL", "weights/some.gguf")
    assert str(default_model().path).endswith("some.gguf")
    monkeypatch.setenv("RETROGRADE_MODEL", "weights/folder")
    monkeypatch.setenv("RETROGRADE_ENGINE", "retrograde")
    assert (str(default_model().path), default_model().engine_name) == ("weights/folder", "retrograde")
    monkeypatch.setenv("RETROGRADE_ENGINE", "")
    monkeypatch.setenv("RETROGRADE_MODEL", "large")
    monkeypatch.setenv("RETROGRADE_BASE_URL", "http://localhost:8000/v1")
    model = default_model()
    assert type(model) is HTTPModel and model.name == "large at localhost:8000"


def test_a_missing_runtime_names_the_extra(monkeypatch):
    real = builtins.__import__

    def missing(name):
        if name == "xllamacpp":
            raise ModuleNotFoundError(name=name)
        return real(name)

    monkeypatch.setattr(retrograde.extras.importlib, "import_module", missing)
    _library.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'retrograde\[local\]'"):
        _library()


@pytest.mark.parametrize(("text", "threads"), [("0.50 0.40 0.30 1/200 9", 8), ("9.0 9.0 9.0 4/200 9", 5), ("9 9 9 40/200 9", 1), ("?", 8)])
def test_busy_processors_are_left_to_others(text, threads, tmp_path, monkeypatch):
    (tmp_path / "load").write_text(text)
    monkeypatch.setattr(llama_cpp, "_LOAD", tmp_path / "load")
    monkeypatch.setattr(llama_cpp.os, "cpu_count", lambda: 8)
    monkeypatch.setattr(llama_cpp.os, "sched_getaffinity", lambda process: set(range(8)), raising=False)
    assert llama_cpp._idle_cores() == threads

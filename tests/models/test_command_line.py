import io
import sys

import pytest
import reference
import written_models

import retrograde as rg
from retrograde.cli import main


@pytest.fixture
def path(tmp_path):
    return str(written_models.llama(tmp_path / "m.gguf", reference.network_of("llama")))


def test_a_text_is_continued(path, capsys, monkeypatch):
    options = ["--model", path, "--max-tokens", "12", "--temperature", "1", "--seed", "3"]
    expected = rg.models.load(path).generate("the cat", max_tokens=12, temperature=1.0, seed=3) + "\n"
    assert main(["generate", "the cat", *options]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr(sys, "stdin", io.StringIO("the cat"))
    assert main(["generate", "-", *options]) == 0
    assert capsys.readouterr().out == expected


def test_activations_of_8_bits_are_asked_for_by_an_option(tmp_path, capsys):
    path = written_models.llama(tmp_path / "m.gguf", reference.network_of("llama"), "Q8_0")
    expected = rg.models.load(path, activations="int8").generate("the cat", max_tokens=12, seed=0) + "\n"
    assert main(["generate", "the cat", "--model", str(path), "--activations", "int8", "--max-tokens", "12"]) == 0
    assert capsys.readouterr().out == expected


def test_what_cannot_be_is_one_line(path, tmp_path, capsys, monkeypatch):
    assert main(["generate", "x", "--model", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr(sys, "stdin", io.StringIO("hi\n\n"))
    assert main(["chat", "--model", path]) == 1
    assert "no chat template" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["generate", "x"])
    assert "--model" in capsys.readouterr().err

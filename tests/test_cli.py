import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import retrograde as rg
from retrograde.cli import main
from retrograde.cli.main import _COMMANDS, by_option
from retrograde.cli.options import FinetuneOptions, Options, RunOptions, ServingOptions, TuneOptions, WritingOptions
from retrograde.cli.training import build, worst

needs_demo = pytest.mark.skipif(
    not all(__import__("importlib.util").util.find_spec(m) for m in ("rich", "sklearn", "safetensors", "matplotlib")),
    reason="the demo needs the extra `demo`")


@needs_demo
def test_the_demo_reads_ninety_seven_percent_and_leaves_report_and_weights(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert float(re.search(r"Held-out accuracy ([\d.]+)%", out)[1]) >= 97
    assert "the same predictions" in " ".join(out.split())
    assert "Worst mistakes" in out
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") >= 3
    assert not re.findall(r"(?:src|href)=.(?!data:)", page)
    build("mlp", 128).load_state_dict(rg.load(tmp_path / "weights.safetensors"))


@needs_demo
def test_the_seed_decides_the_weights(tmp_path, capsys):
    files = []
    for name, seed in (("a", "5"), ("b", "5"), ("c", "6")):
        main(["demo", "--epochs", "1", "--hidden", "16", "--seed", seed, "--quiet", "--no-report", "--output", str(tmp_path / name)])
        files.append((tmp_path / name / "weights.safetensors").read_bytes())
    assert files[0] == files[1] != files[2]


@needs_demo
def test_quiet_prints_one_number_and_no_report_writes_none(tmp_path, capsys):
    assert main(["demo", "--model", "cnn", "--epochs", "1", "--quiet", "--no-report", "--output", str(tmp_path)]) == 0
    assert re.fullmatch(r"\d+\.\d\d%\n", capsys.readouterr().out)
    assert [p.name for p in tmp_path.iterdir()] == ["weights.safetensors"]


@pytest.mark.parametrize(("arguments", "told"), [
    (["demo", "--epochs", "0"], "--epochs"), (["demo", "--epochs", "many"], "'many'"), (["demo", "--batch-size", "-3"], "--batch-size"),
    (["demo", "--lr", "0"], "--lr"), (["demo", "--lr", "nan"], "'nan'"), (["demo", "--hidden", "1.5"], "--hidden"),
    (["demo", "--seed", "-1"], "--seed"), (["demo", "--model", "rnn"], "'rnn'"), (["demo", "--bogus"], "--bogus"),
    (["demo", "--epochs"], "expected one argument"), (["other"], "'other'"), (["--bogus"], "--bogus"),
    (["finetune", "a", "--dropout", "1"], "--dropout: must be a number of at least 0 and less than 1, got '1'"),
    (["finetune", "a", "--held-out", "1.5"], "--held-out: must be a number of at least 0 and less than 1, got '1.5'"),
    (["tune", "--level", "0"], "--level: must be a number above 0 and at most 1, got '0'"),
    (["chat", "--top-p", "0"], "--top-p: must be a number above 0 and at most 1, got '0'"),
    (["chat", "--min-p", "1.5"], "--min-p: must be a number from 0 to 1, got '1.5'"),
    (["chat", "--temperature", "-1"], "--temperature: must be a number of at least 0, and finite, got '-1'"),
    (["chat", "--temperature", "inf"], "--temperature: must be a number of at least 0, and finite, got 'inf'"),
    (["chat", "--temperature", "warm"], "must be a number of at least 0, and finite, got 'warm'"),
    (["chat", "--seed", str(2**64)], f"--seed: must be a whole number from 0 to {2**64 - 1}, got '{2**64}'"),
])
def test_a_bad_argument_is_one_line_and_code_two(arguments, told, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert not said.out
    assert said.err.count("\n") == 1
    assert told in said.err
    assert "--help" in said.err


@needs_demo
def test_an_output_that_cannot_be_made_is_one_line(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert main(["demo", "--output", str(tmp_path / "file"), "--quiet"]) == 1
    assert capsys.readouterr().err == f"retrograde: {tmp_path / 'file'}: File exists\n"


def test_a_missing_library_is_one_line_that_says_what_to_install(tmp_path, capsys, monkeypatch):
    for name in ("rich", "rich.console"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo", "--output", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == "retrograde: this needs rich; install it with: pip install 'retrograde[demo]'\n"
    assert not (tmp_path / "out").exists()


def test_help_and_version(capsys):
    for arguments in (["demo", "--help"], ["--help"], ["--version"]):
        with pytest.raises(SystemExit) as stopped:
            main(arguments)
        assert stopped.value.code == 0
    said = capsys.readouterr().out
    assert f"retrograde {rg.__version__}" in said
    assert all(f"--{name.replace('_', '-')}" in said for name in Options.__dataclass_fields__ if name != "report")
    assert main([]) == 0


@pytest.mark.parametrize(("message", "told"), [
    ("does not fit; see `context` of load", "does not fit; see --context"), ("context must be 2", "--context must be 2"),
    ("held_out is a part, got 'held_out'", "--held-out is a part, got 'held_out'"), ("raise max_tokens: '/a/max_tokens'", "raise --max-tokens: '/a/max_tokens'"),
    ("targets must be texts", "--target must be texts"), ("learning_rate must be", "--lr must be"), ("prompt is empty", "prompt is empty"),
    ("a model is loaded", "a model is loaded"), ("see `dtype` of load", "see `dtype` of load")])
def test_errors_name_the_options_of_a_command(message, told):
    assert by_option(message, ("context", "held_out", "max_tokens", "targets", "learning_rate", "prompt", "model")) == told


@pytest.mark.parametrize("module", ["retrograde", "retrograde.cli"])
def test_the_package_is_the_command(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"retrograde {rg.__version__}\n"


def test_an_output_that_nobody_reads_ends_quietly():
    code = ("import sys; from retrograde.cli.main import _COMMANDS, Options, main; "
            "_COMMANDS['demo'] = (lambda options: print('x' * 10**6) or 0, Options); sys.exit(main(['demo']))")
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(5)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 141


@pytest.mark.parametrize(("words", "options"), [
    (["demo"], Options()), (["tune"], TuneOptions()), (["run", "-n", "2", "a.py"], RunOptions(2, False, "a.py")),
    (["finetune", "a", "--model", "m", "--out", "o"], FinetuneOptions(Path("m"), Path("a"), Path("o"))),
    (["generate", "--model", "m", "Once"], WritingOptions(Path("m"), prompt="Once")),
    (["chat", "--model", "m"], WritingOptions(Path("m"))), (["serve", "--model", "m"], ServingOptions(Path("m"))),
], ids=lambda x: x[0] if isinstance(x, list) else "")
def test_the_usual_arguments_of_a_command_are_its_usual_options(words, options, monkeypatch):
    monkeypatch.setitem(_COMMANDS, words[0], (lambda found: found, type(options)))
    assert main(words) == options


def test_importing_retrograde_imports_nothing_of_the_demo():
    code = "import sys, retrograde; print({'rich', 'sklearn', 'matplotlib', 'safetensors', 'retrograde.cli'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_surest_mistakes_come_first():
    chances = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.55, 0.45]])
    mistakes, near = worst(chances, np.array([1, 1, 1, 0]), 5)
    assert mistakes.tolist() == [0, 1]
    assert near.tolist() == [3, 2]

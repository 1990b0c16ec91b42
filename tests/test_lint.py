"""The repository is clean by its own linters; run here so that one command checks everything."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


COMMANDS = [("ruff", "check"), ("pyright", "--pythonpath", sys.executable)]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_linters_find_nothing(command):
    pytest.importorskip(command[0], reason="the linters come with the extra `test`")
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""The repository is clean by its own linters; run here so that one command checks everything."""

import shutil
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


def test_no_file_of_the_project_is_ignored_by_git():
    # `logs/` in .gitignore once kept a package out of a commit: it was there for whoever had written it, and for nobody else.
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    places = [place for place in ("src", "tests", "docs", "benchmarks", "examples") if (ROOT / place).exists()]
    found = subprocess.run([git, "ls-files", "--others", "--ignored", "--exclude-standard", "--", *places],
                           cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [path for path in found if path.endswith((".py", ".md"))] == []

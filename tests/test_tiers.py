"""The tiers: the command of the contributors' page runs the long one, and what stays in the default run is what it should be."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import retrograde as rg
from tiers import drawn, tiered

ROOT = Path(__file__).parents[1]
COMMAND = "pytest -m long"
#: Files with long tests, whose default part is looked at here.
FILES = ["tests/transforms/test_lazy.py", "tests/compiler/kernels/test_transforms_compiled.py"]


def collected(*arguments):
    """The names of the tests that pytest would run."""
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", *arguments], cwd=ROOT, capture_output=True,
                          text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.fixture(scope="module")
def tiers():
    """The tests of those files in the default run and in the long tier, by the command as it is written."""
    words = COMMAND.split()[1:]
    return collected(*FILES), collected(*FILES, *words), collected(*FILES, "-m", "")


def test_the_command_for_the_long_tier_stands_on_the_page_of_contributors():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert re.search(rf"^{COMMAND} +# ", page, re.MULTILINE)


def test_the_tiers_are_not_empty_share_no_test_and_are_all_there_is(tiers):
    default, long, whole = tiers
    assert set(default).isdisjoint(long) and sorted(default + long) == sorted(whole)
    for file in FILES:
        parts = [sum(name.startswith(file) for name in tier) for tier in (default, long)]
        assert min(parts) > 10, file


def test_each_op_stays_in_the_default_run(tiers):
    default, _, _ = tiers
    swept = {name.partition("[")[2].rpartition("-")[0] for name in default if "test_a_lazy_op_and_its_gradient" in name}
    assert swept == {name for name in rg.ops.names() if rg.ops.get(name).family != "creation"}


def test_the_first_of_each_kind_stays_and_about_a_third_of_the_others():
    found = list(tiered([(f"{kind}-{i}", kind) for kind in "ab" for i in range(300)], key=lambda kind: kind))
    staying = [param.id for param in found if not param.marks]
    assert {"a-0", "b-0"} < set(staying) and 150 < len(staying) < 250
    assert [drawn(name, 3) for name in staying].count(False) <= 2


def test_blas_has_one_thread_unless_the_environment_says_otherwise():
    pytest.importorskip("threadpoolctl", reason="it comes with the extra `demo`")
    script = "import numpy, threadpoolctl; print({p['num_threads'] for p in threadpoolctl.threadpool_info() if p['internal_api'] == 'openblas'})"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
    assert found in (f"{{{os.environ['OPENBLAS_NUM_THREADS']}}}", "set()")

"""The programs of pytorch/examples with nothing changed but imports: `python -m tests.suites.torch_programs CHECKOUT`.

Each runs on PyTorch, and on `retrograde.torch` eager and compiled, with the same weights, batches and draws; the losses are compared.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.suites.running import ROOT, rewritten
from tests.suites.torch_programs import setups
from tests.suites.torch_programs.programs import PROGRAMS

HERE = Path(__file__).parent
LIBRARIES = {"PyTorch": ("torch", "eager"), "eager": ("retrograde.torch", "eager"), "compiled": ("retrograde.torch", "compiled")}


@dataclass(frozen=True)
class Run:
    """What one run of a program left: its losses, its time in seconds, and the last lines it said where it failed."""

    losses: list
    seconds: float
    said: str = ""


def run(program, checkout, library, how, seconds=240):
    """Run a copy of `program` on `library`."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "program"
        shutil.copytree(Path(checkout) / program.folder, folder)
        for path in sorted(folder.rglob("*.py")):
            path.write_text(rewritten(path.read_text(), {} if library == "torch" else {"torch": library}))
        if program.setup:
            getattr(setups, program.setup)(folder)
        record = Path(temporary) / "losses.json"
        paths = [str(HERE / "standins"), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PROGRAM_RUNS_ON": library, "MPLBACKEND": "Agg"}
        command = [sys.executable, "-W", "ignore", str(HERE / "driver.py"), str(record), str(program.losses), how, program.script, *program.arguments]
        begin = time.perf_counter()
        try:
            ended = subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=seconds)
            said = ended.stderr if ended.returncode else ""
        except subprocess.TimeoutExpired:
            said = f"no end after {seconds} s"
        losses = json.loads(record.read_text()) if record.exists() else []
        return Run(losses, time.perf_counter() - begin, said)


def difference(losses, wanted):
    """The largest difference of two lists of losses, relative where they are above one; None where one is shorter."""
    if not wanted or len(losses) != len(wanted):
        return None
    return max(abs(a - b) / max(1.0, abs(b)) for a, b in zip(losses, wanted, strict=True))


def hashed(checkout, program):
    """The first digits of the SHA-256 of the script that ran."""
    return hashlib.sha256((Path(checkout) / program.folder / program.script).read_bytes()).hexdigest()[:12]


def row(program, checkout, tolerance, is_verbose):
    """A row of the table, and whether all agree."""
    reference = run(program, checkout, *LIBRARIES["PyTorch"])
    cells, is_good = [], bool(reference.losses) and not reference.said
    for name in ("eager", "compiled"):
        found = run(program, checkout, *LIBRARIES[name])
        apart = difference(found.losses, reference.losses)
        good = apart is not None and apart <= tolerance and not found.said
        is_good = is_good and good
        last = found.said.strip().splitlines()[-1] if found.said.strip() else f"{len(found.losses)} losses"
        cells.append(f"{apart:.0e}" if apart is not None else last)
        if is_verbose and not good:
            print(found.said, found.losses, reference.losses, sep="\n", file=sys.stderr)
    if is_verbose and reference.said:
        print(reference.said, file=sys.stderr)
    return f"| {program.name} | `{hashed(checkout, program)}` | {len(reference.losses)} | {' | '.join(cells)} |", is_good


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.suites.torch_programs", description=__doc__)
    parser.add_argument("checkout", help="a folder with the source of pytorch/examples")
    parser.add_argument("--only", help="programs whose name holds this")
    parser.add_argument("--tolerance", type=float, default=1e-5)
    parser.add_argument("--verbose", action="store_true", help="what failed runs said")
    given = parser.parse_args()
    print("| program | SHA-256 of the script | losses | eager | compiled |\n| --- | --- | --- | --- | --- |", flush=True)
    results = []
    for program in PROGRAMS:
        if given.only and given.only not in program.name:
            continue
        line, is_good = row(program, given.checkout, given.tolerance, given.verbose)
        results.append(is_good)
        print(line, flush=True)
    print(f"\n{sum(results)} of {len(results)} agree to {given.tolerance}")
    return int(not all(results) or not results)


if __name__ == "__main__":
    raise SystemExit(main())

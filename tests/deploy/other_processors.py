"""Runs exported programs on processors that this machine has not, by an emulator, and compares their results with those here.

    python -m tests.deploy.other_processors            all functions of `foreign_functions` on all processors
    python -m tests.deploy.other_processors llama      those whose names begin so

It needs `qemu-user` and, for AArch64, `gcc-aarch64-linux-gnu`, as Debian calls them: the loader in C is built for the processor. What is
missing is told and left out. No emulator here has AVX-512, so that x86-64-v4 is looked at only where the processor itself has it.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from shutil import which
from typing import NamedTuple

import numpy as np

import retrograde as rg
from retrograde import deploy
from retrograde.compiler.backends.cpu import host
from retrograde.compiler.target import lacking

sys.path.insert(0, str(Path(__file__).parent))
from foreign_functions import functions

#: State is carried on from one call to the next.
_CALLS = 2
#: The largest difference, of the largest number, by the dtype of the result. Tiles of 4x4 are the least exact.
_LIMITS = {"int32": 1e-12, "float64": 1e-13, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


class Processor(NamedTuple):
    """A processor that runs code for a target: the C compiler for it, and the command before a program, empty for this one."""

    compiler: str
    command: tuple


#: The least that each target asks for.
PROCESSORS = {
    "x86-64": Processor("x86_64-linux-gnu-gcc", ("qemu-x86_64", "-cpu", "Opteron_G1")),
    "x86-64-v2": Processor("x86_64-linux-gnu-gcc", ("qemu-x86_64", "-cpu", "Nehalem")),
    "x86-64-v3": Processor("x86_64-linux-gnu-gcc", ("qemu-x86_64", "-cpu", "Haswell")),
    "x86-64-v4": Processor("x86_64-linux-gnu-gcc", ()),
    "aarch64": Processor("aarch64-linux-gnu-gcc", ("qemu-aarch64",)),
}


def missing(target):
    """What there is not of what programs for a target need to run here, in words; None if all is there."""
    processor, native = PROCESSORS[target], host.native()
    tools = [name for name in (processor.compiler, *processor.command[:1]) if which(name) is None]
    if tools:
        return f"needs {' and '.join(tools)}"
    features = {word[1:]: word[0] == "+" for word in native.features.split(",")}
    lacks = lacking(target, native.machine, features) if not processor.command else []
    return f"this processor does not run code for {target}" if lacks else None


def loader(target, folder):
    """The loader in C, built for a target, with a `main` that calls each function of a program."""
    path, sources = folder / f"loader-{target}", deploy.c_sources()
    given = (Path(__file__).with_name("run_program.c"), sources / "retrograde_runtime.c")
    subprocess.run([PROCESSORS[target].compiler, "-std=c11", "-O1", "-static", f"-I{sources}", *given, "-lm", "-o", path], check=True)
    return path


def differences(name, target, loaded):
    """For each result of a function its largest difference from what this process computes, as a share of what is allowed."""
    level, make, *options = functions()[name]
    before, threads = rg.get_convolution_precision(), rg.get_num_threads()
    rg.set_convolution_precision(level)
    rg.set_num_threads(1)
    try:
        f, args = make(*options)
        path = loaded.with_name(f"{name}.rgx")
        f.export(path, *args, target=target)
        wanted = [np.array(z.detach() if isinstance(z, rg.Tensor) else z) for _ in range(_CALLS) for z in rg.tree.leaves(f(*args))]
    finally:
        rg.set_convolution_precision(before)
        rg.set_num_threads(threads)
    done = subprocess.run([*PROCESSORS[target].command, loaded, path, str(_CALLS)], input=b"".join([a.tobytes() for a in args]),
                          capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} on {target} ended with {done.returncode}: {done.stderr.decode()}")
    found = np.split(np.frombuffer(done.stdout, np.uint8), np.cumsum([z.nbytes for z in wanted]))
    assert found.pop().size == 0
    return [difference(z.view(w.dtype).reshape(w.shape), w) for z, w in zip(found, wanted, strict=True)]


def difference(found, wanted):
    """The largest one as a share of what is allowed; infinite where something is finite in one of them only."""
    limit, (found, wanted) = _LIMITS[wanted.dtype.name], [a.astype(np.float64) for a in (found, wanted)]
    if not np.array_equal(np.isfinite(found), np.isfinite(wanted)):
        return np.inf
    is_finite = np.isfinite(wanted)
    if not np.array_equal(found[~is_finite], wanted[~is_finite], equal_nan=True):
        return np.inf
    return abs(found[is_finite] - wanted[is_finite]).max() / (limit * abs(wanted[is_finite]).max())


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.deploy.other_processors", description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="how the names of the functions begin")
    names = [name for name in functions() if name.startswith(tuple(parser.parse_args().names) or "")]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for target in PROCESSORS:
            if (reason := missing(target)) is not None:
                print(f"{target}: left out, {reason}")
                continue
            loaded, started = loader(target, Path(folder)), time.monotonic()
            wrong = [name for name in names if not max(differences(name, target, loaded)) < 1]
            failed += len(wrong)
            print(f"{target}: {len(names) - len(wrong)} of {len(names)} are right, in {time.monotonic() - started:.0f} s", *wrong)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())

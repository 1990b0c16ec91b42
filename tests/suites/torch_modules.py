"""PyTorch's samples of its modules and optimizers, its module_db and optim_db, through `retrograde.torch`.

`python -m tests.suites.torch_modules` prints both tables; `--page docs/torch_modules.md` writes the page of the reference. The comparison
is that of `tests/oracle`: values, gradients and states to 1e-7 in float64, in training and evaluation, eager and compiled whole.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

import torch

import retrograde.torch as ours
from tests.oracle import module_db, optim_db

_COMPILED = partial(ours.compile, fullgraph=True)
MODULES = module_db.Library(ours.tensor, ours.nn, _COMPILED)
OPTIMIZERS = optim_db.Library(ours.tensor, ours.nn, ours.optim, _COMPILED)


def page(names=()):
    """(the page of the reference as lines of Markdown, whether anything differs)."""
    modules, of_modules = module_db.table(names, library=MODULES)
    optimizers, of_optimizers = optim_db.table(OPTIMIZERS)
    return [
        "# PyTorch's samples of its modules and optimizers, through `retrograde.torch`", "",
        f"Made by `python -m tests.suites.torch_modules --page docs/torch_modules.md`, with PyTorch {torch.__version__}. Each sample of its `module_db` is built,",
        "given the same state, and called in training and in evaluation, eager and in a function that is compiled whole: results, gradients of",
        "inputs and parameters, and the state afterwards agree to 1e-7 in float64, or an error says what to do. [The page of `rg`](agreement.md)",
        "tells what is refused and why.", "", *modules, "",
        "Six steps of each sample of its `optim_db` on two matrices; *refused* and *differ* are eager + compiled.", "", *optimizers,
    ], any(count and found in (module_db.DIFFERS, "differs") for (_, found), count in (of_modules + of_optimizers).items())


def main(argv=None):
    """Print or write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="classes of modules; all of them by default")
    parser.add_argument("--page", help="a file for the page")
    chosen = parser.parse_args(argv)
    lines, has_differences = page(chosen.names)
    text = "\n".join(lines) + "\n"
    if chosen.page:
        Path(chosen.page).write_text(text)
    else:
        print(text)
    return int(has_differences)


if __name__ == "__main__":
    sys.exit(main())

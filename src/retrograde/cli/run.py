"""Start a program as several processes that train together, by the launcher of MPI that is installed.

If one of them fails, all are ended, and one line says which and why.
"""

import sys
from pathlib import Path

from ..distributed import running
from ..errors import ArgumentError


def run(options):
    """Start the processes, and wait for them; the exit code."""
    if not options.module and not Path(options.program).is_file():
        raise ArgumentError(f"there is no file {options.program}; -m runs a module by its name")
    program = ["-m", options.program] if options.module else [options.program]
    return running.run(options.count, [sys.executable, *program, *options.words])

"""Keep what the compiler decides now: `python -m tests.compiler.snapshots`. The difference that git shows is what a change does."""

import os

from .keeping import keep

if __name__ == "__main__":
    os.environ.setdefault("RETROGRADE_VERIFY", "1")  # as in the tests
    keep()

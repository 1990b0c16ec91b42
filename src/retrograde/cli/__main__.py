"""`python -m retrograde.cli` is the command `retrograde`."""

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())

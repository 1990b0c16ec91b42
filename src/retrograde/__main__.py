"""`python -m retrograde` is the command `retrograde`."""

import sys

from .cli.main import main

if __name__ == "__main__":
    sys.exit(main())

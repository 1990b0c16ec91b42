"""`python -m retrograde.cli` is the command `retrograde`."""

import sys

from .main import main

sys.exit(main())

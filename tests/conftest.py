"""What holds for all tests: the compiler verifies what each of its passes leaves."""

import os

os.environ.setdefault("RETROGRADE_VERIFY", "1")

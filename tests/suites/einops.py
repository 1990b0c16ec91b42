"""einops' own tests with our tensors in the place of a framework of its own: `python -m tests.suites.einops CHECKOUT`."""

import sys

from tests.suites.running import Suite, main

SUITE = Suite(
    "einops", ("einops",),
    ("einops/tests/test_ops.py", "einops/tests/test_einsum.py", "einops/tests/test_packing.py", "einops/tests/test_other.py"),
    reasons={}, options=("-p", "tests.suites.einops_backend", "-W", "ignore"), environment={"EINOPS_TEST_BACKENDS": "retrograde"},
)

if __name__ == "__main__":
    sys.exit(main(SUITE))

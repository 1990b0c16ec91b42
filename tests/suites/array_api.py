"""The conformance suite of the Array API standard: `python -m tests.suites.array_api CHECKOUT`, whose submodule must be there.

`-- --max-examples 100` at the end asks for more examples than five of each test.
"""

import sys

from tests.suites.running import Suite, main

REASONS: dict = {}
SUITE = Suite(
    "the Array API standard", ("array_api_tests", "array-api", "conftest.py", "pytest.ini", "reporting.py"), ("array_api_tests",),
    reasons=REASONS, options=("--max-examples", "5", "--disable-deadline", "-p", "no:xdist"), environment={"ARRAY_API_TESTS_MODULE": "retrograde"},
)

if __name__ == "__main__":
    sys.exit(main(SUITE))

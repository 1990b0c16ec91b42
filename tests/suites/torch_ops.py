"""PyTorch's samples of its own ops, its op_db, through ours: `python -m tests.suites.torch_ops`, of the PyTorch installed."""

import sys

from tests.suites.running import ROOT, Suite, main

SUITE = Suite("PyTorch's op_db", ("tests",), ("tests/oracle/test_opinfo.py", "tests/oracle/test_opinfo_errors.py"), reasons={},
              options=("-o", "pythonpath=. tests", "-W", "ignore"))

if __name__ == "__main__":
    sys.exit(main(SUITE, ROOT))

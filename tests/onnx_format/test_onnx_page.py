"""The page of what is read from ONNX and written to it is what the rules say."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("onnx")

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_operators_is_up_to_date():
    page = runpy.run_path(str(DOCS / "make_onnx.py"))["_page"]()
    assert (DOCS / "onnx_ops.md").read_text(encoding="utf-8") == page, "docs/onnx_ops.md is out of date; run `python docs/make_onnx.py`"

"""Plugin of pytest: each test notes how many calls of a function of ours it made."""

import pytest

from tests.suites import through


@pytest.fixture(autouse=True)
def _reached(record_property):
    before = through.reached[0]
    yield
    record_property("reached", through.reached[0] - before)

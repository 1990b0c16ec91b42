"""The setting of the verifier: whether drafts are verified after each pass, as the environment says; see `verify`."""

import os

#: The variable that turns verification on, by "1".
VARIABLE = "RETROGRADE_VERIFY"


def is_on():
    """Whether drafts are verified."""
    return os.environ.get(VARIABLE, "") == "1"

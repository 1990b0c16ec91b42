"""The command `retrograde`."""

from .main import main

"""Stands for six.moves: what Python 3 has."""

import urllib.request  # noqa: F401

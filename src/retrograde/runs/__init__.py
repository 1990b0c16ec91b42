"""Whole runs: a model with its optimizer, schedule, data and generators, saved so that a training goes on as if unbroken."""

from .folder import checkpoints
from .loading import load_run
from .saving import RunSaver, save_run

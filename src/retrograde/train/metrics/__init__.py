"""Metrics: each makes a few numbers of a batch, in the compiled step, which are added up until the result is asked for."""

from .base import Mean, Metric, Totals, named
from .classes import F1, Accuracy, Calibration, Perplexity, TopK
from .fits import AUC, R2

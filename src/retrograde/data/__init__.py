"""Data: minibatches, and a data set to begin with."""

from .batches import Batches, batches
from .digits import Digits, digits

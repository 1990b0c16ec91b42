"""Data: minibatches, and data sets to begin with: digits, and small tasks of text."""

from .batches import Batches, batches
from .digits import Digits, digits
from .tasks import TASKS, TextTask, read_task, text_task

"""Data: minibatches, and data sets to begin with: digits, and small tasks of text."""

from ..tensor.elsewhere import absent_from
from .batches import Batches, batches
from .digits import Digits, digits
from .tasks import TASKS, TextTask, text_task

__getattr__ = absent_from(__name__)

"""Logs: callbacks that write what is measured to a file, or to a service."""

from .csv import CSVLog
from .services import MLflowLog, WandbLog
from .tensorboard import TensorBoardLog

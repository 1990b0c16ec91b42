"""A table of all epochs in a file."""

import csv
from pathlib import Path

from ...atomic import replacing
from ...io.bounded import refusing
from ..callbacks import Callback


class CSVLog(Callback):
    """Writes a line for each epoch to a CSV file. A run that goes on from a checkpoint takes out lines that it computes again."""

    is_report = True

    def __init__(self, path):
        self.path = Path(path)

    def begin(self, trainer, data, epochs, steps):
        """Write what is known of the epochs before."""
        with refusing(self.path, "written"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
        self._write(trainer.history)

    def after_epoch(self, trainer, logs):
        """Add a line."""
        self._write(trainer.history)

    def _write(self, history):
        # As a whole, since an epoch may bring a new column; epochs are few.
        names = list(dict.fromkeys(name for logs in history for name in logs))
        with refusing(self.path, "written"), replacing(self.path) as part, part.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, names, restval="")
            table.writeheader()
            table.writerows(history)

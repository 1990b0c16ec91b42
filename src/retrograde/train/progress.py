"""Progress: a bar in a terminal if rich is there, a line for each epoch elsewhere."""

import importlib.util
import sys
import time

from ..extras import optional
from .callbacks import Callback

#: Seconds between lines within an epoch, in logs.
_PAUSE = 30


def shown(progress):
    """The callbacks that show progress: none, or one for where the output goes to."""
    if not progress:
        return []
    is_rich = sys.stdout is not None and sys.stdout.isatty() and importlib.util.find_spec("rich") is not None
    return [Bar() if is_rich else Lines()]


def told(logs):
    """What was logged of an epoch, in one line."""
    parts = [f"{name.replace('_', ' ')} {value:.4g}" for name, value in logs.items() if name not in ("epoch", "step", "seconds")]
    return f"epoch {logs['epoch']}, step {logs['step']}: {', '.join(parts)}, {logs['seconds']:.1f} s"


class Lines(Callback):
    """A line for each epoch, and one now and then within an epoch that takes long."""

    is_report = True

    def begin(self, trainer, data, epochs, steps):
        """Start the clock."""
        self._last = time.monotonic()
        if trainer.step:
            print(f"goes on at epoch {trainer.epoch + 1}, after step {trainer.step}", flush=True)

    def after_step(self, trainer):
        """Say how far it is, if that has not been said for long."""
        if time.monotonic() - self._last > _PAUSE:
            self._last = time.monotonic()
            print(f"step {trainer.step}: loss {trainer.loss:.4g}", flush=True)

    def after_epoch(self, trainer, logs):
        """Say what was logged."""
        self._last = time.monotonic()
        print(told(logs), flush=True)

    def end(self, trainer):
        """Say why it stopped."""
        if trainer.stopped:
            print(f"stopped: {trainer.stopped}", flush=True)


class Bar(Callback):
    """A bar for the steps that are left, and a line for each epoch above it."""

    is_report = True

    def begin(self, trainer, data, epochs, steps):
        """Show the bar."""
        bars = optional("rich.progress", "train")
        total = steps
        if total is None and hasattr(data, "__len__"):
            total = epochs * -(-len(data) // trainer.accumulate)
        self._bar = bars.Progress(
            bars.TextColumn("{task.description}"), bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn(),
            transient=True)
        self._task = self._bar.add_task("training", total=total, completed=trainer.step)
        self._bar.start()

    def after_step(self, trainer):
        """Move on."""
        self._bar.update(self._task, completed=trainer.step, description=f"epoch {trainer.epoch + 1}, loss {trainer.loss:.4g}")

    def after_epoch(self, trainer, logs):
        """Say what was logged."""
        self._bar.console.print(told(logs), markup=False, highlight=False)

    def end(self, trainer):
        """Take the bar away."""
        if hasattr(self, "_bar"):
            self._bar.stop()
            if trainer.stopped:
                self._bar.console.print(f"stopped: {trainer.stopped}", markup=False, highlight=False)

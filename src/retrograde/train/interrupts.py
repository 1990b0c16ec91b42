"""Ctrl-C: the first one asks for an end, the second one is heard at once."""

import signal
import threading


class Interrupts:
    """Within it `came` says whether the process was asked to end, by SIGINT or SIGTERM; elsewhere than in the main thread it is not
    asked. The second SIGINT raises KeyboardInterrupt wherever the program is.
    """

    def __init__(self):
        self.came, self._before = 0, {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                # One that is ignored, as in a process in the background, stays so.
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._hear)
        return self

    def _hear(self, number, _frame):
        if self.came:
            raise KeyboardInterrupt
        self.came = number

    def __exit__(self, *_error):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def raise_if_any(self, where):
        """Raise what the signal that came stands for; `where` says what was saved."""
        if self.came == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        if self.came:
            raise KeyboardInterrupt(f"training was stopped{where}")

"""Workers that are threads: they share memory with whoever waits, and Python's lock. For rows made by code that leaves it."""

import copy
import queue
import threading
import weakref

from ...errors import WorkerError
from .crew import Crew
from .failures import caught


class Threads(Crew):
    """`count` threads."""

    def __init__(self, job, count, prefetch, seed):
        super().__init__(job, count, prefetch)
        self.answers = queue.SimpleQueue()
        self.queues = [queue.SimpleQueue() for _ in range(count)]
        for number, tasks in enumerate(self.queues):
            # A stream has a place of its own in each, and programs set the part of each on its data set.
            own = copy.copy(job)
            own.dataset = copy.copy(job.dataset) if job.is_stream else job.dataset
            thread = threading.Thread(target=_serve, args=(own, number, count, seed, tasks, self.answers), daemon=True,
                                      name=f"retrograde-data-{number}")
            try:
                thread.start()
            except RuntimeError as error:
                _dismiss(self.queues)
                raise WorkerError(f"the system lets this process start no more threads ({error}); {number} of {count} workers were "
                                  "started, so ask for fewer") from None
        self.close = weakref.finalize(self, _dismiss, self.queues)

    def send(self, worker, message):
        self.queues[worker].put(message)

    def wait(self, seconds):
        try:
            self.arrived(*self.answers.get(timeout=seconds))
        except queue.Empty:
            return False
        return True

    def name(self, worker):
        return f"worker {worker} (a thread)"


def _dismiss(queues):
    for tasks in queues:
        tasks.put(None)


def _serve(job, number, count, seed, tasks, answers):
    """The life of a thread."""
    broken = None
    try:
        job.prepare(number, count, seed, is_alone=False)
    except Exception as error:  # noqa: BLE001 - told to whoever waits for a batch
        broken = caught(error)
    while (message := tasks.get()) is not None:
        if message[0] == "begin":
            job.begin(message[1])
            continue
        _, ticket, task = message
        try:
            outcome = broken or job.make(task)
        except Exception as error:  # noqa: BLE001 - as above
            outcome = caught(error)
        answers.put((number, ticket, outcome))
        del outcome  # the next task may be long in coming

"""Answers kept on disk: each is paid for once."""

import json
import threading
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...atomic import replacing, writing
from ...errors import AnswerError
from .base import Wrapper
from .budget import settled_when_kept
from .codec import canonical, completion_from_dict, completion_to_dict, digest, key_of, request_to_dict
from .locks import key_locks

#: How often a call looks for the answer that another process waits for, in seconds.
_POLL = 0.05


class Cached(Wrapper):
    """`model` with its answers kept in `folder`, under a key made of the model's identity and the whole request.

    Requests that differ in anything, `seed` and `sample` included, are kept apart. Errors are not kept, nor are answers that are
    empty or were cut off: they are asked for again. Equal requests that run at once are asked once, in all processes that share
    the folder: the others wait for the answer. An entry appears whole or not at all, and a damaged one is ignored and written
    again. `is_enabled=False` reads and writes nothing.

    >>> import tempfile
    >>> from retrograde.text.models import ScriptedLM
    >>> model = Cached(ScriptedLM(["once"]), tempfile.mkdtemp())
    >>> model("Hello"), model("Hello"), model.hits
    ('once', 'once', 1)
    """

    def __init__(self, model, folder, *, is_enabled=True):
        super().__init__(model)
        self.folder, self.is_enabled = Path(folder), is_enabled
        self.hits = self.misses = 0
        self._set_up()

    def steps(self, request):
        if not self.is_enabled:
            return (yield request)
        key = key_of(self.identity, request)
        while True:
            mine, running = self._join(key)
            if mine is None:
                found, is_kept = (yield running), True
            else:
                found, is_kept = yield from self._lead(key, request, mine)
            if not is_kept:
                return found
            if found is not None:
                with self._lock:
                    self.hits += 1
                return replace(found, is_cached=True, cost=0.0, seconds=0.0)

    def path_of(self, request):
        """The file that holds the answer to `request`, if there is one."""
        return self._path(key_of(self.identity, request))

    def clear(self):
        """Forget every answer in the folder."""
        for path in self.folder.glob("??/*.json"):
            path.unlink(missing_ok=True)

    def _lead(self, key, request, mine):
        """(the completion, whether it was kept), told to those who wait for it: None sends them to try themselves.

        The folder is read once the others wait: an equal request that ended before has left its answer there.
        """
        completion, is_kept, is_mine = None, False, False
        locks: Any = None
        try:
            while completion is None and not is_mine:
                completion = self._read(key, request)
                if completion is None:
                    locks = locks or key_locks(self.folder)
                    is_mine = locks.take(key)
                    if not is_mine:
                        yield _POLL  # another process asks just now
            if is_mine:
                completion = self._read(key, request)  # it may have ended between the two looks
            is_kept = completion is not None
            if not is_kept:
                with settled_when_kept() as when:
                    completion = yield request
                if completion.is_whole:
                    # What is settled on the disk must be kept there, so that it is never asked for again.
                    self._write(key, request, completion, writing if when else replacing)
                for settle in when:
                    settle()
        finally:
            if is_mine:
                locks.give_back(key)
            with self._lock:
                self.misses += not is_kept
                del self._running[key]
            mine.set_result(completion)
        return completion, is_kept

    def _join(self, key):
        """(a Future to fulfil, None) for the first to ask, (None, that Future) for those who come while it runs."""
        with self._lock:
            if key in self._running:
                return None, self._running[key]
            self._running[key] = mine = Future()
            mine.set_running_or_notify_cancel()  # from now on nobody can cancel it who only waits for it
            return mine, None

    def _path(self, key):
        return self.folder / key[:2] / f"{key}.json"

    def _read(self, key, request):
        """The kept answer, or None: also for an entry that is damaged or belongs to something else."""
        try:
            entry = json.loads(self._path(key).read_text("utf-8", "surrogatepass"))
            completion = completion_from_dict(entry["completion"])
            is_whole = entry["digest"] == _digest(request, completion)
        except (OSError, ValueError, TypeError, LookupError, RecursionError, AnswerError):
            return None
        return completion if is_whole and completion.is_whole else None

    def _write(self, key, request, completion, opening=replacing):
        entry = {"model": self.identity, "request": request_to_dict(request), "completion": completion_to_dict(completion),
                 "digest": _digest(request, completion)}
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with opening(path) as part:
            part.write_text(json.dumps(entry, ensure_ascii=False, indent=1) + "\n", "utf-8", "surrogatepass")

    def _set_up(self):
        self._running, self._lock = {}, threading.Lock()

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in {"_running", "_lock"}}

    def __setstate__(self, state):
        vars(self).update(state)
        self._set_up()


def _digest(request, completion):
    return digest(canonical([request_to_dict(request), completion_to_dict(completion)]))

"""The life of a worker process: tasks come through a pipe, batches go back through it and through shared memory."""

import os
import signal
import socket
import threading
from multiprocessing import connection as connections
from multiprocessing import parent_process

from .failures import packed
from .sending import unpacked
from .shared import Blocks, written

#: Seconds after which a worker looks whether its parent lives, where the pipe does not tell.
_LOOK = 5.0


def serve(pipe, number, count, seed, job=None, inherited=()):
    """Make batches until the pipe is closed. The job comes through the pipe, unless the process was forked with it.

    inherited   the parent's ends of pipes, which a forked process has copies of, and which tell of a death only when all are closed
    """
    for end in inherited:
        end.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle, which closes the pipe
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    broken = None
    try:
        if job is None:
            text, places = pipe.recv()
            job = unpacked(text, places, received_handle(pipe) if places else None)
        job.prepare(number, count, seed, is_alone=True)
    except (EOFError, OSError):
        return
    except Exception as error:  # noqa: BLE001 - told to whoever waits for a batch
        broken = packed(error)
    _answer(pipe, job, broken)


def _answer(pipe, job, broken):
    blocks = Blocks()
    while True:
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            return
        if message is None:
            return
        try:
            if message[0] == "begin":
                if broken is None:
                    job.begin(message[1])
                continue
            _, ticket, task, freed = message
            given_up = blocks.release(freed)
            reply, handle = _made(job, task, broken, blocks)
            pipe.send((ticket, given_up, handle is not None, reply))
            if handle is not None:
                send_handle(pipe, handle)
                os.close(handle)
        except (BrokenPipeError, ConnectionResetError):
            return


def _made(job, task, broken, blocks):
    """(what is answered, the handle of a new block or None)."""
    try:
        if broken is not None:
            return broken, None
        text, places, block, handle = written(job.make(task), blocks)
    except Exception as error:  # noqa: BLE001 - told to whoever waits for the batch
        return packed(error), None
    return (text, places, block), handle


def _watch(parent):
    """End this process when its parent is gone, also in the middle of a row."""
    known = parent_process()
    while True:
        found = connections.wait([known.sentinel], _LOOK) if known is not None else []
        # A process that the parent forked later may hold the sentinel's pipe open.
        if found or os.getppid() != parent:
            os._exit(1)


def send_handle(pipe, handle):
    """Send a file handle after what was written to the pipe."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as channel:
        socket.send_fds(channel, [b"h"], [handle])


def received_handle(pipe):
    """The file handle that stands next in the pipe."""
    with socket.socket(fileno=os.dup(pipe.fileno())) as channel:
        return socket.recv_fds(channel, 1, 1)[1][0]


"""Process 1 fails in the way that it is told, after a few calls of all."""

import os
import signal
import sys

import retrograde as rg
from retrograde import distributed

WAY = sys.argv[1]


def fail():
    if WAY == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if WAY == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if WAY == "raise":
        _ = 1 / 0
    if WAY == "exit":
        sys.exit(0)
    if WAY == "leave":
        os._exit(0)
    if WAY == "memory":
        _ = bytearray(1 << 50)
    while WAY == "loop":
        pass


for _ in range(3):
    distributed.all_reduce(rg.ones(3))
if distributed.rank() == 1:
    fail()
distributed.all_gather(rg.ones(3))

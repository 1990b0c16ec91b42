"""TensorBoard's event files, written without its library: records of protocol buffers, each with its length and checksums.

A record is the length (8 bytes), the checksum of that, the data, and the checksum of these; see
tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto for the fields.
"""

import os
import socket
import struct
import time
from functools import cache
from pathlib import Path

from ...io.bounded import refusing
from ..callbacks import Callback


class TensorBoardLog(Callback):
    """Writes what is measured to a folder that `tensorboard --logdir` reads: the loss every `every` steps, results of epochs.

    A run that goes on from a checkpoint tells TensorBoard to forget the steps that it computes again.
    """

    is_report = True

    def __init__(self, folder, every=10):
        self.folder, self.every = Path(folder), every

    def begin(self, trainer, data, epochs, steps):
        """Start a file."""
        self._events = EventFile(self.folder)
        if trainer.step:
            self._events.restart(trainer.step + 1)

    def after_step(self, trainer):
        """Write the loss."""
        if trainer.step % self.every == 0:
            self._events.write(trainer.step, {"step/loss": trainer.loss})

    def after_epoch(self, trainer, logs):
        """Write the results."""
        self._events.write(trainer.step, {name: value for name, value in logs.items() if name not in ("epoch", "step")})
        self._events.flush()

    def end(self, trainer):
        """Close the file."""
        if hasattr(self, "_events"):
            self._events.close()


class EventFile:
    """A new file of events in a folder."""

    def __init__(self, folder):
        self._folder = folder
        # TensorBoard reads files in the order of their names.
        seconds, rest = divmod(time.time_ns(), 10**9)
        name = f"events.out.tfevents.{seconds:010}.{rest:09}.{socket.gethostname()}.{os.getpid()}"
        with refusing(folder, "written"):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = (folder / name).open("xb")
        self._add(_text(3, "brain.Event:2"))
        self.flush()

    def write(self, step, values):
        """Add numbers by name, measured at a step."""
        found = [_message(1, _text(1, name) + _tag(2, 5) + struct.pack("<f", value)) for name, value in values.items()]
        self._add(_number(2, step) + _message(5, b"".join(found)))

    def restart(self, step):
        """Let what was written for this step and later ones be forgotten."""
        self._add(_number(2, step) + _message(7, _number(1, 1)))

    def _add(self, fields):
        event = _tag(1, 1) + struct.pack("<d", time.time()) + fields
        length = struct.pack("<Q", len(event))
        with refusing(self._folder, "written"):
            self._file.write(length + _masked(length) + event + _masked(event))

    def flush(self):
        """Hand what was written to the system."""
        with refusing(self._folder, "written"):
            self._file.flush()

    def close(self):
        """Close the file."""
        self._file.close()


# Protocol buffers: a field is its number and the kind of what follows, then that.
def _tag(field, kind):
    return _varint(field << 3 | kind)


def _number(field, value):
    return _tag(field, 0) + _varint(value)


def _message(field, content):
    return _tag(field, 2) + _varint(len(content)) + content


def _text(field, text):
    return _message(field, text.encode())


def _varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _masked(data):
    """The checksum of a record: CRC-32C, turned and moved so that checksums of what holds checksums stay good."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data):
    """The cyclic redundancy check of Castagnoli, of bytes."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


@cache
def _table():
    found = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        found.append(value)
    return found

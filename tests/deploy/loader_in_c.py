"""The loader in C as a library, called from the tests; None where there is no C compiler."""

import ctypes
import shutil
import subprocess

import numpy as np

from retrograde import deploy, runtime

COMPILER = shutil.which("cc")
SOURCE = deploy.c_sources() / "retrograde_runtime.c"


class Described(ctypes.Structure):
    """`retrograde_value`."""

    _fields_ = (("name", ctypes.c_char_p), ("dtype", ctypes.c_char_p), ("rank", ctypes.c_int64), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("bytes", ctypes.c_size_t))


class Loader:
    """The loader, built in a folder."""

    def __init__(self, folder):
        path = folder / "loader.so"
        subprocess.run([COMPILER, "-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", SOURCE, "-lm", "-o", path],
                       check=True)
        self.library = library = ctypes.CDLL(str(path))
        library.retrograde_open.restype = ctypes.c_void_p
        library.retrograde_error.restype = ctypes.c_char_p
        for name in ("run", "reset", "close", "function", "input_count", "output_count", "input", "output"):
            function = getattr(library, f"retrograde_{name}")
            function.argtypes = [ctypes.c_void_p, *{
                "run": (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p), "function": (ctypes.c_char_p,), "input_count": (ctypes.c_int,),
                "output_count": (ctypes.c_int,), "input": (ctypes.c_int, ctypes.c_int, ctypes.c_void_p),
                "output": (ctypes.c_int, ctypes.c_int, ctypes.c_void_p)}.get(name, ())]

    def open(self, path, digest=None):
        """A program; a ProgramError with the loader's message if there is none."""
        message = ctypes.create_string_buffer(300)
        found = self.library.retrograde_open(str(path).encode(), digest, message, ctypes.c_size_t(len(message)))
        if found is None:
            raise runtime.ProgramError(message.value.decode())
        return Program(self.library, found)


class Program:
    """A program that the loader has opened."""

    def __init__(self, library, pointer):
        self._library, self._pointer = library, pointer

    def values(self, kind, function=0):
        """The inputs or outputs of a function."""
        described, found = Described(), []
        for number in range(getattr(self._library, f"retrograde_{kind}_count")(self._pointer, function)):
            assert getattr(self._library, f"retrograde_{kind}")(self._pointer, function, number, ctypes.addressof(described)) == 0
            found.append(runtime.Value(described.name.decode(), tuple(described.shape[: described.rank]), described.dtype.decode()))
            assert found[-1].nbytes == described.bytes
        return found

    def number(self, name):
        """The number of a function."""
        return self._library.retrograde_function(self._pointer, name.encode())

    def __call__(self, *arrays, function=0):
        """The outputs; a ProgramError with the words for what the call returned."""
        made = [np.empty(value.shape, value.numpy) for value in self.values("output", function)]
        result = self.result([a.ctypes.data for a in arrays], [a.ctypes.data for a in made], function)
        if result:
            raise runtime.ProgramError(self._library.retrograde_error(result).decode())
        return made[0] if len(made) == 1 else tuple(made)

    def result(self, inputs, outputs, function=0):
        """What a call with these addresses returns."""
        return self._library.retrograde_run(self._pointer, function, _addresses(inputs), _addresses(outputs))

    def reset(self):
        self._library.retrograde_reset(self._pointer)

    def close(self):
        self._library.retrograde_close(self._pointer)


def _addresses(found):
    return (ctypes.c_void_p * max(len(found), 1))(*found)

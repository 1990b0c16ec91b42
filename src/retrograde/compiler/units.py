"""Units: pieces of machine code that programs share. Each is compiled once, in this process or in an earlier one."""

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name

from .cache import default_cache
from .codegen.target import available_cores
from .engine import assembly, engine, object_code

_PACKAGE = Path(__file__).parents[1]
#: A text longer than this takes long to compile well.
_LONG = 2_000_000


@dataclass(frozen=True)
class Unit:
    """Code by its name, which stands for all that it depends on; `write(module, name)` writes it, and `is_final` says that
    it is as it should be, without passes of LLVM's.
    """

    name: str
    write: object
    is_final: bool = False

    @property
    def text(self):
        """The LLVM code."""
        module = ir.Module(self.name)
        self.write(module, self.name)
        return str(module)

    @property
    def assembly(self):
        """The machine code, as text."""
        return assembly(self.text)


def unit_of(key, write, is_final=False):
    """The unit that `write(module, name)` writes and that depends on `key`, a tuple of plain data, alone."""
    return Unit(_name(key), write, is_final)


@dataclass(frozen=True)
class TextUnit:
    """A unit written as LLVM text."""

    text: str
    is_final = True

    @property
    def name(self):
        """What stands for the text."""
        return _name(self.text)


def _name(key):
    return f"retrograde_{hashlib.sha256(f'{key!r}{fingerprint()}'.encode()).hexdigest()[:32]}"


@cache
def fingerprint():
    """What all code depends on, in short: the processor, the compiler beneath and our own files."""
    sources = sorted([*_PACKAGE.glob("compiler/**/*.py"), *_PACKAGE.glob("ops/*.py")])
    files = [(str(path.relative_to(_PACKAGE)), path.stat().st_size, path.stat().st_mtime_ns) for path in sources]
    found = repr((llvmlite.__version__, get_host_cpu_name(), get_host_cpu_features().flatten(), files))
    return hashlib.sha256(found.encode()).hexdigest()


class Library:
    """The units that are loaded in this process."""

    def __init__(self, store):
        self.store, self._loaded, self._lock = store, set(), threading.Lock()

    def load(self, units):
        """Load all `units`: from disk where they are known, compiled where not."""
        with self._lock:
            wanted = {unit.name: unit for unit in units if unit.name not in self._loaded}
            found = {name: code for name in wanted if (code := self.store.get(name)) is not None}
            made = _compiled([unit for name, unit in wanted.items() if name not in found])
            for name, code in made.items():
                self.store.put(name, code)
            if wanted:
                engine().load([*found.values(), *made.values()])
            self._loaded.update(wanted)

    def address(self, name):
        """The address of a function of a unit that is loaded."""
        return engine().address(name)


def _compiled(units):
    """The object code of each unit by its name. While LLVM works on some, the next are written."""
    if not units:
        return {}
    with ThreadPoolExecutor(available_cores()) as worker:
        waiting = {unit.name: worker.submit(_object_code, unit.text, unit.is_final) for unit in units}
        return {name: future.result() for name, future in waiting.items()}


def _object_code(text, is_final):
    return object_code(text, 1 if len(text) > _LONG else 2, is_final)


@cache
def library():
    """The units of this process."""
    return Library(default_cache())

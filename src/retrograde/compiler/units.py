"""Units: pieces of machine code that programs share. Each is compiled once, in this process or in an earlier one."""

import hashlib
import os
import threading
from importlib import import_module
from typing import NamedTuple

from ..once import once
from .cache import default_cache
from .image import IS_POSSIBLE, Images, is_image
from .machine import fingerprint


class Unit(NamedTuple):
    """Code by its name, which stands for all that it depends on; `write(module, name)` writes it, and `is_final` says that
    it is as it should be, without passes of LLVM's.
    """

    name: str
    write: object
    is_final: bool = False

    @property
    def text(self):
        """The LLVM code."""
        return _compiling().text_of(self)

    @property
    def assembly(self):
        """The machine code, as text."""
        return _compiling().assembly(self.text, self.is_final)


def unit_of(key, write, is_final=False):
    """The unit that `write(module, name)` writes and that depends on `key`, a tuple of plain data, alone."""
    return Unit(name_for(key), write, is_final)


class TextUnit(NamedTuple):
    """A unit written as LLVM text."""

    text: str
    is_final = True

    @property
    def name(self):
        """What stands for the text."""
        return name_for(self.text)


def name_for(key):
    """A name that stands for what depends on `key`, on the machine and on our own files."""
    return f"retrograde_{hashlib.sha256(f'{key!r}{fingerprint()}'.encode()).hexdigest()[:32]}"


def _compiling():
    """What compiles. It is loaded when something must be compiled, with all of LLVM; not where all is on disk."""
    return import_module(f"{__package__}.compiling")


class Library:
    """The units that are loaded in this process."""

    def __init__(self, store):
        self.store, self._loaded = store, set()
        #: Held while units are loaded.
        self.lock = threading.RLock()
        self._images = Images() if IS_POSSIBLE else None

    def load(self, units):
        """Load all `units`: from disk where they are known, compiled where not."""
        with self.lock:
            wanted = {unit.name: unit for unit in units if unit.name not in self._loaded}
            found = self._stored(wanted)
            new = [unit for name, unit in wanted.items() if name not in found]
            made = _compiling().compiled(new) if new else {}
            for name, code in made.items():
                self.store.put(name, code)
            self._take_in(found | made)

    def load_stored(self, names):
        """Load units by their names if all are on disk; whether they were."""
        with self.lock:
            wanted = [name for name in names if name not in self._loaded]
            found = self._stored(wanted)
            if len(found) < len(wanted):
                return False
            self._take_in(found)
            return True

    def _stored(self, names):
        return {name: code for name in names if (code := self.store.get(name)) is not None}

    def _take_in(self, codes):
        images = [code for code in codes.values() if is_image(code)]
        objects = [code for code in codes.values() if not is_image(code)]
        if images:
            self._images.load(images)
        if objects:
            _compiling().engine().load(objects)
        self._loaded.update(codes)

    def address(self, name):
        """The address of a function of a unit that is loaded."""
        found = self._images.address(name) if self._images is not None else None
        return _compiling().engine().address(name) if found is None else found


@once
def library():
    """The units of this process."""
    found = Library(default_cache())
    if hasattr(os, "register_at_fork"):
        # A fork waits until nothing is being loaded, or the child would wait for a thread that it does not have.
        os.register_at_fork(before=found.lock.acquire, after_in_parent=found.lock.release, after_in_child=found.lock.release)
    return found

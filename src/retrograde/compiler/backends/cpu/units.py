"""Units: pieces of machine code that programs share. Each is compiled once, in this process or in an earlier one."""

import os
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, NamedTuple

from ....once import once
from ...run.heap import keep_freed_blocks
from ...target import Target
from .cache import default_cache
from .image import IS_POSSIBLE, Images, is_image
from .machine import name_for


class Unit(NamedTuple):
    """Code for a target by its name, which stands for all that it depends on; `write(module, name)` writes it, and `is_final` says
    that it is as it should be, without passes of LLVM's.
    """

    name: str
    write: object
    target: Target
    is_final: bool = False

    @property
    def text(self):
        """The LLVM code."""
        return _compiling().text_of(self)

    @property
    def assembly(self):
        """The machine code, as text."""
        return _compiling().assembly(self.text, self.target, self.is_final)


def unit_of(key, write, target, is_final=False):
    """The unit that `write(module, name)` writes and that depends on `key`, a tuple of plain data, and on the `target` alone."""
    return Unit(name_for(key, target), write, target, is_final)


class TextUnit(NamedTuple):
    """A unit written as LLVM text."""

    text: str
    target: Target
    is_final = True

    @property
    def name(self):
        """What stands for the text."""
        return name_for(self.text, self.target)


def _compiling():
    """What compiles. It is loaded when something must be compiled, with all of LLVM; not where all is on disk."""
    return import_module(f"{__package__}.compiling")


class Early(threading.Thread):
    """A unit that is compiled while Python goes on with something else."""

    def __init__(self, unit):
        super().__init__(name="retrograde-early")
        # Loaded here, since two threads that load modules at the same time take longer than one after the other.
        self._code_of, self._unit, self._code = _compiling().code_of, unit, None
        with suppress(RuntimeError):  # where no thread can be started, whoever needs the code compiles it
            self.start()

    def run(self):
        """Compile it."""
        with suppress(RuntimeError):  # whoever needs the code compiles it again, and is told
            self._code = self._code_of(self._unit.text, self._unit.target, self._unit.is_final)

    def code(self):
        """The code, once it is there; None if there is none."""
        if self.ident is not None:
            self.join()
        return self._code


class Library:
    """The units that are loaded in this process."""

    def __init__(self, store):
        self.store, self._loaded = store, set()
        #: Held while units are loaded.
        self.lock = threading.RLock()
        self._early: Any = None
        self._images = Images() if IS_POSSIBLE else None

    def expect(self, unit):
        """Begin to compile a unit that is sure to be loaded soon, unless it is on disk. One at a time: others that are expected
        meanwhile are left to those who load them.
        """
        name = unit.name
        # Somebody loads units already: to wait for that would take the time that an early start is to gain.
        if name in self._loaded or not self.lock.acquire(blocking=False):
            return
        try:
            if self._early is None and self.store.get(name) is None:
                self._early = name, Early(unit)
        finally:
            self.lock.release()

    def load(self, units):
        """Load all `units`: from disk where they are known, compiled where not."""
        with self.lock:
            wanted = {unit.name: unit for unit in units if unit.name not in self._loaded}
            found, early = self._stored(wanted), self._taken_early(wanted)
            new = [unit for name, unit in wanted.items() if name not in found and name not in early]
            made = early | (_compiling().compiled(new) if new else {})
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

    def _taken_early(self, wanted):
        """The code by its name of what was expected, if it is wanted now."""
        name, early = self._early or (None, None)
        if name not in wanted:
            return {}
        self._early, code = None, early.code()
        return {} if code is None else {name: code}

    def _stored(self, names):
        return {name: code for name in names if (code := self.store.get(name)) is not None}

    def _take_in(self, codes):
        # Images need a copy only. Object files need LLVM, whose import alone takes longer than many programs.
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
    keep_freed_blocks()
    found = Library(default_cache())
    if hasattr(os, "register_at_fork"):
        # A fork waits until nothing is being loaded, or the child would wait for a thread that it does not have.
        os.register_at_fork(before=found.lock.acquire, after_in_parent=found.lock.release, after_in_child=found.lock.release)
    return found

"""Callers: the line of the user's code that led to here, and the functions of libraries on the way."""

import ast
import builtins
import linecache
import sys
from itertools import islice
from types import ModuleType
from typing import Any, NamedTuple

#: The longest line that is quoted whole.
_LONGEST = 90
_PACKAGE = __name__.partition(".")[0]


def _home(frame):
    """The first part of the name of the module that a frame runs in."""
    return frame.f_globals.get("__name__", "").partition(".")[0]


class Caller(NamedTuple):
    """A frame of the user's code, its level in `warnings.warn` for whoever asked, and library frames below it, outermost first."""

    frame: Any
    level: int
    inner: list

    @property
    def place(self):
        """File and line."""
        return f"{self.frame.f_code.co_filename}:{self.frame.f_lineno}"

    @property
    def line(self):
        """The text of the line, if there is one."""
        text = linecache.getline(self.frame.f_code.co_filename, self.frame.f_lineno, self.frame.f_globals).strip()
        return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def outside_package():
    """The innermost caller outside of this package."""
    return _caller(frozenset([_PACKAGE]))


def outside_libraries(libraries):
    """The innermost caller outside of this package, of `libraries` and of those of Python's own."""
    return _caller(libraries | {_PACKAGE} | sys.stdlib_module_names)


def _caller(passed):
    frame, level, inner = sys._getframe(2), 1, []
    while frame.f_back is not None and _home(frame) in passed:
        if _home(frame) != _PACKAGE:
            inner.append(frame)
        frame, level = frame.f_back, level + 1
    return Caller(frame, level, inner[::-1])


def function_called(caller):
    """(module, name) of the function that the user called, which is in a library or written in C; None if that is not known."""
    for frame in caller.inner:
        name = frame.f_code.co_qualname.removesuffix(".__init__").removesuffix(".__call__")
        name = name.partition(".")[2] or name if name.startswith("_") else name  # a method that a private class hands down
        if not name.startswith("_") and "<" not in name:
            return _public(frame.f_globals["__name__"].split("."), name), name
    found = _object_called(caller.frame)
    name = getattr(found, "__name__", None)
    module = getattr(found, "__module__", None) or ""
    return None if name is None else ("rg" if module.startswith(f"{_PACKAGE}.") else module, name)


def _public(parts, name):
    """The module where users find a name that is defined in the module of these parts."""
    if not isinstance(getattr(sys.modules[parts[0]], name.partition(".")[0], ModuleType("")), ModuleType):
        return parts[0]
    return ".".join([part for part in parts if not part.startswith("_")])


def _object_called(frame):
    """What the call that a frame is in calls, as far as its text leads there through modules; None if it does not."""
    line, end_line, start, end = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    if line is None or end_line != line or end is None:
        return None
    text = linecache.getline(frame.f_code.co_filename, line, frame.f_globals).encode()[start:end].decode(errors="replace")
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    return _resolved(node.func, frame) if isinstance(node, ast.Call) else None


def _resolved(node, frame):
    """The object that a name, or an attribute of a module, stands for."""
    if isinstance(node, ast.Name):
        for names in (frame.f_locals, frame.f_globals, vars(builtins)):
            if node.id in names:
                return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = _resolved(node.value, frame)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    return None

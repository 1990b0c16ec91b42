"""What happens when other modules are imported: einops learns of tensors, and where a module of PyTorch's is here is told."""

import os
import sys
from typing import Any

from .errors import MissingModuleError
from .tensor.einops import define

_PACKAGE, _DOOR = __package__, os.path.join(os.path.dirname(__file__), "torch")
_BACKENDS = "einops._backends"
#: What is said of a module of which Python imports the outer part first, and so asks for that.
_INNER = {"utils": f", and torch.utils.data is {_PACKAGE}.torch.utils.data"}


def watch():
    """Begin to watch imports. Modules that are there already are looked at now."""
    if _FIRST not in sys.meta_path:
        sys.meta_path.insert(0, _FIRST)
        sys.meta_path.append(_LAST)
    if _BACKENDS in sys.modules:
        define(sys.modules[_BACKENDS])


class _Einops:
    """The first finder: einops finds backends among the subclasses of a class of its own, so ours is made when that class is."""

    def find_spec(self, fullname, path, target=None):
        if fullname != _BACKENDS:
            return None
        others = [finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec")]
        spec: Any = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Followed(spec.loader)
        return spec


class _Followed:
    """A loader that leaves its place to `inner` when a module is run, and defines our backend afterwards."""

    def __init__(self, inner):
        self._inner = inner

    def create_module(self, spec):
        return self._inner.create_module(spec)

    def exec_module(self, module):
        vars(module)["__loader__"] = vars(module)["__spec__"].loader = self._inner
        self._inner.exec_module(module)
        define(module)


class _Elsewhere:
    """The last finder, which is asked for what no other has found: it says where a module of PyTorch's is here."""

    def find_spec(self, fullname, path, target=None):
        package, _, name = fullname.partition(".")
        found = os.path.join(_DOOR, *name.split("."))
        if package != _PACKAGE or not (os.path.isdir(found) or os.path.exists(f"{found}.py")):
            return
        # Without `name=`, by which Python would take `from retrograde import utils` for an attribute that is not there.
        raise MissingModuleError(f"there is no {fullname}; PyTorch's torch.{name} is {_PACKAGE}.torch.{name} here"
                                 f"{_INNER.get(name, '')}; a program of PyTorch's begins with import {_PACKAGE}.torch as torch")


_FIRST, _LAST = _Einops(), _Elsewhere()

"""Modules made of modules, and the two that only pass on."""

from math import prod
from typing import Any

from ..errors import DTypeError, OutOfRangeError, ShapeError
from ..ops.movements import reshape
from ..shapes import one_axis
from .module import Module


class Identity(Module):
    """The argument itself; whatever it is constructed with does not matter."""

    def __init__(self, *_, **__):
        super().__init__()

    def forward(self, x):
        return x


class Flatten(Module):
    """Axes `start_dim` to `end_dim` as one.

    >>> rg.nn.Flatten()(rg.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, x):
        first, last = one_axis(self.start_dim, x.ndim), one_axis(self.end_dim, x.ndim)
        return reshape(x, (*x.shape[:first], prod(x.shape[first : last + 1]), *x.shape[last + 1 :]))

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """The axis `dim` as several, of the sizes `unflattened_size`, one of which may be -1.

    >>> rg.nn.Unflatten(1, (2, -1))(rg.ones(3, 8)).shape
    (3, 2, 4)
    """

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, x):
        axis = one_axis(self.dim, x.ndim)
        return reshape(x, (*x.shape[:axis], *_filled(self.unflattened_size, x.shape[axis]), *x.shape[axis + 1 :]))

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _filled(sizes, total):
    """`sizes` with what is left of `total` in place of -1."""
    known = prod(n for n in sizes if n != -1)
    found = tuple(total // known if n == -1 and known else n for n in sizes)
    if prod(found) != total or sizes.count(-1) > 1:
        raise ShapeError(f"an axis of {total} elements cannot be unflattened to {sizes}")
    return found


class _Numbered(Module):
    """Modules in order, called "0", "1" and so on."""

    def _listed(self):
        return [module for _, module in self.own(Module)]

    def __len__(self):
        return len(self._listed())

    def __iter__(self):
        return iter(self._listed())

    def __getitem__(self, index):
        found = self._listed()[index]
        kind: Any = type(self)
        return kind(*self._constructed(found)) if isinstance(index, slice) else found

    def _constructed(self, modules):
        return (modules,)

    def __setitem__(self, index, module):
        self.add_module(str(one_axis(index, len(self))), module)

    def __delitem__(self, index):
        modules = self._listed()
        del modules[index]
        for name, _ in self.own(Module):
            delattr(self, name)
        self.extend(modules)

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add several modules at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Add a module before place `index`."""
        modules = self._listed()
        modules.insert(index, module)
        for i, one in enumerate(modules):
            setattr(self, str(i), one)


class Sequential(_Numbered):
    """Modules one after the other: each receives what the one before returned. Also of a dictionary, by names.

    >>> rg.nn.Sequential(rg.nn.Linear(4, 2), rg.nn.Tanh())
    Sequential(
      (0): Linear(in_features=4, out_features=2, bias=True)
      (1): Tanh()
    )
    """

    def __init__(self, *modules):
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], dict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self.extend(modules)

    def _constructed(self, modules):
        return modules

    def forward(self, x):
        for module in self._listed():
            x = module(x)
        return x


class ModuleList(_Numbered):
    """A list of modules, which a model may keep as an attribute and call as it likes."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)


class ModuleDict(Module):
    """A dictionary of modules with names as keys."""

    def __init__(self, modules=None):
        super().__init__()
        self.update(modules or {})

    def update(self, modules):
        """Add the modules of a dictionary, or of (name, module) pairs."""
        for name, module in modules.items() if hasattr(modules, "items") else modules:
            self[name] = module

    def keys(self):
        """The names."""
        return [name for name, _ in self.items()]

    def values(self):
        """The modules."""
        return [module for _, module in self.items()]

    def items(self):
        """(name, module) pairs."""
        return self.own(Module)

    def pop(self, name):
        """Take a module out and return it."""
        module = self[name]
        del self[name]
        return module

    def __len__(self):
        return len(self.items())

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, name):
        return name in self.keys()

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise DTypeError(f"a ModuleDict is indexed by a name, got {name!r}")
        if name not in self:
            raise OutOfRangeError(f"no module is named {name!r}; there are {', '.join(self.keys())}")
        return self.__dict__[name]

    def __setitem__(self, name, module):
        self.add_module(name, module)

    def __delitem__(self, name):
        if name not in self:
            raise OutOfRangeError(f"no module is named {name!r}; there are {', '.join(self.keys())}")
        delattr(self, name)

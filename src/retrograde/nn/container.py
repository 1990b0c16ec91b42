"""Modules made of modules, and the two that only pass on."""

from math import prod
from typing import Any

from ..core.value import Value
from ..errors import ArgumentError, DTypeError, OutOfRangeError, ShapeError
from ..ops.manipulation.movements import reshape
from ..shapes import one_axis
from .module import Module
from .parameter import Parameter


class Identity(Module):
    """The argument itself; whatever it is constructed with does not matter."""

    def __init__(self, *_, **__):
        super().__init__()

    def forward(self, input):
        return input


class Flatten(Module):
    """Axes `start_dim` to `end_dim` as one.

    >>> rg.nn.Flatten()(rg.ones(2, 3, 4)).shape
    (2, 12)
    """

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        first, last = one_axis(self.start_dim, input.ndim), one_axis(self.end_dim, input.ndim)
        return reshape(input, (*input.shape[:first], prod(input.shape[first : last + 1]), *input.shape[last + 1 :]))

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

    def forward(self, input):
        axis = one_axis(self.dim, input.ndim)
        return reshape(input, (*input.shape[:axis], *_filled(self.unflattened_size, input.shape[axis]), *input.shape[axis + 1 :]))

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _filled(sizes, total):
    """`sizes` with what is left of `total` in place of -1."""
    known = prod(n for n in sizes if n != -1)
    found = tuple(total // known if n == -1 and known else n for n in sizes)
    if prod(found) != total or sizes.count(-1) > 1:
        raise ShapeError(f"an axis of {total} elements cannot be unflattened to {sizes}")
    return found


def _members(module):
    """(name, member) of what a container keeps. Parameters may be other tensors for a while, as in `functional_call`."""
    # Hooks and flags aside, and buffers, a container of parameters has no other tensors.
    return [(name, value) for name, value in module.own(module._kind) if name not in module._buffers]  # noqa: SLF001 - of our kind


class _Numbered(Module):
    """What is kept in order, of one kind, called "0", "1" and so on."""

    _kind: Any = Module

    def _listed(self):
        return [member for _, member in _members(self)]

    def _put(self, index, member):
        self.add_module(str(index), member)

    def __len__(self):
        return len(self._listed())

    def __iter__(self):
        return iter(self._listed())

    def __getitem__(self, index):
        modules, kind = self._listed(), type(self)
        return kind(*self._constructed(modules[index])) if isinstance(index, slice) else modules[one_axis(index, len(modules))]

    def _constructed(self, modules) -> Any:
        return (modules,)

    def __setitem__(self, index, module):
        self._put(one_axis(index, len(self)), module)

    def __delitem__(self, index):
        modules = self._listed()
        del modules[index]
        for name, _ in _members(self):
            delattr(self, name)
        self.extend(modules)

    def append(self, module):
        """Add one at the end."""
        self._put(len(self), module)
        return self

    def extend(self, modules):
        """Add several at the end."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, index=-1):
        """Take out what is at `index`, and return it."""
        module = self[index]
        del self[index]
        return module

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, modules):
        kind: Any = type(self)
        return kind(*self._constructed([*self, *modules]))

    def insert(self, index, module):
        """Add one before place `index`."""
        modules = self._listed()
        modules.insert(index, module)
        for i, one in enumerate(modules):
            self._put(i, one)


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

    def forward(self, input):
        for module in self._listed():
            input = module(input)
        return input

    def __mul__(self, count):
        if not isinstance(count, int) or count < 1:
            raise ArgumentError(f"Sequential is repeated an integer of at least 1 times, got {count!r}")
        return Sequential(*[module for _ in range(count) for module in self])

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list of modules, which a model may keep as an attribute and call as it likes."""

    def __init__(self, modules=()):
        super().__init__()
        self.extend(modules)


class ParameterList(_Numbered):
    """A list of parameters, which a model may keep as an attribute. Tensors and arrays become parameters.

    >>> rg.nn.ParameterList([rg.ones(2), rg.zeros(1)])[0]
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    _kind = Value

    def __init__(self, values=()):
        super().__init__()
        self.extend(values)

    def _put(self, index, member):
        setattr(self, str(index), _parameter(member))

    def extend(self, parameters):
        """Add several at the end."""
        if isinstance(parameters, Value):
            raise DTypeError("the parameters must be a list of tensors, got one tensor")
        return super().extend(parameters)

    def extra_repr(self):
        return ", ".join(f"({name}): {_facts(parameter)}" for name, parameter in _members(self))


def _parameter(value):
    return value if isinstance(value, Parameter) else Parameter(value)


def _facts(parameter):
    return f"{parameter.dtype}{list(parameter.shape)}"


class _Named(Module):
    """What is kept under names, of one kind."""

    _kind: Any = None
    _noun = ""
    __setitem__: Any

    def __init__(self, entries=None):
        super().__init__()
        self.update(entries or {})

    def update(self, entries):
        """Add the entries of a dictionary, or of (name, entry) pairs."""
        for name, entry in entries.items() if hasattr(entries, "items") else entries:
            self[name] = entry

    def keys(self):
        """The names."""
        return [name for name, _ in self.items()]

    def values(self):
        """The entries."""
        return [entry for _, entry in self.items()]

    def items(self):
        """(name, entry) pairs."""
        return _members(self)

    def pop(self, name):
        """Take an entry out and return it."""
        entry = self[name]
        del self[name]
        return entry

    def clear(self):
        """Take all entries out."""
        for name in self.keys():
            del self[name]

    def __len__(self):
        return len(self.items())

    def __iter__(self):
        return iter(self.keys())

    def __contains__(self, name):
        return name in self.keys()

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise DTypeError(f"a {type(self).__name__} is indexed by a name, got {name!r}")
        self._check_known(name)
        return self.__dict__[name]

    def __delitem__(self, name):
        self._check_known(name)
        delattr(self, name)

    def _check_known(self, name):
        if name not in self:
            raise OutOfRangeError(f"no {self._noun} is named {name!r}; there are {', '.join(self.keys())}")


class ParameterDict(_Named):
    """A dictionary of parameters with names as keys. Tensors and arrays become parameters.

    >>> rg.nn.ParameterDict({"scale": rg.ones(2)}).keys()
    ['scale']
    """

    _kind, _noun = Value, "parameter"

    def __setitem__(self, name, parameter):
        if name in self:
            setattr(self, name, _parameter(parameter))
        else:
            self.register_parameter(name, _parameter(parameter))

    def get(self, name, default=None):
        """The parameter called `name`, or `default`."""
        return dict(self.items()).get(name, default)

    def setdefault(self, name, default=None):
        """The parameter called `name`; if there is none, `default` becomes it."""
        if name not in self:
            self[name] = default
        return self[name]

    def popitem(self):
        """Take the last entry out, and return its name and the parameter."""
        name = self.keys()[-1]
        return name, self.pop(name)

    def copy(self):
        """Another dictionary of the same parameters."""
        return ParameterDict(self.items())

    def fromkeys(self, keys, default=None):
        """A new dictionary that has `default` under each of the names `keys`."""
        return ParameterDict([(name, default) for name in keys])

    def __ior__(self, entries):
        self.update(entries)
        return self

    def __or__(self, entries):
        made = self.copy()
        made.update(entries)
        return made

    def extra_repr(self):
        return ", ".join(f"({name}): {_facts(parameter)}" for name, parameter in self.items())


class ModuleDict(_Named):
    """A dictionary of modules with names as keys."""

    _kind, _noun = Module, "module"

    def __setitem__(self, name, module):
        self.add_module(name, module)

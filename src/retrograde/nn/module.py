"""Module, what layers and models are made of: parameters, buffers and other modules, found among its attributes."""

from itertools import chain
from typing import TYPE_CHECKING, Any

from ..compiler.trace.known import known
from ..core.edits import edited
from ..core.explain import unlike_an_array
from ..dtypes import bfloat16, float16, float32, float64, is_float
from ..errors import ArgumentError, DTypeError, MissingRuleError, RetrogradeError
from ..tensor.tensor import Tensor
from .hooks import Hook, Hooks
from .parameter import Buffer, Parameter, Uninitialized
from .state import load, put_together


class Module:
    """Base of layers and models. Subclass it, set parameters and modules as attributes, and define `forward`.

    >>> class Scale(rg.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.factor = rg.nn.Parameter(rg.ones(1))
    ...     def forward(self, x):
    ...         return x * self.factor
    >>> model = rg.nn.Sequential(Scale(), rg.nn.Linear(1, 2))
    >>> [name for name, _ in model.named_parameters()]
    ['0.factor', '1.weight', '1.bias']
    """

    #: Whether the module is being trained; `train()` and `eval()` set it, dropout and the like read it.
    training = True
    _hooks: Any = None
    _buffers: tuple = ()
    _unsaved: tuple = ()

    if TYPE_CHECKING:  # Parameters, buffers and modules are attributes that only running code knows.
        __getattr__: Any

    def forward(self, *args, **kwargs):
        """The output of the module; called through `module(...)`, which also runs the hooks."""
        raise MissingRuleError(f"{type(self).__name__} needs a method forward")

    def __call__(self, *args, **kwargs):
        try:
            if self._hooks is None:
                return self.forward(*args, **kwargs)
            return self._hooks.run(self, args, kwargs)
        except AttributeError as error:
            what = unlike_an_array(error, (*args, *kwargs.values()))
            if what is None:
                raise
            raise self._noted(DTypeError(f"{type(self).__name__}: {what}")) from None
        except RetrogradeError as error:
            self._noted(error)
            raise

    def _noted(self, error):
        """`error` with a note that says in which module it was raised, the innermost."""
        if not hasattr(error, "__notes__"):
            is_one_layer = not self.own(Module)
            error.add_note(f"raised in {self!r}" if is_one_layer else f"raised in the forward of {type(self).__name__}")
        return error

    # What it consists of.
    def __setattr__(self, name, value):
        if not isinstance(value, Parameter) and value is not None and isinstance(self.__dict__.get(name), Parameter):
            raise DTypeError(f"{name} is a parameter and can only be set to a Parameter or None, got "
                             f"{type(value).__name__}; to change its numbers, write into it within rg.no_grad()")
        if isinstance(value, Buffer):
            self._note_buffer(name, value.persistent)
        elif isinstance(value, Tensor) and not isinstance(value, (Parameter, Uninitialized)) and value.is_traced:
            value = known(value)  # a mask that is kept for the next call is no part of this one
        object.__setattr__(self, name, value)
        edited()

    def __delattr__(self, name):
        object.__delattr__(self, name)
        edited()

    def register_parameter(self, name, parameter):
        """Set the attribute `name` to a parameter, or to None for one that is left out."""
        if parameter is not None and not isinstance(parameter, Parameter):
            raise DTypeError(f"a parameter must be a Parameter or None, got {type(parameter).__name__}")
        self._check_free(name)
        setattr(self, name, parameter)

    def register_buffer(self, name, tensor, persistent=True):
        """Set the attribute `name` to a tensor that belongs to the state of the module but is not learned.

        A buffer that is not `persistent` is left out of `state_dict`.
        """
        if tensor is not None and not isinstance(tensor, Tensor):
            raise DTypeError(f"a buffer must be a tensor or None, got {type(tensor).__name__}")
        if name not in self._buffers:
            self._check_free(name)
        self._note_buffer(name, persistent)
        setattr(self, name, tensor)

    def _note_buffer(self, name, persistent):
        self._buffers = (*(n for n in self._buffers if n != name), name)
        self._unsaved = (*(n for n in self._unsaved if n != name), *(() if persistent else (name,)))

    def add_module(self, name, module):
        """Set the attribute `name` to another module, or to None."""
        if module is not None and not isinstance(module, Module):
            raise DTypeError(f"a submodule must be a Module or None, got {type(module).__name__}")
        if not isinstance(self.__dict__.get(name), Module):
            self._check_free(name)
        setattr(self, name, module)

    register_module = add_module

    def _check_free(self, name):
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError(f"a name must be a string that is not empty and has no dot, got {name!r}")
        if hasattr(self, name):
            raise ArgumentError(f"{type(self).__name__} has an attribute {name!r} already; choose another name")

    def own(self, kind):
        """(name, value) of the attributes of one kind: `Parameter` or `Module`; equal values each time they appear."""
        return [(name, value) for name, value in self.__dict__.items() if isinstance(value, kind)]

    def own_buffers(self):
        """(name, tensor) of the module's buffers, without those of its submodules."""
        return [(name, self.__dict__[name]) for name in self._buffers if self.__dict__.get(name) is not None]

    def named_children(self):
        """(name, module) of the modules directly inside, each once."""
        return _once(self.own(Module))

    def children(self):
        """The modules directly inside, each once."""
        return (module for _, module in self.named_children())

    def named_modules(self, prefix="", remove_duplicate=True):
        """(name, module) of this module and all modules inside it, each once, or under every name that it has."""
        found = _tree(self, prefix, ())
        return _once(found) if remove_duplicate else found

    def modules(self):
        """This module and all modules inside it, each once."""
        return (module for _, module in self.named_modules())

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) of all parameters; one that several modules share appears once, under its first name."""
        found = self._named(lambda module: module.own(Parameter), prefix, recurse)
        return _once(found) if remove_duplicate else found

    def parameters(self, recurse=True):
        """All parameters, each once."""
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, tensor) of all buffers, each once."""
        found = self._named(Module.own_buffers, prefix, recurse)
        return _once(found) if remove_duplicate else found

    def buffers(self, recurse=True):
        """All buffers, each once."""
        return (tensor for _, tensor in self.named_buffers(recurse=recurse))

    def _named(self, own, prefix, recurse):
        for path, module in self.named_modules(prefix, False) if recurse else [(prefix, self)]:
            for name, value in own(module):
                yield _joined(path, name), value

    def get_submodule(self, target):
        """The module at a path such as "encoder.0"; an empty path is the module itself."""
        found = self
        for name in target.split(".") if target else ():
            found = found.__dict__.get(name)
            if not isinstance(found, Module):
                raise ArgumentError(f"{type(self).__name__} has no submodule {target!r}")
        return found

    def set_submodule(self, target, module, strict=False):
        """Put a module in the place of the one at a path such as "encoder.0"; unless `strict`, also where there is none yet."""
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if strict:
            owner.get_submodule(name)
        if not isinstance(module, Module):
            raise DTypeError(f"a submodule must be a Module, got {type(module).__name__}")
        owner.add_module(name, module)

    def get_parameter(self, target):
        """The parameter at a path such as "encoder.0.weight"."""
        return self._at(target, Parameter, "parameter")

    def get_buffer(self, target):
        """The buffer at a path such as "encoder.0.running_mean"."""
        return self._at(target, Tensor, "buffer")

    def _at(self, target, kind, noun):
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        found = owner.__dict__.get(name)
        if not isinstance(found, kind) or noun == "buffer" and name not in owner._buffers:  # noqa: SLF001 - of our own kind
            raise ArgumentError(f"{type(self).__name__} has no {noun} {target!r}")
        return found

    # Its state.
    def state_dict(self, prefix="", keep_vars=False, destination=None):
        """Name and tensor of every parameter and saved buffer, in a new dictionary or in `destination`.

        The tensors share memory with the module; with `keep_vars` they are those of the module themselves. Those of which several
        processes hold a part each are put together, for which all of these have to call this.
        """
        found = {} if destination is None else destination
        found.update({prefix + name: value if keep_vars else value.detach() for name, value in self._saved()})
        if not keep_vars:
            found.update({prefix + name: value for name, value in put_together(self._saved()).items()})
        return found

    def _saved(self):
        """(name, tensor) of parameters and saved buffers; a shared one under each of its names, as in PyTorch."""
        for path, module in self.named_modules(remove_duplicate=False):
            kept = [pair for pair in module.own_buffers() if pair[0] not in module._unsaved]  # noqa: SLF001 - of our own kind
            for name, value in (*module.own(Parameter), *kept):
                yield _joined(path, name), value

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy tensors (or arrays) into the parameters and buffers of the same names, keeping dtype and place.

        With `assign` these take over the memory, the dtype and the place of what they are given. With `strict`, names must
        agree. Raises a CheckpointError that names all that does not fit, and then nothing is changed. Returns (missing_keys,
        unexpected_keys).
        """
        return load(type(self).__name__, dict(self._saved()), state_dict, strict, assign)

    def train(self, mode=True):
        """Set `training` on this module and all inside it."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        """`train(False)`."""
        return self.train(False)

    def to(self, *targets, device=None, dtype=None):
        """Move parameters and buffers to a device such as "cuda:0", and convert the floats among them to a dtype."""
        for target in (*targets, device, dtype):
            if target is not None:
                self._bring_to(target)
        return self

    def _bring_to(self, target):
        is_device = isinstance(target, str) and target.partition(":")[0] in ("cpu", "cuda")
        for tensor in self._tensors():
            if isinstance(tensor, Uninitialized):
                tensor.bring_to(**{"device" if is_device else "dtype": target})
            elif is_device or is_float(tensor.dtype):
                tensor.data = tensor.detach().to(target).realize().raw
                if tensor.grad is not None:
                    tensor.grad = tensor.grad.detach().to(target)

    def float(self):
        """`to(rg.float32)`."""
        return self.to(float32)

    def double(self):
        """`to(rg.float64)`."""
        return self.to(float64)

    def half(self):
        """`to(rg.float16)`."""
        return self.to(float16)

    def bfloat16(self):
        """`to(rg.bfloat16)`."""
        return self.to(bfloat16)

    def cpu(self):
        """`to("cpu")`."""
        return self.to("cpu")

    def cuda(self, device=0):
        """`to("cuda:0")`, or to another GPU by its number."""
        return self.to(device if isinstance(device, str) else f"cuda:{device or 0}")

    def _tensors(self):
        return chain(self.parameters(), self.buffers())

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or set them to zeros."""
        for parameter in self.parameters():
            if set_to_none or parameter.grad is None:
                parameter.grad = None
            else:
                parameter.grad.detach().zero_()

    def requires_grad_(self, requires_grad=True):
        """Set whether the parameters receive gradients."""
        for parameter in self.parameters():
            parameter.requires_grad = requires_grad
        return self

    def apply(self, function):
        """Call `function` on every module inside, innermost first, and on this one last."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    # Hooks. Those that are added with `prepend` are called before all that are there.
    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments. Returns a handle.

        With `with_kwargs` it is `hook(module, args, kwargs)`, which returns None or (args, kwargs).
        """
        return self._own_hooks().add("before", Hook(hook, with_kwargs), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output. Returns a handle.

        With `with_kwargs` it is `hook(module, args, kwargs, output)`; with `always_call` it is called, with None for the output,
        when an error is raised as well.
        """
        return self._own_hooks().add("after", Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call `hook(module, grad_output)` in every backward pass; what it returns replaces `grad_output`. Returns a handle."""
        return self._own_hooks().add("backward before", Hook(hook), prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call `hook(module, grad_input, grad_output)` in every backward pass; what it returns replaces `grad_input`.

        Both are tuples, one gradient per tensor argument and per output, None where there is none. Returns a handle.
        """
        return self._own_hooks().add("backward", Hook(hook), prepend)

    def _own_hooks(self):
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    # How it is shown.
    def extra_repr(self):
        """What `repr` shows of the module beside its name and its submodules."""
        return ""

    def __repr__(self):
        parts = [f"({name}): {_indented(repr(module))}" for name, module in self.own(Module)]
        extra = self.extra_repr()
        if not parts:
            return f"{type(self).__name__}({extra})"
        lines = [*([extra] if extra else []), *parts]
        return "\n  ".join([f"{type(self).__name__}(", *lines]) + "\n)"


def _tree(module, prefix, outside):
    """`module` and everything inside it, depth first; a module inside itself is not entered again."""
    yield prefix, module
    outside = (*outside, id(module))
    for name, part in module.own(Module):
        if id(part) not in outside:
            yield from _tree(part, _joined(prefix, name), outside)


def _once(pairs):
    """(name, value) of `pairs` without those whose value appeared before."""
    seen = set()
    for name, value in pairs:
        if id(value) not in seen:
            seen.add(id(value))
            yield name, value


def _joined(prefix, name):
    return f"{prefix}.{name}" if prefix else name


def _indented(text):
    return text.replace("\n", "\n  ")

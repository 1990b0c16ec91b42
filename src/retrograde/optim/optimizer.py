"""Optimizer, the base of all: groups of parameters, the state of each, and the step that updates them in place."""

from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from inspect import signature
from numbers import Real
from typing import Any

import numpy as np

from ..core import writes
from ..core.edits import edited
from ..core.mode import changed, current, enable_grad
from ..core.value import HookHandle, Value
from ..errors import ArgumentError, CheckpointError, DTypeError, GraphError
from ..tensor.creation import asarray
from ..tensor.rows import RowGradient
from ..tensor.tensor import Tensor
from .compiled import CompiledSteps
from .traced import check_gradient, trace_step, watch_members
from .update import Packs, update_flat, update_rows, update_whole

#: Arguments that choose between implementations in PyTorch. Every optimizer takes them; there is one implementation here.
_IMPLEMENTATIONS = frozenset(["foreach", "fused", "capturable", "differentiable"])
#: Options that are numbers wherever there are such.
_AT_LEAST_ZERO = frozenset(["lr", "eps", "weight_decay", "momentum", "lr_decay", "initial_accumulator_value", "alpha",
                            "momentum_decay", "lambd"])


def is_number(value):
    """Whether an option is a number, or a tensor that holds one."""
    return isinstance(value, Real) or isinstance(value, Value) and value.size == 1


def prepared(group, p, g, shrunk=None):
    """(parameter, gradient to descend along) by the options of a group: `maximize` turns the gradient round, weight decay is added
    to it, or, where it is decoupled, makes the parameter `shrunk` times as large.
    """
    g = -g if group["maximize"] else g
    if not group["weight_decay"]:
        return p, g
    return (p, g + p * group["weight_decay"]) if shrunk is None else (p * shrunk, g)


class Optimizer:
    """Base of optimizers. `param_groups`, `state`, `state_dict` and the arguments are shaped as in PyTorch.

    `params` are tensors, or dictionaries with "params" and values that differ from `defaults` for these. In place of a tensor there
    may be a pair with its name, as in `module.named_parameters()`: groups keep the names as "param_names". A subclass names
    the tensors it keeps for each parameter (`kept`) and gives the update as a formula (`update`), which serves eager steps
    and those inside `jit`. Steps write the memory of parameters and record nothing; a graph that still needs the old numbers
    refuses to be walked.

    All optimizers take PyTorch's arguments `foreach`, `fused` and `capturable`, None or a bool, which change nothing here, and
    `differentiable`, which must be False, since steps record nothing.
    """

    #: Options that a group may have beside those in `defaults`.
    always = ("lr", "initial_lr", "param_names")

    def __init__(self, params, defaults, **implementation):
        _check_implementation(self, implementation)
        self.defaults = defaults
        self.param_groups, self.state = [], {}
        self._packs, self._compiled = Packs(), CompiledSteps()
        self._before, self._after = [], []
        if isinstance(params, (Value, set, frozenset)) or not isinstance(params, Iterable):
            raise DTypeError(f"params must be a list of tensors or of dictionaries, got {type(params).__name__}")
        if isinstance(params, dict) or hasattr(params, "named_parameters"):
            raise DTypeError(f"params must be a list of tensors or of dictionaries, got {type(params).__name__}; pass "
                             "model.parameters()")
        groups = list(params)
        if not groups:
            raise ArgumentError("an optimizer needs at least one parameter, got an empty list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, group):
        """Add parameters, with options of their own: a dictionary with "params"."""
        if not isinstance(group, dict) or "params" not in group:
            raise DTypeError(f'a group of parameters must be a dictionary with "params", got {group!r}')
        group = self._with_names(group)
        members = group["params"]
        known = {id(p) for other in self.param_groups for p in other["params"]}
        for parameter in members:
            self._check_parameter(parameter)
            if id(parameter) in known:
                raise ArgumentError("a parameter was given twice to the optimizer; list each once, as "
                                    "module.parameters() does")
            known.add(id(parameter))
            # Of a model that several processes train, each of which keeps a part of the state.
            for kept in (getattr(parameter, "sharing", None), getattr(parameter, "share", None)):
                if kept is not None:
                    kept.join(self)
        group = {name: value for name, value in group.items() if name not in _IMPLEMENTATIONS}
        unknown = group.keys() - self.defaults.keys() - {"params", *self.always}
        if unknown:
            raise ArgumentError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}; it has "
                                f"{', '.join(self.defaults)}")
        options = {**self.defaults, **group, "params": members}
        self._check(options)
        self.param_groups.append(options)
        edited()

    def _with_names(self, group):
        """`group` with a list of parameters, and their names if it has pairs with names, as all groups or none have."""
        members = group["params"]
        if isinstance(members, (set, frozenset)):
            raise DTypeError("parameters must have an order, got a set; use a list")
        members = [members] if isinstance(members, Value) else list(members)
        pairs = [m for m in members if isinstance(m, tuple) and len(m) == 2 and isinstance(m[0], str)]
        if pairs and len(pairs) < len(members):
            raise ArgumentError(f"all parameters of a group must have names, or none; got {len(pairs)} with a name and "
                                f"{len(members) - len(pairs)} without")
        found = {**group, "params": [m for _, m in pairs] or members}
        if pairs:
            found["param_names"] = [name for name, _ in pairs]
        if self.param_groups and ("param_names" in found) != ("param_names" in self.param_groups[0]):
            raise ArgumentError("all groups must have names, or none; use named_parameters() for all of them, or parameters()")
        return found

    def _check_parameter(self, parameter):
        """Raise an error unless this optimizer can update `parameter`."""
        if not isinstance(parameter, Tensor):
            raise DTypeError(f"an optimizer updates tensors, got {type(parameter).__name__}")
        _ = parameter.shape  # of a lazy module that has seen no input it raises the error that says so
        if not parameter.is_leaf:
            raise GraphError("an optimizer updates leaves, and this tensor was made by "
                             f"{parameter.record.name}; use detach() and requires_grad_()")

    def _check(self, options):
        """Raise an ArgumentError if an option has a value that is not allowed."""
        for name in _AT_LEAST_ZERO & options.keys():
            if not is_number(options[name]) or not options[name] >= 0:  # not below 0, and not NaN
                raise ArgumentError(f"{name} must be a number of at least 0, got {options[name]!r}")

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or set them to zeros."""
        if (tracer := _compiling()) is not None:
            watch_members(self, tracer)
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    parameter.grad.detach().zero_()

    def step(self, closure=None):
        """Update every parameter that has a gradient. `closure`, if given, computes the loss first, which is returned."""
        if not self._before and not self._after:
            return self._stepped(closure)
        args, kwargs = (closure,), {}
        for hook in tuple(self._before):
            answer = hook(self, args, kwargs)
            if answer is not None:
                args, kwargs = answer
        loss = self._stepped(*args, **kwargs)
        for hook in tuple(self._after):
            hook(self, args, kwargs)
        return loss

    def register_step_pre_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` before each step; it may return other (args, kwargs) for that. Returns a
        handle whose `remove()` takes the hook away. In a jitted function it is called while that is traced, and what it computes is
        compiled.
        """
        self._before.append(hook)
        edited()
        return HookHandle(self._before, hook)

    def register_step_post_hook(self, hook):
        """Call `hook(optimizer, args, kwargs)` after each step; as `register_step_pre_hook`."""
        self._after.append(hook)
        edited()
        return HookHandle(self._after, hook)

    def hooks(self):
        """The hooks of steps, as they are now."""
        return tuple(self._before), tuple(self._after)

    def _stepped(self, closure=None):
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if (tracer := _compiling()) is not None:
            trace_step(self, tracer)
            return loss
        if self._compiled.run(self):
            return loss
        with np.errstate(all="ignore"), changed(tracer=None):
            for group in self.param_groups:
                self._step(group)
        return loss

    #: What makes the state of whole parameters, `saved(optimizer, state)`, where several processes keep a part each, and takes it
    #: apart, `loaded(optimizer, state)`; None if this process keeps all.
    keeper: Any = None

    #: The names of the tensors of a parameter's shape in its state; `kept_in(group)` may choose among them.
    kept: tuple = ()
    #: Whether the state counts the steps, as PyTorch has it: in a number called "step".
    counts_steps = False

    #: Whether a gradient may be a `RowGradient`.
    takes_rows = False

    #: Whether the formula of an element reads that element alone, so that arrays may be cut up and put together.
    is_elementwise = True

    def kept_in(self, group):
        return self.kept

    def kept_of(self, parameter, group):
        """The names of the tensors that are kept of a parameter, if not those of all in its group."""
        return self.kept_in(group)

    def shape_of(self, name, parameter):
        """The shape of what is kept of a parameter under that name."""
        return parameter.shape

    def age_of(self, group, state):
        """What `rates` must know of the history of a parameter; the number of steps where they are counted."""

    #: The names of single numbers in the state of a parameter.
    numbers: tuple = ("step",)

    def aged(self, group, step, state):
        """What `rates` is told of the history of a parameter that has made `step` steps with this one."""
        return step

    def rates(self, group, age):
        """The numbers of the update that are the same for all parameters of one group and one age."""
        return (group["lr"],)

    def update(self, group, rates, p, g, *kept):
        """What parameters `p` with gradient `g` and what is kept of them become, as a tuple: a formula in ops."""
        raise NotImplementedError(f"{type(self).__name__} needs a method update")

    def updates_rows(self, group):
        """Whether a `RowGradient` updates its rows alone. If not, it is what the whole array is, at the cost of that."""
        return True

    def _check_rows(self, group):
        """Raise an ArgumentError unless the gradient of a parameter of a group may be a `RowGradient`."""
        if not self.takes_rows:
            raise ArgumentError(f"{type(self).__name__} needs whole gradients, and that of a parameter is a RowGradient; use "
                                "SparseAdam, Adagrad or SGD for the parameters of Embedding(sparse=True), or make it sparse=False")
        if group.get("weight_decay"):
            raise ArgumentError(f"weight_decay must be 0 where a gradient is a RowGradient, got {group['weight_decay']}: it would "
                                "shrink all rows; give the table a group of its own")

    def check_gradient(self, parameter, gradient, group):
        """Raise an error unless a gradient can be what a parameter of a group descends along."""
        check_gradient(parameter, gradient)
        if isinstance(gradient, RowGradient):
            self._check_rows(group)

    def state_of(self, parameter, group):
        """The state of a parameter, with zeros for what is not there yet."""
        state = self.state.setdefault(parameter, {})
        if self.counts_steps and state.get("step") is None:
            state["step"] = Tensor(np.zeros((), np.float32))
        for name in self.kept_of(parameter, group):
            if state.get(name) is None:
                state[name] = Tensor(np.zeros_like(parameter.raw, shape=self.shape_of(name, parameter)))
        return state

    def _step(self, group):
        """Update one group: large parameters in runs that stay in cache, small ones packed together."""
        small, updates = {}, {}
        for parameter in group["params"]:
            gradient = parameter.grad
            if gradient is None:
                continue
            self.check_gradient(parameter, gradient, group)
            age = self.age_of(group, self.state.get(parameter, {}))
            state = self.state_of(parameter, group)
            for tensor in (parameter, *[s for s in state.values() if isinstance(s, Value)]):
                writes.before(tensor.algebra, tensor.raw)
            if self.counts_steps:
                writes.into(state["step"].raw)[...] += 1
                age = self.aged(group, int(state["step"].raw), state)
            if age not in updates:
                updates[age] = partial(self.update, group, [float(rate) for rate in self.rates(group, age)])
            kept = self._arrays(parameter, group)
            if isinstance(gradient, RowGradient) and self.updates_rows(group):
                update_rows(updates[age], gradient, list(map(writes.into, [parameter.raw, *kept])))
            elif self.is_elementwise and self._packs.takes(parameter, gradient, kept):
                small.setdefault((parameter.dtype, age), []).append(parameter)
            else:
                update = update_flat if self.is_elementwise else update_whole
                update(updates[age], list(map(writes.into, [parameter.raw, gradient.raw, *kept])))
            writes.stamp(parameter.algebra, parameter.raw)
        for (_, age), members in small.items():
            states = [[self.state[p][name] for name in self.kept_in(group)] for p in members]
            self._packs.update(updates[age], members, states)

    def _arrays(self, parameter, group):
        return [self.state[parameter][name].raw for name in self.kept_of(parameter, group)]

    # Saving and loading.
    def state_dict(self):
        """The state by the parameters' numbers, and the groups' options; in PyTorch's form."""
        numbers, groups = {}, []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers[parameter] = len(numbers)
            groups.append({**group, "params": [numbers[p] for p in group["params"]]})
        found = {"state": {numbers[p]: dict(s) for p, s in self.state.items()}, "param_groups": groups}
        return found if self.keeper is None else self.keeper.saved(self, found)

    def load_state_dict(self, state_dict):
        """Take over a state that `state_dict` gave, of an optimizer with groups of the same sizes."""
        state_dict = state_dict if self.keeper is None else self.keeper.loaded(self, state_dict)
        groups = state_dict["param_groups"]
        sizes, expected = ([len(g["params"]) for g in gs] for gs in (groups, self.param_groups))
        if sizes != expected:
            raise CheckpointError(f"the saved optimizer has groups of {sizes} parameters, and this one of {expected}")
        saved = [n for group in groups for n in group["params"]]
        merged = [{**own, **_options(new), "params": own["params"]} for own, new in zip(self.param_groups, groups, strict=True)]
        for group in merged:
            self._check(group)
        members = [(parameter, group) for group in merged for parameter in group["params"]]
        state = {}
        for number, (parameter, group) in zip(saved, members, strict=True):
            if number in state_dict["state"]:
                shapes = {name: self.shape_of(name, parameter) for name in self.kept_of(parameter, group)}
                shapes |= dict.fromkeys(self.numbers)
                state[parameter] = {k: _taken(k, v, parameter, shapes) for k, v in state_dict["state"][number].items()}
        self.state, self.param_groups, self._packs, self._compiled = state, merged, Packs(), CompiledSteps()

    def __repr__(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            lines += [f"Parameter Group {i}", *(f"    {k}: {v}" for k, v in sorted(group.items()) if k != "params")]
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _compiling():
    """What records ops to be compiled as a function; None if they run, or wait to be read."""
    mode = current()
    tracer = None if mode is None else mode.tracer
    return None if tracer is None or tracer.is_lazy else tracer


def _check_implementation(owner, given):
    """Raise an error unless all `given` are arguments that choose between implementations, with values that there are."""
    unknown = given.keys() - _IMPLEMENTATIONS
    if unknown:
        known = [name for name, its in signature(type(owner)).parameters.items() if its.kind is not its.VAR_KEYWORD]
        raise DTypeError(f"{type(owner).__name__} has no argument {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    if given.get("differentiable"):
        raise ArgumentError("differentiable must be False: steps record nothing; to differentiate through one, write it in ops")
    for name, value in given.items():
        if not isinstance(value, (bool, type(None))):
            raise DTypeError(f"{name} must be None or a bool, got {value!r}")


def _options(group):
    """A copy of the options of a saved group."""
    return {name: deepcopy(value) for name, value in group.items() if name != "params" and name not in _IMPLEMENTATIONS}


def _taken(name, value, parameter, shapes):
    """A copy of one saved entry, in the dtype and place of the parameter unless it is a single number, whose shape is None."""
    if value is None or isinstance(value, (bool, int, float)):
        return value
    tensor = asarray(value, copy=True).detach()
    shape = shapes.get(name, parameter.shape)
    if shape is None:
        return tensor
    if tensor.shape != shape:
        raise CheckpointError(f"the saved {name} has shape {tensor.shape} and its parameter {parameter.shape}")
    return tensor.to(parameter.device).astype(parameter.dtype)

"""The kinds of objects that a run restores in place: what is saved of each, and how it is checked before anything is changed.

A kind has four functions: whether an object is of it, its facts and its state, a check of an object against what was saved, which
raises, and the restoring, which gives what takes it back.
"""

import copy
import random
from collections.abc import Callable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ..core.mode import no_grad
from ..errors import CheckpointError
from ..nn.module import Module
from ..nn.parameter import Uninitialized
from ..nn.state import whole_shape
from ..ops.random.draws import Generator
from ..optim.optimizer import Optimizer
from ..optim.schedule import Schedule


class Kind(NamedTuple):
    """What is done with one kind of object."""

    matches: Callable
    facts: Callable
    state: Callable
    check: Callable
    restore: Callable


def kind_of(value):
    """The name of the kind that an object is of; None if it has no state that can be restored."""
    return next((name for name, kind in KINDS.items() if kind.matches(value)), None)


def _class_of(value, _names):
    return {"class": type(value).__name__}


def _check_class(target, saved, name, _names=None):
    """Raise a CheckpointError unless an object is of the class that was saved."""
    own = type(target).__name__
    if saved.facts.get("class") != own:
        raise CheckpointError(f"{name} is of class {own}, and what was saved is of class {saved.facts.get('class')}")


# Modules.
def _check_module(target, saved, name, _names):
    own, given = target.state_dict(keep_vars=True), saved.state
    faults = [f"no tensor for {n}" for n in own if n not in given] + [f"no place for {n}" for n in given if n not in own]
    for n, tensor in own.items():
        if n in given and not isinstance(tensor, Uninitialized):
            expected, found = [f"{t.dtype} of shape {whole_shape(t)}" for t in (tensor, given[n])]
            faults += [f"{n} is {found} and the model needs {expected}"] if found != expected else []
    if faults:
        raise CheckpointError(f"{name} was saved of another model: {'; '.join(faults[:8])}"
                              f"{f'; and {len(faults) - 8} more' if len(faults) > 8 else ''}")


def _restore_module(target, saved):
    before = [(tensor, tensor.detach().clone()) for tensor in target.state_dict(keep_vars=True).values()
              if not isinstance(tensor, Uninitialized)]
    target.load_state_dict(saved.state)

    def undo():
        with no_grad():
            for tensor, old in before:
                tensor[...] = old

    return undo


# Optimizers.
def _optimizer_facts(optimizer, names):
    """What must be the same for a state to mean the same. The name of a parameter is None if it is in no module of the run."""
    groups = [group["params"] for group in optimizer.param_groups]
    return {"class": type(optimizer).__name__, "parameters": [
        [[names.get(id(p)), p.dtype.name, list(whole_shape(p))] for p in group] for group in groups]}


def _check_optimizer(target, saved, name, names):
    _check_class(target, saved, name)
    own, given = _optimizer_facts(target, names)["parameters"], saved.facts["parameters"]
    sizes = [[len(group) for group in groups] for groups in (given, own)]
    if sizes[0] != sizes[1]:
        raise CheckpointError(f"{name} was saved with groups of {sizes[0]} parameters, and this one has groups of {sizes[1]}")
    for mine, theirs in zip(chain(*own), chain(*given), strict=True):
        if mine[1:] != theirs[1:] or None not in (mine[0], theirs[0]) and mine[0] != theirs[0]:
            raise CheckpointError(f"{name} was saved of other parameters: it has {_told(mine)} where it had {_told(theirs)}")
    for i, (group, saved_group) in enumerate(zip(target.param_groups, saved.state["param_groups"], strict=True)):
        pair = [g.get("param_names") for g in (group, saved_group)]
        if pair[0] != pair[1]:
            raise CheckpointError(f"{name} was saved of parameters with other names: group {i} has {pair[0]} and had {pair[1]}")
    copy.copy(target).load_state_dict(saved.state)  # which sets attributes of the copy only


def _told(parameter):
    name, dtype, shape = parameter
    return f"{name or 'a parameter'} ({dtype} of shape {tuple(shape)})"


def _restore_optimizer(target, saved):
    before = target.state_dict()
    target.load_state_dict(saved.state)
    return lambda: target.load_state_dict(before)


# Schedules.
def _schedule_facts(schedule, _names):
    return {"class": _classes(schedule), "groups": len(schedule.optimizer.param_groups)}


def _classes(schedule):
    """The name of the class of a schedule, and of those that it is made of."""
    inner = [part for value in vars(schedule).values() if isinstance(value, list) for part in value if isinstance(part, Schedule)]
    name = type(schedule).__name__
    return f"{name}({', '.join(map(_classes, inner))})" if inner else name


def _check_schedule(target, saved, name, names):
    own = _schedule_facts(target, names)
    if saved.facts != own:
        told = [f"{facts.get('class')} for {facts.get('groups')} groups" for facts in (own, saved.facts)]
        raise CheckpointError(f"{name} is {told[0]}, and what was saved is {told[1]}")


# Generators.
def _check_generator(target, saved, name, _names):
    _check_class(target, saved, name)
    type(target)().set_state(saved.state)


def _restore_generator(target, saved):
    before = target.get_state()
    target.set_state(saved.state)
    return lambda: target.set_state(before)


def _check_bits(target, saved, name, _names):
    own = target.bit_generator.state["bit_generator"]
    if saved.state.get("bit_generator") != own:
        raise CheckpointError(f"{name} is made of {own}, and what was saved of {saved.state.get('bit_generator')}")
    type(target.bit_generator)().state = saved.state


def _restore_bits(target, saved):
    before = target.bit_generator.state
    target.bit_generator.state = saved.state
    return lambda: setattr(target.bit_generator, "state", before)


def _check_random(_target, saved, _name, _names):
    random.Random().setstate(saved.state)  # noqa: S311 - as it is tried only


def _restore_random(target, saved):
    before = target.getstate()
    target.setstate(saved.state)
    return lambda: target.setstate(before)


def _check_legacy(_target, saved, _name, _names):
    np.random.RandomState().set_state(saved.state)


def _restore_legacy(target, saved):
    before = target.get_state(legacy=False)
    target.set_state(saved.state)
    return lambda: target.set_state(before)


# All else that can tell its state.
def _has_state(value):
    return not isinstance(value, type) and callable(getattr(value, "state_dict", None)) and callable(
        getattr(value, "load_state_dict", None))


def _restore_other(target, saved):
    before = copy.deepcopy(target.state_dict())
    try:
        target.load_state_dict(saved.state)
    except BaseException:
        target.load_state_dict(before)
        raise
    return lambda: target.load_state_dict(before)


def _dictionary(target):
    return target.state_dict()


#: By name; the first that matches is taken.
KINDS: dict[str, Any] = {
    "model": Kind(lambda v: isinstance(v, Module), _class_of, _dictionary, _check_module, _restore_module),
    "optimizer": Kind(lambda v: isinstance(v, Optimizer), _optimizer_facts, _dictionary, _check_optimizer, _restore_optimizer),
    "schedule": Kind(lambda v: isinstance(v, Schedule), _schedule_facts, _dictionary, _check_schedule, _restore_other),
    "generator": Kind(lambda v: isinstance(v, Generator), _class_of, lambda g: g.get_state(), _check_generator, _restore_generator),
    "numpy": Kind(lambda v: isinstance(v, np.random.Generator), _class_of, lambda g: g.bit_generator.state, _check_bits,
                  _restore_bits),
    "random": Kind(lambda v: isinstance(v, random.Random), lambda *_: {}, lambda g: g.getstate(), _check_random, _restore_random),
    "legacy": Kind(lambda v: isinstance(v, np.random.RandomState), lambda *_: {}, lambda g: g.get_state(legacy=False),
                   _check_legacy, _restore_legacy),
    "object": Kind(_has_state, _class_of, _dictionary, _check_class, _restore_other),
}

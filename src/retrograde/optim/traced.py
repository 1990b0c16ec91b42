"""A step of an optimizer inside `jit`: the same formula, recorded."""

import weakref
from functools import partial
from operator import itemgetter
from typing import Any

from ..core.mode import no_grad
from ..core.value import Value
from ..dtypes import parts_dtype
from ..errors import ShapeError
from ..ops.complexes import complex as whole
from ..ops.complexes import imag, real
from ..ops.manipulation.gathering import take
from ..tensor.inplace import take_over
from ..tensor.rows import RowGradient


def trace_step(optimizer, tracer, gradients=None):
    """Record the update of every parameter that has a gradient: its own, unless `gradients` has those of all by parameter.

    The learning rate is read anew at each call of what is compiled; any other option that changes is traced anew.
    """
    watch_members(optimizer, tracer)
    formulas: dict = {}
    with no_grad():
        for number, group in enumerate(optimizer.param_groups):
            rate = group["lr"]
            if not isinstance(rate, Value):
                rate = tracer.number(_reader(optimizer, number, itemgetter("lr")))
            names = sorted(group.keys() - {"params", "param_names", "lr", "initial_lr"})
            if names:
                tracer.watch(_reader(optimizer, number, itemgetter(*names)))
            for parameter in group["params"]:
                gradient = parameter.grad if gradients is None else gradients.get(parameter)
                if gradient is not None:
                    optimizer.check_gradient(parameter, gradient, group)
                    _trace_update(optimizer, {**group, "lr": rate}, parameter, gradient, tracer, formulas)


def watch_members(optimizer, tracer):
    """Let what is traced serve only as long as the optimizer has the groups and parameters that it has now."""
    found: Any = weakref.ref(optimizer)  # which may hold what is compiled
    read = lambda: [*[list(map(id, group["params"])) for group in found().param_groups], *found().hooks()]
    tracer.watch_edits(optimizer, read, "what an optimizer updates")


def _reader(optimizer, number, get):
    found: Any = weakref.ref(optimizer)  # which may hold what is compiled
    return lambda: get(found().param_groups[number])


def _trace_update(optimizer, group, parameter, gradient, tracer, formulas):
    known = dict(optimizer.state.get(parameter, {}))
    age = optimizer.age_of(group, known)
    if age is False:  # the next step is another
        tracer.watch(lambda: optimizer.age_of(group, optimizer.state.get(parameter, {})))
    tracer.on_failure(lambda: _forget(optimizer, parameter, known))
    state = optimizer.state_of(parameter, group)
    counted = [state["step"]] if optimizer.counts_steps else []
    kept = [state[name] for name in optimizer.kept_of(parameter, group)]
    formula = lambda *read: _made(optimizer, group, age, parameter.dtype, read, state)
    if _is_known(optimizer, gradient):
        # Numbers of the group that are values may be others for the next parameter, if they are learned as well.
        key = id(group["params"]), age, tuple([tracer.symbol(x) for x in group.values() if isinstance(x, Value)])
        whole = partial(_counting, formula) if counted else formula
        made = tracer.repeated(formulas, key, whole, [*counted, parameter, gradient, *kept])
        _write(made, (*counted, parameter, *kept), {tracer.symbol(x) for x in (*counted, parameter, gradient, *kept)})
        return
    if counted:
        state["step"] += 1
    if isinstance(gradient, RowGradient) and optimizer.updates_rows(group):
        # Positions may be equal: for each the same row is computed and written.
        positions, sums = gradient.summed()
        rows, *kept_rows = [take(x, positions, 0) for x in (parameter, *kept)]
        made, index = formula(*counted, rows, sums, *kept_rows), positions
    else:
        made, index = formula(*counted, parameter, gradient, *kept), ...
    for target, value in zip((parameter, *kept), made, strict=True):
        target[index] = value


def _counting(formula, step, *read):
    """What a formula makes of one step more, after that."""
    step = step + 1
    return [step, *formula(step, *read)]


def _write(made, targets, given):
    """Let targets hold what a formula has made for them of the nodes `given`."""
    for target, value in zip(targets, made, strict=True):
        if value.raw in given or (value.shape, value.dtype) != (target.shape, target.dtype):
            target[...] = value
        else:
            take_over(target, value)


def _is_known(optimizer, gradient):
    """Whether the formula reads nothing but its operands and the options of the group, as ours do."""
    kind = type(optimizer)
    is_ours = all([method.__module__.startswith(f"{__package__}.") for method in (kind.rates, kind.update)])
    # What else is kept of a parameter may be read, and written, where its age is more than a number of steps.
    return is_ours and kind.aged.__module__ == f"{__package__}.optimizer" and not isinstance(gradient, RowGradient)


def _made(optimizer, group, age, dtype, read, state):
    """What a parameter, and what is kept of it, are to be; `read` begins with the number of steps where these are counted."""
    if optimizer.counts_steps:
        step, *read = read
        age = optimizer.aged(group, step.astype("float64"), state)
    rates = [r.astype(parts_dtype(dtype)) if isinstance(r, Value) else r for r in optimizer.rates(group, age)]
    return list(_updated(optimizer, group, rates, read))


def _updated(optimizer, group, rates, arrays):
    """What the formula makes of a parameter, its gradient and what is kept of it; of complex ones, of each part by itself."""
    if arrays[0].dtype.kind != "c" or not optimizer.is_elementwise:
        return optimizer.update(group, rates, *arrays)
    parts = [optimizer.update(group, rates, *[part(x) for x in arrays]) for part in (real, imag)]
    return [whole(*pair) for pair in zip(*parts, strict=True)]


def _forget(optimizer, parameter, known):
    """Take back what a failed trace has put in the state of a parameter."""
    if known:
        optimizer.state[parameter] = known
    else:
        optimizer.state.pop(parameter, None)


def check_gradient(parameter, gradient):
    """Raise a ShapeError unless a gradient has the shape of its parameter."""
    if gradient.shape != parameter.shape:
        raise ShapeError(f"a gradient has shape {gradient.shape} and its parameter {parameter.shape}")

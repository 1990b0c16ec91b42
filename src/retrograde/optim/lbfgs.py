"""L-BFGS: steps by the curvature that the last gradients show."""

import numpy as np

from ..core import writes
from ..core.mode import changed, current, enable_grad
from ..core.value import Value
from ..errors import ArgumentError, DTypeError, GraphError, TraceError
from ..tensor.tensor import Tensor
from .line_search import Point, strong_wolfe
from .optimizer import Optimizer

#: Pairs of changes with less curvature than this tell nothing.
_FLAT = 1e-10


class LBFGS(Optimizer):
    r"""Quasi-Newton steps with a short memory (Nocedal, 1980; Liu and Nocedal, 1989), for smooth losses on all of the data.

    A step is up to `max_iter` iterations, which ask `closure` for the loss and its gradients up to `max_eval` times (1.25 times
    `max_iter` by default). They end early where no element of the gradient is above `tolerance_grad`, or where the parameters or
    the loss change by less than `tolerance_change`. `line_search_fn="strong_wolfe"` looks for a good length of each step;
    otherwise all have the length `lr`.

    >>> p = rg.nn.Parameter(rg.tensor([3.0, -2.0]))
    >>> optimizer = rg.optim.LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 1) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> loss = optimizer.step(closure)
    >>> p.detach()
    tensor([1., 1.])
    """

    def __init__(self, params, lr=1, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ArgumentError(f"LBFGS takes one group of parameters, got {len(self.param_groups)}")

    def _check(self, options):
        super()._check(options)
        if options["line_search_fn"] not in (None, "strong_wolfe"):
            raise ArgumentError(f"line_search_fn must be None or 'strong_wolfe', got {options['line_search_fn']!r}")

    def step(self, closure=None):
        """Up to `max_iter` iterations; the loss that `closure` gave first. It must compute the gradients anew at each call.

        Raises a GraphError if the closure leaves no gradients.
        """
        return super().step(closure)

    def _stepped(self, closure=None):
        if closure is None:
            raise ArgumentError("LBFGS asks for the loss many times in a step: pass a closure that computes it and the gradients")
        mode = current()
        if mode is not None and mode.tracer is not None and not mode.tracer.is_lazy:
            raise TraceError("LBFGS decides by the loss how to go on and cannot be a part of a jitted step; jit the closure "
                             "instead, as in optimizer.step(rg.jit(closure))")
        with np.errstate(all="ignore"), changed(tracer=None):
            return self._searched_from(closure)

    def _searched_from(self, closure):
        group = self.param_groups[0]
        state = self.state.setdefault(group["params"][0], {"func_evals": 0, "n_iter": 0})
        memory, asked = _Memory(state, group["history_size"]), 0

        def ask():
            nonlocal asked
            asked += 1
            state["func_evals"] += 1
            with enable_grad():
                loss = closure()
            return self._checked(loss)

        first = ask()
        loss, gradient = float(first), self._gradient()
        for number in range(1, group["max_iter"] + 1):
            if np.abs(gradient).max(initial=0.0) <= group["tolerance_grad"]:
                break
            state["n_iter"] += 1
            is_last = number == group["max_iter"]
            direction = memory.direction(gradient)
            slope, before = float(gradient @ direction), loss
            length = group["lr"] * (min(1.0, 1.0 / float(np.abs(gradient).sum())) if state["n_iter"] == 1 else 1.0)
            memory.note(gradient, direction, length, loss)
            if slope > -group["tolerance_change"]:
                break
            if group["line_search_fn"] is None:
                self._move(self._parameters(), length, direction)
                if not is_last:
                    loss, gradient = float(ask()), self._gradient()
            else:
                start = Point(0.0, loss, gradient, slope)
                length, loss, gradient = self._searched(ask, start, length, direction, group["tolerance_change"])
                memory.note_length(length)
            moved = np.abs(direction * length).max()
            if asked >= group["max_eval"] or min(moved, abs(loss - before)) <= group["tolerance_change"]:
                break
        return first

    def _checked(self, loss):
        """`loss`, if the closure that gave it has left gradients."""
        if getattr(loss, "size", 1 if isinstance(loss, (int, float)) else 0) != 1:
            raise DTypeError(f"the closure of LBFGS must return the loss, a single number, got {loss!r}")
        if all([p.grad is None for p in self.param_groups[0]["params"]]):
            raise GraphError("the closure of LBFGS has left no gradient on any parameter; it must call loss.backward() before it "
                             "returns the loss")
        return loss

    def _searched(self, ask, start, length, direction, tolerance):
        """(the length of a good step, which is made, the loss and the gradient there)."""
        origin = self._parameters()

        def point_at(step):
            self._move(origin, step, direction)
            value, gradient = float(ask()), self._gradient()
            return Point(step, value, gradient, float(gradient @ direction))

        found, _ = strong_wolfe(point_at, start, length, np.abs(direction).max(), tolerance)
        self._move(origin, found.step, direction)
        return found.step, found.value, found.gradient

    def _gradient(self):
        """All gradients in one vector, zeros where there is none."""
        parts = [p.raw * 0 if p.grad is None else p.grad.raw for p in self.param_groups[0]["params"]]
        return np.concatenate([np.ravel(part) for part in parts])

    def _parameters(self):
        return np.concatenate([np.ravel(p.raw) for p in self.param_groups[0]["params"]])

    def _move(self, origin, length, direction):
        """Set the parameters to what lies `length` times `direction` from `origin`, vectors of all their numbers."""
        numbers, start = origin + direction * np.asarray(length, direction.dtype), 0
        for p in self.param_groups[0]["params"]:
            writes.before(p.algebra, p.raw)
            p.raw[...] = numbers[start : start + p.size].reshape(p.shape)
            writes.stamp(p.algebra, p.raw)
            start += p.size

    def load_state_dict(self, state_dict):
        super().load_state_dict({**state_dict, "state": {}})
        saved = state_dict["state"].get(0)
        if saved is not None:
            self.state[self.param_groups[0]["params"][0]] = {name: _copied(value) for name, value in saved.items()}


class _Memory:
    """The last changes of the parameters and of the gradient, kept in the state of the optimizer under PyTorch's names."""

    def __init__(self, state, size):
        self.state, self.size = state, size

    def direction(self, gradient):
        """Where to go, by the two loops of the method: the gradient times the inverse of the curvature seen so far."""
        state = self.state
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=Tensor(np.ones((), gradient.dtype)))
            return -gradient
        self._learn(gradient)
        changes, steps = ([x.raw for x in state[name]] for name in ("old_dirs", "old_stps"))
        weights, shares, found = [float(r) for r in state["ro"]], [0.0] * len(changes), -gradient
        for i in reversed(range(len(changes))):
            shares[i] = float(steps[i] @ found) * weights[i]
            found = found - changes[i] * np.asarray(shares[i], found.dtype)
        found = found * state["H_diag"].raw
        for i, (change, step) in enumerate(zip(changes, steps, strict=True)):
            found = found + step * np.asarray(shares[i] - float(change @ found) * weights[i], found.dtype)
        state["al"] = shares + [None] * (self.size - len(shares))
        return found

    def _learn(self, gradient):
        """Keep how the gradient has changed over the last step."""
        state = self.state
        change = gradient - state["prev_flat_grad"].raw
        step = state["d"].raw * np.asarray(state["t"], gradient.dtype)
        curvature = change @ step
        if curvature > _FLAT:
            for name, value in (("old_dirs", change), ("old_stps", step), ("ro", np.asarray(1 / curvature))):
                state[name] = [*state[name], Tensor(value)][-self.size :]
            state["H_diag"] = Tensor(np.asarray(curvature / (change @ change)))

    def note(self, gradient, direction, length, loss):
        """Keep what the next iteration compares with."""
        self.state.update(d=Tensor(direction), t=length, prev_flat_grad=Tensor(gradient), prev_loss=loss)

    def note_length(self, length):
        """Keep the length of the step that was made."""
        self.state["t"] = length


def _copied(value):
    if isinstance(value, list):
        return [_copied(x) for x in value]
    if isinstance(value, Value) or hasattr(value, "__array__"):
        return Tensor(np.array(value))
    return value

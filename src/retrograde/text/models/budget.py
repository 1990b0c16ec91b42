"""Limits on calls, tokens and money, which stop a call before it would pass one."""

import threading
from collections import deque
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import asdict
from typing import Any

from ...errors import ArgumentError, BudgetError, ModelError
from .base import Wrapper
from .ledger import Ledger, payer
from .trace import note_attempt
from .usage import Usage

#: What a model inside calls before it asks its provider again after an attempt that may have been charged for.
_EXTRA_CHARGES: ContextVar[tuple] = ContextVar("extra_charges", default=())
#: What is done once the answer that a call is made for is kept; None where nobody keeps it.
_WHEN_KEPT: ContextVar[list | None] = ContextVar("when_kept", default=None)
#: How often a call looks whether another process has given back what it waits for, in seconds.
_POLL = 0.1


class Budget:
    """Limits that one or more models share; None is no limit.

    For each call the most that it can take is set aside first, and settled when it has ended. A call that would pass a limit
    waits while others are running, whose leftovers may make room, and is refused when none is left: with a BudgetError.

    ledger  a file in which each amount is written down before anything is sent, and when it is settled. Then the limits hold over
            interruptions, kills, and all processes that share the file; what a killed process had set aside counts as spent
    scope   the name of this budget among several in one ledger

    >>> from retrograde.text.models import Budgeted, ScriptedLM
    >>> budget = Budget(calls=1)
    >>> model = Budgeted(ScriptedLM(["one", "two"]), budget)
    >>> model("first"), budget.spent.calls
    ('one', 1)
    """

    def __init__(self, *, calls=None, tokens=None, cost=None, ledger=None, scope=""):
        for name, limit in (("calls", calls), ("tokens", tokens), ("cost", cost)):
            if limit is not None and not limit >= 0:
                raise ArgumentError(f"the limit on {name} must be 0 or more, got {limit}")
        self.calls, self.tokens, self.cost = calls, tokens, cost
        self.ledger, self.scope = ledger, scope
        self._spent = Usage()
        self._set_up()

    @property
    def spent(self):
        """What was spent; by all processes, where there is a ledger, with what those that were killed had set aside."""
        with self._lock, self._books():
            return self._spent if self._ledger is None else self._ledger.spent()

    def spent_by(self, run):
        """What the ledger has of one of the runs that share it, by name; a budget without a ledger does not tell runs apart."""
        with self._lock, self._books():
            return self._spent if self._ledger is None else self._ledger.spent(run)

    def reserve(self, amount: Usage) -> Future:
        """A Future that is done when `amount` is set aside, and fails with a BudgetError when that is refused.

        Its result is what `settle` is to be given.
        """
        future = Future()
        with self._lock:
            self._waiting.append((amount, future, payer()))
            self._admit()
        return future

    def settle(self, reserved: Usage, spent: Usage, name=None, when=None):
        """End a call for which `reserved` was set aside, under a `name`: `spent` is what it took.

        `when` is a list of what is to be done once the answer is kept, see `settled_when_kept`: the ledger then says at once what
        the call took, and that it is settled when the answer is kept.
        """
        with self._lock:
            self._held, self._running = self._held - reserved, self._running - 1
            if not self._running:
                self._held = Usage()  # no rounding error of many additions stays
            with self._books():
                if self._ledger is None:
                    self._spent += spent
                elif when is None:
                    self._ledger.settle(name, spent)
                else:
                    self._ledger.take(name, spent)
                    when.append(lambda: self._close(name, spent))
            self._admit()

    def _close(self, name, spent):
        """Settle what the ledger knows to have been taken."""
        ledger: Any = self._ledger
        with self._lock, self._books():
            ledger.settle(name, spent)

    def state_dict(self):
        """What was spent, as JSON data."""
        return asdict(self.spent)

    def load_state_dict(self, state):
        """Go on from what was spent before. A budget with a ledger knows it already."""
        if self._ledger is None:
            self._spent = Usage(**state)

    def __repr__(self):
        spent = self.spent
        parts = [f"{name} {getattr(spent, name):g} of {limit:g}" for name, limit in self._limits().items()]
        return f"Budget({', '.join(parts) or f'no limit, {spent.calls} calls, {spent.tokens} tokens'})"

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_") or name == "_spent"}

    def __setstate__(self, state):
        vars(self).update(state)
        self._set_up()

    def _set_up(self):
        self._held, self._running, self._waiting, self._lock = Usage(), 0, deque(), threading.RLock()
        self._ledger, self._is_polling = None if self.ledger is None else Ledger(self.ledger, self.scope), False

    def _books(self):
        """The ledger, held by this process alone and read to its end."""
        return nullcontext() if self._ledger is None else self._ledger.held()

    def _limits(self):
        return {name: limit for name in ("calls", "tokens", "cost") if (limit := getattr(self, name)) is not None}

    def _admit(self):
        """Decide on those who wait, first come, first served."""
        if not self._waiting:
            return
        with self._books():
            spent, held = self._spent, self._held
            if self._ledger is not None:
                spent, held = self._ledger.spent(), self._ledger.running()
            while self._waiting:
                amount, future, run = self._waiting[0]
                if future.cancelled():
                    self._waiting.popleft()
                    continue
                passed = self._passed(spent + held + amount)
                if passed and held.calls and not self._passed(spent + amount):
                    # What the running calls leave over may be enough. Those of other processes do not tell when they have ended.
                    self._poll()
                    return
                self._waiting.popleft()
                if not future.set_running_or_notify_cancel():
                    continue
                if passed:
                    future.set_exception(BudgetError(self._refusal(passed, amount, spent)))
                    continue
                name = None if self._ledger is None else self._ledger.reserve(amount, run)
                held = held + amount
                self._held, self._running = self._held + amount, self._running + 1
                future.set_result(name)

    def _poll(self):
        """Look again in a while, if other processes share the ledger."""
        if self._ledger is None or self._is_polling:
            return
        self._is_polling = True
        timer = threading.Timer(_POLL, self._look_again)
        timer.daemon = True
        timer.start()

    def _look_again(self):
        with self._lock:
            self._is_polling = False
            self._admit()

    def _passed(self, usage):
        """The name of a limit that `usage` passes, or None."""
        # Sums of prices are rounded; a limit that is met exactly is not passed.
        return next((name for name, limit in self._limits().items() if getattr(usage, name) > limit * (1 + 1e-9)), None)

    def _refusal(self, name, amount, spent):
        return (f"the limit of {getattr(self, name):g} on {name} would be passed: {getattr(spent, name):g} are spent, and "
                f"this call may take {getattr(amount, name):g}; raise the limit, or lower max_tokens")


class Budgeted(Wrapper):
    """`model` under a budget: `Budgeted(model, calls=500)`, or `Budgeted(model, budget)` to share one between models.

    Put a cache around it, not inside it: answers out of a cache cost nothing and need no room. A call that failed before
    the provider did any work is free; one that failed later counts as what was set aside for it.
    """

    def __init__(self, model, budget=None, *, calls=None, tokens=None, cost=None):
        super().__init__(model)
        if budget is not None and (calls, tokens, cost) != (None, None, None):
            raise ArgumentError("give a Budget, or limits, not both")
        self.budget = Budget(calls=calls, tokens=tokens, cost=cost) if budget is None else budget
        if self.budget.cost is not None and model.price is None:
            raise ArgumentError(f"a limit on cost needs the price of {model.name}; give the model price=Price(prompt, completion)")

    def steps(self, request):
        prompt, answer = self.token_bound(request)
        reservation = _Reservation(self.budget, Usage(1, prompt + answer, self.cost_of(prompt, answer)))
        yield from reservation.take()
        spent, when = reservation.amount, None
        token = _EXTRA_CHARGES.set((*_EXTRA_CHARGES.get(), reservation.take_again))
        try:
            completion = yield request
            spent, when = Usage() if completion.is_cached else Usage(1, completion.tokens, completion.cost), _WHEN_KEPT.get()
        except ModelError as error:
            spent = reservation.amount if error.is_billed else Usage()
            raise
        finally:
            reservation.settle(spent, when)
            _EXTRA_CHARGES.reset(token)
        return completion


@contextmanager
def settled_when_kept():
    """A list of what is to be done once the answer to the calls in the block is kept: budgets settle them then.

    A process that is killed before has an answer that is not kept, which is asked for again, and a call that is not settled.
    """
    when: list = []
    token = _WHEN_KEPT.set(when)
    try:
        yield when
    finally:
        _WHEN_KEPT.reset(token)


def charge_again(tokens, cost):
    """Steps (see Wrapper) to take before asking a provider again after an attempt that it may have charged for.

    Every budget around sets aside one more call, and the trace notes the attempt, with the most that it may have taken.
    """
    note_attempt(tokens, cost)
    for take_again in _EXTRA_CHARGES.get():
        yield from take_again()


class _Reservation:
    """What is set aside in a budget for one call."""

    def __init__(self, budget, amount):
        self.budget, self.amount, self.is_held, self.name = budget, amount, False, None

    def take(self):
        """Wait until the amount is set aside. Who stops waiting leaves nothing behind."""
        future = self.budget.reserve(self.amount)
        try:
            yield future
        except BaseException:
            if not future.cancel() and future.exception() is None:
                self.budget.settle(self.amount, Usage(), future.result())
            raise
        self.is_held, self.name = True, future.result()

    def take_again(self):
        """Count what was set aside as spent, and set aside as much again."""
        self.settle(self.amount)
        yield from self.take()

    def settle(self, spent, when=None):
        """Give back what was set aside and not spent."""
        if self.is_held:
            self.is_held = False
            self.budget.settle(self.amount, spent, self.name, when)

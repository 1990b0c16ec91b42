"""Random numbers: functions of a state, which is a key and a place in the stream of that key. A generator hands out states.

Number i of a draw is made of the words from `state` on, in their order, so the same state gives the same numbers everywhere.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from math import prod

import numpy as np

from ...core.mode import current
from ...core.value import Value
from ...dtypes import as_dtype, float32, float64
from ...errors import ArgumentError, DTypeError, GraphError
from ...once import forkable
from ...shapes import sizes
from .._arrays import arrays
from .._families import creation
from .._samples import call
from ..axes._sorting import order_of
from ._streams import BITS, INTEGERS, MASK, MOST_CHOICES, NORMAL, UNIFORM, WIDE_INTEGERS, numbers

_STATE = np.array([5, 7], np.int64)


def _draw(dtype, **facts):
    """The decorator of an op that draws numbers in a `shape`, of a dtype, or of that which `dtype(*arguments)` gives."""
    known = dtype if callable(dtype) else lambda *_: np.dtype(dtype)
    return creation(result_shape=lambda _, shape, *__: sizes(shape), result_dtype=known, **facts)


@_draw("uint32", samples=(call(_STATE, shape=(2, 3)), call(_STATE, shape=(5,), skip=1)), is_public=False)
def random_bits(state, /, shape, skip=0):
    """32 random bits in each element, uint32; by Philox4x32-10, from `state`: (key, block), two integers of 64 bits.

    Here and below, the first `skip` blocks of four words are left out.
    """
    return _drawn(BITS, state, shape, skip)


@_draw("bool", samples=(
    call(_STATE, shape=(2, 3), p=0.25), call(_STATE, shape=(3,), p=0.5, skip=2)), is_public=False)
def random_mask(state, /, shape, p, skip=0):
    """Truth values, each False with probability `p`: whether 32 random bits are at least that part of 2^32."""
    return _drawn(MASK, state, shape, skip, mask_threshold(p))


def mask_threshold(p):
    """The least word of 32 bits that is not dropped with probability `p`."""
    return min(round(p * 2**32), 2**32 - 1)


_FLOATS = (call(_STATE, shape=(2, 3)), call(_STATE, shape=(3,), dtype=float64), call(_STATE, shape=(3,), skip=2))


@_draw(lambda _state, _shape, dtype, _skip: checked(dtype), samples=_FLOATS, is_public=False)
def random_uniform(state, /, shape, dtype=float32, skip=0):
    """Numbers spread evenly over [0, 1): the upper bits of one word each, as many as `dtype` holds; of two for float64."""
    return _drawn(UNIFORM[checked(dtype)], state, shape, skip)


@_draw(lambda _state, _shape, dtype, _skip: checked(dtype), samples=_FLOATS, is_public=False)
def random_normal(state, /, shape, dtype=float32, skip=0):
    r"""Normally distributed numbers of mean 0 and variance 1, two at a time by Box and Muller (1958).

    From two uniform numbers: $\sqrt{-2 \ln u}\,\cos 2\pi v$ and $\sqrt{-2 \ln u}\,\sin 2\pi v$; the same bits on every machine.
    """
    return _drawn(NORMAL[checked(dtype)], state, shape, skip)


@_draw("int64", samples=(call(_STATE, shape=(2, 3), low=-2, high=5), call(_STATE, shape=(3,), low=0, high=2**40)), is_public=False)
def random_integers(state, /, shape, low, high, skip=0):
    """Integers from `low` to `high` - 1, int64: the upper part of 64 random bits times the number of choices.

    Up to 2^32 choices are equally likely to within one part in 2^32; more are taken modulo their number.
    """
    choices = int(high) - int(low)
    return _drawn(INTEGERS if choices <= MOST_CHOICES else WIDE_INTEGERS, state, shape, skip, int(low), choices)


@creation(is_public=False, result_shape=lambda _, size: (size,), result_dtype=lambda *_: np.dtype(np.int64),
          samples=(call(_STATE, size=5),))
def random_permutation(state, /, size):
    """The numbers below `size` in random order, int64: the order in which `size` draws of 64 bits sort."""
    words = random_bits(state, (2 * size,)).astype(np.uint64)
    return order_of((words[::2] << np.uint64(32)) | words[1::2])


def _drawn(kind, state, shape, skip, *parameters):
    key, block = state
    return numbers(kind, int(key), int(block) + skip, prod(shape), *parameters).reshape(shape)


def checked(dtype):
    """The dtype that is meant; raises for what is no float of ours."""
    dtype = as_dtype(dtype)
    if dtype not in UNIFORM:
        raise DTypeError(f"random floats are of type float16, bfloat16, float32 or float64, got {dtype}")
    return dtype


def words_per_number(dtype):
    """How many words a random float of `dtype` takes; raises for what is no float of ours."""
    return UNIFORM[checked(dtype)].words


class State(Value):
    """Where a generator is: its key and the next block, two int64, whose bits count. A compiled step advances it as any tensor.

    Who draws holds the `lock` from reading to writing, a compiled step as long as it runs, so that nothing is drawn twice.
    """

    __slots__ = ("lock",)
    algebra = arrays

    def __init__(self, data, record=None):
        super().__init__(data, record)
        self.lock = forkable()


class Generator:
    """A stream of random numbers, chosen by `seed`. Safe to share between threads: no part of it is handed out twice,
    neither by draws nor by compiled steps, of which those that draw from one generator run one at a time.
    """

    def __init__(self, seed=0):
        self.state = State(np.zeros(2, np.int64))
        self.manual_seed(seed)

    def __repr__(self):
        return f"Generator(seed={self.initial_seed()})"

    def __reduce__(self):
        return _restored, (type(self), self.get_state())

    def manual_seed(self, seed):
        """Start the stream of `seed`, an integer, at its beginning; returns the generator."""
        self.set_state((int(seed) & 0xFFFFFFFFFFFFFFFF, 0))
        return self

    def initial_seed(self):
        """The seed, modulo 2 to the power 64."""
        return int(self.state.raw[0]) & 0xFFFFFFFFFFFFFFFF

    def get_state(self):
        """The state as an array that `set_state` takes; a value in code that is traced."""
        tracer = _tracing()
        if tracer is not None:
            return arrays.made(tracer.symbol(self.state))
        with self.state.lock:
            return self.state.raw.astype(np.uint64)

    def set_state(self, state):
        """Go on from `state`, which `get_state` gave."""
        words = state if isinstance(state, Value) and state.is_traced else np.asarray(state, np.uint64).view(np.int64)
        if words.shape != (2,):
            raise ArgumentError(f"the state of a generator is two integers, got shape {words.shape}")
        tracer = _tracing()
        if tracer is not None:
            # A node also where the words are known, so that compiled code writes them at each call.
            tracer.write(self.state, arrays.made(tracer.symbol(self.state)) * 0 + words)
            return
        with self.state.lock:
            self.state.raw[...] = words

    def take(self, count):
        """The state from which `count` words may be drawn; the generator moves past them."""
        session, drawn = _SESSION.get(), _DEFAULT.get() if self is default_generator else self
        return drawn._advance(count) if session is None else session.next(drawn, count)  # noqa: SLF001

    def _advance(self, count):
        blocks = -(-count // 4)
        tracer = _tracing()
        if tracer is not None:
            return _advanced_in_trace(tracer, self.state, blocks)
        with self.state.lock:
            start = self.state.raw.copy()
            self.state.raw[1] += blocks
        mode = current()
        return start if mode is None or mode.tracer is None else arrays.made(start)


def _restored(kind, state):
    made = kind()
    made.set_state(state)
    return made


def _tracing():
    """What records ops that run later, None if there is no such: lazy values are drawn at once."""
    mode = current()
    return None if mode is None or mode.tracer is None or mode.tracer.is_lazy else mode.tracer


def _advanced_in_trace(tracer, state, blocks):
    start = arrays.made(tracer.symbol(state))
    tracer.write(state, start + np.array([0, blocks], np.int64))
    return start


#: What draws when no generator is given; as in PyTorch it starts from the same seed in every process.
default_generator = Generator(67280421310721)
#: What draws in this context in the place of the default generator.
_DEFAULT: ContextVar = ContextVar("retrograde_default_generator", default=default_generator)


@contextmanager
def drawing_from(generator):
    """Within it, draws of this context that name no generator are from `generator`, whatever other threads draw.

    What was compiled before keeps the generator that it had.

    >>> from retrograde.ops.random.draws import drawing_from
    >>> with drawing_from(rg.random.Generator(3)):
    ...     first = rg.rand(2).tolist()
    >>> first == rg.rand(2, generator=rg.random.Generator(3)).tolist()
    True
    """
    token = _DEFAULT.set(generator)
    try:
        yield
    finally:
        _DEFAULT.reset(token)


def manual_seed(seed):
    """Start the default generator anew from `seed`, and return it.

    >>> generator = rg.manual_seed(7)
    """
    return _DEFAULT.get().manual_seed(seed)


def get_rng_state():
    """The state of the default generator, as an array that `set_rng_state` takes.

    >>> state = rg.get_rng_state()
    >>> first = rg.rand(2).tolist()
    >>> rg.set_rng_state(state)
    >>> rg.rand(2).tolist() == first
    True
    """
    return _DEFAULT.get().get_state()


def set_rng_state(state):
    """Let the default generator go on from `state`, which `get_rng_state` gave."""
    _DEFAULT.get().set_state(state)


@contextmanager
def preserved_state(generator=None):
    """Within it, draws are as anywhere; after it, the generator (the default one if None) is where it was before."""
    generator = _DEFAULT.get() if generator is None else generator
    state = generator.get_state()
    try:
        yield generator
    finally:
        generator.set_state(state)


_SESSION: ContextVar = ContextVar("retrograde_draws", default=None)


class Draws:
    """The states of all draws in a stretch of code, from any generator, so that it can be run again with the same numbers."""

    def __init__(self):
        self._states = []

    @contextmanager
    def recorded(self):
        """Within it, this context's draws are noted."""
        outer = _SESSION.get()
        token = _SESSION.set(_Recording(self._states, outer))
        try:
            yield
        finally:
            _SESSION.reset(token)

    @contextmanager
    def replayed(self):
        """Within it, this context's draws are those noted before, in their order; no generator moves."""
        token = _SESSION.set(_Replay(iter(self._states)))
        try:
            yield
        finally:
            _SESSION.reset(token)


@contextmanager
def unnoted():
    """Within it, draws are neither noted nor replayed by what surrounds it: for code that is traced, and runs later."""
    token = _SESSION.set(None)
    try:
        yield
    finally:
        _SESSION.reset(token)


def run_drawing(states, run, *args):
    """`run(*args)`, which advances `states` by itself, as compiled code does; in `Draws` it is noted or replayed as draws are."""
    session = _SESSION.get()
    return run(*args) if session is None else session.around(states, partial(run, *args))


def begun(state):
    """(what a traced loop that draws begins with, whether a generator moves by it): `state`, which is noted in `Draws`, or what was
    noted there.
    """
    session = _SESSION.get()
    return (state, True) if session is None else session.begun(state)


class _Recording:
    def __init__(self, states, outer):
        self._states, self._outer = states, outer

    def next(self, generator, count):
        state = generator._advance(count) if self._outer is None else self._outer.next(generator, count)  # noqa: SLF001
        self._states.append(state)
        return state

    def around(self, states, run):
        """`run()`, before which the places of `states` are noted."""
        def noted():
            self._states += [state.raw.copy() for state in states]
            return run()

        return noted() if self._outer is None else self._outer.around(states, noted)

    def begun(self, state):
        """`state`, which is noted."""
        state, moves = (state, True) if self._outer is None else self._outer.begun(state)
        self._states.append(state)
        return state, moves


class _Replay:
    def __init__(self, states):
        self._states = states

    def next(self, _generator, _count):
        state = next(self._states, None)
        if state is None:
            raise GraphError("a checkpointed function drew more random numbers when it was run again than at first; its draws "
                             "must not depend on anything that changes in between")
        return state

    def begun(self, _state):
        """The next of the states that were noted."""
        return self.next(None, 0), False

    def around(self, states, run):
        """`run()`, during which `states` are what they were; after it they are what they are now."""
        before = [state.raw.copy() for state in states]
        for state in states:
            state.raw[...] = self.next(None, 0)
        try:
            return run()
        finally:
            for state, words in zip(states, before, strict=True):
                state.raw[...] = words

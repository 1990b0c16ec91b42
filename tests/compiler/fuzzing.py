"""Random programs: drawn from a seed, run eagerly and compiled, and made smaller where the two differ."""

from dataclasses import dataclass, replace
from math import prod

import numpy as np

import retrograde as rg
from retrograde import nn, optim

LENGTHS = (0, 1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 67)
MOST = 5000  # elements of a value
MODES = ("value", "value", "gradient", "second", "training")


@dataclass(frozen=True)
class Instruction:
    """One step of a program: a function of `FUNCTIONS`, the values it takes by their numbers, and its other arguments."""

    name: str
    inputs: tuple = ()
    options: tuple = ()


@dataclass(frozen=True)
class Program:
    """Instructions, each of which makes the value of its number; `outputs` are the numbers of the results.

    mode  "value": the results; "gradient" and "second": derivatives in the inputs; "training": steps of an optimizer
    """

    instructions: tuple
    outputs: tuple
    mode: str
    seed: int

    def __str__(self):
        lines = [f"v{i} = {step.name}({', '.join([*(f'v{n}' for n in step.inputs), *map(repr, step.options)])})"
                 for i, step in enumerate(self.instructions)]
        return "\n".join([*lines, f"return {', '.join(f'v{n}' for n in self.outputs)}  # {self.mode}, seed {self.seed}"])


# What instructions do


def _chain(x, y, rounds, kind):
    """A loop in Python, as a function that is compiled unrolls it."""
    for i in range(rounds):
        if kind == "carried":
            x, y = rg.tanh(x * 0.9 + y), rg.sin(y) * 0.5
        elif kind == "drifting":
            x = x + rg.sin(x) * 0.01 * y
        elif kind == "reading":
            x = rg.tanh(x * y[i % y.shape[0]] + y[i % y.shape[0]])
        elif kind == "counting":
            x = x * 0.99 + rg.cos(x * y) * 0.01 * (i + 1)
        else:
            x = rg.where(x > y, x * 0.5, x + y * 0.1)
    return x


def _written(target, value, index):
    target[index] = value
    return target * 1


def _added(target, value):
    target += value
    return target * 1


FUNCTIONS = {
    **{name: getattr(rg, name) for name in (
        "sin cos tanh relu sigmoid abs negative square sign floor round isnan isfinite erf softplus add subtract multiply maximum minimum "
        "atan2 hypot less less_equal equal not_equal greater where logical_and logical_or logical_not logical_xor floor_divide remainder "
        "bitwise_and bitwise_or bitwise_xor sum mean max min prod any all argmax cumsum logsumexp softmax matmul reshape permute_dims flip "
        "expand_dims squeeze broadcast_to pad take take_along_axis roll repeat tile astype clip silu std power tril outer"
    ).split()},
    "exponential": lambda x: rg.exp(rg.tanh(x)),
    "root": lambda x: rg.sqrt(rg.square(x) + 0.1),
    "logarithm": lambda x: rg.log1p(rg.square(x)),
    "quotient": lambda x, y: x / (1.0 + rg.square(y)),
    "concatenate": lambda *x: rg.concatenate(x[:-1], axis=x[-1]),
    "stack": lambda *x: rg.stack(x[:-1], axis=x[-1]),
    "getitem": lambda x, index: x[index],
    "plus": lambda x, number: x + number,
    "times": lambda x, number: x * number,
    "minus_from": lambda x, number: number - x,
    "below": lambda x, number: x < number,
    "plus_array": lambda x, array: x + array,
    "times_array": lambda x, array: array * x,
    "positions": lambda x, size: rg.astype(rg.floor(rg.abs(rg.sin(x)) * (size - 0.001)), "int64"),
    "chosen": lambda x, indices, axis: rg.take(x, indices, axis=axis),
    "chain": _chain,
    "write": _written,
    "increase": _added,
    "dropped": lambda x, p: nn.functional.dropout(x, p, True),
    "detached": lambda x: x.detach(),
}


def run(program, inputs, state, dropped=()):
    """The values of all instructions on tensors for the inputs and the state."""
    values, inputs, state = [], iter(inputs), iter(state)
    for step in program.instructions:
        if step.name == "input":
            values.append(next(inputs))
        elif step.name == "state":
            values.append(next(state))
        elif step.name in ("write", "increase"):
            with rg.no_grad():
                values.append(FUNCTIONS[step.name](*[values[n] for n in step.inputs], *step.options))
        else:
            values.append(FUNCTIONS[step.name](*[values[n] for n in step.inputs], *step.options))
    return values


VIEWS = frozenset("reshape permute_dims flip expand_dims squeeze broadcast_to getitem detached astype".split())


def _total(values):
    """One number that depends on every float of some values, unevenly."""
    total = 0.0
    for number, z in enumerate(values):
        if z.dtype.kind == "f" and z.size:
            weights = np.cos(np.arange(z.size) * 0.7 + number).reshape(z.shape).astype(z.dtype)
            total = total + (rg.tanh(z) * weights).sum() / z.size
    return total


class Runner:
    """A program with its own state, as a function of its inputs."""

    def __init__(self, program, compiles):
        self.program = program
        rng = np.random.default_rng(program.seed + 1)
        specs = [step.options for step in program.instructions if step.name == "state"]
        is_trained = program.mode == "training"
        written = {step.inputs[0] for step in program.instructions if step.name in ("write", "increase")}
        numbers = [i for i, step in enumerate(program.instructions) if step.name == "state"]
        self.state = [rg.tensor(_drawn(rng, *spec), requires_grad=is_trained and spec[1][0] == "f" and n not in written)
                      for n, spec in zip(numbers, specs, strict=True)]
        trained = [s for s in self.state if s.requires_grad]
        self.optimizer, self.values = None, []
        if is_trained and trained:
            self.optimizer = [optim.Adam, optim.SGD][program.seed % 2](trained, lr=0.01)
        function = getattr(self, f"_{program.mode}")
        self.function = rg.jit(function) if compiles else function

    def __call__(self, inputs):
        results = [np.array(rg.asarray(r).detach()) for r in rg.tree.leaves(self.function(*inputs))]
        gradients = [np.array(s.grad.detach()) for s in self.state if s.grad is not None]
        moments = [] if self.optimizer is None else [
            np.array(v.detach()) for s in self.optimizer.state.values() for _, v in sorted(s.items()) if hasattr(v, "detach")]
        return results, [np.array(s.detach()) for s in self.state], gradients, moments

    def _outputs(self, inputs):
        values = self.values = run(self.program, inputs, self.state)
        return [values[n] for n in self.program.outputs]

    def _value(self, *inputs):
        return self._outputs(inputs)

    def _floats(self):
        specs = [step.options for step in self.program.instructions if step.name == "input"]
        return tuple(i for i, (_, dtype) in enumerate(specs) if dtype[0] == "f")

    def _gradient(self, *inputs):
        return rg.value_and_grad(lambda *x: _total(self._outputs(x)) + 0.0 * sum(x[i].sum() for i in self._floats()), self._floats())(*inputs)

    def _second(self, *inputs):
        places = self._floats()

        def slopes(*x):
            first = rg.grad(lambda *y: _total(self._outputs(y)) + sum((y[i] * y[i]).sum() for i in places), places)(*x)
            return _total([rg.tanh(g) for g in first]) + 0.0 * sum(x[i].sum() for i in places)

        return rg.grad(slopes, places)(*inputs)

    def _training(self, *inputs):
        if self.optimizer is not None:
            self.optimizer.zero_grad()
        loss = _total(self._outputs(inputs)) + 0.0 * sum(s.sum() for s in self.state if s.requires_grad)
        if self.optimizer is not None and isinstance(loss, rg.Tensor) and loss.requires_grad:
            loss.backward()
            self.optimizer.step()
        return loss


def _drawn(rng, shape, dtype):
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("int"):
        return rng.integers(-5, 6, shape).astype(dtype)
    return np.asarray(rng.uniform(-1.5, 1.5, shape)).astype(dtype)


def data_of(program, call):
    """The inputs of one call."""
    rng = np.random.default_rng([program.seed, call])
    return [_drawn(rng, *step.options) for step in program.instructions if step.name == "input"]


# Agreement


def difference(program, calls=2):
    """How the compiled program differs from the eager one, None if it does not."""
    eager, compiled = Runner(program, compiles=False), Runner(program, compiles=True)
    with np.errstate(all="ignore"):
        for call in range(calls):
            inputs = data_of(program, call)
            rg.manual_seed(program.seed + call)
            wanted = eager(inputs)
            rg.manual_seed(program.seed + call)
            try:
                got = compiled(inputs)
            except Exception as error:  # noqa: BLE001 - what it is is reported
                return f"call {call}: {type(error).__name__}: {str(error)[:300]}"
            is_coarse = any(np.float32 == v.dtype for v in [*inputs, *eager.state, *eager.values])
            for kind, a, b in zip(("result", "state", "gradient", "moment"), wanted, got, strict=True):
                if len(a) != len(b):
                    return f"call {call}: {len(b)} {kind}s, not {len(a)}"
                for number, (x, y) in enumerate(zip(a, b, strict=True)):
                    if (problem := _unlike(x, y, is_coarse)) is not None:
                        return f"call {call}, {kind} {number}: {problem}"
    return None


def _unlike(wanted, got, is_coarse):
    if (wanted.shape, wanted.dtype) != (got.shape, got.dtype):
        return f"{got.dtype}{got.shape}, not {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind != "f":
        return None if np.array_equal(wanted, got) else f"{got.tolist()}, not {wanted.tolist()}"[:400]
    scale = 1.0 + float(np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted)))
    tolerance = (2e-3 if is_coarse else 1e-9) * scale
    if np.allclose(wanted, got, rtol=tolerance, atol=tolerance, equal_nan=True):
        return None
    return f"\n{got},\nnot\n{wanted}"[:900]


# Drawing


class Drawer:
    """Draws a program; values are computed as it goes, so that every instruction is known to work."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.seed, self.steps, self.values = seed, [], []
        self.mode = MODES[self.rng.integers(len(MODES))]
        self.precise = "float64" if self.rng.random() < 0.75 else "float32"

    def program(self, most=14):
        rng = self.rng
        shape = self._shape()
        for _ in range(rng.integers(1, 4)):
            self._leaf("input", shape if rng.random() < 0.6 else self._broadcastable(shape), floats=not self.steps)
        for _ in range(rng.integers(0, 3) + (self.mode == "training")):
            self._leaf("state", shape if rng.random() < 0.6 else self._broadcastable(shape), floats=rng.random() < 0.8)
        wanted = len(self.steps) + rng.integers(1, most)
        for _ in range(200):
            if len(self.steps) >= wanted:
                break
            self._try()
        last = len(self.steps) - 1
        outputs = {last, *rng.integers(0, last + 1, rng.integers(0, 4)).tolist()}
        return without_unused(Program(tuple(self.steps), tuple(sorted(outputs)), self.mode, self.seed))

    def _shape(self):
        while True:
            shape = tuple(int(n) for n in self.rng.choice(LENGTHS, self.rng.integers(0, 5)))
            if prod(shape) <= MOST and (prod(shape) or self.rng.random() < 0.3):
                return shape

    def _broadcastable(self, shape):
        keep = shape[self.rng.integers(0, len(shape) + 1):]
        return tuple(1 if self.rng.random() < 0.3 else n for n in keep)

    def _leaf(self, name, shape, floats=False):
        dtype = self.precise if floats or self.rng.random() < 0.8 else str(self.rng.choice(["int64", "int32", "bool", "float32"]))
        self.steps.append(Instruction(name, (), (shape, dtype)))
        self.values.append(rg.tensor(_drawn(self.rng, shape, dtype)))

    def _try(self):
        rng = self.rng
        make = getattr(self, "_draw_" + str(rng.choice(KINDS)))
        step = make()
        if step is None:
            return
        try:
            with np.errstate(all="ignore"), rg.no_grad():
                value = FUNCTIONS[step.name](*[self.values[n] for n in step.inputs], *step.options)
        except (rg.errors.RetrogradeError, TypeError, ValueError, IndexError, OverflowError, NotImplementedError):
            return
        if not isinstance(value, rg.Tensor) or value.size > MOST or value.dtype.kind == "f" and not np.all(np.abs(np.asarray(value)) < 1e3):
            return
        self.steps.append(step)
        self.values.append(value)

    def _pick(self, kinds="f", least=0):
        found = [i for i, v in enumerate(self.values) if v.dtype.kind in kinds and v.ndim >= least]
        if not found:
            return None
        # Later values are likelier, so that programs are deep.
        weights = np.arange(1, len(found) + 1, dtype=float)
        return int(self.rng.choice(found, p=weights / weights.sum()))

    def _one(self, names, kinds="f", least=0, options=lambda x: ()):
        n = self._pick(kinds, least)
        if n is None:
            return None
        return Instruction(str(self.rng.choice(names.split())), (n,), options(self.values[n]))

    def _mate(self, n, kinds="f"):
        """A value that can be broadcast with value `n`."""
        found = []
        for i, v in enumerate(self.values):
            try:
                np.broadcast_shapes(v.shape, self.values[n].shape)
            except ValueError:
                continue
            if v.dtype.kind in kinds:
                found.append(i)
        return int(self.rng.choice(found)) if found else None

    def _two(self, names, kinds="f"):
        n = self._pick(kinds)
        m = None if n is None else self._mate(n, kinds)
        if m is None:
            return None
        pair = (n, m) if self.rng.random() < 0.5 else (m, n)
        return Instruction(str(self.rng.choice(names.split())), pair)

    def _draw_unary(self):
        return self._one("sin cos tanh relu sigmoid abs negative square exponential root logarithm erf softplus silu detached")

    def _draw_unary_any(self):
        return self._one("sign floor round isnan isfinite negative abs square", "fib")

    def _draw_binary(self):
        return self._two("add subtract multiply maximum minimum quotient atan2 hypot")

    def _draw_binary_any(self):
        return self._two("add subtract multiply maximum minimum", "fib")

    def _draw_compare(self):
        return self._two("less less_equal equal not_equal greater", "fib")

    def _draw_logic(self):
        return self._two("logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor", "b")

    def _draw_integer(self):
        return self._two("floor_divide remainder bitwise_and bitwise_or bitwise_xor add multiply", "i")

    def _draw_number(self):
        number = [0, 1, 2, -1, 0.5, -0.0, 3, True, 2.5, -1.75][self.rng.integers(10)]
        return self._one("plus times minus_from below", "fib", options=lambda x: (number,))

    def _draw_array(self):
        def array(x):
            shape = self._broadcastable(x.shape)
            array = _drawn(self.rng, shape, str(x.dtype))
            if self.rng.random() < 0.3:
                array = np.full(shape, self.rng.integers(0, 3), x.dtype)
            return (array,)

        return self._one("plus_array times_array", "fi", options=array)

    def _draw_where(self):
        c = self._pick("b")
        a = None if c is None else self._mate(c, "fi")
        b = None if a is None else self._mate(a, "fi")
        return None if b is None else Instruction("where", (c, a, b))

    def _draw_reduction(self):
        def options(x):
            axis = self._axes(x)
            return axis, bool(self.rng.integers(2))

        return self._one("sum mean max min prod logsumexp std", options=options)

    def _draw_reduction_any(self):
        return self._one("sum max min any all prod", "fib", options=lambda x: (self._axes(x), bool(self.rng.integers(2))))

    def _axes(self, x):
        if x.ndim == 0 or self.rng.random() < 0.25:
            return None
        count = self.rng.integers(1, x.ndim + 1)
        axes = tuple(int(a) - (x.ndim if self.rng.random() < 0.3 else 0) for a in self.rng.permutation(x.ndim)[:count])
        return axes[0] if count == 1 else axes

    def _axis(self, x):
        return int(self.rng.integers(-x.ndim, x.ndim))

    def _draw_along(self):
        return self._one("softmax argmax cumsum", "f", 1, lambda x: (self._axis(x),))

    def _draw_matmul(self):
        n = self._pick("f", 1)
        if n is None:
            return None
        x = self.values[n]
        found = [i for i, v in enumerate(self.values) if v.dtype.kind == "f" and v.ndim
                 and v.shape[-2 if v.ndim > 1 else -1] == x.shape[-1]]
        return Instruction("matmul", (n, int(self.rng.choice(found)))) if found else None

    def _draw_movement(self):
        return self._one(str(self.rng.choice(["reshape", "permute_dims", "flip", "expand_dims", "broadcast_to", "pad", "roll", "squeeze"])),
                         "fib")

    def _draw_reshape(self):
        return self._one("reshape", "fib", options=lambda x: (self._factors(x.size),))

    def _factors(self, size):
        if not size:
            return (0, int(self.rng.integers(1, 4)))[:: self.rng.choice([1, -1])]
        parts = [1] * int(self.rng.integers(1, 4))
        for p in (2, 3, 5, 7, 11, 13, 17, 67):
            while size % p == 0:
                parts[self.rng.integers(len(parts))] *= p
                size //= p
        parts[0] *= size
        return tuple(int(p) for p in parts)

    def _draw_permute(self):
        return self._one("permute_dims", "fib", 2, lambda x: (tuple(self.rng.permutation(x.ndim).tolist()),))

    def _draw_flip(self):
        return self._one("flip", "fib", 1, lambda x: (self._axis(x),))

    def _draw_expand(self):
        return self._one("expand_dims", "fib", options=lambda x: (int(self.rng.integers(-x.ndim - 1, x.ndim + 1)),))

    def _draw_broadcast(self):
        def shape(x):
            front = tuple(self.rng.integers(1, 4, self.rng.integers(0, 2)).tolist())
            return ((*front, *[int(self.rng.integers(1, 6)) if n == 1 else n for n in x.shape]),)

        return self._one("broadcast_to", "fib", options=shape)

    def _draw_pad(self):
        def width(x):
            widths = tuple((int(a), int(b)) for a, b in self.rng.integers(0, 3, (x.ndim, 2)))
            return widths, 0 if self.rng.random() < 0.7 else 2

        return self._one("pad", "fi", 1, width)

    def _draw_getitem(self):
        return self._one("getitem", "fib", 1, lambda x: (self._index(x),))

    def _index(self, x):
        index = []
        for n in x.shape:
            kind = self.rng.integers(6)
            if kind == 0 and n:
                index.append(int(self.rng.integers(-n, n)))
            elif kind == 1:
                index += [None, slice(None)]
            elif kind == 2:
                index.append(slice(None, None, -1))
            elif kind == 3:
                index.append(slice(int(self.rng.integers(-2, 4)), None, int(self.rng.integers(1, 4))))
            elif kind == 4:
                index.append(slice(None, int(self.rng.integers(-2, n + 1)), int(self.rng.choice([1, 2]))))
            else:
                index.append(slice(None))
        if self.rng.random() < 0.2:
            index = [*index[: self.rng.integers(len(index) + 1)], Ellipsis]
        return tuple(index)

    def _draw_join(self):
        n = self._pick("fi", 1)
        if n is None:
            return None
        x, axis = self.values[n], self._axis(self.values[n])
        axis %= x.ndim
        like = [i for i, v in enumerate(self.values) if v.dtype.kind in "fi" and v.ndim == x.ndim
                and v.shape[:axis] + v.shape[axis + 1:] == x.shape[:axis] + x.shape[axis + 1:]]
        return Instruction("concatenate", (n, *self.rng.choice(like, self.rng.integers(1, 6)).tolist()), (axis,))

    def _draw_stack(self):
        n = self._pick("fi")
        if n is None:
            return None
        x = self.values[n]
        like = [i for i, v in enumerate(self.values) if v.dtype.kind in "fi" and v.shape == x.shape]
        return Instruction("stack", (n, *self.rng.choice(like, self.rng.integers(1, 6)).tolist()), (int(self.rng.integers(-x.ndim - 1, x.ndim + 1)),))

    def _draw_take(self):
        def indices(x):
            axis = self._axis(x)
            n = x.shape[axis]
            return (self.rng.integers(-n, n, tuple(self.rng.integers(1, 5, self.rng.integers(0, 3)))) if n else np.zeros(0, int)), axis

        return self._one("take", "fib", 1, indices)

    def _draw_positions(self):
        return self._one("positions", "f", options=lambda x: (int(self.rng.integers(1, 5)),))

    def _draw_chosen(self):
        n, m = self._pick("fib", 1), self._pick("i")
        return None if n is None or m is None else Instruction("chosen", (n, m), (self._axis(self.values[n]),))

    def _draw_along_axis(self):
        n, m = self._pick("fib", 1), self._pick("i", 1)
        return None if n is None or m is None else Instruction("take_along_axis", (n, m), (self._axis(self.values[n]),))

    def _draw_repeat(self):
        return self._one("repeat roll", "fib", 1, lambda x: (int(self.rng.integers(1, 4)), self._axis(x)))

    def _draw_tile(self):
        return self._one("tile", "fib", 1, lambda x: (tuple(self.rng.integers(1, 3, x.ndim).tolist()),))

    def _draw_astype(self):
        dtype = str(self.rng.choice(["float32", "float64", "int32", "int64", "bool"]))
        return self._one("astype", "fib", options=lambda x: (dtype,))

    def _draw_clip(self):
        return self._one("clip", "f", options=lambda x: (-0.5, [None, 0.75][self.rng.integers(2)]))

    def _draw_power(self):
        return self._one("power", "f", options=lambda x: ([0, 1, 2, 3, 2.0, np.ones((2, *x.shape), x.dtype)][self.rng.integers(6)],))

    def _draw_tril(self):
        return self._one("tril", "f", 2)

    def _draw_chain(self):
        step = self._two("chain")
        if step is None or self.mode == "second":
            return None
        kind = str(self.rng.choice(["carried", "drifting", "reading", "counting", "choosing"]))
        return replace(step, options=(int(self.rng.integers(3, 40)), kind))

    def _draw_write(self):
        seen = {s.inputs[0] for s in self.steps if s.name in VIEWS}
        targets = [i for i, s in enumerate(self.steps) if s.name == "state" and i not in seen]
        if not targets or self.mode == "second":
            return None
        target = int(self.rng.choice(targets))
        value = self._mate(target, self.values[target].dtype.kind)
        if value is None:
            return None
        if self.rng.random() < 0.4:
            return Instruction("increase", (target, value))
        index = Ellipsis if self.rng.random() < 0.5 or not self.values[target].ndim else self._index(self.values[target])
        return Instruction("write", (target, value), (index,))

    def _draw_dropped(self):
        return self._one("dropped", options=lambda x: (0.4,))


KINDS = [name[6:] for name in vars(Drawer) if name.startswith("_draw_")]
KINDS += ["unary", "unary", "binary", "binary", "binary", "reduction", "chain", "getitem", "write", "matmul"]


def drawn(seed):
    """The program of a seed."""
    return Drawer(seed).program()


# Shrinking


def without_unused(program):
    """The program without instructions that no output and no written state needs."""
    needed, stack = set(), list(program.outputs)
    stack += [i for i, step in enumerate(program.instructions) if step.name in ("write", "increase")]
    while stack:
        n = stack.pop()
        if n not in needed:
            needed.add(n)
            stack += program.instructions[n].inputs
    if program.mode in ("gradient", "second") and not any(
        s.name == "input" and s.options[1][0] == "f" for i, s in enumerate(program.instructions) if i in needed
    ):
        needed |= {next(i for i, s in enumerate(program.instructions) if s.name == "input" and s.options[1][0] == "f")}
    places = {n: i for i, n in enumerate(sorted(needed))}
    steps = [replace(s, inputs=tuple(places[n] for n in s.inputs)) for i, s in enumerate(program.instructions) if i in needed]
    return replace(program, instructions=tuple(steps), outputs=tuple(places[n] for n in program.outputs))


def shrunk(program, fails):
    """A smaller program that still fails: outputs gone, instructions replaced by inputs, long loops made short."""
    is_changed = True
    while is_changed:
        is_changed = False
        for candidate in _smaller(program):
            try:
                problem = fails(candidate)
            except Exception:  # noqa: BLE001 - a candidate that does not run eagerly
                continue
            if problem is not None:
                program, is_changed = candidate, True
                break
    return program


def _smaller(program):
    if len(program.outputs) > 1:
        for n in program.outputs:
            yield without_unused(replace(program, outputs=tuple(m for m in program.outputs if m != n)))
    for mode in MODES[: MODES.index(program.mode)]:
        yield replace(program, mode=mode)
    steps = program.instructions
    for i in reversed(range(len(steps))):
        if steps[i].name in ("write", "increase"):
            replaced = (*steps[:i], Instruction("times", (steps[i].inputs[0],), (1,)), *steps[i + 1:])
            yield without_unused(replace(program, instructions=replaced))
        elif steps[i].name not in ("input", "state"):
            yield _with_input(program, i)
            for n in steps[i].inputs:
                yield without_unused(_instead(program, i, n))
        if steps[i].name == "chain" and steps[i].options[0] > 2:
            for fewer in (2, 5, steps[i].options[0] - 1):
                step = replace(steps[i], options=(fewer, *steps[i].options[1:]))
                yield replace(program, instructions=(*steps[:i], step, *steps[i + 1:]))
    for i, step in enumerate(steps):
        if step.name in ("input", "state"):
            for n in range(len(step.options[0])):
                shape = step.options[0]
                if shape[n] > 1:
                    for m in (1, 2, shape[n] // 2):
                        smaller = replace(step, options=((*shape[:n], m, *shape[n + 1:]), step.options[1]))
                        if m < shape[n]:
                            yield replace(program, instructions=(*steps[:i], smaller, *steps[i + 1:]))


def _instead(program, old, new):
    steps = [replace(s, inputs=tuple(new if n == old else n for n in s.inputs)) for s in program.instructions]
    return replace(program, instructions=tuple(steps), outputs=tuple(new if n == old else n for n in program.outputs))


def _with_input(program, i):
    """The program with the value of instruction `i` as an input."""
    eager = Runner(program, compiles=False)
    with rg.no_grad(), np.errstate(all="ignore"):
        value = run(program, [rg.tensor(x) for x in data_of(program, 0)], eager.state)[i]
    step = Instruction("input", (), (value.shape, str(value.dtype)))
    return without_unused(replace(program, instructions=(*program.instructions[:i], step, *program.instructions[i + 1:])))

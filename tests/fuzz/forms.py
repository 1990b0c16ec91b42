"""Forms: the ways in which a program runs, as source that is put behind the program's own."""

from dataclasses import dataclass

#: What the sources of the forms may use; it stands in every snippet.
PRELUDE = '''
tensors = tuple(map(rg.tensor, inputs))
places = tuple(i for i, x in enumerate(tensors) if x.dtype.kind in "fc")


def other(x, k):
    """Another example like `x`: numbers that are smaller, integers in another order, so that positions and labels stay in range."""
    return (x * (1, 0.75, 0.5)[k]).astype(x.dtype) if x.dtype.kind in "fcV" else np.roll(x, k)


def total(values):
    """One number that depends unevenly on every float."""
    result = rg.tensor(0.0)
    for number, z in enumerate(rg.tree.leaves(values)):
        for part in (z.real, z.imag) if z.dtype.kind == "c" else (z,) if z.dtype.kind == "f" else ():
            result = result + (weighted(part, number) if z.ndim else part)
    return result


def weighted(part, number):
    """The sum of a bounded function of each element, unevenly weighted. A quotient takes less time to compile than a tanh."""
    part = part.astype("float32") if part.dtype.itemsize < 4 else part  # whose square float16 could not hold
    weights = (1 + np.cos(np.arange(part.size) * 0.7 + number)).reshape(part.shape).astype(part.dtype)
    return (part / (part * part + 3.1) * weights).sum()


def totalled(function):
    """The total of what `function` gives."""
    return lambda *x: total(function(*x))


def floats(function):
    """`function` of its float arguments."""
    def inner(*found):
        found = iter(found)
        return function(*[next(found) if i in places else x for i, x in enumerate(tensors)])
    return inner


def lazily(function):
    with rg.lazy():
        found = function()
    rg.realize(*rg.tree.leaves(found))
    return found


def by_reference(function, *x):
    os.environ["RETROGRADE_COMPILER"] = "reference"
    try:
        return rg.jit(function)(*x)
    finally:
        os.environ.pop("RETROGRADE_COMPILER", None)


def by_export(function):
    """What the file of a compiled function gives, called twice: a program keeps nothing from one call to the next."""
    with tempfile.TemporaryDirectory() as folder:
        rg.jit(function).export(f"{folder}/program.rgx", *tensors)
        loaded = runtime.load(f"{folder}/program.rgx")
    given = [np.asarray(x).view("uint16") if x.dtype.kind == "V" else np.asarray(x) for x in inputs]
    first, second = (rg.tree.leaves(loaded(*given)) for _ in range(2))
    if [x.tobytes() for x in first] != [x.tobytes() for x in second]:
        raise RuntimeError("the second call of a program gives something else")
    return [x.view(value.numpy if value.dtype != "bfloat16" else "bfloat16")
            for x, value in zip(second, loaded.functions[next(iter(loaded.functions))].outputs, strict=True)]


def one_by_one(function, *rows):
    found = [rg.tree.leaves(function(*map(rg.tensor, row))) for row in zip(*rows, strict=True)]
    return [np.stack([np.asarray(r[k]) for r in found]) for k in range(len(found[0]))]


def stacked(function):
    """`function` of each example in turn, by indexing and stacking."""
    def of_all(*rows):
        found = [function(*[x[k] for x in rows]) for k in range(3)]
        return [rg.stack(parts) for parts in zip(*found, strict=True)]
    return of_all


def called_again(function):
    """What a compiled function gives that was called with other numbers first."""
    compiled = rg.jit(function)
    with contextlib.suppress(rg.errors.RetrogradeError):
        compiled(*[rg.tensor(other(x, 1)) for x in inputs])
    return compiled(*map(rg.tensor, inputs))


def in_other_memory(x):
    """A tensor of the numbers of `x` that has them last axis first, and every second of an array."""
    wide = x
    for axis in range(x.ndim):
        wide = np.repeat(wide, 2, axis)
    return rg.asarray(np.asfortranarray(wide)[(slice(None, None, 2),) * x.ndim] if x.ndim else x)


def branched(function):
    """`function`, which another branch stands beside."""
    def of_flag(flag, *x):
        return rg.cond(flag, lambda: tuple(function(*x)), lambda: tuple(map(rg.zeros_like, function(*x))))
    return of_flag


def backward():
    """The gradients that `backward` leaves."""
    leaves = [rg.tensor(x, requires_grad=x.dtype.kind in "fc") for x in inputs]
    loss = total(program(*leaves))
    if loss.requires_grad:
        loss.backward()
    return [x.grad for x in leaves]


def directional(step, behind=-1, function=None):
    """The difference quotient of the total in a direction; one-sided with `behind=0`, which tells a corner."""
    rng = np.random.default_rng(0)
    moves = [rng.uniform(-1, 1, x.shape) * step if i in places else 0 for i, x in enumerate(inputs)]
    ends = ([rg.tensor(x + s * m if i in places else x) for i, (x, m) in enumerate(zip(inputs, moves, strict=True))] for s in (1, behind))
    ahead, before = (np.asarray(total((function or program)(*end))) for end in ends)
    return np.float64((ahead - before) / ((1 - behind) * step))


def complex_step():
    """The derivative of the total in that direction, by a step along the imaginary axis, without a difference of numbers."""
    rng = np.random.default_rng(0)
    moved = [x + 1e-40j * rng.uniform(-1, 1, x.shape) if i in places else x for i, x in enumerate(inputs)]
    found = 0.0
    for number, z in enumerate(rg.tree.leaves(program(*map(rg.tensor, moved)))):
        if z.dtype.kind == "c":
            found = found + (weighted(z, number) if z.ndim else z)
    return np.float64(np.imag(np.asarray(found)) / 1e-40)


def along(gradients):
    """Gradients times that direction."""
    rng = np.random.default_rng(0)
    directions = [rng.uniform(-1, 1, inputs[i].shape) for i in places]
    return np.float64(sum(np.sum(np.asarray(g) * m) for g, m in zip(gradients, directions, strict=True)))


rows = tuple(np.stack([other(x, k) for k in range(3)]) for x in inputs)
loss = totalled(program)
slopes = rg.grad(loss, places)
pushed = lambda *x: rg.jvp(floats(loss), x, tuple(rg.ones_like(v) for v in x))
given = tuple(tensors[i] for i in places)
curved = rg.grad(lambda *x: total(slopes(*x)), places)
body = lambda carry, row: (carry * 0.5 + total(program(*row)), program(*row))
start = lambda: total(program(*tensors)) * 0
scanned = lambda *r: rg.scan(body, start(), r)
pairs = tuple(np.stack([x, x[::-1]]) for x in rows)
firsts = lambda function: lambda x: function(x, *[t.clone() for t in tensors[1:]])
summed = rg.grad(lambda *x: sum(z.sum() for z in program(*x) if z.dtype.kind == "f") + 0.0, places)
kept = rg.grad(totalled(lambda *x: rg.checkpoint(program, *x)), places)
'''


@dataclass(frozen=True)
class Form:
    """Source of what is right and of what is tested.

    needs    "floats" for an argument with a gradient, "precise" for float64 and real numbers throughout, "analytic" for ops that
             are analytic in complex numbers
    weight   how often it is drawn beside `jit`
    limit    how far results in float64 may lie apart, relative to the greatest; None if they must be the same to the bit
    """

    wanted: str
    got: str
    needs: tuple = ()
    weight: float = 1.0
    limit: float | None = 1e-9


VALUE = "program(*tensors)"
SLOPES = "slopes(*tensors)"
FORMS = {
    "jit": Form(VALUE, "rg.jit(program)(*tensors)", weight=0),
    "jit of grad": Form(SLOPES, "rg.jit(slopes)(*tensors)", ("floats",), 6),
    "grad of jit": Form(SLOPES, "rg.grad(totalled(rg.jit(program)), places)(*tensors)", ("floats",), 1),
    "lazy": Form(VALUE, "lazily(lambda: program(*tensors))", weight=1),
    "lazy backward": Form("backward()", "lazily(backward)", ("floats",), 0.7),
    "jit of backward": Form("backward()", "rg.jit(backward)()", ("floats",), 0.7),
    "reference": Form(VALUE, "by_reference(program, *tensors)", weight=1),
    "reference of grad": Form(SLOPES, "by_reference(slopes, *tensors)", ("floats",), 1),
    "vmap": Form("one_by_one(program, *rows)", "rg.vmap(program)(*rows)", weight=2),
    "jit of vmap": Form("one_by_one(program, *rows)", "rg.jit(rg.vmap(program))(*rows)", weight=1),
    "vmap of grad": Form("one_by_one(slopes, *rows)", "rg.vmap(slopes)(*rows)", ("floats",), 1),
    "jit of vmap of grad": Form("one_by_one(slopes, *rows)", "rg.jit(rg.vmap(slopes))(*rows)", ("floats",), 1),
    "jit again": Form(VALUE, "called_again(program)", weight=1),
    "jit of grad again": Form(SLOPES, "called_again(slopes)", ("floats",), 1),
    "jit of other memory": Form("program(*map(in_other_memory, inputs))", "rg.jit(program)(*map(in_other_memory, inputs))", weight=0.7),
    "jit of grad of other memory": Form("slopes(*map(in_other_memory, inputs))", "rg.jit(slopes)(*map(in_other_memory, inputs))", ("floats",), 0.5),
    "jit of branch": Form(VALUE, "rg.jit(branched(program))(rg.tensor(True), *tensors)", weight=0.7),
    "jit of grad of branch": Form(SLOPES, "rg.jit(lambda flag, *x: rg.grad(totalled(lambda *x: branched(program)(flag, *x)), places)(*x))(rg.tensor(True), *tensors)", ("floats",), 0.7),
    "vmap of first": Form("one_by_one(firsts(program), rows[0])", "rg.vmap(firsts(program))(rows[0])", weight=0.7),
    "jit of vmap of first": Form("one_by_one(firsts(program), rows[0])", "rg.jit(rg.vmap(program, (0, *[None] * (len(tensors) - 1))))(rows[0], *tensors[1:])", weight=0.7),
    "vmap of vmap": Form("one_by_one(lambda *r: tuple(one_by_one(program, *r)), *pairs)", "rg.vmap(rg.vmap(program))(*pairs)", weight=0.5),
    "grad of vmap": Form("rg.grad(totalled(stacked(program)), places)(*map(rg.tensor, rows))", "rg.grad(totalled(rg.vmap(program)), places)(*map(rg.tensor, rows))", ("floats",), 0.7),
    "jit of grad of vmap": Form("rg.grad(totalled(stacked(program)), places)(*map(rg.tensor, rows))", "rg.jit(rg.grad(totalled(rg.vmap(program)), places))(*map(rg.tensor, rows))", ("floats",), 0.5),
    "jit of vmap of second": Form("one_by_one(curved, *rows)", "rg.jit(rg.vmap(curved))(*rows)", ("floats",), 0.5),
    "jvp": Form("float(sum(g.real.sum() for g in slopes(*tensors)))", "float(pushed(*given)[1])", ("floats",), 1),
    "jit of jvp": Form("pushed(*given)", "rg.jit(pushed)(*given)", ("floats",), 1),
    "jit of second": Form("curved(*tensors)", "rg.jit(curved)(*tensors)", ("floats",), 1),
    "jvp of grad": Form("float(sum(g.real.sum() for g in curved(*tensors)))", "float(rg.jvp(floats(totalled(slopes)), given, tuple(map(rg.ones_like, given)))[1])", ("floats",), 0.7),
    "jit of grad of scan": Form("rg.grad(totalled(scanned), places)(*map(rg.tensor, rows))", "rg.jit(rg.grad(totalled(scanned), places))(*map(rg.tensor, rows))", ("floats",), 0.7),
    "jit of vmap of scan": Form("one_by_one(scanned, *map(rg.tensor, pairs))", "rg.jit(rg.vmap(scanned))(*map(rg.tensor, pairs))", weight=0.5),
    "jit of vmap of grad of scan": Form("one_by_one(rg.grad(totalled(scanned), places), *map(rg.tensor, pairs))", "rg.jit(rg.vmap(rg.grad(totalled(scanned), places)))(*map(rg.tensor, pairs))", ("floats",), 0.5),
    "scan": Form("rg.scan(body, start(), tuple(map(rg.tensor, rows)))", "rg.jit(lambda *r: rg.scan(body, start(), r))(*map(rg.tensor, rows))", weight=1),
    "checkpoint": Form(SLOPES, "kept(*tensors)", ("floats",), 1),
    "jit of checkpoint": Form(SLOPES, "rg.jit(kept)(*tensors)", ("floats",), 0.5),
    "differences of slopes": Form("directional(1e-5, -1, slopes)", "along(curved(*tensors))", ("floats", "precise"), 1, 1e-6),
    "differences": Form("directional(1e-5)", "along(slopes(*tensors))", ("floats", "precise"), 1.5, 1e-6),
    "complex step": Form("complex_step()", "along(slopes(*tensors))", ("floats", "precise", "analytic"), 3, 1e-9),
    "export": Form("rg.jit(program)(*tensors)", "by_export(program)", (), 0, None),
    "export of grad": Form("rg.jit(slopes)(*tensors)", "by_export(slopes)", ("floats",), 0, None),
    "jax": Form("[*program(*tensors), *summed(*tensors)]", "rivals.by_jax(program, inputs)", ("floats", "precise"), 0, 1e-7),
    "torch": Form("[*program(*tensors), *summed(*tensors)]", "rivals.by_torch(program, inputs)", ("floats", "precise"), 0, 1e-7),
}

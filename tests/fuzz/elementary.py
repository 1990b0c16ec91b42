"""Statements of one op or few: arithmetic, comparisons, reductions, movements and indexing."""

from .program import array_literal

SMOOTH = "sin cos tanh sigmoid square exp expm1 log1p softplus silu erf relu abs negative sqrt gelu".split()
STEPS = "sign floor ceil round trunc isnan isfinite abs negative square".split()
NUMBERS = ("0", "1", "2", "-1", "0.5", "-0.0", "3", "True", "2.5", "-1.75", "np.float32(0.5)", "np.float64(1.5)", "np.int64(2)", "1e-3")


def unary(d):
    a = d.named()
    if a is None:
        return None
    f = d.choice(SMOOTH)
    if f in ("sqrt", "log1p"):
        return f"rg.{f}(rg.square({a}) + 0.1)"
    if f in ("exp", "expm1"):
        return f"rg.{f}(rg.tanh({a}))"
    return f"np.{f}({a})" if f in "sin cos tanh square abs".split() and d.chance(0.3) else f"rg.{f}({a})"


def stepped(d):
    a = d.named("fiub")
    return a and f"rg.{d.choice(STEPS)}({a})"


def binary(d):
    a = d.named("fic" if d.chance(0.9) else "fibuc")
    b = a and d.mate(a, "fic" if d.chance(0.85) else "fibuc")
    if b is None:
        return None
    a, b = (a, b) if d.chance(0.5) else (b, a)
    if d.chance(0.7):
        return f"{a} {d.choice(('+', '-', '*', '*'))} {b}"
    return d.choice((f"{a} / (1.0 + rg.square({b}))", f"rg.maximum({a}, {b})", f"rg.minimum({a}, {b})", f"rg.hypot({a}, {b})",
                     f"rg.atan2({a}, {b})", f"rg.logaddexp({a}, {b})", f"np.add({a}, {b})"))


def with_number(d):
    a, n = d.named("fibuc"), d.choice(NUMBERS)
    return a and d.choice((f"{a} + {n}", f"{a} * {n}", f"{n} - {a}", f"{n} * {a}", f"{a} - {n}", f"rg.maximum({a}, {n})", f"({a} + {n}) * {n} - {a}"))


def powers(d):
    a = d.named("f")
    return a and d.choice((f"{a} ** 2", f"{a} ** 3", f"{a} ** 0", f"2.0 ** {a}", f"rg.abs({a}) ** 1.5", f"rg.power({a}, 2.0)",
                           f"(rg.abs({a}) + 0.5) ** {a}", f"(1.0 + {a} * {a}) ** -0.5", f"{a} ** np.array(2)"))


def with_array(d):
    a = d.named("fiuc")
    if a is None:
        return None
    x = d.values[a]
    dtype = str(x.dtype) if d.chance(0.7) else d.choice(("float64", "float32", "int64", "bool"))
    array = array_literal(d.array(d.broadcastable(x.shape), dtype))
    return d.choice((f"{a} + {array}", f"{array} * {a}", f"{array} - {a}"))


def compared(d):
    a = d.named("fib")
    b = a and d.mate(a, "fib")
    return b and f"{a} {d.choice(('<', '<=', '==', '!=', '>', '>='))} {b}"


def logical(d):
    a = d.named("b")
    b = a and d.mate(a, "b")
    return b and d.choice((f"{a} & {b}", f"{a} | {b}", f"{a} ^ {b}", f"~{a}", f"rg.logical_and({a}, {b})"))


def integral(d):
    a = d.named("iu")
    b = a and d.mate(a, "iu")
    return b and d.choice((f"{a} // (rg.abs({b}) + 1)", f"{a} % 3", f"{a} & {b}", f"{a} | {b}", f"{a} % (rg.abs({b}) + 1)", f"{a} // 2"))


def chosen(d):
    c = d.named("b")
    a = c and d.mate(c, "fi")
    b = a and d.mate(a, "fi")
    return b and d.choice((f"rg.where({c}, {a}, {b})", f"rg.where({c}, {a}, 0)", f"rg.where({c}, {a} * 0.5, {b} + 1)", f"{c} * {a}"))


def axes_of(d, x):
    """Source of an `axis` of a reduction."""
    if x.ndim == 0 or d.chance(0.25):
        return "None"
    axes = [int(a) - (x.ndim if d.chance(0.3) else 0) for a in d.rng.permutation(x.ndim)[:d.integer(1, x.ndim)]]
    return str(axes[0]) if len(axes) == 1 else str(tuple(axes))


def reduced(d):
    a = d.named("f" if d.chance(0.8) else "fibuc")
    if a is None:
        return None
    x = d.values[a]
    f = d.choice("sum sum mean max min prod logsumexp std var norm".split() if x.dtype.kind == "f" else
                 "sum mean".split() if x.dtype.kind == "c" else "sum max min any all".split())
    keep = d.choice(("", "", ", keepdims=True"))
    if f in ("max", "min", "sum", "mean") and d.chance(0.25):
        return f"{a}.{f}(axis={axes_of(d, x)}{keep})"
    if f == "norm":
        return f"rg.sqrt(rg.sum({a} * {a}, axis={axes_of(d, x)}{keep}) + 1e-2)"
    if f == "std":
        return f"rg.std({a}, axis={axes_of(d, x)}{keep}) if {a}.size > 1 else {a}"
    return f"rg.{f}({a}, axis={axes_of(d, x)}{keep})"


def along(d):
    a = d.named("f", 1)
    return a and f"rg.{d.choice('softmax log_softmax argmax argmin cumsum cumprod cummax cummin'.split())}({a}, axis={d.axis(d.values[a])})"


def moved(d):
    a = d.named("fibc", 1)
    if a is None:
        return None
    x = d.values[a]
    n = x.shape[-1]
    last = x.ndim - 1
    return d.choice((
        f"{a}.T", f"rg.flip({a}, axis={d.axis(x)})", f"{a}.reshape(-1)", f"rg.expand_dims({a}, {d.integer(0, last + 1)})", f"rg.squeeze({a})",
        f"rg.permute_dims({a}, {tuple(d.rng.permutation(x.ndim).tolist())})", f"rg.moveaxis({a}, 0, {last})", f"{a}[..., None]", f"{a}[None]",
        f"rg.roll({a}, {d.integer(-2, 3)}, axis={d.axis(x)})", f"rg.broadcast_to({a}, {(d.integer(1, 3), *x.shape)})",
        f"rg.pad({a}, {tuple((d.integer(0, 2), d.integer(0, 2)) for _ in x.shape)})", f"rg.concatenate([{a}, {a} * 2], axis={d.axis(x)})",
        f"rg.stack([{a}, {a}], axis={d.axis(x)})", f"rg.tile({a}, {tuple(d.integer(1, 2) for _ in x.shape)})", f"rg.repeat({a}, 2, axis={d.axis(x)})",
        f"{a}.reshape({(2, n // 2) if x.ndim == 1 and n % 2 == 0 else (-1, n) if n else x.shape})", f"rg.tril({a})", f"{a}.swapaxes(0, -1)",
        f"rg.unstack({a})[{d.integer(0, max(x.shape[0] - 1, 0))}]", f"rg.diff({a}, axis={d.axis(x)})",
    ))


def index_of(d, x):
    """Source of an index into `x`."""
    parts = []
    for n in x.shape[:d.integer(1, x.ndim)]:
        kind = d.integer(0, 7)
        if kind == 0 and n:
            parts.append(str(d.integer(-n, n - 1)))
        elif kind == 1:
            parts += ["None", ":"]
        elif kind == 2:
            parts.append("::-1")
        elif kind == 3:
            parts.append(f"{d.integer(-2, 3)}::{d.integer(1, 3)}")
        elif kind == 4:
            parts.append(f":{d.integer(-2, n)}:{d.choice((1, 2))}")
        elif kind == 5 and n:
            parts.append(f"{d.integer(0, n - 1)}::-{d.integer(1, 2)}")
        elif kind == 6 and n and not any("array" in p for p in parts):
            parts.append(array_literal(d.rng.integers(-n, n, d.integer(1, 4))))
        else:
            parts.append(":")
    if d.chance(0.15):
        parts.insert(d.integer(0, len(parts)), "...")
    return ", ".join(parts)


def indexed(d):
    a = d.named("fibc", 1)
    if a is None:
        return None
    x = d.values[a]
    if d.chance(0.1):
        return f"{a}[{array_literal(d.rng.integers(0, 2, x.shape[0]).astype(bool))}]"
    return f"{a}[{index_of(d, x)}]"


def position(d):
    """A position that is computed, or the value at one."""
    a, b = d.named("f", 1, lambda x: x.size > 0), d.named("fib", 1, lambda x: 0 not in x.shape)
    if a is None or b is None:
        return None
    n = d.values[b].shape[0]
    places = d.choice((f"rg.argmax({a}) % {n}", f"rg.argmin({a}, axis=-1) % {n}", f"rg.argsort({a}) % {n}",
                       f"rg.astype(rg.floor(rg.abs(rg.sin({a})) * {n - 0.001}), 'int64')"))
    return d.choice((f"{b}[{places}]", f"{b}[{places}]", f"rg.take({b}, {places}, axis=0)", places))


def cast(d):
    a = d.named("fibu")
    return a and f"rg.astype({a}, {d.choice(('float32', 'float64', 'int32', 'int64', 'bool', 'float64', d.precision))!r})"


def clipped(d):
    a = d.named("f")
    return a and d.choice((f"rg.clip({a}, -0.5, 0.75)", f"rg.clip({a}, None, 1)", f"{a}.detach() * {a}", f"rg.clip({a}, 0, 0.5)"))


def complex_step(d):
    a = d.named("c")
    if a is None:
        b = d.named("f")
        return f"{b} * (1 + 0.5j)" if d.has_complex and b else None
    return d.choice((f"rg.exp({a} * 0.3)", f"rg.abs({a})", f"rg.real({a})", f"rg.imag({a})", f"rg.conj({a})", f"rg.angle({a})", f"rg.sin({a} * 0.3)",
                     f"{a} * {a}", f"{a} * (1 - 2j)", f"{a}.real * {a}.imag", f"rg.square({a})", f"rg.sqrt({a} + 3)", f"{a} / (2 + 1j)"))


#: Each kind of statement, and how often it is drawn.
ELEMENTARY = (
    (unary, 12), (stepped, 3), (binary, 18), (with_number, 8), (powers, 4), (with_array, 5), (compared, 4), (logical, 2), (integral, 2),
    (chosen, 4), (reduced, 12), (along, 5), (moved, 9), (indexed, 8), (position, 4), (cast, 3), (clipped, 2), (complex_step, 3),
)

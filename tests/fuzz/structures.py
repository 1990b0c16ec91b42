"""Statements of several ops: values compared with themselves, writes through views, loops, branches, linear algebra, sorting."""

from .elementary import axes_of, index_of


def tied(d):
    """A value that is computed and compared with itself."""
    a = d.named("f")
    if a is None:
        return None
    x = d.values[a]
    axis = axes_of(d, x)
    k = d.choice(("0.3", "1", "0.5", "2"))
    inner = d.choice((f"({k} + {a})", f"({k} - {a})", f"({a} * {a})", f"({k} * {a} + {a} * {a})", f"({a} * {k} + 1)", f"rg.sin({a})", f"({a} * 0.3 - {a} * {a})"))
    low, high = f"rg.min({inner}, axis={axis}, keepdims=True)", f"rg.max({inner}, axis={axis}, keepdims=True)"
    return d.choice((
        f"rg.where({inner} >= {high}, {a}, {k})", f"rg.where({inner} == {low}, {inner}, 0)", f"rg.relu({high} - {inner}) * {a}",
        f"{low} * rg.sum({a}, axis={axis}, keepdims=True)", f"{high} * rg.mean({inner}, axis={axis}, keepdims=True)",
        f"rg.where({inner} > {inner} * 1, {a} + 5, {a})", f"rg.maximum({inner}, {inner} * 1)", f"rg.sign({inner} - {high}) * {a}",
        f"rg.abs({inner} - {low})", f"({inner} == {inner}) * {a}", f"rg.sum({inner} >= {high}) * {a}", f"rg.floor({inner}) + rg.ceil({inner})",
        f"rg.where({inner} <= rg.sort({inner}.reshape(-1))[-1], {a}, 7)", f"{inner} - {inner}.detach()",
    ))


def outer(d):
    a = d.named("f", 1, lambda x: x.ndim == 1 and x.size < 9)
    return a and d.choice((f"{a}[:, None] * {a}", f"{a}[:, None] - {a}", f"rg.maximum({a}[:, None], {a})", f"rg.outer({a}, {a})", f"{a}[:, None] >= {a}"))


def written(d):
    a = d.named("f", 1)
    b = a and d.mate(a, "f" if d.chance(0.8) else "fi")
    if b is None:
        return None
    x = d.values[a]
    i = index_of(d, x)
    value = d.choice((b, b, "2.0", f"{b}[{i}]" if d.values[b].shape == x.shape else "1"))
    change = d.choice((f"NEW[{i}] = {value}", f"NEW[{i}] += {value}", f"NEW[{i}] *= {value}", f"NEW[{i}] -= {value}", f"NEW += {value}", f"NEW *= {value}",
                       "NEW.T[...] *= 2", f"NEW.reshape(-1)[::2] = {d.choice(('0.5', '1'))}", f"NEW[{i}][...] = {value}", "NEW.fill_(2)",
                       f"NEW[{a} > 0] = 0.5", f"NEW[::-1] += {value}", "NEW.T.reshape(-1)[0] = 3"))
    base = d.choice((f"{a} * 1", f"{a} * 1", f"rg.sin({a})", f"{a}.T * 1", f"{a} + {b}"))
    more = d.choice(("", "", f"\nNEW[{i}] = {value}", "\nNEW += NEW", "\nNEW[0] = NEW[-1]"))
    return f"NEW = {base}\n{change}{more}" if d.chance(0.8) else f"NEW = {base}\nw = NEW\n{change}\nNEW = w + NEW"


def written_earlier(d):
    """A write to a value that others may have read, or look at."""
    a = d.named("f", 1)
    if a is None or a.startswith("x"):
        return None
    i = index_of(d, d.values[a])
    return f"{d.choice((f'{a}[{i}] = 0.5', f'{a} += 1', f'{a}[{i}] *= 2', f'{a}[0] = {a}[-1]'))}\nNEW = {a} * 1"


def repeated(d):
    """A loop in Python, or one that is compiled as a loop."""
    a = d.named("f")
    b = a and d.mate(a)
    if b is None:
        return None
    n = d.choice((1, 2, 3, 3, 5, 8))
    step = d.choice((f"rg.tanh(c * 0.9 + {b})", f"c + rg.sin(c) * 0.1 * {b}", f"rg.where(c > {b}, c * 0.5, c + {b} * 0.1)", f"c * 0.5 + {b} * {b}",
                     f"rg.maximum(c * 0.9, {b})", f"c - 0.1 * (c - {b})", "c * 0.99 + rg.cos(c) * 0.1"))
    loops = [f"c = {a} + {b} * 0\nfor i in range({n}):\n    c = {step}\nNEW = c",
             f"NEW = rg.fori_loop(0, {n}, lambda i, c: {step} + i * 0.1, {a} + {b} * 0)",
             f"NEW = rg.scan(lambda c, _: ({step}, c), {a} + {b} * 0, length={n})[{d.integer(0, 1)}]",
             f"NEW = rg.cond(rg.sum({a}) > {d.choice(('0', '0.5', '-1'))}, lambda c: {step}, lambda c: c + {b} * 0, {a} + {b} * 0)",
             f"NEW = rg.switch(rg.sum(rg.astype({a} > 0, 'int64')) % 2, (lambda c: {step}, lambda c: c * 2 + {b}), {a} + {b} * 0)"]
    if d.values[b].ndim and d.values[b].shape[0]:
        loops.append(f"NEW = rg.scan(lambda c, r: (rg.tanh(c * 0.5 + r.sum()), c * r.sum()), {a}, {b}{d.choice(('', ', reverse=True', ', checkpoint=True'))})"
                     f"[{d.integer(0, 1)}]")
    return d.choice(loops)


def repeated_while(d):
    a = d.named("f", fits=lambda x: x.size > 0)
    return a and f"rg.while_loop(lambda c: rg.sum(c * c) > 0.5, lambda c: c * 0.6, {a})" if d.chance(0.3) else None


def linear(d):
    a = d.named("fc", 2, lambda x: 0 < x.shape[-1] <= 9 and 0 < x.shape[-2] <= 9)
    if a is None:
        return None
    x = d.values[a]
    n = x.shape[-2]
    # Rows may repeat; with one number on the diagonal eigenvalues would then be equal, where they have no derivative one by one.
    square = f"({a} @ {a}.swapaxes(-1, -2) + np.diag(2.0 + 0.3 * np.arange({n})).astype('{x.dtype}'))"
    real = (f"rg.linalg.cholesky({square})", f"rg.linalg.eigvalsh({square})", f"rg.linalg.svdvals({square})", f"rg.linalg.det({square})",
            f"rg.linalg.slogdet({square})[1]", f"rg.linalg.norm({square})", f"rg.linalg.eigh({square})[0]", f"rg.linalg.solve({square}, {a})",
            f"rg.linalg.inv({square})", f"rg.linalg.solve_triangular({square}, {a})", f"rg.linalg.norm({a}, axis=-1)")
    common = (f"{a} @ {a}.swapaxes(-1, -2)", f"{a}.swapaxes(-1, -2) @ {a}", f"rg.einsum('...ij,...kj->...ik', {a}, {a})", f"rg.einsum('...ij->...i', {a})",
              f"rg.einsum('...ij->...ji', {a}) * 2", f"rg.matmul({a}, {a}[..., 0, :])" if x.shape[-1] == n else f"{a} @ {a}[..., 0, :, None]")
    return d.choice(common if x.dtype.kind == "c" or d.chance(0.5) else real)


def product(d):
    a = d.named("f", 1)
    b = a and d.named("f", 1, lambda v: v.shape[-2 if v.ndim > 1 else -1] == d.values[a].shape[-1])
    return b and d.choice((f"{a} @ {b}", f"rg.matmul({a}, {b})", f"np.matmul({a}, {b})"))


def ordered(d):
    a = d.named("f" if d.chance(0.8) else "fi", 1, lambda x: 0 not in x.shape)
    if a is None:
        return None
    x = d.values[a]
    axis = d.axis(x)
    k = d.integer(1, min(3, x.shape[-1]))
    return d.choice((f"rg.sort({a}, axis={axis})", f"rg.sort({a}, axis={axis}, descending=True)", f"rg.argsort({a}, axis={axis})",
                     f"rg.take_along_axis({a}, rg.argsort({a}, axis={axis}), axis={axis})", f"rg.topk({a}, {k})[0]", f"rg.topk({a}, {k})[1]",
                     f"rg.take_along_axis({a}, rg.argmax({a}, axis={axis}, keepdims=True), axis={axis})", f"rg.median({a}, axis={axis})",
                     f"rg.cummax({a}, {axis})", f"rg.cummin({a}, {axis})", f"{a}[rg.argsort({a}[..., 0])]" if x.ndim == 2 else f"{a}[rg.argmax({a})]",
                     f"rg.max({a}, axis={axis}) - rg.min({a}, axis={axis})", f"rg.searchsorted(rg.sort({a}.reshape(-1)), {a}.reshape(-1))"))


#: Each kind of statement, and how often it is drawn.
STRUCTURES = ((tied, 12), (outer, 6), (written, 9), (written_earlier, 2), (repeated, 4), (repeated_while, 1), (linear, 6), (product, 6), (ordered, 6))
#: Those that other libraries run as they are.
RIVAL_STRUCTURES = ((tied, 2), (outer, 4), (linear, 6), (product, 6), (ordered, 6))

"""Statements within statements: views of views that are written through, loops in loops and branches, derivatives inside a program."""

from .elementary import index_of
from .program import NAMES


def _view_of(d, name, x):
    """Source of a view of `name`, whose value is `x`."""
    last = x.ndim - 1
    return d.choice((f"{name}[{index_of(d, x)}]", f"{name}[{index_of(d, x)}]", f"{name}.T", f"{name}.reshape(-1)", f"{name}[::-1]", f"{name}[None]", f"{name}[..., None]",
                     f"{name}.swapaxes(0, {last})", f"{name}[1:]", f"{name}[..., :1]", f"rg.squeeze({name})", f"rg.flip({name}, axis={d.axis(x)})",
                     f"rg.moveaxis({name}, 0, {last})", f"rg.expand_dims({name}, {d.integer(0, x.ndim)})", f"{name}.detach()", f"rg.diagonal({name})" if x.ndim > 1 else f"{name}[:2]"))


def viewed(d):
    """A value, views of it and of one another, and writes through any of them that the others show."""
    a = d.named("f" if d.chance(0.85) else "fic", 1, lambda x: x.size > 0)
    if a is None:
        return None
    x = d.values[a]
    lines, names = [f"w0 = {d.choice((f'{a} * 1', f'{a} * 1', f'rg.sin({a})', f'{a} + {a}', f'{a}.T * 1'))}"], ["w0"]
    shapes = {"w0": x.T if ".T" in lines[0] else x}
    for k in range(1, d.integer(2, 4)):
        base = d.choice(names)
        if shapes.get(base) is None or not shapes[base].ndim:
            continue
        text = _view_of(d, base, shapes[base])
        try:
            shapes[f"w{k}"] = eval(text, {**NAMES, base: shapes[base].detach() * 1})
        except Exception:  # noqa: BLE001 - what does not suit is left out
            continue
        lines.append(f"w{k} = {text}")
        names.append(f"w{k}")
    for _ in range(d.integer(1, 3)):
        name = d.choice(names)
        lines.append(d.choice((f"{name} += 1", f"{name} *= 2", f"{name}[...] = 0.5", f"{name} -= {name} * 0.5", f"{name}[0] = 3" if shapes[name].ndim else f"{name} += 2",
                               f"{name} += {name}", f"{name}.fill_(2)", f"{name}[...] = rg.sin({name})")))
    read = d.choice(names)
    shown = f"{read} * 1" if d.chance(0.7) else f"rg.concatenate([{', '.join(f'({name} * 1).reshape(-1)' for name in names)}])"
    return "\n".join([*lines, f"NEW = {shown}"])


def controlled(d):
    """A loop or a branch in another, or one whose body writes to what it carries."""
    a = d.named("f", fits=lambda x: x.size > 0)
    b = a and d.mate(a)
    if b is None:
        return None
    start, n = f"{a} + {b} * 0", d.integer(1, 4)
    branch = d.choice((f"rg.cond(rg.sum(c) > 0.3, lambda: rg.sin(c), lambda: c * {b})", f"rg.cond(i % 2 == 0, lambda: c * 0.5, lambda: c + {b})",
                       f"rg.switch(i % 3, (lambda: c * 0.5, lambda: rg.tanh(c), lambda: c + {b} * 0.1))",
                       f"rg.fori_loop(0, 2, lambda k, e: e * 0.7 + {b} * 0.1 * (k + i), c)", "rg.scan(lambda e, _: (rg.tanh(e * 0.9), e), c, length=2)[0]",
                       f"rg.checkpoint(lambda e: rg.sin(e) * {b}, c)", "rg.grad(lambda e: rg.sum(rg.sin(e) * e))(c)", "rg.while_loop(lambda e: rg.sum(e * e) > 0.5, lambda e: e * 0.5, c)",
                       "rg.where(c > c.mean(), c * 0.5, c)", "rg.sort(c.reshape(-1)).reshape(c.shape) * 0.5"))
    writes = d.choice(("c += 0.1", f"c *= {b}" if d.values[b].shape == d.values[a].shape else "c *= 0.5", "c[...] = rg.sin(c)", "c -= c * 0.3",
                       "c[0] = 0.5" if d.values[a].ndim else "c += 0.2"))
    return d.choice((
        f"NEW = rg.fori_loop(0, {n}, lambda i, c: {branch}, {start})",
        f"NEW = rg.scan(lambda c, i: ({branch}, rg.sum(c)), {start}, rg.arange({n}))[{d.integer(0, 1)}]",
        f"def NEW_body(c, i):\n    {writes}\n    return c, rg.sum(c * c)\nNEW = rg.scan(NEW_body, {start}, rg.arange({n}))[{d.integer(0, 1)}]",
        f"def NEW_body(i, c):\n    e = c * 1\n    e{writes[1:]}\n    return e + c * 0.1\nNEW = rg.fori_loop(0, {n}, NEW_body, {start})".replace("rg.sin(c)", "rg.sin(e)"),
        f"NEW = rg.cond(rg.mean({a}) > 0, lambda c: rg.fori_loop(0, {n}, lambda i, c: {branch}, c), lambda c: c * 2, {start})",
        f"NEW = rg.while_loop(lambda s: s[0] < {n}, lambda s: (s[0] + 1, rg.tanh(s[1]) * 0.9 + {b} * 0.1), (rg.asarray(0), {start}))[1]",
    ))


def differentiated(d):
    """A derivative, or a function of examples, inside the program."""
    a = d.named("f", fits=lambda x: x.size > 0)
    b = a and d.mate(a)
    if b is None:
        return None
    f = d.choice((f"rg.sum(rg.sin(c) * {b})", f"rg.sum(c * c * {b})", "rg.max(c)", "rg.logsumexp(c)", f"rg.sum(rg.where(c > 0, c, {b}))", f"rg.sum(rg.fori_loop(0, 2, lambda i, e: rg.tanh(e + {b}), c + {b} * 0))",
                  "rg.sum(rg.sort(c.reshape(-1))[:2] ** 2)", "rg.sqrt(rg.sum(c * c) + 0.1)"))
    texts = [f"rg.grad(lambda c: {f})({a})", f"rg.jvp(lambda c: {f}, ({a},), ({a} * 0 + 1,))[1]", f"rg.vjp(lambda c: rg.sin(c) * {b}, {a})[1](rg.sin({a} * {b}))",
             f"rg.value_and_grad(lambda c: {f})({a})", f"rg.grad(lambda c: rg.sum(rg.grad(lambda c: {f})(c) * {a}))({a})", f"rg.jit(lambda c: {f})({a})", f"rg.checkpoint(lambda c: {f}, {a})"]
    if d.values[a].ndim and d.values[a].shape[0]:
        texts += [f"rg.vmap(lambda c: rg.tanh(c).sum() * c)({a})", f"rg.vmap(rg.grad(lambda c: rg.sum(rg.sin(c) * c)))({a})"]
    if d.values[a].ndim == 1 and d.values[a].size < 6:
        texts += [f"rg.jacobian(lambda c: rg.sin(c) * c.sum())({a})", f"rg.hessian(lambda c: (rg.sin(c) * c).sum() ** 2)({a})"]
    return d.choice(texts)


def decomposed(d):
    """Linear algebra of complex matrices, whose results do not depend on the phases of vectors."""
    a = d.named("f", 2, lambda x: 0 < x.shape[-1] <= 5 and 0 < x.shape[-2] <= 5)
    if a is None:
        return None
    n = d.values[a].shape[-2]
    m = f"({a} @ {a}.swapaxes(-1, -2) * (1 + 0.3j) + np.eye({n}) * (2 + 1j))"
    h = f"({a} @ {a}.swapaxes(-1, -2) + {n} * np.eye({n}) + 0.5j * (np.tri({n}) - np.tri({n}).T))"
    return d.choice((f"rg.linalg.det({m})", f"rg.linalg.slogdet({m})[1]", f"rg.linalg.inv({m})", f"rg.linalg.solve({m}, {a} * 1j)", f"rg.linalg.cholesky({h})", f"rg.linalg.eigvalsh({h})",
                     f"rg.linalg.svdvals({m})", f"rg.linalg.norm({m})", f"rg.abs(rg.linalg.qr({m})[1])", f"{m} @ {h}", f"rg.linalg.matrix_power({m}, 2) * 0.1", f"rg.linalg.pinv({m})",
                     f"rg.matrix_exp({m} * 0.1)", f"rg.einsum('...ij,...jk->...ik', {m}, {h})"))


#: Each kind of statement, and how often it is drawn.
NESTED = ((viewed, 5), (controlled, 4), (differentiated, 4), (decomposed, 2))

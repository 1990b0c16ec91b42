"""Where a jitted function finds tensors: another one there is noticed however deep it lies."""

import functools
import types
import weakref
from collections import ChainMap, OrderedDict, UserDict
from itertools import chain

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import TraceError
from retrograde.transforms import searching

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
GLOBAL = rg.ones(2)


class Box:
    """An object with the attributes that it is given."""

    def __init__(self, **attributes):
        vars(self).update(attributes)


class Own(list):
    """A list with attributes."""


class Iterated:
    """An iterator of one's own over a list that it has."""

    def __init__(self, *tensors):
        self._listed = list(tensors)

    def __iter__(self):
        yield from self._listed


class OfClass(nn.Module):
    """A module whose class has a tensor."""

    weight = rg.ones(2)

    def forward(self, x):
        return x * self.weight


class UsesGlobal(nn.Module):
    """A module whose method names a tensor."""

    def forward(self, x):
        return x * GLOBAL


def two():
    return rg.full(2, 2.0)


def deep():
    return Box(a=Box(b=Box(c=Box(w=rg.ones(2)))))


def folded(tensors, x):
    for t in tensors:
        x = x * 2 + t
    return x


def attribute():
    def function(x):
        return x * function.w

    function.w = rg.ones(2)
    return function, lambda: setattr(function, "w", two())


def jitted_attribute():
    @rg.jit
    def function(x):
        return x * function.w

    function.w = rg.ones(2)
    return function, lambda: setattr(function, "w", two())


def wrapped():
    def scaled(function):
        scales = [rg.ones(2)]

        @functools.wraps(function)
        def inner(x):
            return function(x) * scales[0]

        inner.scales = scales
        return inner

    function = scaled(lambda x: x * 2)
    return function, lambda: function.scales.__setitem__(0, two())


def held(holder, use, change):
    def made():
        h = holder()
        return lambda x: use(h, x), lambda: change(h)

    return made


def array_of_objects():
    made = np.empty(2, object)
    made[:] = [rg.ones(2), rg.ones(2)]
    return made


def named(use):
    return lambda: (use, lambda: globals().__setitem__("GLOBAL", GLOBAL + 1))


def linear():
    return nn.Linear(2, 2)


def hooked():
    model = linear()
    return model, model.register_forward_hook(lambda module, args, output: output + 1)


def times(w):
    return lambda x: x * w


def slope(w, x):
    w.grad = None
    (w * x).sum().backward()
    return w.grad * 1


def step_of(pair, x):
    w, optimizer = pair
    optimizer.zero_grad()
    (w * x).sum().backward()
    optimizer.step()
    return w * 1


def with_optimizer():
    w = rg.ones(2, requires_grad=True)
    return w, optim.SGD([w], lr=0.5)


def doubling(optimizer, args, kwargs):
    for p in optimizer.param_groups[0]["params"]:
        p.grad *= 2


#: Each makes a function and a change after which it is another one.
CASES = {
    "three objects deep": held(deep, lambda o, x: x * o.a.b.c.w, lambda o: setattr(o.a.b.c, "w", two())),
    "an object in between": held(deep, lambda o, x: x * o.a.b.c.w, lambda o: setattr(o.a, "b", Box(c=Box(w=two())))),
    "a long list": held(lambda: [rg.ones(2) for _ in range(1500)], lambda h, x: x * h[3] + h[1400], lambda h: h.__setitem__(1400, two())),
    "a long dictionary": held(lambda: {i: rg.ones(2) for i in range(1500)}, lambda h, x: x * h[3] + h[1400],
                              lambda h: h.update({1400: two()})),
    "an attribute of the function": attribute,
    "an attribute of the jitted function": jitted_attribute,
    "an attribute that appears": held(lambda: Box(w=rg.ones(2)), lambda o, x: x * o.w + getattr(o, "late", 0),
                                      lambda o: setattr(o, "late", two())),
    "the first attribute": held(Box, lambda o, x: x + getattr(o, "late", 0), lambda o: setattr(o, "late", two())),
    "an attribute that appears deep": held(deep, lambda o, x: x * o.a.b.c.w + getattr(o.a.b, "late", 0),
                                           lambda o: setattr(o.a.b, "late", two())),
    "a dictionary in another order": held(lambda: {"a": rg.ones(2), "b": two()}, lambda h, x: folded(h.values(), x),
                                          lambda h: h.update(a=h.pop("a"))),
    "an ordered dictionary": held(lambda: OrderedDict(a=rg.ones(2), b=two()), lambda h, x: folded(h.values(), x),
                                  lambda h: h.move_to_end("a")),
    "modules in another order": held(lambda: nn.ModuleDict({"a": linear(), "b": linear()}),
                                     lambda h, x: functools.reduce(lambda x, m: m(x), h.values(), x),
                                     lambda h: h.update({"a": h.pop("a")})),
    "objects in another order": held(lambda: [Box(w=rg.ones(2)), Box(w=two())], lambda h, x: folded([b.w for b in h], x),
                                     lambda h: h.reverse()),
    "an iterator's list grows": held(lambda: Iterated(two()), lambda h, x: folded(h, x), lambda h: h._listed.append(two())),
    "an iterator's list is another": held(lambda: Box(a=Box(b=Box(i=Iterated(two())))), lambda h, x: folded(h.a.b.i, x),
                                          lambda h: setattr(h.a.b.i, "_listed", [rg.ones(2)])),
    "a hook of a module": held(linear, lambda m, x: m(x), lambda m: m.register_forward_hook(lambda m, args, z: z * 5)),
    "a second hook": held(hooked, lambda h, x: h[0](x), lambda h: h[0].register_forward_hook(lambda m, args, z: z * 5)),
    "a hook that is removed": held(hooked, lambda h, x: h[0](x), lambda h: h[1].remove()),
    "a hook of a tensor": held(lambda: rg.ones(2, requires_grad=True), slope, lambda w: w.register_hook(lambda g: g * 5)),
    "a hook of an optimizer": held(with_optimizer, step_of, lambda h: h[1].register_step_pre_hook(doubling)),
    "a function within it": named(lambda x: rg.grad(lambda w: (w * GLOBAL * GLOBAL).sum())(x)),
    "a method of an object": named(lambda x: UsesGlobal()(x)),
    "a method of a module": lambda: (UsesGlobal(), lambda: globals().__setitem__("GLOBAL", GLOBAL + 1)),
    "a class of a module": lambda: (OfClass(), lambda: setattr(OfClass, "weight", OfClass.weight + 1)),
    "a set": held(lambda: {rg.ones(2)}, folded, lambda h: (h.clear(), h.add(two()))),
    "an array of objects": held(array_of_objects, folded, lambda h: h.__setitem__(1, two())),
    "weak references": held(lambda: (k := [rg.ones(2), two()], Box(r=weakref.ref(k[0]))), lambda h, x: x * h[1].r(),
                            lambda h: setattr(h[1], "r", weakref.ref(h[0][1]))),
    "attributes of a list": held(lambda: (h := Own([rg.ones(2)]), setattr(h, "w", two()))[0], lambda h, x: x * h[0] * h.w,
                                 lambda h: setattr(h, "w", rg.ones(2))),
    "a chain of dictionaries": held(lambda: ChainMap({}, {"a": rg.ones(2)}), lambda h, x: x * h["a"], lambda h: h.update(a=two())),
    "a dictionary of users": held(lambda: UserDict(a=rg.ones(2)), lambda h, x: x * h["a"], lambda h: h.update(a=two())),
    "a namespace": held(lambda: types.SimpleNamespace(a=Box(w=rg.ones(2))), lambda h, x: x * h.a.w, lambda h: setattr(h.a, "w", two())),
    "a function that is wrapped": wrapped,
    "another function in a dictionary": held(lambda: {"a": times(rg.ones(2))}, lambda h, x: h["a"](x),
                                             lambda h: h.update(a=times(two()))),
    "a module deep in objects": held(lambda: Box(a=Box(b=Box(m=linear()))), lambda h, x: h.a.b.m(x), lambda h: setattr(h.a.b, "m", linear())),
    "the parameters of an optimizer": held(with_optimizer, step_of, lambda h: h[1].param_groups[0]["params"].clear()),
}


@pytest.mark.parametrize("name", CASES)
def test_another_tensor_or_another_order_of_them_is_noticed(name):
    function, change = CASES[name]()
    compiled = function if hasattr(function, "traces") else rg.jit(function)
    eager, x = getattr(function, "__wrapped__", function) if compiled is function else function, rg.full(2, 3.0)
    states = [x for x in chain.from_iterable(_cells(eager)) if isinstance(x, rg.Tensor) and x.requires_grad]
    for _ in range(3):
        compiled(x)
    change()
    before = [s.detach().clone() for s in states]
    wanted = eager(x).detach().tolist()
    with rg.no_grad():
        for state, old in zip(states, before, strict=True):
            state[...] = old
    assert compiled(x).detach().tolist() == pytest.approx(wanted, rel=1e-4)
    traces = compiled.traces
    compiled(x)
    compiled(x)
    assert compiled.traces == traces


def _cells(function):
    """What the variables of a function's enclosing one hold, as tuples."""
    found = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    return [x if isinstance(x, tuple) else (x,) for x in found]


def test_numbers_that_come_and_go_beside_tensors_are_no_reason_to_trace_anew():
    kept, box = {"w": rg.ones(2)}, Box(w=rg.ones(2), count=0)
    step = rg.jit(lambda x: x * kept["w"] * box.w)
    for i in range(4):
        step(rg.ones(2))
        kept[f"loss {i}"], box.count = 0.5, i
        setattr(box, f"name{i}", "x")
    assert step.traces == 1


def test_what_refers_back_to_its_owner_is_searched_once():
    root = Box(w=rg.ones(2), children=[])
    for _ in range(5):
        root.children.append(Box(parent=root, w=rg.ones(2)))
    step = rg.jit(lambda x: folded([c.w for c in root.children], x * root.w))
    x = rg.full(2, 3.0)
    step(x)
    root.children[3].w = two()
    assert step(x).tolist() == folded([c.w for c in root.children], x * root.w).tolist()


def test_a_tensor_beyond_all_that_is_searched_is_an_error(monkeypatch):
    monkeypatch.setattr(searching, "MOST", 20)
    far = last = Box()
    for _ in range(40):
        last.next = last = Box()
    last.w, near = rg.ones(2), Box(w=rg.ones(2))

    def end():
        found = far
        while hasattr(found, "next"):
            found = found.next
        return found.w

    assert rg.jit(lambda x: x * near.w)(rg.ones(2)).tolist() == [1, 1]
    with pytest.raises(TraceError, match=r"not among the first .* objects"):
        rg.jit(lambda x: x * end())(rg.ones(2))


def test_an_object_behind_a_weak_reference_is_not_kept():
    model = Box(w=rg.ones(2))
    reference = weakref.ref(model)
    step = rg.jit(lambda x: x * reference().w)
    step(rg.ones(2))
    del model
    assert reference() is None


class Holder:
    state = 0.0


def remembering(kind):
    """A function that stores what it computes where no tensor was, and reads it at the next call."""
    holder, by_name, row = Holder(), {"state": 0.0} if kind == "entry that was a number" else {}, []

    def function(x):
        if kind == "attribute":
            holder.state = x + holder.state
            return holder.state.sum()
        if kind == "list":
            row.append(x + (row[-1] if row else 0.0))
            return row[-1].sum()
        by_name["state"] = (x + by_name.get("state", 0.0)).detach()
        return by_name["state"].sum()

    return function


@pytest.mark.parametrize("kind", ["attribute", "list", "entry", "entry that was a number"])
def test_what_a_trace_leaves_where_no_tensor_was_is_an_error_for_a_call_that_reads_it(kind):
    x, eager, compiled = rg.tensor([1.0, 2.0]), remembering(kind), rg.jit(remembering(kind))
    assert [float(eager(x)) for _ in range(3)] == [3.0, 6.0, 9.0]
    assert float(compiled(x)) == 3.0
    with pytest.raises(TraceError, match="traced by jit in a call that is over"):
        compiled(x)


def test_what_a_trace_leaves_for_others_to_look_at_costs_one_more_trace():
    seen = []

    def function(x):
        seen.append(x * 2)
        return x.sum()

    compiled = rg.jit(function)
    assert [float(compiled(rg.tensor([1.0, 2.0]))) for _ in range(5)] == [3.0] * 5
    assert compiled.traces == 2

"""What a jitted function reads out of tensors from outside, and writes to their memory."""

from collections import OrderedDict, deque, namedtuple
from functools import partial
from types import ModuleType

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim
from retrograde.errors import TraceError
from together import in_threads

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")


@pytest.mark.parametrize("read", [
    lambda c: c.item(), lambda c: float(c), lambda c: c.numpy()[()], np.asarray, lambda c: c.tolist(), lambda c: 5.0 if c else 0.0])
def test_number_read_out_of_a_tensor_from_outside_is_read_anew_when_that_changes(read):
    outside = rg.tensor(0.0)
    step = rg.jit(lambda x: x * read(outside))
    for _ in range(3):
        np.testing.assert_array_equal(step(rg.ones((2,))).numpy(), np.ones(2) * np.asarray(read(outside)))
        outside += 1


def test_large_array_read_out_of_a_tensor_is_read_anew_when_that_is_written_to():
    outside = rg.zeros((3000,))
    step = rg.jit(lambda x: x + outside.numpy()[:2])
    step(rg.ones((2,)))
    outside += 1
    np.testing.assert_array_equal(step(rg.ones((2,))).numpy(), [2, 2])


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex128", "float16"])
def test_very_large_array_read_out_of_a_tensor_is_read_anew_when_numpy_writes_to_it(dtype):
    outside = rg.zeros((70, 1100), dtype=dtype)
    step = rg.jit(lambda x: x + outside.numpy()[-1].sum())
    for i in range(3):
        assert step(rg.ones(2)).tolist() == [1 + i, 1 + i]
        outside.data[-1, i] = 1
    assert step.traces == 3
    step(rg.ones(2))
    assert step(rg.ones(2)).tolist() == [4, 4] and step.traces == 4


@pytest.mark.parametrize("read", [
    lambda u: u[0].item(), lambda u: float(u.sum()), lambda u: int(u.argmax()), lambda u: 3.0 if u[1] > 1 else 0.0,
    lambda u: (u * 2).tolist()[2], lambda u: u.reshape(3, 1).T.numpy()[0, 1], lambda u: range(9)[u.astype(int)[0]]])
def test_number_read_out_of_what_is_made_of_a_tensor_from_outside_is_read_anew_when_that_changes(read):
    outside = rg.tensor([0.0, 1.0, 2.0])
    step = rg.jit(lambda x: x * read(outside))
    for _ in range(3):
        np.testing.assert_array_equal(step(rg.ones(2)).numpy(), np.ones(2) * np.asarray(read(outside)))
        outside += 1
    step(rg.ones(2))
    traces = step.traces
    step(rg.ones(2))
    assert step.traces == traces


def test_a_count_decides_and_is_compiled_once_for_each_answer():
    count = rg.tensor(0)

    @rg.jit
    def step(x):
        y = x * 2 if count > 2 else x
        count.__iadd__(1)
        return y

    assert [step(rg.ones(1)).item() for _ in range(5)] == [1, 1, 1, 2, 2] and step.traces == 2


def test_reading_a_float_that_each_call_changes_is_refused():
    p = nn.Parameter(rg.ones(2))

    @rg.jit
    def step():
        loss = (p * p).sum()
        with rg.no_grad():
            p.__isub__(0.1 * p)
        return loss.item()

    with pytest.raises(TraceError, match="computed from tensors which the jitted function writes to"):
        step()
    assert p.tolist() == [1, 1]


def test_reading_a_tensor_that_the_traced_function_has_written_to_is_refused():
    outside = rg.tensor(1.0)

    @rg.jit
    def step(x):
        outside.__iadd__(1)
        return x * outside.item()

    with pytest.raises(rg.errors.TraceError, match="written to in the function that is traced"):
        step(rg.ones((2,)))
    assert outside.item() == 1


@pytest.mark.parametrize("write", [
    lambda p: p.data.__setitem__(..., 3.0), lambda p: p.data.__iadd__(p.data), lambda p: np.copyto(p.data, 2.0),
    lambda p: p.detach().data[:1].fill(1), lambda p: np.multiply(p.data, 2, out=p.data), lambda p: p.detach().numpy().sort()])
@pytest.mark.parametrize("make", [rg.tensor, nn.Parameter])
def test_writing_to_the_array_of_a_tensor_from_outside_is_refused(make, write):
    outside = make([5.0, 4.0])
    before = outside.data

    @rg.jit
    def step(x):
        write(outside)
        return x * outside

    with pytest.raises(TraceError, match=r"wrote to the array of a tensor from outside.*x\[\.\.\.\] = y"):
        step(rg.ones(2))
    assert outside.data is before and outside.tolist() == [5.0, 4.0]
    outside.data[0] = 1  # as it may be again
    assert outside.tolist() == [1.0, 4.0]


@pytest.mark.parametrize("use", [
    lambda x, p: x.data.__setitem__(0, 1.0), lambda x, p: x.data * 2, lambda x, p: 2 - x.data, lambda x, p: x.data[0],
    lambda x, p: p.data.__iadd__(x), lambda x, p: np.multiply(x, 2, out=np.zeros(2))])
def test_using_the_array_of_what_is_traced_says_what_to_do(use):
    p = nn.Parameter(rg.ones(2))
    with pytest.raises(TraceError, match="the tensor itself"):
        rg.jit(lambda x: use(x, p))(rg.ones(2))
    with pytest.raises(AttributeError, match="compute with the tensor itself"):
        rg.jit(lambda x: x.data.sum())(rg.ones(2))
    assert p.tolist() == [1.0, 1.0]


def test_array_of_a_tensor_that_the_search_does_not_find_is_held_fast_once_it_is_used():
    found = iter([rg.ones(2)])

    @rg.jit
    def step(x):
        outside = next(found)
        y = x * outside
        outside.data[...] = 2
        return y

    with pytest.raises(TraceError, match="wrote to the array of a tensor"):
        step(rg.ones(2))


def test_setting_the_array_of_a_tensor_from_outside_is_refused():
    outside = rg.zeros(2)
    before = outside.data

    @rg.jit
    def step(x):
        outside.data = outside.data + 1
        return x * outside

    with pytest.raises(TraceError, match=r"data of a tensor of shape \(2,\) from outside was set"):
        step(rg.ones(2))
    assert outside.data is before


def test_view_of_an_array_that_is_held_fast_may_be_written_to_again():
    whole = rg.zeros(4)
    part = whole[1:]
    rg.jit(lambda x: x + part.sum() + whole.sum())(rg.ones(1))
    part.data[0] = whole.data[0] = 1
    assert whole.tolist() == [1.0, 1.0, 0.0, 0.0]


def test_other_threads_write_to_tensors_while_a_function_that_uses_them_is_traced():
    outside = rg.zeros(2)

    def read(x):
        in_threads(outside.__iadd__, [(1,)])
        return x + outside

    assert rg.jit(read)(rg.zeros(2)).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("size", [3, 3000])
def test_array_that_is_written_to_between_its_uses_counts_as_it_was_at_each(size):
    scratch = np.zeros(size)

    def f(x):
        scratch[:] = np.arange(size)
        y = x + scratch
        scratch[:] *= 2
        z = y * scratch
        scratch[:] = 7
        return z

    step = rg.jit(f)
    for _ in range(2):
        np.testing.assert_array_equal(step(np.ones(size)), (1 + np.arange(size)) * 2 * np.arange(size))


@pytest.mark.parametrize("size", [3, 3000])
def test_constants_keep_no_memory_of_a_tensor_from_outside(size):
    outside = rg.arange(float(size))
    step = rg.jit(lambda x: (x + outside.data[::-1]) * outside.data)
    for _ in range(2):
        np.testing.assert_array_equal(step(rg.ones(size)).numpy(), (1 + np.arange(size)[::-1]) * np.arange(size))
        outside.data[...] = 5


class _Keeper:
    """An object that is called, with weights in containers and one that it may be given later."""

    def __init__(self):
        self.listed, self.named, self.late = [rg.ones(2)], {"first": rg.ones(2)}, None

    def __call__(self, x):
        found = x * sum([*self.listed, *self.named.values()])
        return found if self.late is None else found * self.late


def _named_by_the_function(weights):
    return lambda x: x + sum(weights.values()) if isinstance(weights, dict) else x + sum(weights)


class _Remembering(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale, self.seen = rg.ones(2), {}

    def forward(self, x):
        return x * self.scale + sum(self.seen.values())


def _growing():
    """A function or an object, and changes of what it uses."""
    two = rg.ones(2) * 2
    named, inner, recent, nothing, keeper, model = {"a": two}, {"in": {"a": two}}, deque([two]), {}, _Keeper(), _Remembering()
    return {
        "dictionary": (_named_by_the_function(named), [partial(named.update, b=two), partial(named.pop, "a")]),
        "dictionary in a dictionary": (lambda x: x * sum(inner["in"].values()), [partial(inner["in"].update, b=two)]),
        "queue": (_named_by_the_function(recent), [partial(recent.append, two), partial(recent.append, two)]),
        "empty dictionary": (_named_by_the_function(nothing), [partial(nothing.update, a=two)]),
        "attributes": (keeper, [partial(keeper.listed.append, two), partial(keeper.named.update, b=two),
                                partial(setattr, keeper, "late", two)]),
        "empty dictionary of a module": (model, [partial(model.seen.update, a=two), model.seen.clear])}


@pytest.mark.parametrize("name", _growing())
def test_containers_and_attributes_that_are_filled_after_the_first_call_are_noticed(name):
    function, changes = _growing()[name]
    compiled, x = rg.jit(function), rg.ones(2)
    np.testing.assert_array_equal(compiled(x).numpy(), function(x).numpy())
    for change in changes:
        change()
        np.testing.assert_array_equal(compiled(x).numpy(), function(x).numpy())
    compiled(x)
    assert compiled.traces <= len(changes) + 1


def test_what_a_step_returns_may_be_collected_without_a_new_trace():
    class Trainer:
        """Keeps losses, as tensors, beside the model and its optimizer."""

        def __init__(self):
            self.model, self.losses = nn.Linear(2, 1), [rg.ones(2)]
            self.optimizer = optim.Adam(self.model.parameters())

        @rg.jit
        def step(self, x):
            self.optimizer.zero_grad()
            loss = (self.model(x) ** 2).mean()
            loss.backward()
            self.optimizer.step()
            return loss

    trainer = Trainer()
    for _ in range(4):
        trainer.losses.append(trainer.step(rg.ones(3, 2)))
    assert trainer.step.traces == 1


class _Recurrent(nn.Module):
    """Keeps its state where None was at first."""

    def __init__(self, is_read):
        super().__init__()
        self.scale, self.state, self.is_read = rg.ones(2), None, is_read

    def forward(self, x):
        before = 0 if self.state is None or not self.is_read else self.state
        self.state = x * self.scale + before
        return self.state


def test_state_that_a_trace_has_put_where_none_was_is_an_error_once_it_is_read():
    step = rg.jit(_Recurrent(is_read=True))
    step(rg.ones(2))
    with pytest.raises(TraceError, match=r"a call that is over.*state\[\.\.\.\] = new"):
        step(rg.ones(2))
    step = rg.jit(_Recurrent(is_read=False))
    for i in range(4):
        assert step(rg.ones(2) * i).tolist() == [i, i]
    assert step.traces == 2


USES = {"detached": lambda p: p.detach(), "a part": lambda p: p.detach()[1:].sum(), "both": lambda p: p.detach() + p,
        "a constant": rg.stop_gradient, "numbers": lambda p: p.detach().numpy(), "a copy": lambda p: rg.tensor(p),
        "of another type": lambda p: rg.tensor(p, dtype="float64"), "in a list": lambda p: rg.tensor([p.detach()[1], 2.0]),
        "repeated": lambda p: rg.full(2, p[0]), "like another": lambda p: rg.full_like(np.ones(2), p.detach()[1]),
        "whether it is in it": lambda p: 3.0 if 2 in p.detach() else 1.0}


@pytest.mark.parametrize("name", USES)
def test_a_tensor_without_its_history_is_that_from_outside_whatever_it_holds(name):
    p, use = nn.Parameter(rg.ones(2)), USES[name]
    step = rg.jit(lambda x: x * use(p))
    for i in range(5):
        np.testing.assert_array_equal(step(rg.ones(2)).detach().numpy(), np.ones(2) * np.asarray(rg.asarray(use(p)).detach()))
        if i % 2:
            p.data = np.full(2, i + 3, np.float32)
        else:
            with rg.no_grad():
                p += 1


def test_tensors_that_share_an_array_for_a_while():
    def found(run):
        a, b = nn.Parameter(rg.ones(2)), rg.full(2, 2.0)

        def step(x):
            with rg.no_grad():
                a.__imul__(2)
            return a + b * x

        step, results = run(step), []
        for change in (lambda: b.data, lambda: np.array(b.data), lambda: np.full(2, 5, np.float32), lambda: b.data[::-1]):
            results += [step(rg.ones(2)).tolist() for _ in range(2)]
            a.data = change()
        return results, step(rg.ones(2)).tolist(), a.tolist(), b.tolist()

    assert found(rg.jit) == found(lambda f: f)


PAIRS = {"apart": lambda x: x.clone(), "itself": lambda x: x, "a view": lambda x: x.detach()[:], "reversed": lambda x: x[::-1],
         "an array": lambda x: rg.asarray(x.data[:])}


def into_argument(x, y, outside):
    x += 1
    return y * 2 + outside


def into_both(x, y, outside):
    y[1:] = x[:-1] * 3
    x *= y
    return x + y


def into_outside(x, y, outside):
    outside += x
    return y * 2 + x + outside


@pytest.mark.parametrize("size", [10, 3000])
@pytest.mark.parametrize("function", [into_argument, into_both, into_outside])
def test_arguments_that_lie_in_memory_that_is_written_to_at_one_call_and_not_at_the_next(function, size):
    def found(run):
        outside = rg.arange(float(size))
        step, results = run(lambda x, y: function(x, y, outside)), []
        for pair in PAIRS.values():
            first = rg.arange(float(size))[::-1].clone()
            results += [step(first, pair(first)), first, step(pair(outside), first), first, outside]
            results += [step(first, pair(outside)), first, outside]
        return [np.array(r) for r in results]

    for compiled, eager in zip(found(rg.jit), found(lambda f: f), strict=True):
        np.testing.assert_array_equal(compiled, eager)


class Holder:
    shared = rg.ones(2)

    def __init__(self):
        self.tensor, self.missing, self.tensors = rg.ones(2), None, [rg.ones(2)]
        self.other = self.tensor


class Slots:
    __slots__ = ("tensor",)

    def __init__(self):
        self.tensor = rg.ones(2)


Named = namedtuple("Named", "tensor")
MODULE = ModuleType("mine")
MODULE.tensor = rg.ones(2)


def with_default(x, holder=Slots()):  # noqa: B008 - that it is one object is what this is about
    return x * holder.tensor


#: What holds a tensor at first, a function that finds it there, and what puts another one there.
FINDS = {
    "slots": (Slots, lambda h, x: x * h.tensor, lambda h, t: setattr(h, "tensor", t)),
    "class": (Holder, lambda h, x: x * h.shared, lambda h, t: setattr(Holder, "shared", t)),
    "instance before class": (Holder, lambda h, x: x * h.shared, lambda h, t: setattr(h, "shared", t)),
    "second name": (Holder, lambda h, x: x * h.other, lambda h, t: setattr(h, "other", t)),
    "first name": (Holder, lambda h, x: x * h.tensor, lambda h, t: setattr(h, "tensor", t)),
    "nothing yet": (Holder, lambda h, x: x if h.missing is None else x * h.missing, lambda h, t: setattr(h, "missing", t)),
    "longer list": (Holder, lambda h, x: x * sum(h.tensors), lambda h, t: h.tensors.append(t)),
    "deque": (lambda: deque([rg.ones(2)]), lambda h, x: x * h[0], lambda h, t: h.__setitem__(0, t)),
    "ordered": (lambda: OrderedDict(a=rg.ones(2)), lambda h, x: x * sum(h.values()), lambda h, t: h.__setitem__(len(h), t)),
    "named tuple": (lambda: [Named(rg.ones(2))], lambda h, x: x * h[0].tensor, lambda h, t: h.__setitem__(0, Named(t))),
    "module": (lambda: None, lambda h, x: x * MODULE.tensor, lambda h, t: setattr(MODULE, "tensor", t)),
    "default": (lambda: with_default.__defaults__[0], lambda h, x: with_default(x), lambda h, t: setattr(h, "tensor", t)),
}


@pytest.mark.parametrize("name", FINDS)
def test_another_tensor_is_noticed_wherever_the_function_finds_it(name):
    make, use, put = FINDS[name]
    held = make()
    step = rg.jit(lambda x: use(held, x))
    for i in range(3):
        assert step(rg.ones(2)).tolist() == use(held, rg.ones(2)).tolist()
        put(held, rg.full(2, i + 2.0))
    step(rg.ones(2))
    traces = step.traces
    step(rg.ones(2))
    assert step.traces == traces

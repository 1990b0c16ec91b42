"""What a jitted function reads out of tensors from outside, and writes to their memory."""

from collections import deque
from functools import partial

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

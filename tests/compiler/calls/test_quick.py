"""quick: the short way of calling a small program gives what the long way gives, and steps aside when anything has changed."""

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn

pytest.importorskip("llvmlite", reason="the compiler comes with the extra `jit`")
from retrograde.compiler.calls import quick
from retrograde.compiler.calls.quick import all_bound, all_same
from retrograde.transforms.watches import Held


def policy():
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Dropout(0.5), nn.Linear(8, 2)).eval()
    return model, rg.jit(lambda x: model(x))


def check(model, fast, x):
    with rg.no_grad():
        wanted = model(rg.tensor(x) if isinstance(x, np.ndarray) else x)
        np.testing.assert_allclose(fast(x).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def is_quick(fast):
    return fast._memory.quick is not None


def test_a_small_program_is_called_the_short_way_for_arrays_and_tensors():
    model, fast = policy()
    for x in (np.ones((1, 4), np.float32), rg.tensor(np.full((1, 4), 0.5, np.float32))):
        for _ in range(3):
            check(model, fast, x)
        assert is_quick(fast)


def test_other_shapes_dtypes_kinds_and_memory_layouts_are_noticed():
    model, fast = policy()
    rng = np.random.default_rng(0)
    for shape in ((1, 4), (3, 4), (1, 4)):
        for dtype in (np.float32, np.float64):
            x = rng.standard_normal(shape).astype(dtype)
            check(model, fast, x)
            check(model, fast, np.asfortranarray(x))
            check(model, fast, np.repeat(x, 2, axis=1)[:, ::2])
            check(model, fast, rg.tensor(x))
    assert fast.traces == 8


def test_new_weights_new_modules_and_the_mode_are_noticed():
    model, fast = policy()
    x = np.ones((1, 4), np.float32)
    check(model, fast, x)
    model[0].weight.data[...] += 1
    check(model, fast, x)
    model[3] = nn.Linear(8, 2)
    check(model, fast, x)
    model[0].weight = nn.Parameter(rg.ones(8, 4))
    check(model, fast, x)
    with rg.no_grad():
        model.train()
        assert any((fast(x).numpy() != fast(x).numpy()).any() for _ in range(20))


def test_a_value_with_a_history_is_differentiated():
    w = rg.tensor([1.0, 2.0])
    fast = rg.jit(lambda x: (x * w).sum())
    x = rg.tensor([3.0, 4.0])
    assert [fast(x).item() for _ in range(3)] == [11.0] * 3 and is_quick(fast)
    x.requires_grad = True
    fast(x).backward()
    assert x.grad.tolist() == [1.0, 2.0]
    with rg.no_grad():
        assert fast(x).item() == 11.0


def test_wrong_numbers_of_arguments_and_keywords_go_the_long_way():
    fast = rg.jit(lambda x, y=None: x + 1 if y is None else x + y)
    x = rg.tensor([1.0])
    assert [fast(x).item(), fast(x).item(), fast(x, y=x).item(), fast(x, x).item(), fast(x).item()] == [2.0] * 5
    with pytest.raises(TypeError):
        fast(x, x, x)


def test_a_position_out_of_range_is_an_error_each_time():
    table = rg.tensor(np.arange(6.0).reshape(3, 2))
    fast = rg.jit(lambda i: rg.take(table, i, axis=0))
    assert fast(rg.tensor([2])).tolist() == [[4.0, 5.0]]
    for _ in range(2):
        with pytest.raises(rg.errors.OutOfRangeError):
            fast(rg.tensor([3]))
    assert fast(rg.tensor([0])).tolist() == [[0.0, 1.0]]


DEEP = 150


def deep():
    layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(DEEP)])

    def forward(x):
        for layer in layers:
            x = layer(x)
        return x

    return layers, forward


@pytest.mark.parametrize("number", [0, 31, 32, 63, 64, 127, 128, DEEP - 1])
def test_another_weight_in_any_of_many_layers_is_noticed(number):
    layers, forward = deep()
    fast, x = rg.jit(forward), np.ones((300, 2), np.float32)
    check(forward, fast, x)
    layers[number].weight = nn.Parameter(rg.ones(2, 2))
    check(forward, fast, x)
    assert fast.traces == 2
    layers[number].weight.data = rg.full((2, 2), 0.5)
    check(forward, fast, x)
    layers[number].weight.data[...] = 0.25
    check(forward, fast, x)
    assert fast.traces == 2


@pytest.mark.parametrize("count", [0, 1, 64, 65, 200])
def test_many_tests_are_all_asked_whoever_they_are_written_out_with(count):
    values = [rg.ones(1) for _ in range(count)]
    arrays = [value.raw for value in values]
    held = dict(enumerate(values))
    same, bound = all_same([Held(held, number, value) for number, value in held.items()]), all_bound(values, arrays)
    assert same() is True and bound() is True
    for number in range(count):
        held[number], kept = None, held[number]
        assert same() is False
        del held[number]
        assert same() is False
        held[number], arrays[number] = kept, None
        assert same() is True and bound() is False
        arrays[number] = values[number].raw
    assert same() is True and bound() is True


def test_tests_of_one_text_are_compiled_once():
    table = {number: rg.ones(1) for number in range(640)}
    before = quick._compiled.cache_info()
    all_same([Held(table, number, value) for number, value in table.items()])
    after = quick._compiled.cache_info()
    assert after.misses - before.misses <= 1 and after.hits - before.hits >= 9

"""`torch.compile`: machine code where a function can be traced, the function itself and one warning where it cannot."""

import warnings

import pytest

from retrograde import torch
from retrograde.errors import TraceError
from retrograde.torch import CompileWarning

nn = torch.nn


def test_a_compiled_function_gives_tensors_of_torch_and_is_traced_once():
    calls = []

    @torch.compile
    def f(x):
        calls.append(type(x))
        return x.max(1), x.var()

    x = torch.randn(4, 3)
    for _ in range(3):
        (values, indices), spread = f(x)
    assert calls == [torch.Tensor] and type(values) is type(indices) is type(spread) is torch.Tensor
    assert torch.allclose(spread, x.var()) and torch.equal(indices, x.argmax(1))


def test_what_cannot_be_traced_runs_as_it_is_with_one_warning():
    @torch.compile(dynamic=True, mode="reduce-overhead")
    def f(x):
        return x * 2 if x.sum() > 0 else x

    with pytest.warns(CompileWarning, match="f runs without being compiled.*fullgraph=True"):
        assert f(torch.ones(2)).tolist() == [2, 2]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(torch.ones(2)).tolist() == [2, 2] and f(-torch.ones(2)).tolist() == [-1, -1]


def test_with_fullgraph_that_is_an_error():
    f = torch.compile(lambda x: x * 2 if x.sum() > 0 else x, fullgraph=True)
    for _ in range(2):
        with pytest.raises(TraceError):
            f(torch.ones(2))


def test_errors_of_the_function_are_not_hidden():
    @torch.compile
    def f(x):
        return x.reshape(7)

    with pytest.raises(ValueError, match="reshape"):
        f(torch.ones(2))


def test_a_compiled_module_stands_where_the_module_stood():
    model = torch.compile(nn.Sequential(nn.Linear(3, 2), nn.Dropout(0.5)))
    assert isinstance(model, nn.Module) and len(list(model.parameters())) == 2 and model.eval() is model
    x = torch.ones(4, 3)
    assert model(x).shape == (4, 2) and torch.allclose(model(x), x @ model[0].weight.t() + model[0].bias)
    model(x).sum().backward()
    assert type(model[0].weight.grad) is torch.Tensor


def test_a_module_that_cannot_be_traced_is_called_as_it_is():
    class Odd(nn.Module):
        def forward(self, x):
            return x if x.sum().item() > 0 else -x

    model = torch.compile(Odd())
    with pytest.warns(CompileWarning, match="Odd"):
        assert model(-torch.ones(2)).tolist() == [1, 1]
    assert model(torch.ones(2)).tolist() == [1, 1]


def test_disabled_or_eager_it_is_the_function_itself():
    f = lambda x: x
    assert torch.compile(f, disable=True) is f and torch.compile(f, backend="eager") is f


def test_script_and_trace_say_that_they_do_nothing():
    f = lambda x: x
    with pytest.warns(UserWarning, match="torch.compile"):
        assert torch.jit.script(f) is f
    with pytest.warns(UserWarning, match="torch.compile"):
        assert torch.jit.trace(f, torch.ones(1)) is f

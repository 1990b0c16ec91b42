import numpy as np
import pytest

import retrograde as rg
from retrograde import nn


def test_forward_hooks_see_and_replace():
    layer = nn.Identity()
    before = layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    after = layer.register_forward_hook(lambda module, args, output: output * 10)
    assert layer(rg.tensor(1.0)).item() == 20
    before.remove()
    assert layer(rg.tensor(1.0)).item() == 10
    after.remove()
    assert layer(rg.tensor(1.0)).item() == 1


def test_backward_hooks_see_both_gradients_and_may_replace_the_first():
    seen = []
    layer = nn.Linear(2, 1, bias=False)
    layer.load_state_dict({"weight": np.array([[2.0, 3.0]])})

    def hook(module, grad_input, grad_output):
        seen.append((grad_input[0].tolist(), grad_output[0].tolist()))
        return (grad_input[0] * 10,)

    handle = layer.register_full_backward_hook(hook)
    x = rg.ones(1, 2, requires_grad=True)
    layer(x).backward(rg.tensor([[5.0]]))
    assert seen == [([[10, 15]], [[5]])]
    assert x.grad.tolist() == [[100, 150]]
    handle.remove()
    layer(x).sum().backward()
    assert len(seen) == 1


def test_backward_hooks_run_where_no_input_needs_a_gradient():
    seen = []
    layer = nn.Linear(2, 1)
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input, grad_output[0].shape)))
    layer(rg.ones(3, 2)).sum().backward()
    assert seen == [((None,), (3, 1))]
    assert layer.weight.grad is not None


def test_hooks_do_not_change_the_gradients():
    plain, hooked = (nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)) for _ in range(2))
    hooked.load_state_dict(plain.state_dict())
    hooked[1].register_full_backward_hook(lambda *_: None)
    hooked.register_full_backward_hook(lambda *_: None)
    for model in (plain, hooked):
        (model(rg.ones(2, 3)) ** 2).sum().backward()
    for a, b in zip(plain.parameters(), hooked.parameters(), strict=True):
        np.testing.assert_array_equal(a.grad, b.grad)


def test_hooks_with_keyword_arguments_see_and_replace_them():
    class Shift(nn.Module):
        def forward(self, x, by=0):
            return x + by

    layer, seen = Shift(), []
    layer.register_forward_pre_hook(lambda module, args, kwargs: (args, {"by": kwargs["by"] * 10}), with_kwargs=True)
    layer.register_forward_hook(lambda module, args, kwargs, output: seen.append((kwargs, output.item())), with_kwargs=True)
    assert layer(rg.tensor(1.0), by=2).item() == 21
    assert seen == [({"by": 20}, 21)]
    layer.register_forward_pre_hook(lambda module, args, kwargs: args, with_kwargs=True)
    with pytest.raises(TypeError, match=r"returns None or \(args, kwargs\)"):
        layer(rg.tensor(1.0), by=2)


def test_a_hook_may_be_put_before_all_others():
    layer, order = nn.Identity(), []
    for number, prepend in ((1, False), (2, False), (3, True)):
        layer.register_forward_hook(lambda *_, number=number: order.append(number), prepend=prepend)
        layer.register_forward_pre_hook(lambda *_, number=number: order.append(-number), prepend=prepend)
    layer(rg.ones(1))
    assert order == [-3, -1, -2, 3, 1, 2]


def test_a_hook_may_be_called_although_the_forward_pass_fails():
    class Broken(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    layer, seen = Broken(), []
    layer.register_forward_hook(lambda module, args, output: seen.append("only after success"))
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(ZeroDivisionError):
        layer(rg.ones(1))
    assert seen == [None]


def test_backward_pre_hooks_see_and_replace_what_arrives():
    layer, seen = nn.Linear(1, 1, bias=False), []
    layer.load_state_dict({"weight": np.array([[3.0]])})
    layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
    layer.register_full_backward_hook(lambda module, grad_input, grad_output: seen.append((grad_input[0].item(), grad_output[0].item())))
    x = rg.ones(1, 1, requires_grad=True)
    layer(x).backward(rg.tensor([[2.0]]))
    assert seen == [(60.0, 20.0)]
    assert x.grad.item() == 60.0 and layer.weight.grad.item() == 20.0

"""The history of what jitted functions return: derivatives reach what they read, as they do without jit."""


import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.core import writes
from retrograde.errors import FreedGraphError, GraphError, InplaceError
from together import in_threads

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 3))
ROW = X[0]


def same(found, expected, rtol=1e-9):
    for a, b in zip(rg.tree.leaves(found), rg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-12)


def parameter(shape=(3,)):
    return rg.tensor(np.random.default_rng(1).standard_normal(shape), requires_grad=True)


def trained(wrap):
    """Losses, parameters and buffers after training steps whose loss and backward pass stand outside of the model."""
    rg.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 2))
    optimizer, call, losses = rg.optim.SGD(model.parameters(), lr=0.1), wrap(model), []
    x = rg.tensor(X, dtype=rg.float32)
    for _ in range(4):
        optimizer.zero_grad()
        loss = (call(x) ** 2).mean() + call(x * 2).sum() * 0.1
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach() for p in model.parameters()], list(model.buffers()), rg.rand(2)


def test_a_jitted_model_is_trained_by_a_loss_outside_of_it():
    same(trained(rg.jit), trained(lambda model: model), rtol=2e-4)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_any_order_in_what_is_captured(order):
    def derivative(wrap):
        w = parameter()
        value = wrap(lambda x: rg.tanh(x @ (w**3)).sum())(rg.tensor(X)) ** 2
        for _ in range(order):
            w.grad = None
            value.backward(create_graph=True)
            value = (w.grad**2).sum() + w.grad.sum()
        return value.detach(), w.grad.detach()

    same(derivative(rg.jit), derivative(lambda f: f))


TRANSFORMS = {
    "grad of grad": lambda f: lambda x: rg.grad(lambda y: rg.grad(lambda z: f(z).sum())(y).sum())(x),
    "jacobian": rg.jacobian, "jacfwd": rg.jacfwd, "hessian": lambda f: rg.hessian(lambda x: f(x).sum()),
    "vjp": lambda f: lambda x: rg.vjp(f, x)[1](x), "jvp": lambda f: lambda x: rg.jvp(f, (x,), (x,)),
    "linearize": lambda f: lambda x: rg.linearize(f, x)[1](x),
    "checkpoint": lambda f: rg.grad(lambda x: rg.checkpoint(f, x).sum()),
    "hessian of a checkpoint": lambda f: rg.hessian(lambda x: rg.checkpoint(f, x).sum()),
    "vmap": lambda f: rg.grad(lambda x: rg.vmap(f)(rg.stack([x, x * 2])).sum()),
}
FUNCTIONS = {
    "ops": lambda x: rg.sin(x) * x**2,
    "a scan": lambda x: rg.scan(lambda c, row: (c * row, c), x, np.linspace(0.5, 1.5, 6).reshape(2, 3))[0],
    "a branch": lambda x: rg.cond(x.sum() > 0, lambda: x**3, lambda: rg.exp(x)),
    "a loop without an end": lambda x: rg.while_loop(lambda c: (c**2).sum() < 100, lambda c: c * 2, x),
}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms_of_a_jitted_function_are_those_of_the_function(transform, function):
    f, of = FUNCTIONS[function], TRANSFORMS[transform]
    same(of(rg.jit(f))(ROW), of(f)(ROW))


def test_arguments_and_captures_receive_their_gradients_together_and_the_program_stays():
    w, x = parameter(), rg.tensor(ROW, requires_grad=True)
    step = rg.jit(lambda h: rg.tanh(h * w))
    h = x
    for _ in range(10):
        h = step(h) * 1.5
    h.sum().backward()
    v, y = parameter(), rg.tensor(ROW, requires_grad=True)
    h = y
    for _ in range(10):
        h = rg.tanh(h * v) * 1.5
    h.sum().backward()
    same((w.grad, x.grad), (v.grad, y.grad))
    assert step.traces <= 2


def test_complex_numbers_follow_the_convention_of_eager_code():
    z = ROW + 1j
    f = lambda z: z**2 * (1 + 2j)
    same(rg.grad(lambda z: rg.abs(rg.jit(f)(z)).sum())(z), rg.grad(lambda z: rg.abs(f(z)).sum())(z))


def test_results_that_need_no_gradient_have_no_history():
    w = parameter()
    f = rg.jit(lambda x: {"sum": (x * w).sum(), "signs": x > 0, "double": x * 2, "cut": (x * w).detach(), "number": 3})
    found = f(rg.tensor(ROW))
    assert {k: getattr(v, "requires_grad", None) for k, v in found.items()} == {
        "sum": True, "signs": False, "double": False, "cut": False, "number": None}
    with rg.no_grad():
        assert not f(rg.tensor(ROW))["sum"].requires_grad
    w.requires_grad_(False)
    assert not f(rg.tensor(ROW))["sum"].requires_grad


def test_a_step_that_trains_inside_returns_plain_results():
    w = parameter()
    optimizer = rg.optim.SGD([w], lr=0.1)

    @rg.jit
    def step(x):
        optimizer.zero_grad()
        found = x @ w
        loss = (found**2).sum()
        loss.backward()
        optimizer.step()
        return loss, rg.sin(found)

    assert [r.requires_grad for r in step(rg.tensor(X))] == [False, False]


def test_numbers_of_a_result_can_be_read():
    w = parameter()
    found = rg.jit(lambda x: x * w)(ROW)
    np.testing.assert_allclose(found.numpy(), ROW * w.detach().numpy())
    with pytest.raises(GraphError, match="detach"):
        (found * 2).numpy()


def eager_write(w):
    with rg.no_grad():
        w += 1


def optimizer_write(w):
    w.grad = rg.ones(3, dtype=rg.float64)
    rg.optim.SGD([w], lr=0.1).step()


@rg.jit
def compiled_write(w):
    with rg.no_grad():
        w += 1


def captured_write(w):
    rg.jit(lambda: compiled_write(w))()


@pytest.mark.parametrize("write", [eager_write, optimizer_write, captured_write])
@pytest.mark.parametrize("wrap", [rg.jit, lambda f: f], ids=["jit", "eager"])
def test_writing_to_what_the_way_back_reads_is_an_error(write, wrap):
    w = parameter()
    found = wrap(lambda x: (x * w * w).sum())(rg.tensor(ROW))
    write(w)
    with pytest.raises(InplaceError, match="written to in place"):
        found.backward()


def halved(x):
    x /= 2


def compiled_write_outside(x):
    def write():
        x[...] = x / 2

    rg.jit(write)()


@pytest.mark.parametrize("write", [halved, compiled_write_outside, rg.jit(halved), lambda x: halved(x[:1]), lambda x: x.T.fill_(0.0)])
@pytest.mark.parametrize("calls", [1, 3], ids=["first call", "quick call"])
def test_the_way_back_reads_arguments_as_they_were_when_they_were_handed_in(write, calls):
    w, call = parameter(), rg.jit(lambda x: (x * w * w).sum())
    for _ in range(calls):
        x = rg.tensor(ROW)
        found = call(x)
    again = call(x)
    write(x)
    assert not np.array_equal(x.numpy(), ROW)
    found.backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * w.detach().numpy() * ROW)
    again.backward()
    np.testing.assert_allclose(w.grad.numpy(), 4 * w.detach().numpy() * ROW)


def test_a_copy_of_an_argument_is_made_only_for_a_way_back_that_is_still_to_go():
    w, x, call = parameter(), rg.tensor(ROW), rg.jit(lambda x: (x * w * w).sum())
    call(x).backward()
    found = call(x)
    del found
    before = len(writes.KEPT)
    x *= 2
    assert len(writes.KEPT) == before - 1
    for _ in range(1000):
        call(rg.tensor(ROW))
    assert len(writes.KEPT) < 200
    call(x).backward()
    np.testing.assert_allclose(w.grad.numpy(), (2 + 4) * w.detach().numpy() * ROW)


def test_state_that_calls_write_to_is_kept_as_it_was():
    w, count = parameter(), rg.tensor(1.0, dtype=rg.float64)

    def counted(x):
        found = (x * w**2).sum() * count
        count[...] = count + 1
        return found

    call = rg.jit(counted)
    first, second = call(rg.tensor(ROW)), call(rg.tensor(ROW))
    (first + second).backward()
    np.testing.assert_allclose(w.grad.numpy(), 2 * w.detach().numpy() * ROW * (1 + 2))
    assert count.item() == 3


def test_arguments_that_calls_write_to_are_kept_as_they_were():
    def doubled(x):
        found = (x * w**2).sum()
        x *= 2
        return found + (x * w).sum()

    for make in (np.array, rg.tensor):
        w, x = parameter(), make(ROW)
        rg.jit(doubled)(x).backward()
        np.testing.assert_allclose(w.grad.numpy(), 2 * w.detach().numpy() * ROW + 2 * ROW)
        np.testing.assert_allclose(np.asarray(x), 2 * ROW)


def test_what_depends_on_arguments_and_on_what_is_written_is_no_constant():
    w, x = parameter(), rg.tensor(ROW, requires_grad=True)

    @rg.jit
    def step(x):
        found = (x * w).sum()
        with rg.no_grad():
            w[...] = w + 1
        return found

    found = step(x)
    assert found.requires_grad
    with pytest.raises(InplaceError):
        found.backward()


def test_a_walk_back_is_made_once_unless_the_graph_is_kept():
    w = parameter()
    f = rg.jit(lambda x: (x * w**2).sum())
    found = f(rg.tensor(ROW))
    found.backward(retain_graph=True)
    found.backward()
    np.testing.assert_allclose(w.grad.numpy(), 4 * ROW * w.detach().numpy())
    with pytest.raises(FreedGraphError):
        found.backward()


def test_lazy_values_and_other_functions_may_build_on_a_result():
    w = parameter()
    f, g = rg.jit(lambda x: x * w**2), rg.jit(lambda y: (y**2).sum())

    def gradient(loss):
        w.grad = None
        loss().backward()
        return w.grad

    def lazily():
        found = f(rg.tensor(ROW))
        with rg.lazy():
            return (found**2).sum() + (f(rg.tensor(ROW)) ** 2).sum()

    expected = gradient(lambda: ((rg.tensor(ROW) * w**2) ** 2).sum())
    same(gradient(lambda: g(f(rg.tensor(ROW)))), expected)
    found = f(rg.tensor(ROW))
    same(gradient(lambda: rg.jit(lambda: (found**2).sum())()), expected)
    same(gradient(lazily), expected * 2)
    found = f(rg.tensor(ROW))
    with pytest.raises(GraphError, match="hand it that as an argument"):
        rg.jit(lambda: (found**2).sum().backward())()


def test_a_loop_without_an_end_cannot_be_walked_back_to_captures():
    w = parameter(())
    found = rg.jit(lambda x: rg.while_loop(lambda c: abs(c) < 9, lambda c: c * (1 + abs(w)), x))(rg.tensor(1.0, dtype=rg.float64))
    with pytest.raises(GraphError, match=r"rg\.scan"):
        found.backward()


@pytest.mark.parametrize("nested", [False, True])
def test_a_checkpoint_draws_the_same_numbers_again_in_jitted_functions(nested):
    def run(wrap):
        rg.manual_seed(3)
        w, x = parameter(), rg.tensor(ROW, requires_grad=True)
        draw = wrap(lambda x: rg.dropout(x * w, 0.5) * rg.rand(3, dtype=rg.float64))
        part = lambda x: draw(x) + draw(x * 2)
        for _ in range(2):
            y = rg.checkpoint((lambda x: rg.checkpoint(part, x) * 2) if nested else part, x)
            (y**2).sum().backward()
        return y.detach(), x.grad, w.grad, rg.rand(2)

    same(run(rg.jit), run(lambda f: f), rtol=1e-6)


def test_threads_may_walk_back_through_one_function_at_the_same_time():
    w = parameter()
    f = rg.jit(lambda x: (rg.tanh(x) * w).sum(axis=1))
    wrong = []

    def work(k):
        for _ in range(10):
            x = rg.tensor(X * k, requires_grad=True)
            f(x).sum().backward(inputs=[x])
            if not np.allclose(x.grad.numpy(), (1 - np.tanh(X * k) ** 2) * w.detach().numpy()):
                wrong.append(k)

    in_threads(work, [(k,) for k in range(1, 4)])
    assert not wrong

import numpy as np
import pytest

import retrograde as rg
from retrograde import nn, optim

#: Large enough for several runs, small enough to be packed, one number, none at all.
SHAPES = [(300, 400), (7, 5), (3,), (), (0, 2)]
CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1, "maximize": True}),
    ("SGD", {"lr": 0.05, "weight_decay": 0.1, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-4, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "maximize": True, "weight_decay": 0.1}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.2}),
    ("Adagrad", {"lr": 0.01}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("RMSprop", {"lr": 0.01}),
    ("RMSprop", {"lr": 0.01, "alpha": 0.9, "momentum": 0.9, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.01, "momentum": 0.5, "centered": True, "eps": 1e-2}),
    ("RMSprop", {"lr": 0.01, "centered": True, "eps": 1e-2, "maximize": True}),
    ("Adadelta", {"lr": 1.0}),
    ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {"lr": 0.01}),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.02, 0.3), "maximize": True}),
    ("Adamax", {"lr": 0.002}),
    ("Adamax", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.002}),
    ("NAdam", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1, "momentum_decay": 0.1, "maximize": True}),
    ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "eps": 1e-4}),
    ("Adam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("ASGD", {"lr": 0.01}),
    ("ASGD", {"lr": 0.1, "lambd": 0.1, "alpha": 0.5, "t0": 10, "weight_decay": 0.1, "maximize": True}),
    ("Adafactor", {"lr": 0.01}),
    ("Adafactor", {"lr": 0.5, "beta2_decay": -0.5, "eps": (1e-3, 1e-2), "d": 1.5, "weight_decay": 0.1, "maximize": True}),
    ("RAdam", {"lr": 0.001}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.95), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
]


def sgd(p, gradients, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, maximize=False):
    buffer = None
    for g in gradients:
        d = (-g if maximize else g) + weight_decay * p
        if momentum:
            buffer = d if buffer is None else momentum * buffer + (1 - dampening) * d
            d = d + momentum * buffer if nesterov else buffer
        p = p - lr * d
    return p


def adam(p, gradients, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, maximize=False,
         decoupled_weight_decay=False):
    m = v = largest = 0.0
    for t, g in enumerate(gradients, 1):
        d = -g if maximize else g
        if decoupled_weight_decay:
            p = p * (1 - lr * weight_decay)
        else:
            d = d + weight_decay * p
        m, v = betas[0] * m + (1 - betas[0]) * d, betas[1] * v + (1 - betas[1]) * d * d
        largest = np.maximum(largest, v)
        size = np.sqrt((largest if amsgrad else v) / (1 - betas[1] ** t)) + eps
        p = p - lr * m / (1 - betas[0] ** t) / size
    return p


def adagrad(p, gradients, lr, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, maximize=False):
    total = initial_accumulator_value
    for t, g in enumerate(gradients):
        d = (-g if maximize else g) + weight_decay * p
        total = total + d * d
        p = p - lr / (1 + t * lr_decay) * d / (np.sqrt(total) + eps)
    return p


def rmsprop(p, gradients, lr, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, maximize=False):
    square = mean = buffer = 0.0
    for g in gradients:
        d = (-g if maximize else g) + weight_decay * p
        square, mean = alpha * square + (1 - alpha) * d * d, alpha * mean + (1 - alpha) * d
        buffer = momentum * buffer + d / (np.sqrt(square - mean**2 if centered else square) + eps)
        p = p - lr * buffer
    return p


def adadelta(p, gradients, lr, rho=0.9, eps=1e-6, weight_decay=0, maximize=False):
    square = steps = 0.0
    for g in gradients:
        d = (-g if maximize else g) + weight_decay * p
        square = rho * square + (1 - rho) * d * d
        step = np.sqrt(steps + eps) / np.sqrt(square + eps) * d
        steps = rho * steps + (1 - rho) * step * step
        p = p - lr * step
    return p


def adamax(p, gradients, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, maximize=False):
    mean = greatest = 0.0
    for t, g in enumerate(gradients, 1):
        d = (-g if maximize else g) + weight_decay * p
        mean, greatest = betas[0] * mean + (1 - betas[0]) * d, np.maximum(betas[1] * greatest, np.abs(d) + eps)
        p = p - lr / (1 - betas[0] ** t) * mean / greatest
    return p


def nadam(p, gradients, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False,
          maximize=False):
    m, v, product = 0.0, 0.0, 1.0
    for t, g in enumerate(gradients, 1):
        d = -g if maximize else g
        p, d = (p * (1 - lr * weight_decay), d) if decoupled_weight_decay else (p, d + weight_decay * p)
        m, v = betas[0] * m + (1 - betas[0]) * d, betas[1] * v + (1 - betas[1]) * d * d
        now, later = (betas[0] * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (t, t + 1))
        product *= now
        size = np.sqrt(v / (1 - betas[1] ** t)) + eps
        p = p - lr * (1 - now) / (1 - product) * d / size - lr * later / (1 - product * later) * m / size
    return p


def radam(p, gradients, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, maximize=False):
    m = v = 0.0
    limit = 2 / (1 - betas[1]) - 1
    for t, g in enumerate(gradients, 1):
        d = -g if maximize else g
        p, d = (p * (1 - lr * weight_decay), d) if decoupled_weight_decay else (p, d + weight_decay * p)
        m, v = betas[0] * m + (1 - betas[0]) * d, betas[1] * v + (1 - betas[1]) * d * d
        length, mean = limit - 2 * t * betas[1] ** t / (1 - betas[1] ** t), m / (1 - betas[0] ** t)
        if length > 5:
            part = np.sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length))
            mean = mean * part * np.sqrt(1 - betas[1] ** t) / (np.sqrt(v) + eps)
        p = p - lr * mean
    return p


def rprop(p, gradients, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False):
    before, size = np.zeros_like(p), np.full_like(p, lr)
    for g in gradients:
        d = -g if maximize else g
        agreement = d * before
        size = np.clip(size * np.select([agreement > 0, agreement < 0], [etas[1], etas[0]], 1.0), *step_sizes)
        before = np.where(agreement < 0, 0, d)
        p = p - np.sign(before) * size
    return p


def asgd(p, gradients, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, maximize=False, gives_mean=False):
    mean = 0.0
    for t, g in enumerate(gradients, 1):
        d = (-g if maximize else g) + weight_decay * p
        eta, mu = lr / (1 + lambd * lr * (t - 1)) ** alpha, 1 / max(1, t - 1 - t0)
        p = p * (1 - lambd * eta) - eta * d
        mean = mean + mu * (p - mean)
    return mean if gives_mean else p


def adafactor(p, gradients, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False):
    rows = columns = total = 0.0
    least = np.finfo(p.dtype).eps if eps[0] is None else eps[0]
    length = lambda x: np.sqrt((x * x).sum() / max(x.size, 1))
    for t, g in enumerate(gradients, 1):
        g, share = -g if maximize else g, t**beta2_decay
        size = max(eps[1], length(p)) * min(lr, t**-0.5)
        p = p * (1 - lr * weight_decay)
        if p.ndim > 1 and p.size:
            rows = rows + share * ((g * g).mean(-1) - rows)
            columns = columns + share * ((g * g).mean(-2) - columns)
            spread = np.outer(rows, columns) / max(rows.mean(), least)
        else:
            total = total + share * (g * g - total)
            spread = total
        step = g / np.sqrt(np.maximum(spread, least**2))
        p = p - size * step / max(1, length(step) / d)
    return p


def muon(p, gradients, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, adjust_lr_fn=None):
    buffer = np.zeros_like(p)
    scale = np.sqrt(max(1, p.shape[0] / p.shape[1])) if adjust_lr_fn is None else 0.2 * np.sqrt(max(p.shape))
    for g in gradients:
        buffer = momentum * buffer + (1 - momentum) * g
        u, s, v = np.linalg.svd((1 - momentum) * g + momentum * buffer if nesterov else buffer, full_matrices=False)
        s = s / max(np.sqrt((s * s).sum()), 1e-7)
        for _ in range(5):
            s = 3.4445 * s - 4.775 * s**3 + 2.0315 * s**5
        p = p * (1 - lr * weight_decay) - lr * scale * (u * s) @ v
    return p


FORMULAS = {"SGD": sgd, "Adam": adam, "AdamW": lambda p, g, **o: adam(p, g, **{"weight_decay": 0.01, **o}, decoupled_weight_decay=True),
            "Adagrad": adagrad, "RMSprop": rmsprop, "Adadelta": adadelta, "Adamax": adamax, "NAdam": nadam,
            "RAdam": radam, "Rprop": rprop, "ASGD": asgd, "Adafactor": adafactor}


def runs(dtype, steps=50):
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal(shape).astype(dtype) for shape in SHAPES]
    gradients = [[rng.standard_normal(shape).astype(dtype) for shape in SHAPES] for _ in range(steps)]
    return starts, gradients


def stepped(optimizer, parameters, gradients, make=rg.tensor):
    for row in gradients:
        for parameter, g in zip(parameters, row, strict=True):
            parameter.grad = make(g)
        optimizer.step()


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "options"), CASES)
def test_fifty_steps_follow_the_formula(name, options):
    starts, gradients = runs(np.float64)
    parameters = [nn.Parameter(p.copy()) for p in starts]
    stepped(getattr(optim, name)(parameters, **{"lr": 1e-3, **options}), parameters, gradients)
    for i, parameter in enumerate(parameters):
        expected = FORMULAS[name](starts[i], [row[i] for row in gradients], **options)
        np.testing.assert_allclose(parameter.detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_fifty_steps_in_float32_agree_with_torch(name, options):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    starts, gradients = runs(np.float32)
    if name == "Adafactor":  # theirs divides by the size of a parameter
        starts, gradients = starts[:-1], [row[:-1] for row in gradients]
    ours = [nn.Parameter(p.copy()) for p in starts]
    theirs = [torch.nn.Parameter(torch.tensor(p)) for p in starts]
    stepped(getattr(optim, name)(ours, **options), ours, gradients)
    stepped(getattr(torch.optim, name)(theirs, **options), theirs, gradients, torch.tensor)
    # Theirs keeps the product of NAdam's factors in float32; the norms of Adafactor are sums of many numbers.
    tolerance = {"NAdam": 5e-6, "Adafactor": 2e-5}.get(name, 1e-6)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("compiles", [False, True])
@pytest.mark.parametrize(("name", "options"), [case for case in CASES if case[0] != "Adafactor"])
def test_the_parts_of_complex_parameters_follow_the_formula(name, options, compiles):
    (starts, gradients), (others, slopes) = runs(np.float64, 5), runs(np.float64, 5)
    columns = [[row[i] + 1j * other[i][..., ::-1] for row, other in zip(gradients, slopes, strict=True)] for i in (0, 1)]
    parameters = [nn.Parameter(starts[0] + 1j * others[0].T[::-1].T), nn.Parameter((starts[1] + 1j * others[1]).T.copy().T)]
    expected = [p.detach().numpy().copy() for p in parameters]
    optimizer = getattr(optim, name)(parameters, **{"lr": 1e-3, **options})
    step = rg.jit(optimizer.step) if compiles else optimizer.step
    for row in zip(*columns, strict=True):
        for parameter, g in zip(parameters, row, strict=True):
            parameter.grad = rg.tensor(g)
        step()
    for parameter, start, column in zip(parameters, expected, columns, strict=True):
        parts = [FORMULAS[name](part(start), [part(g) for g in column], **options) for part in (np.real, np.imag)]
        np.testing.assert_allclose(parameter.detach(), parts[0] + 1j * parts[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("layout", ["transposed", "strided", "reversed"])
def test_parameters_in_any_layout_are_updated_in_their_own_memory(layout):
    base = np.ones((200, 300))
    array = {"transposed": base.T, "strided": base[::2], "reversed": base[:, ::-1]}[layout]
    p = nn.Parameter(array)
    assert np.shares_memory(p.data, base)
    optimizer = optim.Adam([p], lr=0.1)
    p.grad = rg.ones(p.shape, dtype=rg.float64)
    optimizer.step()
    np.testing.assert_allclose(array, 0.9)
    assert np.shares_memory(p.data, base)


def test_a_parameter_without_a_gradient_stays_and_ages_by_itself():
    starts, gradients = runs(np.float64, steps=3)
    parameters = [nn.Parameter(p.copy()) for p in starts]
    optimizer = optim.Adam(parameters, lr=0.1)
    for i, row in enumerate(gradients):
        for parameter, g in zip(parameters, row, strict=True):
            parameter.grad = rg.tensor(g)
        if i == 1:
            parameters[1].grad = None
        optimizer.step()
    for i, parameter in enumerate(parameters):
        seen = [row[i] for n, row in enumerate(gradients) if (n, i) != (1, 1)]
        np.testing.assert_allclose(parameter.detach(), adam(starts[i], seen, lr=0.1), rtol=1e-10, atol=1e-12)
        assert optimizer.state[parameter]["step"].item() == len(seen)


@pytest.mark.parametrize(("name", "options"), [("SGD", {"lr": 0.1, "momentum": 0.9}), ("Adam", {"amsgrad": True}), ("AdamW", {})])
def test_a_run_resumed_from_its_state_is_the_same_run(name, options):
    starts, gradients = runs(np.float32, steps=10)
    whole, first, second = ([nn.Parameter(p.copy()) for p in starts] for _ in range(3))
    stepped(getattr(optim, name)(whole, **options), whole, gradients)
    optimizer = getattr(optim, name)(first, **options)
    stepped(optimizer, first, gradients[:5])
    state = optimizer.state_dict()
    for a, b in zip(second, first, strict=True):
        a.detach()[...] = b.detach()
    resumed = getattr(optim, name)(second, lr=123.0)
    resumed.load_state_dict(state)
    stepped(resumed, second, gradients[5:])
    for a, b in zip(second, whole, strict=True):
        np.testing.assert_array_equal(a.detach(), b.detach())


def test_the_state_has_the_form_of_pytorch():
    p = nn.Parameter(rg.ones(2))
    optimizer = optim.Adam([p])
    p.grad = rg.ones(2)
    optimizer.step()
    state = optimizer.state_dict()
    assert list(state["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    assert state["param_groups"][0]["params"] == [0]
    assert state["param_groups"][0]["betas"] == (0.9, 0.999)


def test_a_state_of_other_shapes_is_refused_and_changes_nothing():
    p, q = nn.Parameter(rg.ones(2)), nn.Parameter(rg.ones(3))
    one, other = optim.Adam([p]), optim.Adam([q], lr=7.0)
    p.grad, q.grad = rg.ones(2), rg.ones(3)
    one.step()
    with pytest.raises(rg.errors.CheckpointError, match="exp_avg has shape"):
        other.load_state_dict(one.state_dict())
    with pytest.raises(rg.errors.CheckpointError, match="groups of"):
        optim.Adam([p, q]).load_state_dict(one.state_dict())
    assert other.param_groups[0]["lr"] == 7.0
    assert not other.state


def test_groups_have_options_of_their_own():
    p, q = nn.Parameter(rg.ones(1)), nn.Parameter(rg.ones(1))
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.5}], lr=0.1)
    p.grad, q.grad = rg.ones(1), rg.ones(1)
    optimizer.step()
    np.testing.assert_allclose([p.item(), q.item()], [0.9, 0.5], rtol=1e-6)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "LBFGS"])
def test_named_parameters_are_kept_with_their_names(name):
    model = nn.Linear(2, 1)
    optimizer = getattr(optim, name)(model.named_parameters(), lr=0.01)

    def closure():
        optimizer.zero_grad()
        loss = (model(rg.ones(3, 2)) ** 2).sum()
        loss.backward()
        return loss

    before = closure().item()
    optimizer.step(closure)
    assert closure().item() != before
    (group,) = optimizer.state_dict()["param_groups"]
    assert group["param_names"] == ["weight", "bias"] and group["params"] == [0, 1]
    assert "param_names: ['weight', 'bias']" in repr(optimizer)


def test_names_are_saved_and_loaded_as_pytorch_does():
    model = nn.Linear(2, 1)
    named, bare = optim.SGD(model.named_parameters(), lr=0.1), optim.SGD(model.parameters(), lr=0.2)
    named.load_state_dict(bare.state_dict())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"] and named.param_groups[0]["lr"] == 0.2
    other = optim.SGD([("first", model.weight), ("second", model.bias)], lr=0.3)
    bare.load_state_dict(other.state_dict())
    assert bare.param_groups[0]["param_names"] == ["first", "second"] and bare.param_groups[0]["lr"] == 0.3


def test_groups_of_named_parameters_each_have_their_names():
    first, second = nn.Linear(2, 1), nn.Linear(1, 1)
    optimizer = optim.SGD([{"params": first.named_parameters()}, {"params": second.named_parameters("head"), "lr": 0.5}], lr=0.1)
    assert [group["param_names"] for group in optimizer.param_groups] == [["weight", "bias"], ["head.weight", "head.bias"]]
    optimizer.zero_grad()


def test_a_jitted_step_of_named_parameters_is_traced_once():
    rg.manual_seed(0)
    model = nn.Linear(2, 1)
    optimizer = optim.Adam(model.named_parameters(), lr=0.1)

    @rg.jit
    def step(x):
        optimizer.zero_grad()
        loss = (model(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        return loss

    losses = [step(rg.ones(3, 2)).item() for _ in range(3)]
    assert losses[2] < losses[0] and step.traces == 1


def test_a_step_records_nothing_and_momentum_grows_no_graph():
    p = nn.Parameter(rg.ones(3))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    for _ in range(3):
        optimizer.zero_grad()
        (p * p).sum().backward(create_graph=True)
        optimizer.step()
    assert p.is_leaf
    assert not optimizer.state[p]["momentum_buffer"].requires_grad


def test_a_graph_from_before_a_step_refuses_to_be_walked():
    p = nn.Parameter(rg.ones(3))
    y = (p * p).sum()
    p.grad = rg.ones(3)
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(rg.errors.InplaceError):
        y.backward()


def test_a_step_does_not_change_the_gradient():
    p = nn.Parameter(rg.ones(3))
    p.grad = rg.ones(3)
    optim.Adam([p], weight_decay=0.1, maximize=True).step()
    assert p.grad.tolist() == [1, 1, 1]


def test_a_closure_computes_the_loss_even_without_recording():
    p = nn.Parameter(rg.ones(1))
    optimizer = optim.SGD([p], lr=0.25)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with rg.no_grad():
        assert optimizer.step(closure).item() == 1
    assert p.item() == 0.5


def test_half_precision_parameters_are_updated():
    for dtype in (rg.float16, rg.bfloat16):
        p = nn.Parameter(rg.ones(4, dtype=dtype))
        p.grad = rg.ones(4, dtype=dtype)
        optim.SGD([p], lr=0.5, momentum=0.9).step()
        assert p.dtype == dtype
        assert p.tolist() == [0.5] * 4


@pytest.mark.parametrize(("make", "error", "told"), [
    (lambda p: optim.SGD([]), ValueError, "at least one"),
    (lambda p: optim.SGD(p), TypeError, "list"),
    (lambda p: optim.SGD([p, p]), ValueError, "twice"),
    (lambda p: optim.SGD([p * 2]), RuntimeError, "leaves"),
    (lambda p: optim.SGD([1.0]), TypeError, "tensors"),
    (lambda p: optim.SGD([p], lr=-1), ValueError, "lr must be"),
    (lambda p: optim.SGD([p], nesterov=True), ValueError, "nesterov"),
    (lambda p: optim.Adam([p], betas=(1.0, 0.9)), ValueError, "betas"),
    (lambda p: optim.Adam([{"params": [p], "momentun": 1}]), ValueError, "momentun"),
    (lambda p: optim.SGD(nn.Sequential(nn.Linear(1, 1))), TypeError, r"got Sequential; pass model.parameters\(\)"),
    (lambda p: optim.SGD({"p": p}), TypeError, r"got dict; pass model.parameters\(\)"),
    (lambda p: optim.SGD([("p", p), nn.Parameter(rg.ones(2))]), ValueError, "1 with a name and 1 without"),
    (lambda p: optim.SGD([{"params": [("p", p)]}, {"params": [nn.Parameter(rg.ones(2))]}]), ValueError, "all groups must have names"),
])
def test_mistakes_are_told(make, error, told):
    with pytest.raises(error, match=told):
        make(nn.Parameter(rg.ones(2)))


@pytest.mark.parametrize("options", [{}, {"lr": 0.1, "nesterov": False}, {"lr": 0.1, "momentum": 0.8, "adjust_lr_fn": "match_rms_adamw"}],
                         ids=str)
@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (8, 3)])
def test_steps_of_muon_are_polynomials_of_the_singular_values(shape, options):
    rng = np.random.default_rng(0)
    start, gradients = rng.standard_normal(shape), [rng.standard_normal(shape) for _ in range(8)]
    p = nn.Parameter(start.copy())
    stepped(optim.Muon([p], **options), [p], [[g] for g in gradients])
    np.testing.assert_allclose(p.detach(), muon(start, gradients, **options), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"lr": 0.1, "nesterov": False, "adjust_lr_fn": "match_rms_adamw"}], ids=str)
def test_steps_of_muon_are_those_of_torch_within_the_precision_of_bfloat16(options):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    rng = np.random.default_rng(0)
    start, gradients = np.float32(rng.standard_normal((8, 5))), [np.float32(rng.standard_normal((8, 5))) for _ in range(3)]
    ours, theirs = nn.Parameter(start.copy()), torch.nn.Parameter(torch.tensor(start))
    stepped(optim.Muon([ours], **options), [ours], [[g] for g in gradients])
    stepped(torch.optim.Muon([theirs], **options), [theirs], [[g] for g in gradients], torch.tensor)
    moved = theirs.detach().numpy() - start
    np.testing.assert_allclose(ours.detach().numpy() - start, moved, atol=0.03 * np.abs(moved).max())


def test_the_mean_of_asgd_is_in_its_state():
    starts, gradients = runs(np.float64, steps=20)
    parameters, options = [nn.Parameter(p.copy()) for p in starts], {"lr": 0.1, "lambd": 0.1, "t0": 4}
    optimizer = optim.ASGD(parameters, **options)
    stepped(optimizer, parameters, gradients)
    for i, parameter in enumerate(parameters):
        expected = asgd(starts[i], [row[i] for row in gradients], gives_mean=True, **options)
        np.testing.assert_allclose(optimizer.state[parameter]["ax"], expected, rtol=1e-10, atol=1e-12)
    assert list(optimizer.state_dict()["state"][0]) == ["step", "ax", "eta", "mu"]


def test_adafactor_keeps_rows_and_columns_alone_and_takes_them_up_again():
    p, q = nn.Parameter(rg.ones(2, 3, 4)), nn.Parameter(rg.ones(4))
    optimizer = optim.Adafactor([p, q])
    p.grad, q.grad = rg.ones(2, 3, 4), rg.ones(4)
    optimizer.step()
    state = optimizer.state_dict()
    shapes = [{name: tensor.shape for name, tensor in entries.items()} for entries in state["state"].values()]
    assert shapes == [{"step": (), "row_var": (2, 3, 1), "col_var": (2, 1, 4)}, {"step": (), "variance": (4,)}]
    again = optim.Adafactor([p, q], lr=5.0)
    again.load_state_dict(state)
    assert again.state[p]["row_var"].tolist() == optimizer.state[p]["row_var"].tolist() and again.param_groups[0]["lr"] == 1e-2
    state["state"][0]["row_var"] = rg.ones(2, 3, 4)
    with pytest.raises(rg.errors.CheckpointError, match="row_var has shape"):
        again.load_state_dict(state)


def test_arguments_that_choose_an_implementation_in_torch_change_nothing():
    p = nn.Parameter(rg.ones(2))
    optimizer = optim.Adam([{"params": [p], "foreach": True}], foreach=None, fused=True, capturable=False, differentiable=False)
    assert not optimizer.param_groups[0].keys() & {"foreach", "fused", "capturable", "differentiable"}
    state = optimizer.state_dict()
    state["param_groups"][0].update(foreach=None, fused=True, lr=0.5)
    optimizer.load_state_dict(state)
    assert "fused" not in optimizer.param_groups[0] and optimizer.param_groups[0]["lr"] == 0.5
    assert nn.utils.clip_grad_norm_([p], 1.0, foreach=True).item() == 0
    with pytest.raises(ValueError, match="differentiable must be False"):
        optim.SGD([p], differentiable=True)
    with pytest.raises(TypeError, match="SparseAdam has no argument weight_decay; it has params, lr, betas, eps, maximize"):
        optim.SparseAdam([rg.nn.Parameter(rg.ones(2))], weight_decay=0.1)
    with pytest.raises(TypeError, match="SGD has no argument nesterow"):
        optim.SGD([p], nesterow=True)
    with pytest.raises(TypeError, match="foreach must be None or a bool, got 3"):
        optim.ASGD([p], foreach=3)


def test_a_saved_state_without_an_option_that_is_new_takes_it_from_the_optimizer():
    p = nn.Parameter(rg.ones(2))
    optimizer = optim.AdamW([p], weight_decay=0.5)
    state = optimizer.state_dict()
    del state["param_groups"][0]["decoupled_weight_decay"]
    optimizer.load_state_dict(state)
    assert optimizer.param_groups[0]["decoupled_weight_decay"] is True and optimizer.param_groups[0]["weight_decay"] == 0.5


@pytest.mark.parametrize(("make", "told"), [
    (lambda p: optim.Adafactor([p], eps=1e-3), "eps must be two numbers"),
    (lambda p: optim.Adafactor([p], beta2_decay=0.5), "beta2_decay must be at most 0"),
    (lambda p: optim.Muon([p]), r"Muon updates matrices, got a parameter of shape \(2,\)"),
    (lambda p: optim.Muon([nn.Parameter(rg.ones(2, 2))], adjust_lr_fn="none"), "original, match_rms_adamw"),
    (lambda p: optim.ASGD([p], lambd=-1), "lambd must be"),
])
def test_wrong_options_of_the_newer_optimizers_are_told(make, told):
    with pytest.raises(ValueError, match=told):
        make(nn.Parameter(rg.ones(2)))


@pytest.mark.parametrize("compiled", [lambda f: f, rg.jit])
def test_hooks_are_called_around_steps(compiled):
    p, calls = rg.tensor([1.0, 2.0], requires_grad=True), []
    optimizer = optim.SGD([p], lr=1.0)

    def halve(found, args, kwargs):
        calls.append(("before", found is optimizer, args, kwargs))
        p.grad = p.grad / 2

    before = optimizer.register_step_pre_hook(halve)
    after = optimizer.register_step_post_hook(lambda found, args, kwargs: calls.append(("after", found is optimizer, args, kwargs)))

    def step():
        optimizer.zero_grad()
        (p * rg.tensor([2.0, 4.0])).sum().backward()
        optimizer.step()

    compiled(step)()
    assert p.tolist() == [0.0, 0.0]
    assert calls == [("before", True, (None,), {}), ("after", True, (None,), {})]
    before.remove()
    after.remove()
    step()
    assert p.tolist() == [-2.0, -4.0] and len(calls) == 2


def test_hook_before_a_step_may_replace_its_arguments():
    p = rg.tensor([3.0], requires_grad=True)
    optimizer = optim.LBFGS([p], lr=1.0)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    optimizer.register_step_pre_hook(lambda *_: ((closure,), {}))
    assert optimizer.step() == 9.0 and abs(p.item()) < 1e-3


@pytest.mark.parametrize("names", [("float32",), ("float32", "float64")], ids=["alike", "mixed"])
def test_what_an_optimizer_keeps_has_its_dtype_after_the_parameters_are_converted(names):
    """PyTorch's updates in place leave a momentum of single precision what it is."""
    parameters = [rg.nn.Parameter(rg.tensor([1.0, 2.0], dtype=name)) for name in names]
    optimizer = optim.SGD(parameters, lr=0.1, momentum=0.9)
    for _ in range(2):
        for p in parameters:
            p.grad = rg.ones_like(p)
        optimizer.step()
        for p in parameters:
            p.grad, p.data = None, p.data.astype(np.float64)
    assert [optimizer.state[p]["momentum_buffer"].dtype.name for p in parameters] == list(names)

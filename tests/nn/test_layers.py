import numpy as np
import pytest

import retrograde as rg
from retrograde import nn
from retrograde.nn import functional

LAYERS = [
    nn.ReLU(), nn.LeakyReLU(0.2), nn.ELU(0.5), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(), nn.SELU(), nn.Hardswish(),
    nn.Sigmoid(), nn.LogSigmoid(), nn.Tanh(), nn.Softplus(2.0), nn.Softplus(3.0, threshold=1.0), nn.Softmax(dim=1), nn.LogSoftmax(dim=0), nn.Identity(),
    nn.Flatten(),
]


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_layers_without_weights_have_right_derivatives(layer):
    x = np.random.default_rng(0).uniform(0.1, 2, (2, 3)) * np.array([[1, -1, 1]])
    rg.testing.check_gradients(layer, (x,), order=1)


@pytest.mark.parametrize("layer", LAYERS, ids=repr)
def test_layers_without_weights_agree_with_torch(layer):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    x = np.random.default_rng(0).standard_normal((4, 5))
    theirs = eval(f"torch.nn.{layer!r}", {"torch": torch})
    np.testing.assert_allclose(layer(rg.tensor(x)).numpy(), theirs(torch.tensor(x)).numpy(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 4, 3), (0, 3)])
def test_linear_takes_any_leading_axes(shape):
    layer = nn.Linear(3, 2)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(rg.tensor(x)).detach(), x @ w.T + b, rtol=1e-5, atol=1e-6)
    rg.testing.check_gradients(functional.linear, (x.astype(float), w.astype(float), b.astype(float)), order=2)


def test_linear_is_one_record():
    layer = nn.Linear(3, 2)
    assert layer(rg.ones(1, 3)).record.name == "linear"


def test_linear_without_bias_and_with_wrong_shapes():
    layer = nn.Linear(3, 2, bias=False)
    assert layer.bias is None
    with pytest.raises(ValueError, match="linear needs"):
        layer(rg.ones(1, 4))


def test_a_convolutional_net_learns():
    rg.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3, padding="same"), nn.ReLU(), nn.AvgPool2d(2), nn.MaxPool2d(2), nn.Flatten(),
                          nn.Linear(16, 2))
    x, y = rg.randn(8, 1, 8, 8), rg.tensor([0, 1] * 4)
    optimizer = rg.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05


def test_conv2d_refuses_groups_that_do_not_divide():
    with pytest.raises(ValueError, match="groups"):
        nn.Conv2d(3, 4, 3, groups=2)


def test_dropout_drops_the_given_share_only_while_training():
    rg.manual_seed(0)
    layer, x = nn.Dropout(0.1), rg.ones(100_000)
    dropped = layer(x).numpy()
    assert abs((dropped == 0).mean() - 0.1) < 0.01
    np.testing.assert_allclose(dropped[dropped != 0], 1 / 0.9, rtol=1e-6)
    assert layer.eval()(x) is x


def test_dropout_is_reproducible_from_the_seed():
    layer = nn.Dropout()
    runs = [(rg.manual_seed(3), layer(rg.ones(50)).tolist())[1] for _ in range(2)]
    assert runs[0] == runs[1]


def test_dropout2d_drops_whole_channels():
    rg.manual_seed(0)
    sums = nn.Dropout2d()(rg.ones(4, 8, 3, 3)).sum(axis=(2, 3)).numpy()
    assert set(np.unique(sums)) == {0.0, 18.0}


def test_softmax_takes_dim_or_axis():
    x = rg.tensor([[1.0, 2.0], [3.0, 5.0]])
    np.testing.assert_array_equal(functional.softmax(x, dim=0), functional.softmax(x, axis=0))
    np.testing.assert_array_equal(functional.log_softmax(x, 1), rg.log_softmax(x, axis=1))


LOSSES = [
    ("MSELoss", {}, "numbers"), ("L1Loss", {"reduction": "sum"}, "numbers"), ("HuberLoss", {"delta": 0.5}, "numbers"),
    ("SmoothL1Loss", {"beta": 0.5}, "numbers"), ("CrossEntropyLoss", {"label_smoothing": 0.1}, "classes"),
    ("CrossEntropyLoss", {"weight": np.array([1.0, 2.0, 0.5]), "reduction": "none"}, "classes"),
    ("NLLLoss", {"ignore_index": 1}, "classes"),
    ("KLDivLoss", {"reduction": "batchmean"}, "chances"),
    ("KLDivLoss", {"reduction": "sum", "log_target": True}, "numbers"), ("BCEWithLogitsLoss", {"pos_weight": np.array([1.0, 2.0, 3.0])}, "chances"),
]


@pytest.mark.parametrize(("name", "options", "kind"), LOSSES)
def test_losses_agree_with_torch(name, options, kind):
    torch = pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3))
    y = {"numbers": rng.standard_normal((4, 3)), "classes": np.array([0, 2, 1, 0]), "chances": rng.uniform(size=(4, 3))}[kind]
    theirs = getattr(torch.nn, name)(**{k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()})
    expected = theirs(torch.tensor(x), torch.tensor(y)).numpy()
    np.testing.assert_allclose(getattr(nn, name)(**options)(rg.tensor(x), rg.tensor(y)), expected, rtol=1e-6)


def test_the_divergence_is_that_of_scipy_and_has_right_derivatives():
    special = pytest.importorskip("scipy.special", reason="SciPy comes with the extra `scipy`")
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(4), 3)
    p[0, 1] = 0.0
    expected = special.rel_entr(p, q).sum() / 3
    np.testing.assert_allclose(functional.kl_div(np.log(q), p, reduction="batchmean"), expected, rtol=1e-12)
    np.testing.assert_allclose(nn.KLDivLoss("batchmean", log_target=True)(np.log(q), np.log(p + 1e-300)), expected, rtol=1e-12)
    np.testing.assert_allclose(nn.KLDivLoss(reduction="mean")(np.log(q), p), expected / 4, rtol=1e-12)
    rg.testing.check_gradients(lambda x, y: functional.kl_div(x, y, reduction="sum"), (np.log(q), q[::-1].copy()), order=2)


def test_gumbel_softmax_takes_dim_or_axis():
    rg.manual_seed(0)
    one = functional.gumbel_softmax(rg.zeros(3, 5), tau=0.5, hard=True, dim=0)
    rg.manual_seed(0)
    np.testing.assert_array_equal(one, functional.gumbel_softmax(rg.zeros(3, 5), 0.5, True, axis=0))
    np.testing.assert_allclose(one.sum(axis=0), np.ones(5), rtol=1e-6)


def test_weights_of_a_loss_are_part_of_the_state_as_in_pytorch():
    loss = nn.CrossEntropyLoss(weight=rg.ones(3))
    assert list(loss.state_dict()) == ["weight"] and not nn.CrossEntropyLoss().state_dict()
    loss.load_state_dict({"weight": np.array([1.0, 2.0, 3.0])})
    assert loss.weight.tolist() == [1.0, 2.0, 3.0]

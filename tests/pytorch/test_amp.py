"""Autocast computes each op in the dtype that PyTorch's does on a CPU, and GradScaler scales and steps as PyTorch's."""

import numpy as np
import pytest

import retrograde.torch as ours
from retrograde.errors import ArgumentError, DTypeError

nn, F = ours.nn, ours.nn.functional

#: Calls of `x` (2, 1, 4, 4), of its matrix `m`, of labels `i`, in either library, and the dtype that PyTorch computes them in.
DTYPES = {
    "m @ m": "bfloat16", "torch.mm(m, m)": "bfloat16", "m.matmul(m[0])": "bfloat16", "torch.bmm(x[0], x[0])": "bfloat16",
    "torch.addmm(m, m, m)": "bfloat16", "torch.einsum('ij,jk->ik', m, m)": "bfloat16", "F.linear(m, m)": "bfloat16",
    "F.linear(m, m, m[0])": "bfloat16", "F.conv2d(x, x)": "bfloat16", "F.conv1d(x[0], x[0, :, :, :1])": "bfloat16",
    "F.conv_transpose2d(x, x[:1])": "bfloat16", "F.scaled_dot_product_attention(x, x, x)": "bfloat16", "m.double() @ m.double()": "float64",
    "F.mse_loss(h, h)": "float32", "F.l1_loss(h, h)": "float32", "F.cross_entropy(h, i)": "float32", "F.nll_loss(h, i)": "float32",
    "F.huber_loss(h, h)": "float32", "F.smooth_l1_loss(h, h)": "float32", "F.binary_cross_entropy_with_logits(h, h)": "float32",
    "h.prod()": "float32", "h.softmax(1)": "bfloat16", "F.layer_norm(h, (4,))": "bfloat16", "F.relu(h)": "bfloat16",
    "F.kl_div(h, h, reduction='batchmean')": "float32", "nn.KLDivLoss(reduction='sum')(h, h)": "float32", "F.cosine_embedding_loss(h, h, i)": "float32",
    "F.hinge_embedding_loss(h, h)": "float32", "F.margin_ranking_loss(h[0], h[1], h[0])": "float32", "F.poisson_nll_loss(h, h)": "float32",
    "F.soft_margin_loss(h, h)": "float32", "F.triplet_margin_loss(h, h, h)": "float32", "nn.TripletMarginLoss()(h, h, h)": "float32",
    "F.multi_margin_loss(h, i)": "float32", "F.multilabel_margin_loss(h, i.expand(4, 4))": "float32", "F.gaussian_nll_loss(h, h, h)": "bfloat16",
    "F.ctc_loss(h[:, None], i[None, 1:3], i[3:] + 1, i[2:3])": "float32", "F.multilabel_soft_margin_loss(h, h)": "bfloat16",
    "F.grid_sample(x.bfloat16(), x[:, 0, :, :2, None].expand(2, 4, 2, 2).bfloat16(), align_corners=False)": "float32", "h.trace()": "float32",
    "F.max_pool3d(x.bfloat16()[None], 1)": "float32", "F.adaptive_avg_pool3d(x.bfloat16()[None], 1)": "float32", "F.pad(h, (1, 1), mode='reflect')": "float32",
    "F.pad(h, (1, 1))": "bfloat16", "F.pad(h, (1, 1), mode='circular')": "bfloat16", "F.conv_transpose2d(x, x[:1], m[0, :1])": "bfloat16",
    "F.prelu(x, m[0, :1])": "bfloat16", "m.mv(m[0])": "float32", "torch.addmv(m[0], m, m[0])": "float32", "torch.linalg.vecdot(m, m)": "bfloat16",
    "torch.einsum('i,j->ij', m[0], m[0])": "float32", "torch.einsum('ij->i', m)": "float32", "torch.dot(m[0], m[0])": "float32", "torch.linalg.lstsq(m, m).solution": "float32",
    "F.rrelu(h, training=True)": "bfloat16", "torch.normal(h, 1.0)": "bfloat16",
    "h + m": "float32", "torch.cat([h, m])": "float32", "h.sum()": "bfloat16",
}


def _dtype(torch, call):
    x = torch.ones(2, 1, 4, 4)
    with torch.autocast("cpu"):
        found = eval(call, {"torch": torch, "F": torch.nn.functional, "nn": torch.nn, "x": x, "m": x[0, 0], "h": x[0, 0].to(torch.bfloat16),
                            "i": torch.tensor([0, 1, 2, 3])})
    return str(found.dtype).removeprefix("torch.")


@pytest.mark.parametrize(("call", "dtype"), DTYPES.items())
def test_a_call_has_the_dtype_of_pytorchs_list(call, dtype):
    assert _dtype(ours, call) == dtype


def test_the_dtypes_are_those_of_pytorch():
    theirs = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
    assert {call: _dtype(theirs, call) for call in DTYPES} == DTYPES


def test_autocast_nests_decorates_and_ends_on_errors():
    x = ours.ones(2, 2)

    @ours.autocast("cpu", dtype=ours.float16)
    def f():
        return (x @ x).dtype, ours.is_autocast_enabled(), ours.get_autocast_dtype("cpu")

    assert f() == (ours.float16, True, ours.float16) and (x @ x).dtype == ours.float32
    with pytest.raises(ZeroDivisionError), ours.autocast("cpu"):
        with ours.autocast("cpu", enabled=False):
            assert (x @ x).dtype == ours.float32 and not ours.is_autocast_enabled()
        with ours.no_grad(), ours.cpu.amp.autocast():
            assert (x @ x).dtype == ours.bfloat16
        raise ZeroDivisionError
    assert (x @ x).dtype == ours.float32 and not ours.is_autocast_enabled()
    with ours.autocast("cuda"):
        assert (x @ x).dtype == ours.float32


def test_gradients_have_the_dtype_of_the_parameters_also_where_the_walk_is_within():
    layer, x = nn.Linear(3, 2), ours.randn(4, 3)
    slopes = []
    for is_within in (False, True):
        layer.zero_grad()
        with ours.autocast("cpu"):
            loss = F.mse_loss(layer(x), ours.ones(4, 2))
            if is_within:
                loss.backward()
        if not is_within:
            loss.backward()
        slopes.append(layer.weight.grad.numpy().copy())
    assert slopes[0].dtype == np.float32 and (slopes[0] == slopes[1]).all()


def test_what_is_computed_again_for_its_derivative_is_computed_in_the_same_dtype():
    w, x = ours.randn(3, 3, requires_grad=True), ours.randn(2, 3)
    seen = []

    def f(x):
        y = x @ w
        seen.append(y.dtype)
        return y.float().sin()

    with ours.autocast("cpu"):
        loss = ours.utils.checkpoint.checkpoint(f, x, use_reentrant=False).sum()
    loss.backward()
    assert seen == [ours.bfloat16, ours.bfloat16]


def test_compiled_functions_follow_autocast_around_them_and_within():
    x = ours.randn(3, 3)
    plain = ours.compile(lambda x: x @ x, fullgraph=True)

    @ours.compile(fullgraph=True)
    def within(x):
        with ours.autocast("cpu"):
            return x @ x

    assert plain(x).dtype == ours.float32
    with ours.autocast("cpu"):
        assert plain(x).dtype == ours.bfloat16
    assert plain(x).dtype == ours.float32 and within(x).dtype == ours.bfloat16 and within(x).dtype == ours.bfloat16


def test_a_scaler_leaves_out_steps_with_infinite_gradients():
    p = nn.Parameter(ours.tensor([1.0, 2.0]))
    optimizer, scaler = ours.optim.SGD([p], lr=0.5), ours.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scaler.scale((p * ours.tensor([1.0, 2.0])).sum()).backward()
    assert p.grad.tolist() == [8, 16]
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [1, 2]
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 1.0] and scaler.get_scale() == 8
    p.grad = ours.tensor([float("inf"), 1.0])
    scaler.step(optimizer)
    scaler.update()
    assert p.tolist() == [0.5, 1.0] and scaler.get_scale() == 4
    for _ in range(2):
        p.grad = ours.zeros(2)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 8
    other = ours.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    with pytest.raises(ArgumentError, match="update"):
        scaler.update()


def test_a_scaler_for_a_device_that_is_not_there_does_nothing():
    scaler, loss = ours.cuda.amp.GradScaler(), ours.ones(())
    assert scaler.scale(loss) is loss and not scaler.is_enabled() and scaler.state_dict() == {} and scaler.get_scale() == 1.0


def test_wrong_arguments_are_told():
    with pytest.raises(DTypeError, match="bfloat16"):
        ours.autocast("cpu", dtype=ours.float64)
    with pytest.raises(ArgumentError, match="device_type"):
        ours.autocast("cpus")

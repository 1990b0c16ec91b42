"""What PyTorch's programs take for granted, with fixed numbers: these need no PyTorch."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import retrograde as rg
from retrograde import torch
from retrograde.errors import ArgumentError, DeviceError, DTypeError, GraphError, InplaceError, OutOfRangeError
from retrograde.torch.absent import absent_from

nn, F = torch.nn, torch.nn.functional


def test_spreads_are_unbiased():
    x = torch.tensor([1.0, 2.0, 4.0])
    assert round(x.var().item(), 5) == 2.33333 and round(x.var(unbiased=False).item(), 5) == 1.55556
    assert x.std().item() == x.var().sqrt().item() == torch.std(x, 0).item()


def test_an_integer_tensor_times_a_float_has_the_default_dtype():
    assert (torch.arange(3) * 0.5).dtype == torch.float32 == (torch.arange(3) / 2).dtype
    torch.set_default_dtype(torch.float64)
    try:
        assert (torch.arange(3) * 0.5).dtype == torch.float64 == torch.tensor([1.0]).dtype == torch.zeros(1).dtype
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(("one", "other", "wanted"), [
    ("int64", "float32", "float32"), ("int32", "int64", "int64"), ("bool", "uint8", "uint8"), ("uint8", "int8", "int16"),
    ("float16", "float32", "float32"), ("bfloat16", "float16", "float32"), ("int64", "float16", "float16"), ("float64", "complex64", "complex128"),
])
def test_tensors_promote_by_category(one, other, wanted):
    x, y = torch.ones(2, dtype=one), torch.ones(2, dtype=other)
    assert (x + y).dtype == (y + x).dtype == wanted == torch.promote_types(x.dtype, y.dtype)


@pytest.mark.parametrize(("one", "other", "wanted"), [
    ("float32", "float64", "float32"), ("int32", "int64", "int32"), ("int64", "float64", "float64"), ("float16", "int64", "float16"),
])
def test_a_tensor_without_axes_promotes_to_another_category_only(one, other, wanted):
    assert (torch.ones(2, dtype=one) * torch.tensor(2, dtype=other)).dtype == wanted


def test_numbers_of_numpy_do_not_promote():
    x = torch.ones(2)
    assert (np.float64(0.5) * x).dtype == (x * np.float64(0.5)).dtype == (x + np.int64(1)).dtype == torch.float32
    assert type(np.sqrt(2.0) * x) is torch.Tensor


def test_two_results_have_names():
    values, indices = torch.tensor([[1.0, 5.0], [4.0, 2.0]]).max(1)
    assert (values.tolist(), indices.tolist()) == ([5.0, 4.0], [1, 0])
    assert torch.tensor([3, 1, 2]).sort().indices.tolist() == [1, 2, 0]
    assert torch.tensor([3, 1, 2]).median().item() == 2 and torch.tensor([4.0, 1.0, 2.0, 3.0]).median().item() == 2
    assert torch.tensor([3, 1, 3]).mode().values.item() == 3
    assert torch.return_types.max._fields == ("values", "indices")


def test_shapes_are_pytorchs():
    x = torch.zeros(2, 3)
    assert x.size() == x.shape == (2, 3) and x.size(-1) == 3 and x.shape.numel() == 6 and repr(x.shape) == "torch.Size([2, 3])"
    assert isinstance(x.shape[:1], torch.Size) and x.repeat(2, 1).shape == (4, 3) and x.repeat(4, 1, 1).shape == (4, 2, 3)
    assert [p.shape for p in torch.arange(5).split(2)] == [(2,), (2,), (1,)]
    assert [len(p) for p in torch.arange(7).chunk(3)] == [3, 3, 1]


def test_a_tensor_of_rg_and_one_of_torch_are_of_one_graph_and_one_memory():
    x = rg.tensor([1.0, 2.0], requires_grad=True)
    y = torch.as_tensor(x)
    z = (y * y).sum() + rg.sin(x).sum()
    assert type(y) is type(z) is torch.Tensor and y.numpy(force=True) is not None
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.array([1.0, 2.0]) + np.cos([1.0, 2.0]), 1e-6)
    assert type(x.grad) is rg.Tensor
    array = np.zeros(3)
    torch.from_numpy(array).add_(1)
    assert array.tolist() == [1, 1, 1] and np.shares_memory(torch.from_numpy(array).numpy(), array)


def test_data_is_a_tensor_of_the_same_memory_outside_of_the_graph():
    p = nn.Parameter(torch.ones(2))
    p.data.mul_(3).add_(1)
    assert p.tolist() == [4, 4] and not p.data.requires_grad and type(p.data) is torch.Tensor
    p.data = torch.zeros(2)
    assert p.tolist() == [0, 0] and p.requires_grad
    x = (p * 2).data
    x.zero_()
    assert x.is_leaf


def test_writing_in_place_is_recorded_and_checked():
    x = torch.ones(3, requires_grad=True)
    y = (x * 2).mul_(x).clamp_(max=10.0)
    y.sum().backward()
    assert x.grad.tolist() == [4, 4, 4]
    with pytest.raises(InplaceError):
        x.add_(1)
    with torch.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 2, 2]
    with pytest.raises(DTypeError, match="add_ in place must keep the dtype int64"):
        torch.arange(3).add_(0.5)


def test_a_view_is_written_through():
    x = torch.zeros(2, 3)
    x[0].fill_(1)
    x.t()[2] += 5
    x.view(-1)[:1].mul_(7)
    assert x.tolist() == [[7, 1, 6], [0, 0, 5]]


@pytest.mark.parametrize(("text", "make"), [
    ("tensor([1.0000, 2.5000])", lambda: torch.tensor([1, 2.5])),
    ("tensor([1., 2.])", lambda: torch.tensor([1.0, 2.0])),
    ("tensor([1., 2.], dtype=torch.float64)", lambda: torch.tensor([1.0, 2.0], dtype=torch.double)),
    ("tensor([[1, 2],\n        [3, 4]])", lambda: torch.tensor([[1, 2], [3, 4]])),
    ("tensor([ True, False])", lambda: torch.tensor([True, False])),
    ("tensor(1.5000, requires_grad=True)", lambda: torch.tensor(1.5, requires_grad=True)),
    ("tensor([1.0000e-05, 1.0000e+03])", lambda: torch.tensor([1e-5, 1000.0])),
    ("tensor([nan, inf, 1.])", lambda: torch.tensor([float("nan"), float("inf"), 1.0])),
    ("tensor([   0,    1,    2,  ..., 1997, 1998, 1999])", lambda: torch.arange(2000)),
    ("tensor([], size=(2, 0))", lambda: torch.zeros(2, 0)),
    ("tensor([-1.0000,  0.5000])", lambda: torch.tensor([-1, 0.5])),
    ("tensor([1], dtype=torch.int32)", lambda: torch.tensor([1], dtype=torch.int)),
    ("Parameter containing:\ntensor([1.], requires_grad=True)", lambda: nn.Parameter(torch.ones(1))),
    ("torch.return_types.max(\nvalues=tensor([2]),\nindices=tensor([0]))", lambda: torch.tensor([[2]]).max(1)),
])
def test_tensors_are_printed_as_pytorch_prints_them(text, make):
    assert repr(make()) == str(make()) == text


def test_types_are_named():
    assert torch.float is torch.float32 and torch.long is torch.int64 and torch.half is torch.float16 and torch.double is torch.float64
    x = torch.ones(2)
    assert x.type() == "torch.FloatTensor" and isinstance(x, torch.FloatTensor) and x.long().dtype == torch.long
    assert torch.LongTensor([1, 2]).tolist() == [1, 2] and torch.FloatTensor(2, 3).shape == (2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor(np.ones(1)) and isinstance(x, rg.Tensor)


def test_there_is_one_device():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert device == torch.device("cpu") == "cpu" and device.type == "cpu" and torch.zeros(1, device=device).device == device
    assert repr(device) == "device(type='cpu')" and repr(torch.device("cuda", 1)) == "device(type='cuda', index=1)" and not torch.accelerator.is_available() and not torch.backends.mps.is_available()
    for call in (lambda: torch.zeros(1).cuda(), lambda: torch.zeros(1, device="cuda"), lambda: torch.zeros(1).to("mps")):
        with pytest.raises(DeviceError, match="computes on the CPU"):
            call()


@pytest.mark.parametrize(("name", "hint"), [("torch.catt", "torch.cat"), ("torch.nn.Linaer", "torch.nn.Linear"), ("torch.hub", "safetensors"),
                                            ("torch.nn.functional.reluu", "relu"), ("torch.linalg.cholesk", "cholesky")])
def test_a_name_that_is_missing_says_what_to_use(name, hint):
    with pytest.raises(AttributeError, match=hint):
        eval(name)


def test_gradients_are_asked_for_as_in_pytorch():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [6, 6] and type(g) is torch.Tensor
    with pytest.raises(GraphError, match="allow_unused"):
        torch.autograd.grad(x.sum(), (x, y))
    assert torch.autograd.grad(x.sum(), (x, y), allow_unused=True)[1] is None
    assert torch.autograd.grad(x.sum(), (x, y), materialize_grads=True)[1].tolist() == [0, 0]
    assert torch.autograd.gradcheck(lambda x: x.sin() * x.var(), (torch.ones(3, dtype=torch.double, requires_grad=True) * 1,))
    assert x.grad is None


def test_a_function_of_a_users_own_is_called_with_tensors_of_torch():
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            ctx.save_for_backward(x)
            ctx.factor = factor
            return x.pow(2) * factor

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            seen.append((type(grad_output), type(x), x.size(0)))
            return grad_output * 2 * x * ctx.factor, None

    x = torch.tensor([1.0, 3.0], requires_grad=True)
    Square.apply(x, 2.0).sum().backward()
    assert x.grad.tolist() == [4, 12] and seen == [(torch.Tensor, torch.Tensor, 2)]


def test_transforms_of_functions_hand_on_pytorchs_meaning():
    x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
    assert torch.vmap(lambda row: row.var())(x).tolist() == [0.5, 2.0]
    assert torch.func.vmap(lambda row: row.max(0).values, in_dims=1)(x).tolist() == [3.0, 5.0]
    assert torch.func.grad(lambda x: x.repeat(2, 1).sum())(x[0]).tolist() == [2.0, 2.0]
    gradient, value = torch.func.grad_and_value(lambda x: (x * x).sum())(x[0])
    assert gradient.tolist() == [2.0, 4.0] and value.item() == 5.0
    model = nn.Linear(2, 1, bias=False)
    weights = {"weight": torch.ones(1, 2)}
    assert torch.func.functional_call(model, weights, (x,)).tolist() == [[3.0], [8.0]]
    per_sample = torch.vmap(torch.func.grad(lambda w, row: torch.func.functional_call(model, w, (row,)).sum()), in_dims=(None, 0))(weights, x)
    assert per_sample["weight"].shape == (2, 1, 2) and type(per_sample["weight"]) is torch.Tensor


def test_modules_are_pytorchs_to_the_last():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.LazyLinear(2))
            self.attention = nn.TransformerEncoderLayer(4, 2)
            self.w = nn.Parameter(torch.randn(3))
            self.register_buffer("b", torch.zeros(1))

    net = Net()
    net.body(torch.ones(2, 3))
    assert all(isinstance(m, nn.Module) for m in net.modules()) and isinstance(net.body[2], nn.Linear)
    assert {type(p) for p in net.parameters()} == {nn.Parameter} and {type(b) for b in net.buffers()} == {torch.Tensor}
    assert sum(p.numel() for p in net.parameters() if p.requires_grad) == sum(p.size().numel() for p in net.parameters())
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net.body))):
        assert {type(p) for p in again.parameters()} == {nn.Parameter}
    assert net.body[1].running_mean.size(0) == 4 and issubclass(nn.Linear, nn.Module) and issubclass(nn.Linear, rg.nn.Linear)


def test_a_module_of_rg_that_is_put_into_one_of_torch_becomes_one():
    model = nn.Sequential(rg.nn.Linear(2, 1))
    weight = model[0].weight
    assert type(model[0]) is nn.Linear and type(weight) is nn.Parameter and weight.size(1) == 2


def test_what_is_random_follows_the_seed():
    torch.manual_seed(3)
    first = torch.rand(2), torch.randn(2), torch.randint(0, 9, (3,)), torch.randperm(5), torch.empty(3).normal_(), torch.empty(3).uniform_(-1, 1)
    torch.manual_seed(3)
    again = torch.rand(2), torch.randn(2), torch.randint(0, 9, (3,)), torch.randperm(5), torch.empty(3).normal_(), torch.empty(3).uniform_(-1, 1)
    assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True)) and -1 <= again[-1].min() <= again[-1].max() <= 1
    counts = torch.multinomial(torch.tensor([1.0, 3.0]), 4000, replacement=True).bincount()
    assert abs(counts[1].item() / 4000 - 0.75) < 0.03
    assert sorted(torch.multinomial(torch.ones(5), 5).tolist()) == [0, 1, 2, 3, 4]
    with torch.random.fork_rng():
        torch.rand(3)
    assert torch.Generator().manual_seed(7) is not None


def test_bad_arguments_are_told():
    for call, kind, words in (
        (lambda: torch.sin(np.ones(2)), DTypeError, "torch.from_numpy"), (lambda: torch.sin(1.0), DTypeError, "torch.tensor"),
        (lambda: torch.ones(2).sum(out=None), ArgumentError, "takes no out="), (lambda: torch.ones(2).sum(dims=0), TypeError, "dims"),
        (lambda: torch.ones(3).repeat(), ValueError, "repeat needs a number for each"),
        (lambda: torch.ones(2, 2).gather(0, torch.ones(2, 2)), DTypeError, "integers"),
        (lambda: torch.cat([]), ArgumentError, "empty list"), (lambda: torch.ones(2).resize_(3), AttributeError, "torch.Tensor.resize_ is not"),
        (lambda: rg.ones(3).var(unbiased=False), TypeError, "correction="),
    ):
        with pytest.raises(kind, match=words):
            call()


def test_importing_retrograde_does_not_load_it():
    code = "import sys, retrograde; sys.exit('retrograde.torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


#: Modules that a program of PyTorch's reads of others without importing them by name.
MODULES = """amp autograd.functional backends.cudnn cuda.amp distributions.transforms fft func jit linalg nn.functional nn.init nn.parallel
nn.utils.clip_grad nn.utils.parametrizations nn.utils.parametrize nn.utils.prune nn.utils.rnn optim.lr_scheduler optim.swa_utils
serialization sparse special utils.checkpoint utils.data"""


def test_modules_are_attributes_of_those_that_they_are_in():
    program = f"import retrograde.torch as torch; from operator import attrgetter; attrgetter(*{MODULES.split()})(torch)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_names_like_an_absent_one_are_looked_for_only_when_the_error_is_read():
    looked = []
    missing = absent_from("torch.special", lambda: looked.append(1) or ["erfinv"])
    with pytest.raises(AttributeError) as caught:
        missing("erfinw")
    assert not looked and caught.value.name == "erfinw"
    assert str(caught.value) == "torch.special.erfinw is not among what retrograde.torch has; did you mean torch.special.erfinv?"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_images_of_bytes_are_resampled_to_the_nearest_bytes():
    x = torch.tensor([[[[0, 100], [201, 255]]]], dtype=torch.uint8)
    found = F.interpolate(x, scale_factor=2, mode="bilinear")
    wanted = F.interpolate(x.float(), scale_factor=2, mode="bilinear")
    assert found.dtype == torch.uint8 and wanted.max() > 200 and abs(found.float() - wanted).max() <= 0.5


def test_means_of_integers_at_positions_are_rounded_down():
    x, index, source = torch.tensor([2**60 + 1, -5, 7]), torch.tensor([1, 1, 0]), torch.tensor([-2, 0, 3])
    assert x.scatter_reduce(0, index, source, "mean").tolist() == [2**59 + 2, -3, 7]
    assert x.scatter_reduce(0, index, source, "mean", include_self=False).tolist() == [3, -1, 7]


def test_integers_are_counted_from_bounds_without_their_fractions():
    assert torch.arange(0.1, -7.9, -4.0, dtype=torch.int64).tolist() == [0, -4]
    assert torch.arange(1.0, 5.000001, 2.0, dtype=torch.int64).tolist() == [1, 3]


def test_counts_have_a_loss_of_the_default_dtype():
    assert F.poisson_nll_loss(torch.zeros(3), torch.tensor([1, 2, 3])).dtype == torch.float32
    assert F.tanhshrink(torch.tensor([1, 2], dtype=torch.uint8)).dtype == torch.float32


def test_an_ellipsis_that_a_contraction_leaves_out_is_summed_over_also_if_it_stands_for_no_axis():
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert torch.einsum("...ij->i", x).tolist() == [3.0, 7.0]
    assert torch.einsum("...ij->i", torch.stack([x, x])).tolist() == [6.0, 14.0]
    assert torch.einsum("...ij->...i", x).tolist() == [3.0, 7.0]
    assert torch.einsum("...ij, jk -> ik", x, x).tolist() == (x @ x).tolist()
    assert torch.einsum("...->", torch.tensor(2.0)).item() == 2.0


def test_small_integers_have_the_dtypes_of_pytorch():
    x = torch.tensor([[1, 2], [200, 4]], dtype=torch.uint8)
    assert [f(dtype=torch.uint8).tolist() for f in (x.sum, x.prod)] == [207, 64]
    assert x.cumprod(0, dtype=torch.uint8).dtype == x.prod(dtype=torch.uint8).dtype == x.all().dtype == x.any(1).dtype == torch.uint8
    assert x.bool().all().dtype == x.sum(dtype=torch.bool).dtype == torch.bool
    assert x.sum_to_size(1, 2).dtype == x.bool().sum_to_size(2).dtype == torch.linalg.vander(x).dtype == torch.int64
    assert x.bool().sum_to_size(2).tolist() == [2, 2] and x.sum_to_size(2, 2).dtype == torch.uint8
    assert torch.einsum("ij->", [x]).item() == 207 and torch.einsum("ij,ij->", x, torch.ones_like(x)).dtype == torch.uint8
    assert torch.einsum("ij->", x.repeat(2, 2)).item() == 828 and torch.einsum("ii", torch.eye(3).bool()).item() == 3
    assert torch.einsum("ij->ji", x).dtype == torch.masked.cumsum(x, 0).dtype == torch.uint8


def test_factors_pools_and_bounds_of_integers_are_integers():
    x, v = torch.tensor([[1, 2], [200, 4]]), torch.ones(2, dtype=torch.int64)
    assert torch.addmv(v, x, v, beta=0.2, alpha=1.6).tolist() == [3, 204]
    assert torch.addbmm(v.byte().repeat(2, 1), torch.ones(1, 2, 2).byte(), torch.ones(1, 2, 2).byte()).dtype == torch.uint8
    assert F.avg_pool2d(-x[None], 2).tolist() == [[[-51]]] and F.hardtanh(x).dtype == torch.int64
    assert F.margin_ranking_loss(x, x + 1, torch.ones_like(x)).dtype == F.pairwise_distance(x, x).dtype == torch.float32


def test_ranges_of_integers_are_those_of_pytorch_or_errors():
    assert torch.arange(-4, 3, 2, dtype=torch.uint8).tolist() == [252, 254, 0, 2]
    assert torch.arange(-0.5, 5.5, 1, dtype=torch.uint8).tolist() == [0, 1, 2, 3, 4, 5] and torch.full_like(torch.ones(1).byte(), -1).item() == 255
    for wrong in (lambda: torch.arange(0, 3.9, 0.9, dtype=torch.int64), lambda: torch.arange(3, 0), lambda: torch.arange(0.0, 3.0, -1.0)):
        with pytest.raises(ArgumentError, match="arange needs a step"):
            wrong()
    with pytest.raises(OutOfRangeError, match="bounds from 0 to 255"):
        torch.linspace(0, 300, 4, dtype=torch.uint8)


def test_trapezoids_of_bytes_do_not_wrap():
    x = torch.tensor([[1, 2], [200, 4]], dtype=torch.uint8)
    assert torch.trapezoid(x, x).tolist() == [1.5, -19992.0]

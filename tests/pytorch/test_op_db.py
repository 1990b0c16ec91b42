"""PyTorch's own samples of the ops that programs use most agree with ours, in value and gradient; the survey tells what does not."""

import warnings

import pytest

torch = pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")

from tests.suites import torch_door

#: The ops that PyTorch's examples and tutorials call most.
COMMON = """add sub mul div pow neg abs exp log sqrt rsqrt sin cos tanh sigmoid clamp maximum minimum where eq ne lt gt ge le sum mean prod var std
max.reduction_with_dim min.reduction_with_dim amax argmax argmin all any cumsum norm logsumexp softmax log_softmax matmul mm bmm mv dot addmm
baddbmm einsum outer cat stack split chunk unbind view reshape permute transpose t squeeze unsqueeze flatten expand expand_as repeat
repeat_interleave flip roll tril triu diagonal gather scatter scatter_add index_select index_add index_fill masked_fill masked_select
__getitem__ take_along_dim topk sort argsort unique nonzero bincount searchsorted zeros_like ones_like full_like arange linspace
nn.functional.relu nn.functional.gelu nn.functional.silu nn.functional.elu nn.functional.leaky_relu nn.functional.softplus nn.functional.linear
nn.functional.embedding nn.functional.conv1d nn.functional.conv2d nn.functional.conv_transpose2d nn.functional.max_pool2d
nn.functional.avg_pool2d nn.functional.adaptive_avg_pool2d nn.functional.batch_norm nn.functional.layer_norm nn.functional.group_norm
nn.functional.interpolate nn.functional.pad nn.functional.cross_entropy nn.functional.nll_loss nn.functional.mse_loss
nn.functional.binary_cross_entropy nn.functional.binary_cross_entropy_with_logits nn.functional.l1_loss nn.functional.smooth_l1_loss
nn.functional.kl_div nn.functional.cosine_similarity nn.functional.scaled_dot_product_attention nn.functional.one_hot""".split()

def infos(name):
    op, _, variant = name.rpartition(".") if ".reduction" in name else (name, "", "")
    return [info for info in invocations.op_db if info.name == op and (not variant or info.variant_test_name == variant)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", COMMON)
def test_every_sample_of_a_common_op_agrees(name):
    found = infos(name)
    assert found
    rows = torch_door.surveyed(found, [torch.float32], most=8) or torch_door.surveyed(found, [torch.int64], most=8)
    assert rows and not [row for row in rows if row[2] != torch_door.AGREES]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "wrong", "told"), [
    ("add", lambda x, y, alpha=1: x + alpha * y * 1.01, "values"), ("exp", lambda x: x.exp().detach(), "no gradient"),
    ("sum", lambda x, *args, **kwargs: x.double().sum(*args, **kwargs), "dtype float64"),
    ("tanh", lambda x: x.tanh() + (x - x.detach()), "gradient"), ("t", lambda x: x, "shape")])
def test_the_survey_finds_what_is_wrong(monkeypatch, name, wrong, told):
    monkeypatch.setattr(torch_door, "counterpart", lambda op: wrong)
    rows = torch_door.surveyed(infos(name), [torch.float32], most=4)
    assert any(state == torch_door.DIFFERS and said.startswith(told) for _, _, state, said, _ in rows)


def test_an_error_that_says_nothing_is_no_refusal(monkeypatch):
    monkeypatch.setattr(torch_door, "counterpart", lambda op: lambda *_: [][0])
    assert {row[2] for row in torch_door.surveyed(infos("t"), [torch.float32])} == {torch_door.FAILS}

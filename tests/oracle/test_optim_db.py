"""Every sample of an optimizer in PyTorch's optim_db agrees with ours, in eager and in jitted steps, or is refused with a reason."""

import pytest

pytest.importorskip("torch", reason="the oracle comes with the extra `oracle`")
pytest.importorskip("torch.testing._internal.common_optimizers")

import optim_db

SAMPLES = list(optim_db.samples())
#: What is refused: (optimizer, form) and what the error says.
REFUSED = {
    ("LBFGS", "jit"): "cannot be a part of a jitted step", ("SparseAdam", "eager"): "no SparseAdam",
    ("SparseAdam", "jit"): "no SparseAdam",
}


@pytest.mark.parametrize("form", optim_db.FORMS)
@pytest.mark.parametrize(("name", "options"), [pytest.param(name, options, id=f"{name}: {told}") for name, told, options in SAMPLES])
def test_a_sample_agrees_with_torch_or_is_refused(name, options, form):
    found = optim_db.outcome(name, options, form)
    if (name, form) in REFUSED:
        assert found.startswith("refused") and REFUSED[name, form] in found
    else:
        assert found == "agrees"

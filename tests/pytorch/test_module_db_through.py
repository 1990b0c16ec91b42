"""PyTorch's samples of its modules and optimizers through `retrograde.torch`: some here, all by `python -m tests.suites.torch_modules`."""

import pytest

pytest.importorskip("torch", reason="compares with PyTorch: the extra oracle")
pytest.importorskip("torch.testing._internal.common_modules")
pytest.importorskip("torch.testing._internal.common_optimizers")

from tests.oracle import module_db, optim_db
from tests.suites import torch_modules

MODULES, SAMPLES = module_db.module_db, list(optim_db.samples())


@pytest.mark.parametrize("info", MODULES[::2], ids=lambda info: info.module_cls.__name__)
def test_a_sample_of_a_module_gives_what_torch_gives(info):
    for training in (True, False):
        found = module_db.samples(info, training)
        assert module_db.verdict(info, found[-1], training, False, torch_modules.MODULES) == (module_db.AGREES, None)


@pytest.mark.parametrize("info", MODULES[4::11], ids=lambda info: info.module_cls.__name__)
def test_a_sample_of_a_compiled_module_gives_what_torch_gives(info):
    assert module_db.verdict(info, module_db.samples(info, True)[0], True, True, torch_modules.MODULES) == (module_db.AGREES, None)


@pytest.mark.parametrize(("name", "options"), [pytest.param(name, options, id=f"{name}: {told}") for name, told, options in SAMPLES[::3]])
def test_a_sample_of_an_optimizer_agrees_with_torch_or_is_refused(name, options):
    found = optim_db.outcome(name, options, "eager", torch_modules.OPTIMIZERS)
    assert found == "agrees" or (name == "SparseAdam" and found.startswith("refused"))


def test_a_module_that_keeps_tensors_of_another_kind_is_told():
    info = next(info for info in MODULES if info.module_cls.__name__ == "BatchNorm1d")
    mixed = module_db.Library(torch_modules.MODULES.tensor, module_db.OURS.nn, None)
    found, why = module_db.verdict(info, module_db.samples(info, True)[0], True, False, mixed)
    assert found == module_db.DIFFERS and why.startswith("TypeError: the buffer running_mean is a Tensor")

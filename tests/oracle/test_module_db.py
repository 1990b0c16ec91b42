"""PyTorch's samples of its modules (module_db): one of each class and mode here, all by `python -m tests.oracle.module_db`."""

import pytest

pytest.importorskip("torch")
module_db = pytest.importorskip("module_db")


def name_of(info):
    return info.module_cls.__name__


@pytest.mark.parametrize("info", module_db.module_db, ids=name_of)
def test_a_sample_of_each_module_gives_what_torch_gives(info):
    for training in (True, False):
        found = module_db.samples(info, training)
        assert module_db.verdict(info, found[len(found) // 2], training, False) == (module_db.AGREES, None)


@pytest.mark.parametrize("info", module_db.module_db[::9], ids=name_of)
def test_a_sample_of_a_jitted_module_gives_what_torch_gives(info):
    assert module_db.verdict(info, module_db.samples(info, True)[0], True, True) == (module_db.AGREES, None)


def test_a_gradient_that_is_a_millionth_off_is_told(monkeypatch):
    info = next(info for info in module_db.module_db if name_of(info) == "Linear")
    right = module_db.ours_of

    def off(*args):
        outputs, inputs, parameters, state = right(*args)
        return outputs, inputs, {**parameters, "weight": parameters["weight"] * (1 + 1e-6)}, state

    monkeypatch.setattr(module_db, "ours_of", off)
    found, why = module_db.verdict(info, module_db.samples(info, True)[0], True, False)
    assert found == module_db.DIFFERS and why.startswith("gradient of weight")
